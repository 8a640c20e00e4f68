//! The permission mode and the model of a session: set once before the first prompt, or not at all.

use crate::stage::{LONG, launch, until};
use pitcrew_acp::{Launch, OpenError, Profile, Session, SessionEvents, open};
use pitcrew_model::Failure;
use std::{fs, path::Path, time::Duration};
use tempfile::TempDir;

/// An agent with two modes and two models, which records the frames it receives.
const CHOOSY: &str = r#"
keep() { read -r frame && printf '%s\n' "$frame" >> frames; }
keep; echo '{"id":8,"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true,"sessionCapabilities":{"resume":{}}}}}'
keep; echo '{"id":9,"result":{"sessionId":"s1","modes":{"currentModeId":"auto","availableModes":[{"id":"auto","name":"Auto"},{"id":"ask","name":"Ask"}]},"configOptions":[{"id":"llm","name":"Model","category":"model","type":"select","currentValue":"big","options":[{"value":"big","name":"Big"},{"value":"small-2","name":"Small"}]}]}}'
"#;

/// Confirms every change.
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

/// The frames after the session was created.
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

/// S4-005: the model of a session, and so of a task, can be chosen.
#[tokio::test]
async fn the_mode_and_the_model_are_set_before_the_first_prompt() {
    let (home, opened) = opened(profile(Some("ask"), Some("small-2"))).await;
    let (session, _events) = opened.expect("a session");
    assert_eq!(
        sent(home.path()),
        ["session/set_mode ask", "session/set_config_option llm=small-2"]
    );
    stop(&session).await;
}

#[tokio::test]
async fn current_settings_are_not_sent_again() {
    let (home, opened) = opened(profile(Some("auto"), Some("big"))).await;
    let (session, _events) = opened.expect("a session");
    assert_eq!(sent(home.path()), Vec::<String>::new());
    stop(&session).await;
}

#[tokio::test]
async fn an_unknown_setting_lists_the_offered_ones() {
    let mode = Failure::AgentMissing {
        program: "sh".into(),
        message: "the agent has no mode `yolo`; its modes: auto, ask".into(),
    };
    let model = Failure::ModelMissing {
        agent: "sh".into(),
        message: "the agent has no model `smaller`; its models: small-2, big".into(),
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
async fn an_agent_that_does_not_change_its_setting_is_rejected() {
    let home = tempfile::tempdir().expect("a folder");
    let refuses = r#"keep; echo '{"id":11,"error":{"code":-32602,"message":"not today"}}'; keep"#;
    let error = open(launched(home.path(), refuses, profile(Some("ask"), None))).await;
    let Err(OpenError { failure: Failure::Protocol { message }, .. }) = error else {
        panic!("another end");
    };
    assert_eq!(message, "`session/set_mode` failed: not today (code -32602)");
    let home = tempfile::tempdir().expect("a folder");
    let keeps = r#"keep; echo '{"id":12,"result":{"configOptions":[{"id":"llm","category":"model","currentValue":"big","options":[]}]}}'; keep"#;
    let error = open(launched(home.path(), keeps, profile(None, Some("small-2")))).await;
    let Err(OpenError { failure: Failure::ModelMissing { message, .. }, .. }) = error else {
        panic!("another end");
    };
    assert_eq!(message, "the agent accepted `small-2` but kept its previous setting");
}

/// After an orchestrator was killed in the middle, the next one sets nothing twice and waits for
/// the open answers.
#[tokio::test]
async fn an_interrupted_start_is_resumed() {
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
async fn a_nameless_agent_gets_the_name_of_its_backend_or_program() {
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
