//! Prints the path of a clean copy of a task's work, never the checkout of its agent.

use super::CommandResult;
use crate::{
    cli::TaskArgs,
    client::Client,
    exit::Exit,
    ids::{self, Pick},
    output::Output,
    report::Report,
};
use pitcrew_api::{TaskPath, paths};

pub async fn run(args: TaskArgs, output: Output) -> CommandResult {
    let found = copy_of(&args.task, output).await?;
    if args.output.json {
        output.json(&found)?;
    } else {
        output.line(&found.path)?;
    }
    Ok(Exit::Success)
}

/// Creates or updates the copy.
pub async fn copy_of(task: &str, output: Output) -> Result<TaskPath, Report> {
    let client = Client::here().await?;
    let task = ids::task(&client, task, Pick::Newest(output)).await?;
    let found: TaskPath = client.get(&paths::task_path(task)).await?;
    if let Some(kept) = &found.kept {
        output.note(&format!("note: this is a new copy; your changes are still in {kept}"));
    }
    Ok(found)
}
