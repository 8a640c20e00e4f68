//! Notifications: channels, settings, and what they say.

use crate::support::*;
use pitcrew_testkit::{Sandbox, eventually};
use serde_json::Value;
use std::{
    fs,
    io::{Read, Write},
    net::TcpListener,
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    sync::{Arc, Mutex},
    thread,
};

/// Collects the bodies of requests, and answers each with this status.
struct Hook {
    port: u16,
    bodies: Arc<Mutex<Vec<Value>>>,
}

impl Hook {
    fn start(status: &'static str) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let bodies: Arc<Mutex<Vec<Value>>> = Arc::default();
        let seen = bodies.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                let mut bytes = Vec::new();
                let mut piece = [0; 4_096];
                let body = loop {
                    let count = stream.read(&mut piece).unwrap_or(0);
                    bytes.extend_from_slice(&piece[..count]);
                    let text = String::from_utf8_lossy(&bytes);
                    let body = text.split_once("\r\n\r\n").map(|it| it.1);
                    if let Some(body) = body.and_then(|it| serde_json::from_str(it).ok()) {
                        break body;
                    }
                    if count == 0 {
                        break Value::Null;
                    }
                };
                seen.lock().expect("no panic").push(body);
                let answer =
                    format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
                stream.write_all(answer.as_bytes()).ok();
            }
        });
        Self { port, bodies }
    }

    fn bodies(&self) -> Vec<Value> {
        self.bodies.lock().expect("no panic").clone()
    }
}

fn settings(sandbox: &Sandbox, text: &str) {
    let folder = sandbox.home().join(".config/pitcrew");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("config.toml"), text).expect("a file");
}

fn program(sandbox: &Sandbox, name: &str, text: &str) -> PathBuf {
    let folder = sandbox.root().join("programs");
    fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join(name);
    fs::write(&path, text).expect("a program");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("its mode");
    path
}

const RECORDER: &str = "#!/bin/sh\necho \"$1 $PITCREW_NOTIFY_KIND|$PITCREW_NOTIFY_TITLE|$PITCREW_NOTIFY_WORKSPACE|$PITCREW_NOTIFY_PLAN|$PITCREW_NOTIFY_REQUEST|$PITCREW_NOTIFY_COUNT\" >> \"$HOME/notified\"\n";

