//! Creates settings and an example plan in the repository. Existing files are not changed.

use super::CommandResult;
use crate::{cli::Json, exit::Exit, output::Output, report::Report, workspace::Workspace};
use pitcrew_config::example_plan;
use serde_json::json;
use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};

const SETTINGS: &str = r#"# Pitcrew settings of this repository. `pitcrew config show --origin` shows the effective settings.
#
# This file is shared through the repository, so it can only make limits stricter. Put your own
# settings into `.pitcrew/config.local.toml` (ignored by git) or your user settings.

# How many agents may work at the same time.
# max_agents = 5

# The agent for tasks that do not name one.
# agent = "claude"

# How long one attempt at a task may take.
# task_timeout = "1h"
# lease = "2min"
"#;

const IGNORED: &str = "config.local.toml\n";

pub fn run(args: Json, output: Output) -> CommandResult {
    let workspace = Workspace::here()?;
    let folder = workspace.root().join(".pitcrew");
    fs::create_dir_all(&folder).map_err(|error| failed(&folder, &error))?;
    let files =
        [("config.toml", SETTINGS), ("example-plan.toml", example_plan()), (".gitignore", IGNORED)];
    let (mut written, mut kept): (Vec<PathBuf>, Vec<PathBuf>) = (Vec::new(), Vec::new());
    for (name, text) in files {
        let path = folder.join(name);
        let place = Path::new(".pitcrew").join(name);
        match write_new(&path, text) {
            Ok(()) => written.push(place),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => kept.push(place),
            Err(error) => return Err(failed(&path, &error)),
        }
    }
    if args.json {
        output.json(&json!({ "written": written, "kept": kept }))?;
        return Ok(Exit::Success);
    }
    for path in &written {
        output.line(&format!("written  {}", path.display()))?;
    }
    for path in &kept {
        output.line(&format!("kept     {}", path.display()))?;
    }
    output.note("try it with `pitcrew run .pitcrew/example-plan.toml`");
    Ok(Exit::Success)
}

fn write_new(path: &Path, text: &str) -> io::Result<()> {
    OpenOptions::new().write(true).create_new(true).open(path)?.write_all(text.as_bytes())
}

fn failed(path: &Path, error: &io::Error) -> Report {
    Report::new(Exit::Failure, format!("failed to write `{}`", path.display()))
        .because(error.to_string())
}
