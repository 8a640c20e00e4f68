//! The permission mode and the model of a session: set before the first prompt, once, or not at all.

use crate::stage::{LONG, launch, until};
use pitcrew_acp::{Launch, OpenError, Profile, Session, SessionEvents, open};
use pitcrew_model::Failure;
use std::{fs, path::Path, time::Duration};
use tempfile::TempDir;

/// An agent with two modes and two models, which keeps the frames that it is sent.
const CHOOSY: &str = r#"
keep() { read -r frame && printf '%s\n' "$frame" >> frames; }
keep; echo '{"id":8,"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true,"sessionCapabilities":{"resume":{}}}}}'
keep; echo '{"id":9,"result":{"sessionId":"s1","modes":{"currentModeId":"auto","availableModes":[{"id":"auto","name":"Auto"},{"id":"ask","name":"Ask"}]},"configOptions":[{"id":"llm","name":"Model","category":"model","type":"select","currentValue":"big","options":[{"value":"big","name":"Big"},{"value":"small-2","name":"Small"}]}]}}'
"#;

/// Answers whatever it is asked to set.
const WILLING: &str = r#"
while keep; do
  case $frame in
  *set_mode*) echo '{"id":11,"result":null}';;
  *set_config_option*) echo '{"id":12,"result":{"configOptions":[]}}';;
  esac
done
"#;

fn profile(mode: Option<&str>, model: Option<&str>) -> Profile {
    Profile { mode: mode.map(Into::into), model: model.map(Into::into), ..Profile::default() }
}

fn launched(home: &Path, rest: &str, profile: Profile) -> Launch {
    Launch { profile, ..launch(home, &["sh", "-c", &format!("{CHOOSY}{rest}")]) }
}

async fn opened(profile: Profile) -> (TempDir, Result<(Session, SessionEvents), OpenError>) {
    let home = tempfile::tempdir().expect("a folder");
    let opened = open(launched(home.path(), WILLING, profile)).await;
    (home, opened)
}

/// What was sent after the session was made.
fn sent(home: &Path) -> Vec<String> {
    let frames = fs::read_to_string(home.join("checkout/frames")).unwrap_or_default();
    let frames = frames.lines().skip(2).map(|it| {
        let frame: serde_json::Value = serde_json::from_str(it).expect("JSON");
        let method = frame["method"].as_str().expect("a method");
        let values = ["modeId", "configId", "value"].map(|it| frame["params"][it].as_str());
        format!("{method} {}", values.into_iter().flatten().collect::<Vec<_>>().join("="))
    });
    frames.collect()
}

async fn stop(session: &Session) {
    session.stop(Duration::from_millis(100)).await;
}

/// S4-005: the model is chosen for a session, and with it for a task.
#[tokio::test]
async fn the_mode_and_the_model_are_set_before_the_session_is_given_out() {
    let (home, opened) = opened(profile(Some("ask"), Some("small-2"))).await;
    let (session, _events) = opened.expect("a session");
    assert_eq!(
        sent(home.path()),
        ["session/set_mode ask", "session/set_config_option llm=small-2"]
    );
    stop(&session).await;
}

#[tokio::test]
async fn nothing_is_sent_to_an_agent_that_is_as_wanted() {
    let (home, opened) = opened(profile(Some("auto"), Some("big"))).await;
    let (session, _events) = opened.expect("a session");
    assert_eq!(sent(home.path()), Vec::<String>::new());
    stop(&session).await;
}

#[tokio::test]
async fn what_the_agent_does_not_offer_is_told_with_what_it_does() {
    let mode = Failure::AgentMissing {
        program: "sh".into(),
        message: "it has no mode `yolo`; its modes: auto, ask".into(),
    };
    let model = Failure::ModelMissing {
        agent: "sh".into(),
        message: "it has no model `smaller`; its models: small-2, big".into(),
    };
    for (profile, failure) in
        [(profile(Some("yolo"), None), mode), (profile(None, Some("smaller")), model)]
    {
        let (home, opened) = opened(profile).await;
        let Err(error) = opened else { panic!("it opened") };
        assert_eq!(error.failure, failure);
        assert!(!error.failure.is_retryable());
        assert!(home.path().join("attempt/exit.json").exists(), "it is gone");
    }
}

#[tokio::test]
async fn an_agent_that_refuses_or_keeps_what_it_had_is_not_worked_with() {
    let home = tempfile::tempdir().expect("a folder");
    let refuses = r#"keep; echo '{"id":11,"error":{"code":-32602,"message":"not today"}}'; keep"#;
    let error = open(launched(home.path(), refuses, profile(Some("ask"), None))).await;
    let Err(OpenError { failure: Failure::Protocol { message }, .. }) = error else {
        panic!("another end");
    };
    assert_eq!(message, "`session/set_mode` was refused: not today (code -32602)");
    let home = tempfile::tempdir().expect("a folder");
    let keeps = r#"keep; echo '{"id":12,"result":{"configOptions":[{"id":"llm","category":"model","currentValue":"big","options":[]}]}}'; keep"#;
    let error = open(launched(home.path(), keeps, profile(None, Some("small-2")))).await;
    let Err(OpenError { failure: Failure::ModelMissing { message, .. }, .. }) = error else {
        panic!("another end");
    };
    assert_eq!(message, "it says that it took `small-2`, and kept what it had");
}

/// Whoever comes after an orchestrator that was killed in the middle does not set anything twice, and
/// waits for what was asked.
#[tokio::test]
async fn a_start_that_broke_off_goes_on_where_it_was() {
    let slow = r#"
keep; until [ -e go ]; do sleep 0.01; done; echo '{"id":11,"result":null}'
keep; echo '{"id":12,"result":{"configOptions":[]}}'
keep
"#;
    let home = tempfile::tempdir().expect("a folder");
    let launched = || launched(home.path(), slow, profile(Some("ask"), Some("small-2")));
    tokio::select! {
        _ = open(launched()) => panic!("it opened"),
        () = until(|| sent(home.path()).len() == 1) => {}
    }
    fs::write(home.path().join("checkout/go"), "").expect("a file");
    let again = tokio::time::timeout(LONG, open(launched())).await.expect("in time");
    let (session, _events) = again.expect("a session");
    let methods: Vec<String> = sent(home.path())
        .iter()
        .map(|it| it.split(' ').next().unwrap_or_default().into())
        .collect();
    assert_eq!(methods, ["session/set_mode", "session/set_config_option"]);
    stop(&session).await;
}

#[tokio::test]
async fn an_agent_without_a_name_is_called_as_its_backend_or_its_program() {
    let (_home, nameless) = opened(Profile::default()).await;
    let (session, _events) = nameless.expect("a session");
    assert_eq!(session.agent_name(), "sh");
    assert!(session.can_load() && session.can_resume());
    stop(&session).await;
    let titled = Profile { title: Some("Choosy".into()), ..Profile::default() };
    let (_home, titled) = opened(titled).await;
    let (session, _events) = titled.expect("a session");
    assert_eq!(session.agent_name(), "Choosy");
    stop(&session).await;
}
