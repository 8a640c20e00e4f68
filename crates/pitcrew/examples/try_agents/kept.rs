//! Stores the results of each agent beside the build, until its next trial.

use crate::{TrialResult, trial::AgentReport};
use std::{fs, path::PathBuf};

pub fn write(tried: &AgentReport) -> TrialResult<()> {
    let path = path(&tried.name)?;
    fs::create_dir_all(path.parent().ok_or("it has a folder")?)?;
    Ok(fs::write(path, serde_json::to_string(tried)?)?)
}

/// The document also lists agents that were not tried.
pub fn read(name: &str) -> TrialResult<AgentReport> {
    let path = path(name)?;
    if path.exists() {
        return Ok(serde_json::from_str(&fs::read_to_string(path)?)?);
    }
    let missing = Some(format!("say `cargo xtask agents {name}`"));
    Ok(AgentReport { name: name.to_owned(), missing, ..AgentReport::default() })
}

fn path(name: &str) -> TrialResult<PathBuf> {
    let this = std::env::current_exe()?;
    let beside = this.ancestors().nth(3).ok_or("examples are in the folder of the build")?;
    Ok(beside.join("agents-tried").join(format!("{name}.json")))
}
