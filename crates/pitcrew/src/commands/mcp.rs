//! The tools over MCP: of a worker, or of a person's own agent; on standard input and output, or over
//! HTTP on the loopback.

use super::{
    Done,
    tool_door::{ToolDoor, client_token},
};
use crate::{
    cli::McpArgs,
    client::{Client, Next},
    exit::Exit,
    output::Output,
    report::Report,
    workspace::Workspace,
};
use pitcrew_api::{
    MCP_ASK_EVERY_MS, McpAddress, McpRequest,
    paths::{self, BoardQuery, EventsQuery},
};
use pitcrew_mcp::{ClientKind, Orchestrator, ToolAnswer, ToolInfo, ToolRefusal, serve_stdio};
use serde_json::{Value, json};
use std::{fs, io::Write, os::unix::fs::OpenOptionsExt, path::PathBuf, time::Duration};
use tokio::time::sleep;

pub async fn run(args: McpArgs, output: Output) -> Done {
    if args.http {
        return over_http(args, output).await;
    }
    let bridge = Bridge { door: ToolDoor::open().await? };
    let served = serve_stdio(bridge).await;
    served.map_err(|error| Report::from_error(Exit::Failure, &error))?;
    Ok(Exit::Success)
}

struct Bridge {
    door: ToolDoor,
}

impl Orchestrator for Bridge {
    fn client_kind(&self) -> ClientKind {
        self.door.client_kind()
    }

    async fn visible(&self) -> Vec<&'static ToolInfo> {
        self.door.visible().await
    }

    async fn call(&self, tool: &str, arguments: Value) -> Result<ToolAnswer, ToolRefusal> {
        let answer = self.door.tool(tool, &arguments).await;
        if answer.is_error {
            return Err(ToolRefusal::new(answer.text));
        }
        Ok(ToolAnswer { text: answer.text, structured: answer.structured })
    }
}

/// Stays, so that the orchestrator and its port do too; one that was replaced opens the same port
/// again.
async fn over_http(args: McpArgs, output: Output) -> Done {
    let client = Client::of(Workspace::here()?).await?;
    let mut asked = McpRequest { port: args.port };
    let token_file = write_token(&client.workspace)?;
    let mut told = false;
    loop {
        let address: McpAddress = client.post(paths::MCP_OPEN, &asked).await?;
        asked.port = port_of(&address.url).unwrap_or(asked.port);
        if !told {
            told = true;
            let token_file = token_file.display().to_string();
            if args.output.json {
                output.json(&json!({ "url": address.url, "token_file": token_file }))?;
            } else {
                output.line(&address.url)?;
                output.note(&format!("the bearer token is in {token_file}; Ctrl-C ends this"));
            }
        }
        tokio::select! {
            stayed = keep(&client, &asked) => stayed?,
            _ = tokio::signal::ctrl_c() => return Ok(Exit::Interrupted),
        }
    }
}

/// Asks for the port again and again, so that it is kept. Returns when the orchestrator is gone.
async fn keep(client: &Client, asked: &McpRequest) -> Result<(), Report> {
    let mut stayed = std::pin::pin!(stay(client));
    loop {
        tokio::select! {
            stayed = &mut stayed => return stayed,
            () = sleep(Duration::from_millis(MCP_ASK_EVERY_MS)) => {
                // Whether it worked is seen at the stream.
                let _: Result<McpAddress, Report> = client.post(paths::MCP_OPEN, asked).await;
            }
        }
    }
}

/// Returns when the orchestrator is gone.
async fn stay(client: &Client) -> Result<(), Report> {
    let after = client.board(BoardQuery::default()).await?.seq;
    let mut lines = client.stream(&paths::events(EventsQuery { after, follow: true })).await?;
    while let Next::Line(_) = lines.next().await {}
    Ok(())
}

fn port_of(url: &str) -> Option<u16> {
    url.strip_suffix(paths::MCP)?.rsplit_once(':')?.1.parse().ok()
}

/// For clients that read their secret from a file: only its owner can.
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
