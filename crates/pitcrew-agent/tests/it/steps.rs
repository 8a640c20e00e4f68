//! Each step of a script, run by the real agent.

use crate::stage::{Stage, assert_ended, script_order};
use expect_test::expect;
use pitcrew_acp::Event;
use pitcrew_model::{PermissionOptionKind, StopReason};

/// S1-063: one turn does all the work.
#[tokio::test]
async fn a_script_works_on_files_and_completes() {
    let stage = Stage::new().await;
    let end = stage
        .script(
            "write core/a.txt <<END\none\ntwo\nEND\nappend core/a.txt <<END\nthree\nEND\nedit core/a.txt <<OLD\ntwo\nOLD\n<<NEW\n2\n2.5\nNEW\nread core/a.txt\nwrite gone.txt <<END\nEND\ndelete gone.txt\nrun test -f core/a.txt && echo \"$GIVEN\" > given.txt\nsay nearly there\ncomplete wrote the core",
        )
        .await;
    assert_ended(&end);
    assert_eq!(end.last_words, "wrote the core");
    assert_eq!(stage.file("core/a.txt").as_deref(), Some("one\n2\n2.5\nthree\n"));
    assert_eq!(stage.file("gone.txt"), None);
    assert_eq!(stage.file("given.txt").as_deref(), Some("to the agent\n"));
    assert_eq!(
        stage.calls(),
        [r#"orchestrator_complete_task {"outcome":"success","summary":"wrote the core"}"#]
    );
    expect![[r#"
        ToolStarted: write core/a.txt
        ToolDone: write core/a.txt
        ToolStarted: append core/a.txt
        ToolDone: append core/a.txt
        ToolStarted: edit core/a.txt
        ToolDone: edit core/a.txt
        ToolStarted: read core/a.txt
        ToolDone: read core/a.txt
        Output: one
        2
        2.5
        three
        ToolStarted: write gone.txt
        ToolDone: write gone.txt
        ToolStarted: delete gone.txt
        ToolDone: delete gone.txt
        ToolStarted: run test -f core/a.txt && echo "$GIVEN" > given.txt
        ToolDone: run test -f core/a.txt && echo "$GIVEN" > given.txt
        Said: nearly there
        ToolStarted: report success: wrote the core
        ToolDone: report success: wrote the core
        Output: Recorded as done. Your work is now checked and integrated. Change nothing and end your turn.
        Said: wrote the core
        TurnEnded: end_turn
    "#]].assert_eq(&stage.transcript());
    stage.stop().await;
}

#[tokio::test]
async fn a_failed_step_fails_the_task_with_line_reason_and_fix() {
    for (script, reason) in [
        (
            "say hi\nread no.txt",
            "line 2: `read no.txt`: No such file or directory (os error 2); write the file first, or correct the path",
        ),
        (
            "write a <<E\nx\nE\nedit a <<OLD\ny\nOLD <<NEW\nz\nNEW",
            "line 4: `edit a`: the text to replace is not in the file; it must match exactly",
        ),
        (
            "edit no <<OLD\ny\nOLD <<NEW\nz\nNEW",
            "line 1: `edit no`: there is no such file; write it first, or correct the path",
        ),
        (
            "delete no",
            "line 1: `delete no`: No such file or directory (os error 2); correct the path",
        ),
        (
            "run echo broken; exit 3",
            "line 1: `echo broken; exit 3` failed with exit code 3\n\nbroken",
        ),
        (
            "fly",
            "invalid script: line 1: there is no step `fly`; the steps are: read, write, append, edit, delete, run, ask, permit, tool, refused, expect, keep, save, sleep, pause, say, complete, partial, fail, exit",
        ),
        ("fail cannot be done", "cannot be done"),
        ("save it", "line 1: no tool was called yet; write `tool NAME {...}` before it"),
        (
            "tool fly_away",
            "line 1: `fly_away` was refused: the session has no tool `fly_away`: no MCP server of the client offers it",
        ),
    ] {
        let stage = Stage::new().await;
        let end = stage.script(script).await;
        assert_ended(&end);
        let call = serde_json::json!({ "outcome": "failed", "summary": reason });
        assert_eq!(stage.calls(), [format!("orchestrator_complete_task {call}")]);
        stage.stop().await;
    }
}

#[tokio::test]
async fn a_partial_result_is_reported_as_such() {
    let stage = Stage::new().await;
    assert_ended(&stage.script("partial half of it").await);
    assert_eq!(
        stage.calls(),
        [r#"orchestrator_complete_task {"outcome":"partial","summary":"half of it"}"#]
    );
    stage.stop().await;
}

/// The script's own text is not part of what its conditions check.
#[tokio::test]
async fn conditions_check_the_latest_prompt() {
    let script = "when \"exit code 1\" write fixed <<E\nE\nunless \"exit code 1\" write first <<E\nE\ncomplete done";
    let stage = Stage::new().await;
    stage.script(script).await;
    assert!(stage.file("first").is_some() && stage.file("fixed").is_none());
    let second = Stage::new().await;
    second.order("The check failed with exit code 1.", &script_order(script)).await;
    assert!(second.file("first").is_none() && second.file("fixed").is_some());
    stage.stop().await;
    second.stop().await;
}

/// Scripts simulate agents that call any of our tools and use their answers.
#[tokio::test]
async fn a_tool_is_called_and_its_answer_used() {
    let stage = Stage::new().await;
    let script = "tool a2a_notify_orchestrator {\"kind\": \"status\", \"message\": \"half\"}\n\
        expect Continue your task\nkeep next /next\nkeep all\nsave answers/first.txt\n\
        tool a2a_notify_orchestrator <<END\n{\"kind\": \"status\",\n\"message\": \"${next} ${no}\"}\nEND\n\
        refused a2a_notify_orchestrator {\"kind\": \"status\", \"message\": \"refuse me\"}\n\
        expect attempt-1 has ended\nwrite said.txt <<END\n${all}\nEND\nrun echo '${next}' > shell.txt\n\
        complete it said ${next}";
    assert_ended(&stage.script(script).await);
    assert_eq!(
        stage.calls(),
        [
            r#"a2a_notify_orchestrator {"kind":"status","message":"half"}"#,
            r#"a2a_notify_orchestrator {"kind":"status","message":"continue ${no}"}"#,
            r#"a2a_notify_orchestrator {"kind":"status","message":"refuse me"}"#,
            r#"orchestrator_complete_task {"outcome":"success","summary":"it said continue"}"#,
        ]
    );
    assert_eq!(stage.file("said.txt").as_deref(), Some("The note was sent. Continue your task.\n"));
    let saved = stage.file("answers/first.txt").expect("a file");
    assert!(
        saved.contains("The note was sent. Continue your task.")
            && saved.contains("\"next\": \"continue\"")
    );
    let shell = stage.file("shell.txt");
    assert_eq!(shell.as_deref(), Some("${next}\n"), "an answer is not part of a command");
    stage.stop().await;
}

/// Otherwise a test that simulates an agent would pass whatever the tool answers.
#[tokio::test]
async fn an_unexpected_answer_fails_the_script() {
    let call = "a2a_notify_orchestrator {\"kind\": \"status\", \"message\": \"half\"}";
    for (script, reason) in [
        (format!("tool {call}\nexpect refused"), "line 2: the answer does not contain `refused`"),
        (format!("tool {call}\nkeep id /id"), "line 2: the answer has nothing at `/id`"),
        (
            format!("refused {call}"),
            "line 1: expected `a2a_notify_orchestrator` to be refused, but it returned",
        ),
    ] {
        let stage = Stage::new().await;
        assert_ended(&stage.script(&script).await);
        let calls = stage.calls();
        let report = calls.last().expect("a report");
        assert!(report.contains(reason) && report.contains("failed"), "{report}");
        stage.stop().await;
    }
}

#[tokio::test]
async fn waits_for_permission() {
    for (kind, completed) in
        [(PermissionOptionKind::AllowOnce, true), (PermissionOptionKind::RejectOnce, false)]
    {
        let mut stage = Stage::new().await;
        let session = stage.session.clone();
        let decide = async {
            loop {
                let event = stage.events.next().await.expect("an event");
                let Event::Permission { call, tool, options } = event else { continue };
                assert_eq!(
                    (tool.kind.as_str(), tool.command.as_deref()),
                    ("execute", Some("deploy it"))
                );
                let option = options.iter().find(|it| it.kind == kind).expect("the option");
                session.answer_permission(&call, Some(&option.id)).await;
                return;
            }
        };
        let order = script_order("permit deploy it\ncomplete deployed");
        let turn = session.prompt_with(pitcrew_model::EffectId(2), "Go.", &order);
        let (end, ()) = tokio::join!(turn, decide);
        assert_eq!(end.expect("a turn").stop, StopReason::EndTurn);
        let call = stage.calls().concat();
        assert_eq!(call.contains("deployed"), completed, "{call}");
        assert_eq!(call.contains("permission for `deploy it` was denied"), !completed, "{call}");
        stage.stop().await;
    }
}

#[tokio::test]
async fn the_process_can_be_made_to_exit() {
    let stage = Stage::new().await;
    let order = script_order("exit 7");
    let turn = stage.session.prompt_with(pitcrew_model::EffectId(2), "Go.", &order);
    let pitcrew_acp::TurnError::Exited(exit) = turn.await.expect_err("no end") else {
        panic!("an exit");
    };
    assert_eq!(exit.code, Some(7));
}
