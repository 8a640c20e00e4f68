//! Checks single values of a backend.

use pitcrew_model::{HostPattern, RepoPath};

/// Why a value is invalid (the end of a sentence that starts with the value), and what to write.
pub(super) struct InvalidValue {
    pub reason: String,
    pub help: String,
}

fn invalid(reason: &str, help: &str) -> Result<(), InvalidValue> {
    Err(InvalidValue { reason: reason.into(), help: help.into() })
}

#[expect(clippy::unnecessary_wraps, reason = "it has the signature of a check")]
pub(super) fn anything(_: &str) -> Result<(), InvalidValue> {
    Ok(())
}

pub(super) fn variable_name(name: &str) -> Result<(), InvalidValue> {
    if name.is_empty() || name.contains(['=', '\0']) || name.contains(char::is_whitespace) {
        return invalid("is not a variable name", "write it like `MY_API_KEY`");
    }
    Ok(())
}

pub(super) fn variable(name: &str, value: &str) -> Result<(), InvalidValue> {
    variable_name(name)?;
    if value.contains('\0') {
        return invalid("contains a NUL character", "remove it");
    }
    Ok(())
}

/// The path is joined with a home folder and must not lead out of it.
pub(super) fn below_home(path: &str) -> Result<(), InvalidValue> {
    let climbs = path.split('/').any(|it| it == "..");
    if path.is_empty() || path.starts_with(['/', '~']) || climbs || path.contains('\0') {
        let help = "write a path below your home folder, such as `.codex/auth.json`";
        return invalid("is not a path below the home folder", help);
    }
    Ok(())
}

/// The last parts of a path in a repository, as git writes it.
pub(super) fn in_repository(path: &str) -> Result<(), InvalidValue> {
    if RepoPath::parse(path).is_ok_and(|it| it.as_str() == path) {
        return Ok(());
    }
    let help = "write the name of a file or folder, such as `agent.json` or `.agent/settings.json`";
    invalid("is not a path in a repository", help)
}

/// The file is searched for among packages, so the path must not lead out of them.
pub(super) fn in_packages(path: &str) -> Result<(), InvalidValue> {
    let is_plain = |it: &str| !matches!(it, "" | "." | "..");
    if path.contains('\0') || !path.split('/').all(is_plain) {
        let help = "write the package and the file in it, such as `@vendor/agent-linux-x64/agent`";
        return invalid("is not a file in a package", help);
    }
    Ok(())
}

pub(super) fn call(arguments: &str, answer: &str) -> Result<(), InvalidValue> {
    if arguments.trim().is_empty() || format!("{arguments}{answer}").contains('\0') {
        let help = "separate the arguments with spaces, such as `auth status --json`";
        return invalid("is not a call that can be answered", help);
    }
    Ok(())
}

pub(super) fn moved(name: &str, path: &str) -> Result<(), InvalidValue> {
    variable_name(name)?;
    below_home(path).map_err(|it| {
        let help = "write the folder below your home that it stands for, such as `.codex`, or `.`";
        InvalidValue { help: help.into(), ..it }
    })
}

pub(super) fn host(name: &str) -> Result<(), InvalidValue> {
    if name.parse::<HostPattern>().is_err() || name.contains(':') {
        let help =
            "write a name such as `api.example.com` or `*.example.com`, without scheme and port";
        return invalid("is not a host name", help);
    }
    Ok(())
}
