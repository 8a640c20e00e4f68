//! Stops the orchestrator, or running work.

mod emergency;
mod orchestrator;

use super::CommandResult;
use crate::{cli::StopArgs, output::Output};

pub async fn run(args: StopArgs, output: Output) -> CommandResult {
    match args.scope {
        None => orchestrator::run(args.output, output).await,
        Some(scope) => emergency::run(scope, args.id.as_deref(), args.output, output).await,
    }
}
