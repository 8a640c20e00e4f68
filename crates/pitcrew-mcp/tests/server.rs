//! The tools over MCP, with the official client on the other end of a pipe.

use pitcrew_mcp::{
    ClientKind, Role, Spawning, ToolAnswer, ToolCall, ToolHandler, ToolInfo, ToolRefusal, serve,
    visible,
};
use rmcp::{
    ClientLifecycleMode, ClientServiceExt, RoleClient,
    model::{CallToolRequestParams, ProtocolVersion},
    service::RunningService,
};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt};

const WORKER: Role = Role::Worker { spawning: Spawning::Refused };

/// An orchestrator that only parses calls.
struct Reads(Role);

impl ToolHandler for Reads {
    fn client_kind(&self) -> ClientKind {
        match self.0 {
            Role::Worker { .. } | Role::Subtask { .. } => ClientKind::Worker,
            Role::Client { .. } => ClientKind::Client,
        }
    }

    async fn visible(&self) -> Vec<&'static ToolInfo> {
        visible(self.0)
    }

    async fn call(&self, tool: &str, arguments: Value) -> Result<ToolAnswer, ToolRefusal> {
        match ToolCall::parse(tool, &arguments) {
            Ok(call) => Ok(call.acknowledgement()),
            Err(invalid_message) => Err(ToolRefusal::new(invalid_message.to_string())),
        }
    }
}

async fn client(lifecycle: ClientLifecycleMode) -> RunningService<RoleClient, ()> {
    client_as(WORKER, lifecycle).await
}

async fn client_as(role: Role, lifecycle: ClientLifecycleMode) -> RunningService<RoleClient, ()> {
    let (ours, theirs) = tokio::io::duplex(64 * 1_024);
    let (reader, writer) = tokio::io::split(ours);
    tokio::spawn(serve(Reads(role), reader, writer));
    ().serve_with_lifecycle(theirs, lifecycle).await.expect("a session")
}

/// Both eras: with a handshake, and without one.
fn lifecycles() -> [ClientLifecycleMode; 2] {
    let preferred_versions = vec![ProtocolVersion::LATEST];
    [ClientLifecycleMode::Initialize, ClientLifecycleMode::Discover { preferred_versions }]
}

async fn call(
    client: &RunningService<RoleClient, ()>,
    tool: &'static str,
    arguments: Value,
) -> (bool, Value, Option<Value>) {
    let arguments = arguments.as_object().cloned().expect("an object");
    let params = CallToolRequestParams::new(tool).with_arguments(arguments);
    let result = client.call_tool(params).await.expect("a result");
    let content = serde_json::to_value(&result.content).expect("content");
    (result.is_error == Some(true), content[0]["text"].clone(), result.structured_content)
}

/// S1-067: a worker learns how to complete, and can do it.
#[tokio::test]
async fn both_eras_can_complete_and_ask() {
    for lifecycle in lifecycles() {
        let client = client(lifecycle.clone()).await;
        let tools = client.list_all_tools().await.expect("tools");
        let names: Vec<&str> = tools.iter().map(|it| it.name.as_ref()).collect();
        let shown = [
            "orchestrator_save_plan",
            "orchestrator_add_plan_task",
            "orchestrator_list_workers",
            "orchestrator_complete_task",
            "a2a_notify_orchestrator",
            "a2a_query",
        ];
        assert_eq!(names, shown);
        assert!(tools.iter().all(|it| it.annotations.is_some()));
        assert!(tools.iter().all(|it| it.description.is_some()), "{lifecycle:?}");

        let (refused, text, structured) =
            call(&client, "orchestrator_complete_task", json!({ "summary": "done" })).await;
        assert!(!refused && text.as_str().is_some_and(|it| it.contains("end your turn")), "{text}");
        assert_eq!(structured, Some(json!({ "accepted": true, "next": "end_turn" })));
    }
}

