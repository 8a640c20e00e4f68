//! Serves the tools over MCP, to a worker or to the user's own agent: on standard input and output,
//! or over HTTP on the loopback.

use super::{
    CommandResult,
    tool_client::{ToolClient, client_token},
};
use crate::{
    cli::McpArgs,
    client::{Client, StreamItem},
    exit::Exit,
    output::Output,
    report::Report,
    workspace::Workspace,
};
use pitcrew_api::{
    MCP_ASK_EVERY_MS, McpAddress, McpRequest,
    paths::{self, BoardQuery, EventsQuery},
};
use pitcrew_mcp::{ClientKind, ToolAnswer, ToolHandler, ToolInfo, ToolRefusal, serve_stdio};
use serde_json::{Value, json};
use std::{fs, io::Write, os::unix::fs::OpenOptionsExt, path::PathBuf, time::Duration};
use tokio::time::sleep;

pub async fn run(args: McpArgs, output: Output) -> CommandResult {
    if args.http {
        return over_http(args, output).await;
    }
    let bridge = Bridge { client: ToolClient::open().await? };
    let served = serve_stdio(bridge).await;
    served.map_err(|error| Report::from_error(Exit::Failure, &error))?;
    Ok(Exit::Success)
}

struct Bridge {
    client: ToolClient,
}

impl ToolHandler for Bridge {
    fn client_kind(&self) -> ClientKind {
        self.client.client_kind()
    }

    async fn visible(&self) -> Vec<&'static ToolInfo> {
        self.client.visible().await
    }

    async fn call(&self, tool: &str, arguments: Value) -> Result<ToolAnswer, ToolRefusal> {
        let answer = self.client.tool(tool, &arguments).await;
        if answer.is_error {
            return Err(ToolRefusal::new(answer.text));
        }
        Ok(ToolAnswer { text: answer.text, structured: answer.structured })
    }
}

/// Keeps the orchestrator and its port open. A restarted orchestrator opens the same port again.
async fn over_http(args: McpArgs, output: Output) -> CommandResult {
    let client = Client::of(Workspace::here()?).await?;
    let mut asked = McpRequest { port: args.port };
    let token_file = write_token(&client.workspace)?;
    let mut announced = false;
    loop {
        let address: McpAddress = client.post(paths::MCP_OPEN, &asked).await?;
        asked.port = port_of(&address.url).unwrap_or(asked.port);
        if !announced {
            announced = true;
            let token_file = token_file.display().to_string();
            if args.output.json {
                output.json(&json!({ "url": address.url, "token_file": token_file }))?;
            } else {
                output.line(&address.url)?;
                output.note(&format!("the bearer token is in {token_file}; press Ctrl-C to stop"));
            }
        }
        tokio::select! {
            ended = keep_port(&client, &asked) => ended?,
            _ = tokio::signal::ctrl_c() => return Ok(Exit::Interrupted),
        }
    }
}

/// Renews the port until the orchestrator is gone.
async fn keep_port(client: &Client, asked: &McpRequest) -> Result<(), Report> {
    let mut ended = std::pin::pin!(wait_for_end(client));
    loop {
        tokio::select! {
            ended = &mut ended => return ended,
            () = sleep(Duration::from_millis(MCP_ASK_EVERY_MS)) => {
                // A failure shows in the stream.
                let _: Result<McpAddress, Report> = client.post(paths::MCP_OPEN, asked).await;
            }
        }
    }
}

/// Returns when the orchestrator is gone.
async fn wait_for_end(client: &Client) -> Result<(), Report> {
    let after = client.board(BoardQuery::default()).await?.seq;
    let mut lines = client.stream(&paths::events(EventsQuery { after, follow: true })).await?;
    while let StreamItem::Line(_) = lines.next().await {}
    Ok(())
}

fn port_of(url: &str) -> Option<u16> {
    url.strip_suffix(paths::MCP)?.rsplit_once(':')?.1.parse().ok()
}

/// Writes the token to a file that only its owner can read, for clients that read it from a file.
fn write_token(workspace: &Workspace) -> Result<PathBuf, Report> {
    let path = workspace.dirs.runtime.join("mcp.token");
    let failed = |error: std::io::Error| {
        Report::new(Exit::Failure, format!("failed to write `{}`", path.display()))
            .because(error.to_string())
    };
    let token = client_token(workspace)?;
    let mut options = fs::OpenOptions::new();
    let mut file =
        options.write(true).create(true).truncate(true).mode(0o600).open(&path).map_err(failed)?;
    writeln!(file, "{}", token.reveal()).map_err(failed)?;
    Ok(path)
}
