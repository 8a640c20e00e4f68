//! Tries agents, each with the same plan and the same troubles, and keeps the table of all.

use super::{install, list::Agent};
use crate::program::{self, Failure, root, run_cargo};
use std::fs;

const DOCUMENT: &str = "docs/agents-tested.md";

/// Tries these and shows what they can do.
pub fn some(agents: &[&Agent]) -> Result<(), Failure> {
    let names: Vec<&str> = agents.iter().map(|it| it.name.as_str()).collect();
    print!("{}", measured(agents, &names)?);
    Ok(())
}

/// Tries all, the built-in one too, and writes the document.
pub fn all(agents: &[Agent]) -> Result<(), Failure> {
    write(&measured(&agents.iter().collect::<Vec<_>>(), &[])?)
}

/// Writes the document from what was found when each was tried last.
pub fn table() -> Result<(), Failure> {
    write(&example(&["--table"])?)
}

fn write(document: &str) -> Result<(), Failure> {
    fs::write(root().join(DOCUMENT), document)
        .map_err(|error| Failure(format!("`{DOCUMENT}` cannot be written: {error}")))?;
    println!("{DOCUMENT} is written");
    Ok(())
}

fn measured(agents: &[&Agent], names: &[&str]) -> Result<String, Failure> {
    // One that cannot be installed is in the table, with the reason.
    if let Err(failure) = install::install(agents) {
        println!("WARNING {failure}");
    }
    run_cargo(&["build", "--quiet", "--package", "pitcrew", "--bin", "pitcrew"], &[])?;
    example(names)
}

fn example(words: &[&str]) -> Result<String, Failure> {
    let run = ["run", "--quiet", "--package", "pitcrew", "--example", "try_agents", "--"];
    program::read(program::cargo(), &[&run[..], words].concat())
}
