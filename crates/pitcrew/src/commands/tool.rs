//! Calls one tool, for agents that cannot start an MCP server; without a name, lists the tools.

use super::{CommandResult, tool_client::ToolClient};
use crate::{cli::ToolArgs, exit::Exit, output::Output, report::Report};
use pitcrew_mcp::canonical_name;
use pitcrew_views::plain;
use serde_json::Value;

pub async fn run(args: ToolArgs, output: Output) -> CommandResult {
    let Some(name) = &args.name else { return list(output).await };
    let arguments: Value = serde_json::from_str(&args.json).map_err(|error| {
        Report::new(Exit::Usage, "the arguments are not valid JSON")
            .because(error.to_string())
            .help("pass one JSON object, such as --json '{\"summary\": \"added the parser\"}'")
    })?;
    let client = ToolClient::open().await?;
    let name = canonical_name(name).unwrap_or(name);
    let answer = client.tool(name, &arguments).await;
    if answer.is_error {
        return Err(Report::new(Exit::Refused, answer.text));
    }
    output.line(&plain::block(&answer.text))?;
    Ok(Exit::Success)
}

async fn list(output: Output) -> CommandResult {
    for tool in ToolClient::open().await?.visible().await {
        output.line(&format!("{}: {}", tool.name, tool.description))?;
        output.line(&format!("    pitcrew tool {} --json '{}'", tool.name, tool.example))?;
    }
    Ok(Exit::Success)
}
