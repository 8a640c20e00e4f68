//! Opening a session, successfully and not.

use crate::stage::{END, LONG, Stage, failure, launch, until};
use pitcrew_acp::open;
use pitcrew_model::{EffectId, Failure};
use serde_json::Value;
use std::time::Duration;

#[tokio::test]
async fn a_missing_program_is_reported() {
    let Failure::AgentMissing { program, message } = failure(&["no-such-agent"], LONG).await else {
        panic!("another failure");
    };
    assert_eq!(program, "no-such-agent");
    assert!(message.contains("not found"), "{message}");
}

#[tokio::test]
async fn an_immediate_exit_is_reported_with_the_last_output() {
    let agent = ["sh", "-c", "echo 'no \u{1b}[31mlicence' >&2; exit 3"];
    let Failure::AgentExited { exit, output } = failure(&agent, LONG).await else {
        panic!("another failure");
    };
    assert_eq!((exit.as_str(), output.trim_end()), ("exit code 3", "no licence"));
}

#[tokio::test]
async fn an_agent_that_prints_garbage_is_given_up() {
    let Failure::Protocol { message } = failure(&["sh", "-c", "yes rubbish"], LONG).await else {
        panic!("another failure");
    };
    assert!(message.contains("more than 100 lines") && message.contains("rubbish"), "{message}");
}

#[tokio::test]
async fn an_agent_that_never_answers_is_given_up() {
    let agent = ["sh", "-c", "trap '' TERM; while :; do read line || sleep 1; done"];
    let failure = failure(&agent, Duration::from_millis(300)).await;
    assert_eq!(failure, protocol("no answer to `initialize` within 300 ms"));
}

#[tokio::test]
async fn a_rejection_or_another_protocol_version_is_reported() {
    let answers = [
        (
            r#"{"id":8,"result":{"protocolVersion":2}}"#,
            "the agent uses protocol version 2; only version 1 is supported",
        ),
        (
            r#"{"id":8,"error":{"code":-32603,"message":"not today"}}"#,
            "`initialize` failed: not today (code -32603)",
        ),
        (
            r#"{"id":8,"result":{}}"#,
            "the answer to `initialize` is invalid: missing field `protocolVersion`",
        ),
    ];
    for (answer, message) in answers {
        let script = format!("read line; echo '{answer}'; read line");
        assert_eq!(failure(&["sh", "-c", &script], LONG).await, protocol(message));
    }
}

#[tokio::test]
async fn an_oversized_session_id_is_rejected() {
    let opening = |length: usize| {
        format!(
            r#"read line; echo '{{"id":8,"result":{{"protocolVersion":1}}}}'
read line; printf '{{"id":9,"result":{{"sessionId":"%0{length}d"}}}}\n' 0; read line"#
        )
    };
    let message = "the session id has 1025 bytes; at most 1024 are accepted";
    assert_eq!(failure(&["sh", "-c", &opening(1_025)], LONG).await, protocol(message));
    let home = tempfile::tempdir().expect("a folder");
    let opened = open(launch(home.path(), &["sh", "-c", &opening(1_024)])).await;
    let (session, _events) = opened.expect("a session");
    assert_eq!(session.id().len(), 1_024);
    session.stop(Duration::from_millis(100)).await;
}

#[tokio::test]
async fn an_invalid_answer_is_not_quoted_in_full() {
    let script =
        r#"read line; printf '{"id":8,"result":{"protocolVersion":["%0100000d"]}}\n' 0; read line"#;
    let Failure::Protocol { message } = failure(&["sh", "-c", script], LONG).await else {
        panic!("another failure");
    };
    assert!(message.contains("is invalid") && message.len() < 1_200, "{message}");
}

fn protocol(message: &str) -> Failure {
    Failure::Protocol { message: message.into() }
}

