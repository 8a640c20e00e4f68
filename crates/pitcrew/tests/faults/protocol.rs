//! Agents that start, and do not speak as they should.

use crate::support::*;
use pitcrew_model::Failure;

const STEPS: &str = "write core/a.txt <<END\na\nEND\ncomplete it\n";

#[test]
fn an_agent_that_prints_garbage_is_given_up() {
    let sandbox = sandbox();
    backend(&sandbox, "garbage", &["sh", "-c", "while :; do echo 'Loading model...'; done"]);
    let failure = failure_beside_a_sibling(&sandbox, "agent = \"garbage\"\nprompt = \"Do it.\"");
    assert!(matches!(failure, Failure::Protocol { .. }), "{failure:?}");
}

#[test]
fn a_few_lines_of_chatter_before_the_protocol_are_forgiven() {
    let sandbox = sandbox();
    let agent = agent_with(&sandbox, STEPS);
    let chatter = format!("echo Loading; echo '{{\"not\": \"ours\"}}'; exec {agent}");
    backend(&sandbox, "chatty", &["sh", "-c", &chatter]);
    completes_beside_a_sibling(&sandbox, "agent = \"chatty\"\nprompt = \"Do it.\"");
}

/// One frame has a limit: what is longer is let go, and what comes after it is heard.
#[test]
fn a_line_that_is_too_long_for_the_protocol_is_forgiven() {
    let sandbox = sandbox();
    let agent = agent_with(&sandbox, STEPS);
    let flood = format!("head -c 17000000 /dev/zero | tr '\\\\0' x; echo; exec {agent}");
    backend(&sandbox, "flood", &["sh", "-c", &flood]);
    completes_beside_a_sibling(&sandbox, "agent = \"flood\"\nprompt = \"Do it.\"");
}

#[test]
fn a_command_that_floods_its_output_still_completes() {
    let sandbox = sandbox();
    let task = "command = \"yes all work and no play | head -c 20000000; echo 1 > core/a.txt\"";
    completes_beside_a_sibling(&sandbox, task);
}

/// What goes to standard error is kept up to a limit.
#[test]
fn an_agent_that_floods_its_standard_error_still_completes() {
    let sandbox = sandbox();
    let agent = agent_with(&sandbox, STEPS);
    let flood = format!("yes blah | head -c 30000000 >&2; exec {agent}");
    backend(&sandbox, "noisy", &["sh", "-c", &flood]);
    completes_beside_a_sibling(&sandbox, "agent = \"noisy\"\nprompt = \"Do it.\"");
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

/// An error is an answer, and fails the attempt in the agent's words.
#[test]
fn an_agent_that_refuses_to_open_a_session_fails_its_task_only() {
    let sandbox = sandbox();
    let refuse = r#"while read -r line; do id=$(printf '%s' "$line" | sed 's/.*"id":\([^,}]*\).*/\1/'); printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"please log in first"}}\n' "$id"; done"#;
    backend(&sandbox, "closed", &["sh", "-c", refuse]);
    let failure = failure_beside_a_sibling(&sandbox, "agent = \"closed\"\nprompt = \"Do it.\"");
    let Failure::Auth { message } = &failure else { panic!("{failure:?}") };
    assert!(message.contains("please log in first"), "{message}");
}

/// S1-064: one reminder, then a failed result; it never waits for ever.
#[test]
fn an_agent_that_never_completes_is_reminded_once() {
    let sandbox = sandbox();
    let failure = failure_beside_a_sibling(&sandbox, &script("say I am done, more or less"));
    assert_eq!(failure, Failure::NoCompletion);
    let board = board(&sandbox);
    assert_eq!(task_of(&board, "faulty").attempts[0].turns_count, 2);
}

/// S1-026: an agent that cannot start MCP servers has the same tools on its command line.
#[test]
fn a_task_is_completed_from_the_command_line_of_its_agent() {
    let sandbox = sandbox();
    let steps = r#"write core/a.txt <<END
a
END
run pitcrew tool orchestrator_complete_task --json '{"summary": "from the shell"}'
say bye"#;
    completes_beside_a_sibling(&sandbox, &script(steps));
    let board = board(&sandbox);
    let attempt = &task_of(&board, "faulty").attempts[0];
    assert_eq!(attempt.summary.as_deref(), Some("from the shell"));
    assert_eq!(attempt.turns_count, 1);
}

#[test]
fn a_task_that_is_completed_twice_is_integrated_once() {
    let sandbox = sandbox();
    let steps = r#"write core/a.txt <<END
a
END
run pitcrew tool orchestrator_complete_task --json '{"summary": "first"}'
run pitcrew tool orchestrator_complete_task --json '{"summary": "first"}'
complete second"#;
    completes_beside_a_sibling(&sandbox, &script(steps));
    assert_eq!(integrations(&events(&sandbox, "plan-1")).len(), 2);
}

/// A token is worth as much as its attempt.
#[test]
fn a_token_is_of_no_use_after_its_attempt() {
    let mut sandbox = sandbox();
    let steps = "run env | grep ^PITCREW_ > core/env.txt\ncomplete it";
    completes_beside_a_sibling(&sandbox, &script(steps));
    let environment = std::fs::read_to_string(checkout(&sandbox, "faulty").join("core/env.txt"));
    for line in environment.expect("the agent wrote it down").lines() {
        let (name, value) = line.split_once('=').expect("a variable");
        sandbox.set(name, value);
    }
    let late = ["tool", "orchestrator_complete_task", "--json", "{\"summary\": \"again\"}"];
    let refused = sandbox.pitcrew(&late);
    refused.expect(6).notes("this attempt has ended");
}
