//! What single values of a backend may be.

use pitcrew_model::{HostPattern, RepoPath};

/// Why a value cannot be used, continuing a sentence that began with it; and what to write.
pub(super) struct Refused {
    pub reason: String,
    pub help: String,
}

fn refused(reason: &str, help: &str) -> Result<(), Refused> {
    Err(Refused { reason: reason.into(), help: help.into() })
}

#[expect(clippy::unnecessary_wraps, reason = "it stands where a check is wanted")]
pub(super) fn anything(_: &str) -> Result<(), Refused> {
    Ok(())
}

pub(super) fn variable_name(name: &str) -> Result<(), Refused> {
    if name.is_empty() || name.contains(['=', '\0']) || name.contains(char::is_whitespace) {
        return refused("is no name of a variable", "write it like `MY_API_KEY`");
    }
    Ok(())
}

pub(super) fn variable(name: &str, value: &str) -> Result<(), Refused> {
    variable_name(name)?;
    if value.contains('\0') {
        return refused("has a zero character", "take it out");
    }
    Ok(())
}

/// A path that is joined with somebody's home must not lead out of it.
pub(super) fn below_home(path: &str) -> Result<(), Refused> {
    let climbs = path.split('/').any(|it| it == "..");
    if path.is_empty() || path.starts_with(['/', '~']) || climbs || path.contains('\0') {
        let help = "write a path below your home folder, such as `.codex/auth.json`";
        return refused("is no path below the home folder", help);
    }
    Ok(())
}

/// The end of a path of a repository, as git writes it.
pub(super) fn in_repository(path: &str) -> Result<(), Refused> {
    if RepoPath::parse(path).is_ok_and(|it| it.as_str() == path) {
        return Ok(());
    }
    let help = "write the name of a file or folder, such as `agent.json` or `.agent/settings.json`";
    refused("is no path of a repository", help)
}

/// A path that is looked for among packages must not lead out of them.
pub(super) fn in_packages(path: &str) -> Result<(), Refused> {
    let is_plain = |it: &str| !matches!(it, "" | "." | "..");
    if path.contains('\0') || !path.split('/').all(is_plain) {
        let help = "write the package and the file in it, such as `@vendor/agent-linux-x64/agent`";
        return refused("is no file of a package", help);
    }
    Ok(())
}

pub(super) fn call(arguments: &str, answer: &str) -> Result<(), Refused> {
    if arguments.trim().is_empty() || format!("{arguments}{answer}").contains('\0') {
        let help = "write the arguments with a space between them, such as `auth status --json`";
        return refused("is no call that can be answered", help);
    }
    Ok(())
}

pub(super) fn moved(name: &str, path: &str) -> Result<(), Refused> {
    variable_name(name)?;
    below_home(path).map_err(|it| {
        let help = "write the folder below your home that it stands for, such as `.codex`, or `.`";
        Refused { help: help.into(), ..it }
    })
}

pub(super) fn host(name: &str) -> Result<(), Refused> {
    if name.parse::<HostPattern>().is_err() || name.contains(':') {
        let help =
            "write a name such as `api.example.com` or `*.example.com`, without scheme and port";
        return refused("is no name of a host", help);
    }
    Ok(())
}
