//! Opens a copy of a task's work in an editor or a shell.

use super::{CommandResult, path};
use crate::{cli::OpenArgs, exit::Exit, output::Output, report::Report};
use pitcrew_process::run_attached;
use std::{ffi::OsString, path::Path};

pub async fn run(args: OpenArgs, output: Output) -> CommandResult {
    let found = path::copy_of(&args.task, output).await?;
    let place = Path::new(&found.path);
    let editor = ["VISUAL", "EDITOR"].into_iter().find_map(set).filter(|_| !args.shell);
    let (argv, what): (Vec<OsString>, String) = match &editor {
        Some(editor) => {
            let script = format!("{editor} \"$@\"");
            let argv = ["sh", "-c", &script, "editor", &found.path].map(OsString::from);
            (argv.into(), format!("the editor `{editor}`"))
        }
        None => {
            let shell = set("SHELL").unwrap_or_else(|| "/bin/sh".into());
            output.note(&format!("opening a shell in {}; `exit` closes it", found.path));
            ([OsString::from(&shell)].into(), format!("the shell `{shell}`"))
        }
    };
    match run_attached(&argv, place, no_bare_repositories()) {
        // A shell exits with the code of its last command, which is not our result.
        Ok(Some(code)) if code == 0 || editor.is_none() => Ok(Exit::Success),
        Ok(_) => Err(failed(&what)),
        Err(error) => Err(failed(&what).because(error.to_string())),
    }
}

fn failed(what: &str) -> Report {
    Report::new(Exit::Failure, format!("{what} failed"))
        .help("set EDITOR to a command that opens a folder, or use `--shell`")
}

fn set(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|it| !it.trim().is_empty())
}

/// An agent may have left folders that git accepts as bare repositories, with their own settings.
/// Inherited git variables are removed as well.
fn no_bare_repositories() -> Vec<(OsString, OsString)> {
    let variables = [
        ("GIT_CONFIG_COUNT", "1"),
        ("GIT_CONFIG_KEY_0", "safe.bareRepository"),
        ("GIT_CONFIG_VALUE_0", "explicit"),
    ];
    variables.map(|(name, value)| (name.into(), value.into())).into()
}
