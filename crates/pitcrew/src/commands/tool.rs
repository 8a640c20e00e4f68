//! One tool of a worker, for agents that cannot start an MCP server.

use super::{Done, worker_door::WorkerDoor};
use crate::{cli::ToolArgs, exit::Exit, output::Output, report::Report};
use pitcrew_mcp::canonical_name;
use pitcrew_views::plain;
use serde_json::Value;

pub async fn run(args: ToolArgs, output: Output) -> Done {
    let arguments: Value = serde_json::from_str(&args.json).map_err(|error| {
        Report::new(Exit::Usage, "the arguments are no JSON")
            .because(error.to_string())
            .help("write them as one object, such as --json '{\"summary\": \"added the parser\"}'")
    })?;
    let door = WorkerDoor::of_environment()?;
    let name = canonical_name(&args.name).unwrap_or(&args.name);
    let answer = door.tool(name, &arguments).await;
    if answer.is_error {
        return Err(Report::new(Exit::Refused, answer.text));
    }
    output.line(&plain::block(&answer.text))?;
    Ok(Exit::Success)
}
