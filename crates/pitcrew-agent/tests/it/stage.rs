//! A session with the built-in agent in its own folder.

use pitcrew_acp::{
    Event, Launch, LineKind, McpServer, OpenError, Profile, Session, SessionEvents, TurnEnd, open,
    transcript,
};
use pitcrew_model::{BuiltinOrder, EffectId, Exit, PermissionOptionKind, StopReason};
use pitcrew_process::{Policy, ShimSpec, SpoolReader, SpoolRecord, agent_environment};
use serde_json::Value;
use std::{
    cell::Cell,
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};
use tempfile::TempDir;

pub struct Stage {
    pub session: Session,
    pub events: SessionEvents,
    pub cwd: PathBuf,
    home: TempDir,
    effect: Cell<u64>,
}

/// Longer than anything here takes on a busy machine.
pub const LONG: Duration = Duration::from_mins(1);

impl Stage {
    pub async fn new() -> Self {
        Self::with_args(&["agent"]).await.expect("a session")
    }

    pub async fn with_args(words: &[&str]) -> Result<Self, OpenError> {
        let home = tempfile::tempdir().expect("a folder");
        let launch = launch(home.path(), words);
        let cwd = launch.cwd.clone();
        let (session, events) = open(launch).await?;
        Ok(Self { session, events, cwd, home, effect: Cell::new(1) })
    }

    /// Runs a turn with a script.
    pub async fn script(&self, script: &str) -> TurnEnd {
        self.order("Do this.", &script_order(script)).await
    }

    pub async fn order(&self, text: &str, order: &BuiltinOrder) -> TurnEnd {
        self.effect.set(self.effect.get() + 1);
        let turn = self.session.prompt_with(EffectId(self.effect.get()), text, order);
        tokio::time::timeout(LONG, turn).await.expect("an end").expect("a turn")
    }

    pub async fn prompt(&self, text: &str) -> TurnEnd {
        self.effect.set(self.effect.get() + 1);
        let turn = self.session.prompt(EffectId(self.effect.get()), text);
        tokio::time::timeout(LONG, turn).await.expect("an end").expect("a turn")
    }

    /// Every tool call, as `tool arguments`, with sorted keys.
    pub fn calls(&self) -> Vec<String> {
        let log = std::fs::read_to_string(self.home.path().join("calls")).unwrap_or_default();
        log.lines()
            .map(|line| {
                let mut call: BTreeMap<String, Value> = serde_json::from_str(line).expect("a call");
                let arguments = call.remove("arguments").expect("arguments");
                let arguments: BTreeMap<String, Value> =
                    serde_json::from_value(arguments).expect("an object");
                let arguments = serde_json::to_string(&arguments).expect("it was JSON");
                format!("{} {arguments}", call["tool"].as_str().expect("a name"))
            })
            .collect()
    }

