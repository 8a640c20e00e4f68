//! Sources that try to harm their parser. Only a helper process parses them.

use crate::support::{await_task, open_gate, sandbox};
use pitcrew_runtime::Parsers;
use pitcrew_symbols::{FileSymbols, Language, Parser, Request, Skipped};
use pitcrew_testkit::{Process, Sandbox, eventually};
use rustix::process::Signal;
use serde_json::Value;
use std::{fs, path::Path, thread};

/// 50 kB each. Some of these take gigabytes of memory.
const DEEP: &[&str] = &["Deep.java", "Deep.cs", "deep.cpp", "deep.ts", "deep.kt", "Deep.swift"];
/// This source has no nesting, but its 12 kB take more than a gigabyte of memory.
const GREEDY: &str = "Greedy.java";

const MB: u64 = 1 << 20;

fn with_hostile_sources() -> Sandbox {
    let sandbox = sandbox();
    sandbox.write("core/auth.rs", "pub struct AuthValidator {\n    pub token: String,\n}\n");
    for name in DEEP {
        sandbox.write(&format!("core/{name}"), &"a<".repeat(25_000));
    }
    sandbox.write(&format!("core/{GREEDY}"), &greedy());
    sandbox.commit("sources");
    sandbox
}

fn greedy() -> String {
    "a=>".repeat(4_000)
}

#[test]
fn hostile_source_is_skipped_and_others_are_indexed() {
    let sandbox = with_hostile_sources();
    sandbox.pitcrew(&["query", "AuthValidator"]).expect(0).says("core/auth.rs:1-3");
    let deep = "core/Deep.java: its brackets are nested too deeply";
    sandbox.pitcrew(&["query", "Nowhere"]).expect(1).notes(deep);
    let json = sandbox.pitcrew(&["query", "Nowhere", "--json"]).expect(1);
    let json: Value = serde_json::from_str(&json.stdout).expect("a document");
    let skipped = json["skipped"].as_array().expect("a list");
    let why = |name: &str| {
        let path = format!("core/{name}");
        skipped.iter().find(|it| it["path"] == *path).map(|it| it["reason"].clone())
    };
    for name in DEEP {
        assert_eq!(why(name), Some("too_deep".into()), "{name}: {json:#}");
    }
    let greedy = why(GREEDY).unwrap_or_default();
    assert!(greedy == "too_much_memory" || greedy == "too_slow", "{json:#}");
    assert_eq!(skipped.len(), DEEP.len() + 1, "{json:#}");
    let outline = sandbox.pitcrew(&["symbols", "core/Deep.cs"]).expect(0);
    outline.says("it is not indexed: its brackets are nested too deeply");
}

#[test]
fn orchestrator_memory_stays_small_for_any_query() {
    let sandbox = with_hostile_sources();
    let gate = sandbox.root().join("gate");
    let plan = sandbox.plan(&format!(
        r#"
name = "ask"

[[task]]
id = "ui"
region = "ui"
script = """
tool a2a_query {{"symbol": "AuthValidator", "context": "import {hostile};"}}
expect struct AuthValidator (core/auth.rs:1-3)
tool a2a_query {{"symbol": "core/{GREEDY}"}}
expect it is not indexed
tool a2a_query {{"symbol": "Nowhere"}}
expect Not indexed: core/Deep.java: its brackets are nested too deeply
save ui/answer.txt
run until [ -e '{gate}' ]; do sleep 0.02; done
complete asked
"""
checks = "grep -q 'not found' ui/answer.txt"
"#,
        hostile = "a<".repeat(6_000),
        gate = gate.display(),
    ));
    sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
    eventually("the agent has its answers", || {
        let asked = sandbox.pitcrew(&["logs", "ui"]).expect(0);
        asked.stdout.contains("query-3 not found").then_some(())
    });
    let (_, process) = sandbox.orchestrator().expect("it runs");
    let peak = bytes_of(process.pid.unsigned_abs(), "VmHWM:");
    open_gate(&sandbox);
    await_task(&sandbox, "ui", "completed");
    assert!(peak < 400 * MB, "{} MB", peak / MB);
}

fn status_of(pid: u32, name: &str) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text.lines().find_map(|it| it.strip_prefix(name))?;
    Some(line.trim().to_owned())
}

fn bytes_of(pid: u32, name: &str) -> u64 {
    let line = status_of(pid, name).unwrap_or_default();
    line.trim_end_matches(" kB").parse::<u64>().map_or(0, |it| it * 1_024)
}

/// The helper processes of this process.
fn helpers() -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|it| it.file_name().to_str()?.parse().ok());
    let ours = std::process::id().to_string();
    pids.filter(|pid| {
        let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        words.ends_with(b"\0parser\0") && status_of(*pid, "PPid:").as_ref() == Some(&ours)
    })
    .collect()
}

fn parse(parsers: &Parsers, language: Language, text: &str) -> FileSymbols {
    parsers.parse(&Request::File { language, content: text.as_bytes() }).into()
}

/// Parses a slow source, and kills the helper this many times while it works.
fn parse_killing(parsers: &Parsers, times: usize) -> FileSymbols {
    let long = "pub struct Gate { key: [u8; 4], other: Option<String> }\n".repeat(20_000);
    thread::scope(|scope| {
        let parsing = scope.spawn(|| parse(parsers, Language::Rust, &long));
        for _ in 0..times {
            let busy = eventually("a helper is in the middle of its work", || {
                helpers().into_iter().find(|pid| bytes_of(*pid, "VmRSS:") > 25 * MB)
            });
            let helper = Process::of(busy).expect("it works");
            helper.signal(Signal::KILL);
            eventually("it is gone", || (!helpers().contains(&busy)).then_some(()));
        }
        parsing.join().expect("it does not panic")
    })
}

#[test]
fn helper_is_confined_and_its_end_affects_no_other() {
    let parsers = Parsers::new(Path::new(env!("CARGO_BIN_EXE_pitcrew")));
    assert!(helpers().is_empty(), "nothing is to be parsed yet");
    let small = "pub fn gate() {}\n";
    assert_eq!(parse(&parsers, Language::Rust, small).symbols.len(), 1);
    let first = helpers();
    assert_eq!(first.len(), 1, "{first:?}");
    assert_eq!(status_of(first[0], "Seccomp:").as_deref(), Some("2"));
    assert_eq!(status_of(first[0], "NoNewPrivs:").as_deref(), Some("1"));
    assert_eq!(status_of(first[0], "CapEff:").as_deref(), Some("0000000000000000"));

    // If a source kills its helper, this is recorded and does not affect the next source.
    let skipped = parse(&parsers, Language::Java, &greedy()).skipped;
    assert!(matches!(skipped, Some(Skipped::TooMuchMemory | Skipped::TooSlow)), "{skipped:?}");
    assert_eq!(parse(&parsers, Language::Rust, small).symbols.len(), 1);

    // If something else kills the helper, the source is tried again once.
    assert_eq!(parse_killing(&parsers, 1).symbols.len(), 20_000);
    assert_eq!(parse_killing(&parsers, 2).skipped, Some(Skipped::Killed));
    assert_eq!(parse(&parsers, Language::Rust, small).symbols.len(), 1);
    drop(parsers);
    assert!(helpers().is_empty(), "they end with their owner");
}
