//! `--json` of each command agrees with docs/cli.md.

use crate::support::*;
use pitcrew_testkit::Finished;
use serde_json::Value;
use std::collections::BTreeSet;

const DOCUMENT: &str = include_str!("../../../../docs/cli.md");

/// The keys that the table documents for a command.
fn documented(command: &str) -> BTreeSet<String> {
    let (_, table) = DOCUMENT.split_once("\n## JSON\n").expect("the section");
    let named = format!("`{command}`");
    let row = table.lines().find_map(|it| {
        let (names, shown) = it.strip_prefix("| ")?.split_once(" | ")?;
        names.split(", ").any(|it| it == named).then_some(shown)
    });
    let shown = row.unwrap_or_else(|| panic!("{command} is not in the table"));
    shown.split('`').skip(1).step_by(2).filter(|it| it.starts_with('{')).flat_map(keys).collect()
}

/// The keys of the outermost object in a documented line, which has placeholders instead of values.
fn keys(shown: &str) -> Vec<String> {
    let (mut depth, mut keys) = (0_u32, Vec::new());
    for (index, part) in shown.split('"').enumerate() {
        let is_quoted = index % 2 == 1;
        if is_quoted {
            keys.extend((depth == 1).then(|| part.to_owned()));
            continue;
        }
        // A string without a colon after it is a value.
        if index > 0 && depth == 1 && !part.starts_with(':') {
            keys.pop();
        }
        for sign in part.chars() {
            match sign {
                '{' | '[' => depth += 1,
                '}' | ']' => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
    }
    keys
}

/// The printed keys that are not documented, with their command.
#[track_caller]
fn undocumented(command: &str, printed: &[Value], ran: &Finished) -> BTreeSet<String> {
    let documented = documented(command);
    assert!(!printed.is_empty() && !documented.is_empty(), "{command}: {ran}");
    let objects = printed.iter().map(|it| it.as_object().unwrap_or_else(|| panic!("{ran}")));
    let keys = objects.flat_map(|it| it.keys()).filter(|it| !documented.contains(*it));
    keys.map(|it| format!("{command}: {it}")).collect()
}

#[test]
fn every_printed_key_is_documented() {
    let sandbox = sandbox();
    let plan = sandbox.plan(TWO_COMMANDS);
    sandbox.write("core/lib.rs", "pub struct Lap;\n");
    sandbox.commit("a source");
    let lines = [
        ("run", &["run", &plan, "--yes", "--json"][..]),
        ("logs TASK", &["logs", "task-1", "--json"]),
        ("logs PLAN", &["logs", "plan-1", "--json"]),
        ("audit", &["audit", "--json"]),
    ];
    let mut secret = BTreeSet::new();
    for (command, arguments) in lines {
        let ran = sandbox.pitcrew(arguments).expect(0);
        secret.extend(undocumented(command, &ran.json_lines(), &ran));
    }
    let documents = [
        ("status", &["status", "--json"][..]),
        ("inbox", &["inbox", "--json"]),
        ("messages", &["messages", "--json"]),
        ("query", &["query", "Lap", "--json"]),
        ("symbols", &["symbols", "core/lib.rs", "--json"]),
        ("diff TASK", &["diff", "task-1", "--json"]),
        ("diff PLAN", &["diff", "plan-1", "--json"]),
        ("path", &["path", "task-1", "--json"]),
        ("restore --list", &["restore", "task-1", "--list", "--json"]),
        ("restore", &["restore", "task-1", "--json"]),
        ("plan check", &["plan", "check", &plan, "--json"]),
        ("plan show", &["plan", "show", &plan, "--json"]),
        ("permissions", &["permissions", "--json"]),
        ("export", &["export", "plan-1", "--format", "json"]),
        ("config show", &["config", "show", "--json"]),
        ("backends", &["backends", "--json"]),
        ("doctor", &["doctor", "--json"]),
        ("init", &["init", "--json"]),
        ("pause", &["abandon", "plan-1", "--yes", "--json"]),
        ("land", &["land", "plan-1", "--yes", "--json"]),
        ("gc", &["gc", "--json"]),
        ("stop", &["stop", "--json"]),
    ];
    for (command, arguments) in documents {
        let ran = sandbox.pitcrew(arguments).expect(0);
        secret.extend(undocumented(command, &[ran.json()], &ran));
    }
    assert!(secret.is_empty(), "{secret:#?}");
}