    pub fn file(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.cwd.join(path)).ok()
    }

    /// The readable conversation, without the prompts.
    pub fn transcript(&self) -> String {
        let spool = self.home.path().join("attempt/spool.ndjson");
        let lines = transcript(&spool, 0).expect("a transcript");
        let lines = lines.iter().filter(|it| it.kind != LineKind::Prompt);
        let lines: Vec<String> = lines.map(|it| format!("{:?}: {}\n", it.kind, it.text)).collect();
        lines.concat()
    }

    /// Every frame that the agent wrote, in order.
    pub fn frames(&self) -> Vec<Value> {
        let mut spool =
            SpoolReader::open(&self.home.path().join("attempt/spool.ndjson")).expect("a spool");
        let mut frames = Vec::new();
        while let Some(record) = spool.read().expect("records") {
            let SpoolRecord::Output { line, .. } = record else { continue };
            frames.push(serde_json::from_str(&line).expect("a frame"));
        }
        frames
    }

    /// The agent's updates of this kind.
    pub fn updates(&self, kind: &str) -> Vec<Value> {
        let updates = self.frames().into_iter().map(|it| it["params"]["update"].clone());
        updates.filter(|it| it["sessionUpdate"] == kind).collect()
    }

    /// The output of running commands that was reported so far, in order.
    pub fn output_so_far(&self) -> Vec<String> {
        let updates = self.updates("tool_call_update").into_iter();
        let texts = updates
            .filter(|it| it["status"].is_null())
            .map(|it| it["content"][0]["content"]["text"].as_str().expect("a text").to_owned());
        texts.collect()
    }

    /// Runs a turn, and allows or denies every permission request. Also returns the requests.
    pub async fn prompt_with(
        &mut self,
        text: &str,
        verdict: PermissionOptionKind,
    ) -> (TurnEnd, Vec<String>) {
        self.effect.set(self.effect.get() + 1);
        let session = self.session.clone();
        let turn = session.prompt(EffectId(self.effect.get()), text);
        let mut turn = std::pin::pin!(tokio::time::timeout(LONG, turn));
        let mut asked = Vec::new();
        loop {
            tokio::select! {
                end = &mut turn => return (end.expect("an end").expect("a turn"), asked),
                event = self.events.next() => {
                    let Some(Event::Permission { call, tool, options }) = event else { continue };
                    asked.push(tool.command.expect("a command"));
                    let option = options.iter().find(|it| it.kind == verdict).expect("it");
                    session.answer_permission(&call, Some(&option.id)).await;
                }
            }
        }
    }

    pub async fn next_event(&mut self) -> Event {
        let next = tokio::time::timeout(LONG, self.events.next()).await;
        next.expect("an event in time").expect("an event")
    }

    /// Waits until the agent has reported this activity.
    pub async fn activity(&mut self, wanted: &str) {
        loop {
            match self.next_event().await {
                Event::Activity { note } if note.contains(wanted) => return,
                Event::Activity { .. }
                | Event::Permission { .. }
                | Event::Usage(_)
                | Event::Blocked { .. } => {}
                Event::Exited(exit) => panic!("the agent exited: {exit}"),
            }
        }
    }

    pub async fn stop(&self) -> Exit {
        self.session.stop(Duration::from_secs(2)).await
    }
}

pub fn script_order(script: &str) -> BuiltinOrder {
    BuiltinOrder::Script { script: script.into() }
}

pub fn command_order(command: &str) -> BuiltinOrder {
    BuiltinOrder::Command { command: command.into() }
}

/// The start parameters of the agent in a home.
pub fn launch(home: &Path, words: &[&str]) -> Launch {
    let cast = cast();
    let cwd = home.join("checkout");
    std::fs::create_dir_all(&cwd).expect("a folder");
    let mut argv = vec![cast.display().to_string()];
    argv.extend(words.iter().map(ToString::to_string));
    let home_variable = ("HOME".to_owned(), home.display().to_string());
    Launch {
        shim: ShimSpec {
            dir: home.join("attempt"),
            socket: home.join("s"),
            argv,
            cwd: cwd.clone(),
            env: agent_environment(&[home_variable, ("GIVEN".into(), "to the agent".into())]),
            lease_ms: 60_000,
            policy: Policy::unconfined(),
        },
        program: cast.clone(),
        cwd,
        mcp: McpServer {
            name: "pitcrew".into(),
            command: cast,
            args: vec!["mcp".into(), home.join("calls").display().to_string()],
            env: Vec::new(),
            http: None,
        },
        profile: Profile::default(),
        reach: None,
        effect: EffectId(1),
        timeout: LONG,
    }
}

#[track_caller]
pub fn assert_ended(end: &TurnEnd) {
    assert_eq!(end.stop, StopReason::EndTurn, "{end:?}");
}

/// Waits for a condition.
pub async fn until(mut holds: impl FnMut() -> bool) {
    pitcrew_testkit::until("the condition", || holds().then_some(())).await;
}

/// The program that cargo built beside the tests.
pub fn cast() -> PathBuf {
    let test = std::env::current_exe().expect("a program");
    let target = test.parent().and_then(Path::parent).expect("target/debug/deps");
    let cast = target.join("examples/cast");
    assert!(
        cast.exists(),
        "run `cargo test -p pitcrew-agent` without --test: it builds {}",
        cast.display()
    );
    cast
}
