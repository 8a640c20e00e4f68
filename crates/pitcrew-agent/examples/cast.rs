//! The processes of a real session in one program: the tests start it as shim, agent and MCP
//! server.

use pitcrew_agent::{Key, ModelSetup, Options, Prices, agent_main};
use pitcrew_mcp::{
    ClientKind, Role, Spawning, ToolAnswer, ToolCall, ToolHandler, ToolInfo, ToolRefusal,
    serve_stdio, visible,
};
use serde_json::{Value, json};
use std::{
    fs::OpenOptions,
    io::Write,
    path::{Path, PathBuf},
    process::ExitCode,
};

#[tokio::main]
async fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["shim", dir] => pitcrew_process::shim_main(Path::new(dir)),
        ["agent"] => agent_main(Options::default()).await,
        ["agent", "--script", file] => match Options::with_script_file(Path::new(file)) {
            Ok(options) => agent_main(options).await,
            Err(mistake) => {
                eprintln!("{mistake}");
                ExitCode::from(2)
            }
        },
        ["agent", "--model", setup] => {
            let model = Some(model(&serde_json::from_str(setup).expect("a setup")));
            agent_main(Options { model, ..Options::default() }).await
        }
        ["mcp", log] => {
            serve_stdio(Log(log.into())).await.expect("the session is served");
            ExitCode::SUCCESS
        }
        other => panic!("no such mode: {other:?}"),
    }
}

fn model(setup: &Value) -> ModelSetup {
    let text = |key: &str| setup[key].as_str().map(str::to_owned);
    ModelSetup {
        provider: text("provider").expect("a provider").parse().expect("a provider"),
        name: "scripted".to_owned(),
        endpoint: text("endpoint"),
        key: text("key").map_or(Key::Missing("KEY is not set".to_owned()), Key::Given),
        withheld: vec!["GIVEN".to_owned()],
        max_output_tokens: None,
        context_tokens: setup["context_tokens"].as_u64().unwrap_or(100_000),
        prices: setup["priced"].as_bool().map(|_| Prices {
            input: 3_000_000,
            output: 15_000_000,
            cached: 300_000,
        }),
    }
}

/// Records every call in a file. Accepts all except those that contain `refuse me`.
struct Log(PathBuf);

impl ToolHandler for Log {
    fn client_kind(&self) -> ClientKind {
        ClientKind::Worker
    }

    async fn visible(&self) -> Vec<&'static ToolInfo> {
        visible(Role::Worker { spawning: Spawning::Refused })
    }

    async fn call(&self, tool: &str, arguments: Value) -> Result<ToolAnswer, ToolRefusal> {
        let call = ToolCall::parse(tool, &arguments)
            .map_err(|mistake| ToolRefusal::new(mistake.to_string()))?;
        let mut file = OpenOptions::new().create(true).append(true).open(&self.0).expect("the log");
        writeln!(file, "{}", json!({ "tool": tool, "arguments": arguments })).expect("the log");
        if arguments.to_string().contains("refuse me") {
            return Err(ToolRefusal::new("attempt-1 has ended: its task continued without it"));
        }
        Ok(call.acknowledgement())
    }
}
