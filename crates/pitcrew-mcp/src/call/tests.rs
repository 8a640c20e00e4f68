use super::*;
use expect_test::{Expect, expect};
use serde_json::json;

fn check(name: &str, arguments: &Value, expect: &Expect) {
    expect.assert_eq(&match ToolCall::parse(name, arguments) {
        Ok(call) => format!("{call:?}"),
        Err(error) => error.to_string(),
    });
}

/// S1-067: every spelling of the completion tool is accepted.
#[test]
fn a_completion_is_parsed_in_every_spelling() {
    let plain = ToolCall::Complete { claim: Claim::Success, summary: "done it".into() };
    for (name, arguments) in [
        ("orchestrator_complete_task", json!({"summary": "done it"})),
        ("orchestrator_completeTask", json!({"Summary": " done it ", "outcome": "success"})),
        ("completeTask", json!({"result": "done it", "status": "completed", "more": [1]})),
    ] {
        assert_eq!(ToolCall::parse(name, &arguments), Ok(plain.clone()), "{name} {arguments}");
    }
}

#[test]
fn an_error_says_what_to_send() {
    check(
        "orchestrator_complete_task",
        &json!({"outcome": "failed"}),
        &expect![[
            r#"`orchestrator_complete_task` needs `summary`: a non-empty string, such as {"summary": "added the parser and its tests"}"#
        ]],
    );
    check(
        "orchestrator_complete_task",
        &json!("ok"),
        &expect![[
            r#"the arguments of `orchestrator_complete_task` must be a JSON object, such as {"summary": "added the parser and its tests"}"#
        ]],
    );
    check(
        "orchestrator_complete_task",
        &json!({"summary": "x", "outcome": 7}),
        &expect![
            "`outcome` of `orchestrator_complete_task` is `7`; it must be one of `success`, `partial`, `failed`"
        ],
    );
    check(
        "a2a_notify_orchestrator",
        &json!({"message": "x"}),
        &expect![[
            r#"`a2a_notify_orchestrator` needs `kind`: a non-empty string, such as {"kind": "question", "message": "Which port should the server use?"}"#
        ]],
    );
    check("rm_rf", &json!({}), &expect!["there is no tool `rm_rf`"]);
}

