//! Agents that start but do not follow the protocol.

use crate::support::*;
use pitcrew_model::Failure;

const STEPS: &str = "write core/a.txt <<END\na\nEND\ncomplete it\n";

#[test]
fn agent_that_prints_garbage_fails() {
    let sandbox = sandbox();
    backend(&sandbox, "garbage", &["sh", "-c", "while :; do echo 'Loading model...'; done"]);
    let failure = failure_beside_a_sibling(&sandbox, "agent = \"garbage\"\nprompt = \"Do it.\"");
    assert!(matches!(failure, Failure::Protocol { .. }), "{failure:?}");
}

#[test]
fn few_lines_before_the_protocol_are_ignored() {
    let sandbox = sandbox();
    let agent = agent_with(&sandbox, STEPS);
    let chatter = format!("echo Loading; echo '{{\"not\": \"ours\"}}'; exec {agent}");
    backend(&sandbox, "chatty", &["sh", "-c", &chatter]);
    assert_completes_beside_a_sibling(&sandbox, "agent = \"chatty\"\nprompt = \"Do it.\"");
}

/// A frame has a maximum length: a longer one is dropped, and the next one is read.
#[test]
fn too_long_line_is_ignored() {
    let sandbox = sandbox();
    let agent = agent_with(&sandbox, STEPS);
    let flood = format!("head -c 17000000 /dev/zero | tr '\\\\0' x; echo; exec {agent}");
    backend(&sandbox, "flood", &["sh", "-c", &flood]);
    assert_completes_beside_a_sibling(&sandbox, "agent = \"flood\"\nprompt = \"Do it.\"");
}

#[test]
fn command_with_flooded_output_completes() {
    let sandbox = sandbox();
    let task = "command = \"yes all work and no play | head -c 20000000; echo 1 > core/a.txt\"";
    assert_completes_beside_a_sibling(&sandbox, task);
}

/// Standard error is kept up to a limit.
#[test]
fn agent_with_flooded_stderr_completes() {
    let sandbox = sandbox();
    let agent = agent_with(&sandbox, STEPS);
    let flood = format!("yes blah | head -c 30000000 >&2; exec {agent}");
    backend(&sandbox, "noisy", &["sh", "-c", &flood]);
    assert_completes_beside_a_sibling(&sandbox, "agent = \"noisy\"\nprompt = \"Do it.\"");
    let state = sandbox.home().join(".local/state/pitcrew/workspaces");
    let mut folders = vec![state];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
            let about = entry.metadata().expect("it is there");
            if about.is_dir() {
                folders.push(entry.path());
            }
            assert!(about.len() < 20_000_000, "{} is large", entry.path().display());
        }
    }
}

/// An error response fails the attempt with the agent's message.
#[test]
fn refused_session_fails_only_its_task() {
    let sandbox = sandbox();
    let refuse = r#"while read -r line; do id=$(printf '%s' "$line" | sed 's/.*"id":\([^,}]*\).*/\1/'); printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"please log in first"}}\n' "$id"; done"#;
    backend(&sandbox, "closed", &["sh", "-c", refuse]);
    let failure = failure_beside_a_sibling(&sandbox, "agent = \"closed\"\nprompt = \"Do it.\"");
    let Failure::Auth { message } = &failure else { panic!("{failure:?}") };
    assert!(message.contains("please log in first"), "{message}");
}

/// S1-064: one reminder, then a failed result; it never waits forever.
#[test]
fn agent_without_completion_is_reminded_once() {
    let sandbox = sandbox();
    let failure = failure_beside_a_sibling(&sandbox, &script("say I am done, more or less"));
    assert_eq!(failure, Failure::NoCompletion);
    let board = board(&sandbox);
    assert_eq!(task_of(&board, "faulty").attempts[0].turns_count, 2);
}

/// S1-026: an agent that cannot start MCP servers has the same tools on its command line.
#[test]
fn agent_completes_from_its_command_line() {
    let sandbox = sandbox();
    let steps = r#"write core/a.txt <<END
a
END
run pitcrew tool orchestrator_complete_task --json '{"summary": "from the shell"}'
say bye"#;
    assert_completes_beside_a_sibling(&sandbox, &script(steps));
    let board = board(&sandbox);
    let attempt = &task_of(&board, "faulty").attempts[0];
    assert_eq!(attempt.summary.as_deref(), Some("from the shell"));
    assert_eq!(attempt.turns_count, 1);
}

#[test]
fn task_completed_twice_is_integrated_once() {
    let sandbox = sandbox();
    let steps = r#"write core/a.txt <<END
a
END
run pitcrew tool orchestrator_complete_task --json '{"summary": "first"}'
run pitcrew tool orchestrator_complete_task --json '{"summary": "first"}'
complete second"#;
    assert_completes_beside_a_sibling(&sandbox, &script(steps));
    assert_eq!(integrations(&events(&sandbox, "plan-1")).len(), 2);
}

/// A token expires with its attempt.
#[test]
fn token_is_invalid_after_its_attempt() {
    let mut sandbox = sandbox();
    let steps = "run env | grep ^PITCREW_ > core/env.txt\ncomplete it";
    assert_completes_beside_a_sibling(&sandbox, &script(steps));
    let environment = std::fs::read_to_string(checkout(&sandbox, "faulty").join("core/env.txt"));
    for line in environment.expect("the agent wrote it down").lines() {
        let (name, value) = line.split_once('=').expect("a variable");
        sandbox.set(name, value);
    }
    let late = ["tool", "orchestrator_complete_task", "--json", "{\"summary\": \"again\"}"];
    let refused = sandbox.pitcrew(&late);
    refused.expect(6).notes("this attempt has ended");
}