/// Programs validate results with it. A worker passes them to its model, which does not see it.
#[tokio::test]
async fn clients_get_the_schemas_of_results() {
    let spawning = Spawning::Allowed;
    for (role, has_schema) in [
        (Role::Client { spawning }, true),
        (Role::Worker { spawning }, false),
        (Role::Subtask { spawning }, false),
    ] {
        let client = client_as(role, ClientLifecycleMode::Initialize).await;
        let tools = client.list_all_tools().await.expect("tools");
        assert!(tools.iter().all(|it| it.output_schema.is_some() == has_schema), "{role:?}");
    }
}

/// A worker learns how to end its work, and an outside client how to drive others.
#[tokio::test]
async fn instructions_depend_on_the_role() {
    let spawning = Spawning::Allowed;
    for (role, has, has_not) in [
        (Role::Client { spawning }, "pitcrew land", "orchestrator_complete_task"),
        (Role::Worker { spawning }, "orchestrator_complete_task", "pitcrew land"),
        (Role::Subtask { spawning }, "a2a_subtask_complete", "pitcrew land"),
    ] {
        for lifecycle in lifecycles() {
            let client = client_as(role, lifecycle).await;
            let instructions =
                client.peer_info().and_then(|it| it.instructions.clone()).expect("words");
            assert!(
                instructions.contains(has) && !instructions.contains(has_not),
                "{role:?}: {instructions}"
            );
        }
    }
}

#[tokio::test]
async fn other_spellings_are_accepted_silently() {
    let client = client(ClientLifecycleMode::Initialize).await;
    let (refused, ..) = call(&client, "orchestrator_completeTask", json!({ "summary": "x" })).await;
    assert!(!refused);
}

#[tokio::test]
async fn a_bad_call_reaches_the_model_as_text() {
    let client = client(ClientLifecycleMode::Initialize).await;
    let (refused, text, _) = call(&client, "orchestrator_complete_task", json!({})).await;
    assert!(refused && text.as_str().is_some_and(|it| it.contains("needs `summary`")), "{text}");
    let (refused, text, _) = call(&client, "levitate", json!({})).await;
    assert!(refused && text.as_str().is_some_and(|it| it.contains("no tool `levitate`")), "{text}");
}

/// Answers when it is released.
struct Waits {
    lets: std::sync::Arc<tokio::sync::Notify>,
}

impl ToolHandler for Waits {
    fn client_kind(&self) -> ClientKind {
        ClientKind::Worker
    }

    async fn visible(&self) -> Vec<&'static ToolInfo> {
        visible(Role::Worker { spawning: Spawning::Allowed })
    }

    async fn call(&self, tool: &str, arguments: Value) -> Result<ToolAnswer, ToolRefusal> {
        self.lets.notified().await;
        Reads(WORKER).call(tool, arguments).await
    }
}

/// A call that is held sends progress to a client that requested it, so that it does not give up.
#[tokio::test]
async fn a_held_call_reports_progress() {
    let (ours, theirs) = tokio::io::duplex(64 * 1_024);
    let lets = std::sync::Arc::new(tokio::sync::Notify::new());
    let (reader, writer) = tokio::io::split(ours);
    tokio::spawn(serve(Waits { lets: lets.clone() }, reader, writer));
    let (reader, mut writer) = tokio::io::split(theirs);
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}}});
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
        "name": "a2a_await_subtasks", "arguments": {}, "_meta": {"progressToken": "p1"}}});
    for message in [hello, ready, call] {
        writer.write_all(format!("{message}\n").as_bytes()).await.expect("a line");
    }
    let mut lines = tokio::io::BufReader::new(reader).lines();
    let mut progress_count = 0;
    while let Some(line) = lines.next_line().await.expect("lines") {
        let message: Value = serde_json::from_str(&line).expect("JSON");
        if message["method"] == "notifications/progress" {
            assert_eq!(message["params"]["progressToken"], "p1", "{message}");
            progress_count += 1;
            lets.notify_one();
        }
        if message["id"] == 2 {
            assert!(message["result"]["content"].is_array(), "{message}");
            break;
        }
    }
    assert!(progress_count > 0, "no progress was reported");
}
