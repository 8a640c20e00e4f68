//! Misbehaving agents.

use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead, Write},
    path::Path,
    process::ExitCode,
    sync::mpsc::channel,
    time::Duration,
};

/// Waits for a file, with a generous deadline.
pub fn wait_for(path: &Path) {
    let (_never, bell) = channel::<()>();
    while !path.exists() {
        bell.recv_timeout(Duration::from_millis(10)).ok();
    }
}

pub fn run(kind: &str) -> ExitCode {
    // Beside the checkout, where the test looks for it.
    fs::write(format!("../{kind}.pid"), std::process::id().to_string()).expect("a pid file");
    if kind == "exits_at_once" {
        eprintln!("no licence");
        return ExitCode::from(4);
    }
    let mut out = std::io::stdout();
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        let message: Value = serde_json::from_str(&line).expect("frames are JSON");
        let result = match (message["method"].as_str(), kind) {
            (_, "hangs") => continue,
            (Some("initialize"), _) => json!({"protocolVersion": 1, "agentCapabilities": {}}),
            (Some("session/new"), _) => json!({"sessionId": "1"}),
            (Some("session/prompt"), "exits") => {
                eprintln!("out of cheese");
                return ExitCode::from(3);
            }
            (Some("session/prompt"), "garbage") => {
                while writeln!(out, "~~~ no frame ~~~").is_ok() {}
                break;
            }
            (Some("session/prompt"), "silent") => json!({"stopReason": "end_turn"}),
            // `deaf` does not answer any request.
            _ => continue,
        };
        let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
        if writeln!(out, "{answer}").and_then(|()| out.flush()).is_err() {
            break;
        }
    }
    ExitCode::SUCCESS
}
