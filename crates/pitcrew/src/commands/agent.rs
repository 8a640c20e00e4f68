//! The built-in agent's process.

use super::Done;
use crate::{exit::Exit, report::Report};
use pitcrew_agent::{Options, agent_main};
use std::{path::PathBuf, process::ExitCode};

pub async fn run(script: Option<PathBuf>) -> Done {
    let options = match script {
        Some(path) => {
            Options::with_script_file(&path).map_err(|message| Report::new(Exit::Usage, message))?
        }
        None => Options::default(),
    };
    let ended = agent_main(options).await;
    Ok(if ended == ExitCode::SUCCESS { Exit::Success } else { Exit::Failure })
}
