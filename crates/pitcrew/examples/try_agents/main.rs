//! Tries agents one after the other and prints what works, as a document.
//!
//! Results are stored, and `--table` prints the document from all stored results.
//! `cargo xtask agents` builds the binary and runs this. Each trial is a process with a time limit,
//! without a network if possible.

mod trial;
mod kept;
mod document;

use pitcrew_testkit::RealAgent;
use std::error::Error;
use trial::{AgentReport, Trial};

pub type TrialResult<T> = Result<T, Box<dyn Error>>;

fn main() -> TrialResult<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if let ["--trial", agent, trial] = words[..] {
        return trial::run_here(agent, Trial::named(trial).ok_or("there is no such trial")?);
    }
    let all = || [vec![trial::BUILTIN], RealAgent::names()].concat();
    let tried: TrialResult<Vec<AgentReport>> = match words[..] {
        ["--table"] => all().into_iter().map(kept::read).collect(),
        [] => all().into_iter().map(try_and_keep).collect(),
        [..] => words.into_iter().map(try_and_keep).collect(),
    };
    let tried = tried?;
    print!("{}", document::write(&tried));
    Ok(())
}

fn try_and_keep(name: &str) -> TrialResult<AgentReport> {
    let tried = trial::try_agent(name);
    kept::write(&tried)?;
    Ok(tried)
}
