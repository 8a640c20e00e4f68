//! Prints where the checkout of a task is.

use super::Done;
use crate::{cli::TaskArgs, client::Client, exit::Exit, ids, output::Output};
use pitcrew_api::{TaskPath, paths};

pub async fn run(args: TaskArgs, output: Output) -> Done {
    let client = Client::here().await?;
    let task = ids::task(&client, &args.task).await?;
    let found: TaskPath = client.get(&paths::task_path(task)).await?;
    if args.output.json {
        output.json(&found)?;
    } else {
        output.line(&found.path)?;
    }
    Ok(Exit::Success)
}
