//! Tries agents, each with the same plan and the same faults, and stores the results.

use super::{install, list::Agent};
use crate::program::{self, Failure, root, run_cargo};
use std::fs;

const DOCUMENT: &str = "docs/agents-tested.md";

/// Tries some agents and prints the results.
pub fn some(agents: &[&Agent]) -> Result<(), Failure> {
    let names: Vec<&str> = agents.iter().map(|it| it.name.as_str()).collect();
    print!("{}", measured(agents, &names)?);
    Ok(())
}

/// Tries all agents, including the built-in one, and writes the document.
pub fn all(agents: &[Agent]) -> Result<(), Failure> {
    write(&measured(&agents.iter().collect::<Vec<_>>(), &[])?)
}

/// Writes the document from the stored results.
pub fn table() -> Result<(), Failure> {
    write(&example(&["--table"])?)
}

fn write(document: &str) -> Result<(), Failure> {
    fs::write(root().join(DOCUMENT), document)
        .map_err(|error| Failure(format!("failed to write `{DOCUMENT}`: {error}")))?;
    println!("{DOCUMENT} is written");
    Ok(())
}

fn measured(agents: &[&Agent], names: &[&str]) -> Result<String, Failure> {
    // An agent that cannot be installed is listed with the reason.
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
