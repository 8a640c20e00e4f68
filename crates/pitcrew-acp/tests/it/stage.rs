//! Agents written in shell: they print and read lines with our frame numbers.

use pitcrew_acp::{Launch, McpServer, OpenError, Profile, Session, SessionEvents, open};
use pitcrew_model::{EffectId, Failure};
use pitcrew_process::{Policy, ShimSpec, agent_environment};
use std::{
    path::{Path, PathBuf},
    time::Duration,
};
use tempfile::TempDir;

/// Longer than anything here takes on a busy machine.
pub const LONG: Duration = Duration::from_mins(1);

/// Opens every session: effect 1 has the numbers 8 to 15.
pub const OPEN: &str = r#"
read -r initialize
echo '{"jsonrpc":"2.0","id":8,"result":{"protocolVersion":1,"agentInfo":{"name":"shelly","version":"1.2"}}}'
read -r new
echo '{"jsonrpc":"2.0","id":9,"result":{"sessionId":"s1"}}'
update() { printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":%s}}\n' "$1"; }
say() { update "{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"$1\"}}"; }
read -r prompt
"#;

/// Ends the first turn: effect 2 has the number 16.
pub const END: &str = r#"
echo '{"jsonrpc":"2.0","id":16,"result":{"stopReason":"end_turn"}}'
read forever
"#;

pub struct Stage {
    pub session: Session,
    pub events: SessionEvents,
    pub home: TempDir,
}

impl Stage {
    /// An agent that opens a session and runs `turn` when it is prompted.
    pub async fn new(turn: &str) -> Self {
        Self::of(turn, Profile::default()).await
    }

    pub async fn of(turn: &str, profile: Profile) -> Self {
        let home = tempfile::tempdir().expect("a folder");
        let script = format!("{OPEN}{turn}");
        let launch = Launch { profile, ..launch(home.path(), &["sh", "-c", &script]) };
        let (session, events) = open(launch).await.expect("a session");
        Self { session, events, home }
    }
}

pub fn launch(home: &Path, agent: &[&str]) -> Launch {
    let cwd = home.join("checkout");
    std::fs::create_dir_all(&cwd).expect("a folder");
    Launch {
        shim: ShimSpec {
            dir: home.join("attempt"),
            socket: home.join("s"),
            argv: agent.iter().map(ToString::to_string).collect(),
            cwd: cwd.clone(),
            env: agent_environment(&[]),
            lease_ms: 10_000,
            policy: Policy::unconfined(),
        },
        program: shim_host(),
        cwd,
        mcp: McpServer {
            name: "pitcrew".into(),
            command: "/nowhere/pitcrew".into(),
            args: vec!["mcp".into()],
            env: vec![("PITCREW_TOKEN".into(), "secret".into())],
            http: None,
        },
        profile: Profile::default(),
        reach: None,
        effect: EffectId(1),
        timeout: LONG,
    }
}

/// The failure to open a session with such an agent.
pub async fn failure(agent: &[&str], timeout: Duration) -> Failure {
    let home = tempfile::tempdir().expect("a folder");
    let error: OpenError = match open(Launch { timeout, ..launch(home.path(), agent) }).await {
        Ok(_) => panic!("it opened"),
        Err(error) => error,
    };
    assert!(home.path().join("attempt/exit.json").exists() || is_missing(&error.failure));
    error.failure
}

fn is_missing(failure: &Failure) -> bool {
    matches!(failure, Failure::AgentMissing { .. })
}

/// Waits for a condition.
pub async fn until(mut holds: impl FnMut() -> bool) {
    pitcrew_testkit::until("the condition", || holds().then_some(())).await;
}

/// The program that cargo built beside the tests.
fn shim_host() -> PathBuf {
    let test = std::env::current_exe().expect("a program");
    let target = test.parent().and_then(Path::parent).expect("target/debug/deps");
    let host = target.join("examples/shim_host");
    assert!(
        host.exists(),
        "run `cargo test -p pitcrew-acp` without --test: it builds {}",
        host.display()
    );
    host
}
