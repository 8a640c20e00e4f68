//! Generates shell completions and man pages.

use super::CommandResult;
use crate::{
    cli::{self, CompletionsArgs, CompletionsOf},
    complete,
    exit::Exit,
    output::Output,
    report::Report,
};
use std::{fs, io, path::Path};

pub fn run(args: &CompletionsArgs, output: Output) -> CommandResult {
    let shell = match args.what {
        CompletionsOf::Bash => "bash",
        CompletionsOf::Elvish => "elvish",
        CompletionsOf::Fish => "fish",
        CompletionsOf::Powershell => "powershell",
        CompletionsOf::Zsh => "zsh",
        CompletionsOf::Man => return man(args.dir.as_deref().unwrap_or(Path::new(".")), output),
    };
    let script =
        complete::script(shell).map_err(|error| Report::from_error(Exit::Failure, &error))?;
    output.print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Success)
}

/// Writes `pitcrew.1`, `pitcrew-run.1` and so on.
fn man(dir: &Path, output: Output) -> CommandResult {
    write_pages(dir).map_err(|error| {
        Report::new(Exit::Failure, format!("failed to write the man pages to `{}`", dir.display()))
            .because(error.to_string())
    })?;
    output.line(&format!("the man pages are in {}", dir.display()))?;
    Ok(Exit::Success)
}

fn write_pages(dir: &Path) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    clap_mangen::generate_to(cli::pages(), dir)
}
