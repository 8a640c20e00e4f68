//! Any bytes of an agent: it gets an error, and the session continues or ends.

use pitcrew_mcp::{
    ClientKind, Role, Spawning, ToolAnswer, ToolCall, ToolHandler, ToolInfo, ToolRefusal, serve,
    visible,
};
use pitcrew_model::limits;
use pitcrew_testkit::corpus;
use serde_json::Value;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

/// An error names the tool or the key, and quotes at most a line.
const MESSAGE_BYTES_MAX: usize = 1_000;

#[test]
fn any_call_is_parsed_or_refused() {
    corpus!("call").check(800, |bytes| {
        let Ok(call) = serde_json::from_slice::<Value>(bytes) else { return };
        let name = call["name"].as_str().unwrap_or("complete_task");
        match ToolCall::parse(name, &call["arguments"]) {
            Ok(call) => {
                assert!(!call.acknowledgement().text.is_empty());
                if let ToolCall::Complete { summary: said, .. }
                | ToolCall::Notify { message: said, .. } = call
                {
                    assert!(!said.trim().is_empty() && said.len() <= limits::SUMMARY_BYTES_MAX);
                }
            }
            Err(error) => {
                let message = error.to_string();
                assert!(message.contains('`') && message.len() <= MESSAGE_BYTES_MAX, "{message}");
            }
        }
    });
}

struct Listener;

impl ToolHandler for Listener {
    fn client_kind(&self) -> ClientKind {
        ClientKind::Worker
    }

    async fn visible(&self) -> Vec<&'static ToolInfo> {
        visible(Role::Worker { spawning: Spawning::Refused })
    }

    async fn call(&self, tool: &str, arguments: Value) -> Result<ToolAnswer, ToolRefusal> {
        match ToolCall::parse(tool, &arguments) {
            Ok(call) => Ok(call.acknowledgement()),
            Err(error) => Err(ToolRefusal::new(error.to_string())),
        }
    }
}

/// Serves one session whose client sends `bytes` and leaves.
async fn session(bytes: &[u8]) -> Vec<u8> {
    let (mut client, server) = duplex(4 * 1_024 * 1_024);
    let (reader, writer) = tokio::io::split(server);
    client.write_all(bytes).await.expect("room");
    client.shutdown().await.expect("an open stream");
    // The result of the session does not matter here.
    serve(Listener, reader, writer).await.ok();
    let mut answers = Vec::new();
    client.read_to_end(&mut answers).await.expect("the server has left");
    answers
}

#[test]
fn any_session_ends_when_its_client_leaves() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    corpus!("session").check(150, |bytes| {
        let ended = async { tokio::time::timeout(Duration::from_mins(1), session(bytes)).await };
        let answers = runtime.block_on(ended).expect("it ends");
        for line in answers.split(|it| *it == b'\n').filter(|it| !it.is_empty()) {
            let answer: Value = serde_json::from_slice(line).expect("answers are JSON");
            assert_eq!(answer["jsonrpc"], "2.0");
        }
    });
}