#[test]
fn a_question_without_a_kind_is_a_question() {
    check(
        "a2a_notifyOrchestrator",
        &json!({"question": "which port?"}),
        &expect![[
            r#"Notify { kind: Question, message: "which port?", to: Orchestrator, reply_to: None }"#
        ]],
    );
    check(
        "a2a_notify_orchestrator",
        &json!({"type": "status_update", "text": "half"}),
        &expect![[r#"Notify { kind: Status, message: "half", to: Orchestrator, reply_to: None }"#]],
    );
}

#[test]
fn a_long_summary_is_cut() {
    let long = "ü".repeat(limits::SUMMARY_BYTES_MAX);
    let call = ToolCall::parse(COMPLETE_TASK, &json!({"summary": long})).expect("a call");
    let ToolCall::Complete { summary, .. } = call else { panic!("a completion") };
    assert_eq!(summary.len(), limits::SUMMARY_BYTES_MAX);
}

#[test]
fn every_acknowledgement_says_what_to_do_next() {
    let kinds = [
        NoteKind::Status,
        NoteKind::Question,
        NoteKind::Completion,
        NoteKind::Error,
        NoteKind::Answer,
    ];
    for kind in kinds {
        let (message, to, reply_to) = ("x".into(), Addressee::Orchestrator, None);
        let answer = ToolCall::Notify { kind, message, to, reply_to }.acknowledgement();
        assert!(!answer.text.is_empty() && answer.structured.contains_key("next"));
    }
}

/// S4-041: aliases of the agent's key are accepted.
#[test]
fn a_spawn_is_parsed_in_every_spelling() {
    let one = |arguments: Value| match ToolCall::parse("a2a_spawn_subtask", &arguments) {
        Ok(ToolCall::Spawn(spawn)) => spawn,
        other => panic!("{other:?}"),
    };
    let plain = one(json!({"agent": "claude", "prompt": "look", "expected_output": "a list",
        "target_files": ["src/a.rs"], "timeout": "10m", "blocking": true}));
    assert!(plain.blocking && plain.subtasks[0].timeout_ms == Some(600_000));
    let spelled = json!({"agentType": "claude", "prompt": " look ", "expectedOutput": "a list",
        "targetFiles": "src/a.rs", "timeoutMs": 600_000, "blocking": "true"});
    assert_eq!(plain, one(spelled.clone()));
    let several = json!({"subtasks": [spelled], "blocking": true});
    let several = ToolCall::parse("a2a_spawnParallelSubtasks", &several);
    assert_eq!(several, Ok(ToolCall::Spawn(plain)));
    check(
        "a2a_spawn_subtask",
        &json!({"agent": "claude", "prompt": "x", "target_files": ["../x"]}),
        &expect![[
            r#"`target_files` of `a2a_spawn_subtask` is `"../x"`; it must be paths inside the repository"#
        ]],
    );
    check(
        "a2a_spawn_subtask",
        &json!({"agent": "claude"}),
        &expect![[
            r#"`a2a_spawn_subtask` needs `prompt`: a non-empty string, such as {"agent": "claude", "prompt": "Review src/parser.rs for panics on bad input.", "expected_output": "a list of file:line with the reason", "blocking": true}"#
        ]],
    );
    check(
        "a2a_spawn_parallel_subtasks",
        &json!({"subtasks": ["x"]}),
        &expect![[
            r#"`subtasks` of `a2a_spawn_parallel_subtasks` is `"x"`; it must be a list of objects"#
        ]],
    );
}

#[test]
fn ids_are_parsed_in_every_form() {
    let wanted =
        ToolCall::AwaitSubtasks { tasks: vec![TaskId(4), TaskId(5)], timeout_ms: Some(90_000) };
    for arguments in [
        json!({"ids": ["subtask-4", "task-5"], "timeout": "90s"}),
        json!({"taskIds": [4, "5"], "timeout": 90}),
        json!({"subtask_ids": ["4", "subtask-5"], "timeout": "90 seconds"}),
    ] {
        assert_eq!(ToolCall::parse("a2a_await_subtasks", &arguments), Ok(wanted.clone()));
    }
    check(
        "a2a_await_subtasks",
        &json!({"ids": ["all"]}),
        &expect![[
            r#"`ids` of `a2a_await_subtasks` is `"all"`; it must be an id such as `task-7` or `subtask-7`; call `orchestrator_list_workers` for the ids"#
        ]],
    );
    check(
        "orchestrator_cancel_task",
        &json!({}),
        &expect![[
            r#"`orchestrator_cancel_task` needs `task`: an id, such as {"task": "task-12"}"#
        ]],
    );
}

/// S1-022: a plan in JSON becomes the equivalent plan file.
#[test]
fn a_plan_in_json_becomes_a_plan_file() {
    // In alphabetical order, because JSON may not keep another one.
    let plan = json!({"name": "tidy", "setup": ["npm ci"], "tasks": [
        {"dependsOn": ["a"], "id": "docs", "maxAttempts": 2, "prompt": "Fix \"typos\"\nin docs."},
        {"agentType": "claude", "id": "a", "odd key": {"x": 1}}]});
    let Ok(ToolCall::SavePlan { text }) = ToolCall::parse("orchestrator_save_plan", &plan) else {
        panic!("a plan");
    };
    expect![[r#"
        name = "tidy"
        setup = ["npm ci"]

        [[task]]
        depends_on = ["a"]
        id = "docs"
        max_attempts = 2
        prompt = "Fix \"typos\"\nin docs."

        [[task]]
        agent = "claude"
        id = "a"
        "odd key" = { "x" = 1 }
    "#]]
    .assert_eq(&text);
    let whole = ToolCall::parse("savePlan", &json!({"plan": "name = \"x\""}));
    assert_eq!(whole, Ok(ToolCall::SavePlan { text: "name = \"x\"".into() }));
    check(
        "orchestrator_save_plan",
        &json!({"name": "x"}),
        &expect![[
            r#"`orchestrator_save_plan` needs `plan`: the plan as TOML, or `name` and `tasks`, such as {"name": "tidy", "tasks": [{"id": "docs", "prompt": "Fix the typos in docs.", "region": ["docs"]}]}"#
        ]],
    );
}

/// S4-076: kind, addressee and answered message of a note.
#[test]
fn a_note_has_a_kind_and_an_addressee() {
    check(
        "a2a_notify_orchestrator",
        &json!({"kind": "completion", "message": "did it"}),
        &expect![[
            r#"Notify { kind: Completion, message: "did it", to: Orchestrator, reply_to: None }"#
        ]],
    );
    check(
        "a2a_notify_orchestrator",
        &json!({"kind": "answer", "message": "8080", "replyTo": "message-4"}),
        &expect![[
            r#"Notify { kind: Answer, message: "8080", to: Orchestrator, reply_to: Some(MessageId(4)) }"#
        ]],
    );
    check(
        "a2a_notify_orchestrator",
        &json!({"kind": "question", "message": "which port?", "to": "worker-3"}),
        &expect![[
            r#"Notify { kind: Question, message: "which port?", to: Worker(WorkerId(3)), reply_to: None }"#
        ]],
    );
    let wrong = json!({"kind": "status", "message": "half", "to": "task-3"});
    let error = ToolCall::parse("a2a_notify_orchestrator", &wrong).expect_err("no worker");
    assert!(error.to_string().contains("a worker such as `worker-3`"), "{error}");
}

/// A key similar to a known one is an error; other unknown keys are ignored.
#[test]
fn a_misspelt_key_is_refused_and_a_foreign_one_is_ignored() {
    let spawn = json!({"agent": "claude", "prompt": "look", "workspaces": "shared"});
    check(
        "a2a_spawn_subtask",
        &spawn,
        &expect!["`a2a_spawn_subtask` has no argument `workspaces`; did you mean `workspace`?"],
    );
    let inner = json!({"subtasks": [{"agent": "claude", "prompt": "look", "targetFile": ["a"]}]});
    check(
        "a2a_spawn_parallel_subtasks",
        &inner,
        &expect![
            "`a2a_spawn_parallel_subtasks` has no argument `targetFile`; did you mean `target_files`?"
        ],
    );
    check(
        "orchestrator_list_workers",
        &json!({"pln": "plan-3"}),
        &expect!["`orchestrator_list_workers` has no argument `pln`; did you mean `plan`?"],
    );
    let foreign = json!({"agent": "claude", "prompt": "look", "thoughts": "hm", "agentType": "x"});
    assert!(ToolCall::parse("a2a_spawn_subtask", &foreign).is_ok());
}