/// What the agent gets: no file access or terminal of ours, and one MCP server.
#[tokio::test]
async fn the_session_has_the_checkout_and_the_mcp_server() {
    let keep = r#"printf '%s\n%s\n%s\n' "$initialize" "$new" "$prompt" > frames"#;
    let stage = Stage::new(&format!("{keep}{END}")).await;
    assert_eq!((stage.session.agent_name(), stage.session.id()), ("shelly 1.2", "s1"));
    stage.session.prompt(EffectId(2), "two\nlines").await.expect("a turn");
    let cwd = stage.home.path().join("checkout");
    let frames = std::fs::read_to_string(cwd.join("frames")).expect("frames");
    let frames: Vec<Value> =
        frames.lines().map(|it| serde_json::from_str(it).expect("JSON")).collect();
    assert_eq!(
        (&frames[0]["id"], &frames[1]["id"], &frames[2]["id"]),
        (&8.into(), &9.into(), &16.into())
    );
    assert_eq!(frames[0]["params"]["protocolVersion"], 1);
    let capabilities = &frames[0]["params"]["clientCapabilities"];
    assert_eq!(
        (&capabilities["fs"]["readTextFile"], &capabilities["terminal"]),
        (&false.into(), &false.into())
    );
    assert_eq!(frames[1]["params"]["cwd"], cwd.display().to_string());
    let mcp = &frames[1]["params"]["mcpServers"][0];
    assert_eq!((&mcp["command"], &mcp["args"][0]), (&"/nowhere/pitcrew".into(), &"mcp".into()));
    assert_eq!(mcp["env"][0]["name"], "PITCREW_TOKEN");
    assert_eq!(frames[2]["params"]["prompt"][0]["text"], "two\nlines");
    stage.session.stop(Duration::from_millis(100)).await;
}

#[tokio::test]
async fn a_cancelled_opening_leaves_no_agent_behind() {
    let home = tempfile::tempdir().expect("a folder");
    let mut launch = launch(home.path(), &["sh", "-c", "echo started >&2; read line; read line"]);
    launch.shim.lease_ms = 0;
    let stderr = home.path().join("attempt/stderr.log");
    tokio::select! {
        _ = open(launch) => panic!("it opened"),
        () = until(|| std::fs::read_to_string(&stderr).is_ok_and(|it| it.contains("started"))) => {}
    }
    until(|| home.path().join("attempt/exit.json").exists()).await;
}

#[tokio::test]
async fn the_same_attempt_is_not_started_twice() {
    let stage = Stage::new(END).await;
    let again = open(launch(stage.home.path(), &["sh", "-c", "read line"])).await;
    let Err(error) = again else { panic!("it opened") };
    assert!(error.to_string().contains("another shim already runs"), "{error}");
    stage.session.stop(Duration::from_millis(100)).await;
}

/// An agent that closes its session and takes time to exit.
const CLOSES: &str = r#"trap ': > asked; exit 0' TERM
read line; echo '{"id":8,"result":{"protocolVersion":1,"agentCapabilities":{"sessionCapabilities":{"close":{}}}}}'
read line; echo '{"id":9,"result":{"sessionId":"s1"}}'
read line; : > closed; echo '{"id":10,"result":{}}'
while :; do sleep 0.1; done"#;

#[tokio::test]
async fn dismiss_closes_the_session_only_and_discard_kills_at_once() {
    for (way, is_closed, is_asked) in
        [("stop", true, true), ("dismiss", true, false), ("discard", false, false)]
    {
        let home = tempfile::tempdir().expect("a folder");
        let opened = open(launch(home.path(), &["sh", "-c", CLOSES])).await;
        let (session, _events) = opened.expect("a session");
        let ended = match way {
            "stop" => session.stop(LONG).await,
            "dismiss" => session.dismiss(LONG).await,
            _ => session.discard(LONG).await,
        };
        let expected = if is_asked { (Some(0), None) } else { (None, Some(9)) };
        assert_eq!((ended.code, ended.signal), expected, "{way}");
        let left = ["closed", "asked"].map(|it| home.path().join("checkout").join(it).exists());
        assert_eq!(left, [is_closed, is_asked], "{way}");
    }
}

/// An agent that stays in a turn until it is cancelled.
const WORKS: &str = r#"read line; echo '{"id":8,"result":{"protocolVersion":1,"agentCapabilities":{"sessionCapabilities":{"close":{}}}}}'
read line; echo '{"id":9,"result":{"sessionId":"s1"}}'
read line; : > works
read line; : > cancelled
read line; echo '{"id":10,"result":{}}'
while :; do sleep 0.1; done"#;

#[tokio::test]
async fn discard_lets_an_open_turn_end() {
    let home = tempfile::tempdir().expect("a folder");
    let opened = open(launch(home.path(), &["sh", "-c", WORKS])).await;
    let (session, _events) = opened.expect("a session");
    let file = |name: &str| home.path().join("checkout").join(name);
    let turn = session.prompt(EffectId(2), "work");
    let thrown_away = async {
        until(|| file("works").exists()).await;
        session.discard(LONG).await
    };
    let (turn, ended) = tokio::join!(turn, thrown_away);
    assert!(turn.is_err(), "it ended with its agent");
    assert_eq!(ended.signal, Some(9));
    assert!(file("cancelled").exists());
}