fn notified(sandbox: &Sandbox) -> Vec<String> {
    let text = fs::read_to_string(sandbox.home().join("notified")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// What waits, what ended and what failed reaches the command and the webhook, once: not again after
/// a restart.
#[test]
fn a_person_is_notified_of_what_waits_ends_and_fails() {
    let sandbox = sandbox();
    let hook = Hook::start("204 No Content");
    let recorder = program(&sandbox, "recorder", RECORDER);
    settings(
        &sandbox,
        &format!(
            "[notify]\ncommand = [{recorder:?}, \"told\"]\nwebhook = \"http://127.0.0.1:{}/secret-path\"\nfailed = [\"command\"]\n",
            hook.port
        ),
    );
    sandbox.pitcrew(&["run", &sandbox.plan(TWO_COMMANDS)]).expect(3);
    eventually("the approval is notified", || (!notified(&sandbox).is_empty()).then_some(()));
    assert_eq!(
        notified(&sandbox),
        ["told waiting|plan-1 tidy up waits for your approval (request-1)|repo|plan-1|request-1|1"]
    );
    sandbox.pitcrew(&["approve", "request-1"]).expect(0);
    eventually("the end is notified", || (notified(&sandbox).len() == 2).then_some(()));
    assert_eq!(notified(&sandbox)[1], "told ended|plan-1 tidy up is completed|repo|plan-1||1");
    eventually("the webhook got both", || (hook.bodies().len() == 2).then_some(()));
    let first = &hook.bodies()[0];
    assert_eq!((&first["version"], &first["kind"]), (&1.into(), &"waiting".into()), "{first}");
    assert_eq!(first["items"][0]["request"], "request-1", "{first}");
    // Another orchestrator starts from where the journal ends.
    sandbox.pitcrew(&["stop"]).expect(0);
    sandbox.pitcrew(&["run", &sandbox.plan(&fallible(&sandbox)), "--yes"]).expect(5);
    eventually("the failure is notified", || (notified(&sandbox).len() == 3).then_some(()));
    assert_eq!(notified(&sandbox)[2], "told failed|plan-2 fallible is failed|repo|plan-2||1");
    assert_eq!(hook.bodies().len(), 2, "the webhook is not for failures");
    let logs = fs::read_dir(sandbox.states()[0].join("logs")).expect("logs");
    let log: String =
        logs.map(|it| fs::read_to_string(it.expect("a log").path()).expect("text")).collect();
    assert!(log.contains("webhook: the server answered 204"), "{log}");
    assert!(!log.contains("secret-path"), "{log}");
}

#[test]
fn only_the_user_sets_notifications() {
    let sandbox = sandbox();
    for file in [".pitcrew/config.toml", ".pitcrew/config.local.toml"] {
        sandbox.write(file, "[notify]\ncommand = [\"/bin/true\"]\n");
        let refused = sandbox.pitcrew(&["config", "show"]).expect(2);
        refused.notes(file).notes("only your own settings can set `notify`");
        fs::remove_file(sandbox.repo().join(file)).expect("it was written");
    }
    for (wrong, says) in [
        ("webhook = \"http://example.com/x\"", "not an https URL"),
        ("command = [\"./hook\"]", "relative path"),
        ("command = []", "`command` is empty"),
        ("waiting = [\"mail\"]", "`waiting` cannot contain `mail`"),
        ("bell = \"yes\"", "`bell` must be true or false"),
        ("dektop = true", "did you mean `desktop`?"),
    ] {
        settings(&sandbox, &format!("[notify]\n{wrong}\n"));
        sandbox.pitcrew(&["config", "show"]).expect(2).notes("config.toml:2").notes(says);
    }
    settings(
        &sandbox,
        "[notify]\nwebhook = \"https://hooks.example.com/T0/B0/key\"\nbell = true\n",
    );
    let shown = sandbox.pitcrew(&["config", "show"]).expect(0);
    let shown = shown.says("https://hooks.example.com/...").says("notify.bell");
    assert!(!shown.stdout.contains("T0"), "{shown}");
}

#[test]
fn every_channel_is_tried_and_reported() {
    let mut sandbox = sandbox();
    sandbox
        .pitcrew(&["notify", "test"])
        .expect(2)
        .notes("no notification is set up")
        .notes("[notify]");
    let hook = Hook::start("410 Gone");
    let sender = program(&sandbox, "notify-send", "#!/bin/sh\necho \"$@\" > \"$HOME/sent\"\n");
    let failing = program(&sandbox, "failing", "#!/bin/sh\necho nobody is here >&2\nexit 3\n");
    sandbox.prepend_to_path(sender.parent().expect("a folder"));
    settings(
        &sandbox,
        &format!(
            "[notify]\nbell = true\ndesktop = true\nwebhook = \"http://127.0.0.1:{}/x\"\ncommand = [{failing:?}]\n",
            hook.port
        ),
    );
    let tried = sandbox.pitcrew(&["notify", "test"]).expect(1);
    tried
        .says("bad bell: standard error is not a terminal")
        .says("ok desktop: ran `notify-send`")
        .says("bad webhook http://127.0.0.1: the server answered 410");
    let tried = sandbox.pitcrew(&["notify", "test", "--json"]).expect(1);
    let lines = tried.json_lines();
    assert_eq!(lines.len(), 4, "{lines:?}");
    let command = lines.iter().find(|it| it["channel"] == "command").expect("a line");
    assert!(text(&command["text"]).contains("exited with code 3: nobody is here"), "{command}");
    let sent = fs::read_to_string(sandbox.home().join("sent")).expect("it was sent");
    assert!(sent.contains("--app-name=Pitcrew") && sent.contains("a test notification"), "{sent}");
    assert_eq!(hook.bodies()[0]["workspace"], "repo");
}

#[test]
fn the_bell_rings_in_the_terminal() {
    let sandbox = sandbox();
    settings(&sandbox, "[notify]\nbell = true\nwaiting = []\n");
    let mut terminal = sandbox.at_terminal(&["run", &sandbox.plan(TWO_COMMANDS), "--yes"]);
    terminal.await_text("\x07");
    assert_eq!(terminal.wait(), Some(0), "{}", terminal.text());
    assert_eq!(terminal.text().matches('\x07').count(), 1, "only the end rings");
}
