//! Every wire type has a golden text: sent data must be readable forever.

use expect_test::{Expect, expect};
use pitcrew_api::{
    Accepted, Created, Diff, DroppableSnapshots, EventLine, EventStreamLine, FileStat,
    GarbagePreview, Health, KeptCheckout, Known, LogFact, LogLine, LogSource, LogStreamLine,
    PlanReview, Problem, ProblemCode, Refused, RemovableCheckout, ShuttingDown, SnapshotRow,
    TaskDiff, TaskPath, TaskSnapshots, Tier, ToolReply,
};
use pitcrew_model::{
    Actor, AttemptId, Command, CommitId, Entry, Event, GrantScope, KeptKind, Outcome, PlanId,
    Reason, Rejection, RequestId, RequestKind, Seq, TaskId, TaskName, TaskStatus, Timestamp,
    Verdict, WorkerId,
};
use serde::{Serialize, de::DeserializeOwned};
use std::fmt::Debug;

/// Checks that the value is sent as the golden text, and that the golden text is read as the value.
#[track_caller]
fn check<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T, golden: &Expect) {
    golden.assert_eq(&serde_json::to_string(value).expect("it can be encoded"));
    let read: T = serde_json::from_str(golden.data()).expect("the golden text can be read");
    assert_eq!(&read, value);
}

fn commit(digit: char) -> CommitId {
    CommitId(digit.to_string().repeat(40))
}

fn entry() -> Entry {
    Entry {
        seq: Seq(9),
        at: Timestamp(1_000),
        event: Event::TaskMoved {
            task: TaskId(3),
            from: TaskStatus::Queued,
            to: TaskStatus::Starting,
            reason: Reason::SlotFree,
            actor: Actor::Orchestrator,
        },
    }
}

fn diff() -> Diff {
    Diff {
        from: commit('a'),
        to: Some(commit('b')),
        files_count: 2,
        insertions: 3,
        deletions: 1,
        files: vec![
            FileStat {
                path: "core/a.rs".into(),
                change: 'M',
                insertions: Some(3),
                deletions: Some(1),
            },
            FileStat { path: "logo.png".into(), change: 'A', insertions: None, deletions: None },
        ],
        text: "diff --git a/core/a.rs b/core/a.rs\n".into(),
        truncated: false,
    }
}

#[test]
fn health_v1() {
    check(
        &Health {
            api_version: 1,
            version: "0.1.0".into(),
            pid: 4_711,
            workspace: "/homes/me/repo".into(),
            started_at: Timestamp(1_000),
            tier: Tier::T1,
            workers_live_count: 2,
            environment: None,
        },
        &expect![[
            r#"{"api_version":1,"version":"0.1.0","pid":4711,"workspace":"/homes/me/repo","started_at":1000,"tier":"t1","workers_live_count":2}"#
        ]],
    );
}

#[test]
fn shutting_down_v1() {
    check(
        &ShuttingDown { pid: 4_711, workers_live_count: 2 },
        &expect![[r#"{"pid":4711,"workers_live_count":2}"#]],
    );
}

#[test]
fn a_command_has_the_form_of_the_model() {
    check(
        &Command::DecideRequest {
            request: RequestId(4),
            verdict: Verdict::Approve,
            reason: None,
            scope: GrantScope::Once,
            shown: Some(3),
        },
        &expect![[
            r#"{"command":"decide_request","request":"request-4","verdict":"approve","reason":null,"shown":3}"#
        ]],
    );
    check(&Command::CollectGarbage, &expect![[r#"{"command":"collect_garbage"}"#]]);
}

#[test]
fn accepted_v1() {
    let created = Created {
        plan: Some(PlanId(1)),
        tasks: vec![TaskId(1), TaskId(2)],
        requests: vec![RequestId(1)],
        messages: Vec::new(),
    };
    check(
        &Accepted { seq: Seq(12), created },
        &expect![[
            r#"{"seq":12,"created":{"plan":"plan-1","tasks":["task-1","task-2"],"requests":["request-1"],"messages":[]}}"#
        ]],
    );
    check(
        &Accepted { seq: Seq(12), created: Created::default() },
        &expect![[r#"{"seq":12,"created":{"plan":null,"tasks":[],"requests":[],"messages":[]}}"#]],
    );
}

#[test]
fn refused_v1() {
    check(
        &Refused::from(Rejection::NotRetryable {
            task: TaskName { task: TaskId(7), is_part: false },
            status: TaskStatus::Running,
        }),
        &expect![[
            r#"{"rejection":{"kind":"not_retryable","task":"task-7","status":"running"},"message":"task-7 cannot be retried: it is running; cancel it first with `pitcrew cancel task-7`"}"#
        ]],
    );
}

#[test]
fn problem_v1() {
    check(
        &Problem::new(ProblemCode::NotFound, "there is no task-9"),
        &expect![[r#"{"code":"not_found","message":"there is no task-9","help":null}"#]],
    );
    check(
        &Problem::new(ProblemCode::Unauthorized, "the token is not ours")
            .with_help("the token file is in the state folder"),
        &expect![[
            r#"{"code":"unauthorized","message":"the token is not ours","help":"the token file is in the state folder"}"#
        ]],
    );
}

#[test]
fn event_stream_v1() {
    check(
        &EventStreamLine::Event(EventLine {
            seq: Seq(9),
            at: Timestamp(1_000),
            plan: Some(PlanId(1)),
            task: Some(TaskId(3)),
            text: Some("[orchestrator] task-3 core: queued -> starting (a slot is free)".into()),
            entry: entry().into(),
        }),
        &expect![[
            r#"{"line":"event","seq":9,"at":1000,"plan":"plan-1","task":"task-3","text":"[orchestrator] task-3 core: queued -> starting (a slot is free)","entry":{"seq":9,"at":1000,"event":{"type":"task_moved","task":"task-3","from":"queued","to":"starting","reason":{"kind":"slot_free"},"actor":{"kind":"orchestrator"}}}}"#
        ]],
    );
    check(
        &EventStreamLine::Heartbeat { at: Timestamp(6_000), seq: Seq(9) },
        &expect![[r#"{"line":"heartbeat","at":6000,"seq":9}"#]],
    );
}

#[test]
fn log_stream_v1() {
    check(
        &LogStreamLine::Log(LogLine {
            number: 1,
            attempt: AttemptId(5),
            at: Some(Timestamp(1_000)),
            source: LogSource::Agent,
            text: "I read core/a.rs".into(),
            fact: None,
        }),
        &expect![[
            r#"{"line":"log","number":1,"attempt":"attempt-5","at":1000,"source":"agent","text":"I read core/a.rs"}"#
        ]],
    );
    let facts = [
        (
            LogSource::Attempt,
            LogFact::Attempt { number: 2, worker: WorkerId(7), agent: "claude".into() },
        ),
        (
            LogSource::Check,
            LogFact::Command {
                command: "make test".into(),
                passed: false,
                code: Some(1),
                took_ms: None,
            },
        ),
        (LogSource::Outcome, LogFact::Ended { outcome: Outcome::Success, failure: None }),
    ];
    let lines = facts.map(|(source, fact)| {
        let (number, attempt, at) = (1, AttemptId(5), None);
        let (text, fact) = (String::from("x"), Some(fact));
        let line = LogStreamLine::Log(LogLine { number, attempt, at, source, text, fact });
        serde_json::to_string(&line).expect("a line")
    });
    expect![[r#"
        {"line":"log","number":1,"attempt":"attempt-5","at":null,"source":"attempt","text":"x","fact":{"kind":"attempt","number":2,"worker":"worker-7","agent":"claude"}}
        {"line":"log","number":1,"attempt":"attempt-5","at":null,"source":"check","text":"x","fact":{"kind":"command","command":"make test","passed":false,"code":1,"took_ms":null}}
        {"line":"log","number":1,"attempt":"attempt-5","at":null,"source":"outcome","text":"x","fact":{"kind":"ended","outcome":"success","failure":null}}"#]].assert_eq(&lines.join("\n"));
    check(
        &LogStreamLine::Heartbeat { at: Timestamp(6_000) },
        &expect![[r#"{"line":"heartbeat","at":6000}"#]],
    );
}

#[test]
fn task_diff_v1() {
    check(
        &TaskDiff { task: TaskId(3), attempt: AttemptId(5), diff: diff() },
        &expect![[
            r#"{"task":"task-3","attempt":"attempt-5","diff":{"from":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","to":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","files_count":2,"insertions":3,"deletions":1,"files":[{"path":"core/a.rs","change":"M","insertions":3,"deletions":1},{"path":"logo.png","change":"A","insertions":null,"deletions":null}],"text":"diff --git a/core/a.rs b/core/a.rs\n","truncated":false}}"#
        ]],
    );
}

#[test]
fn task_path_v1() {
    let path = "/homes/me/.worktrees/repo/task-3-core".into();
    check(
        &TaskPath { task: TaskId(3), attempt: AttemptId(5), path, kept: None },
        &expect![[
            r#"{"task":"task-3","attempt":"attempt-5","path":"/homes/me/.worktrees/repo/task-3-core"}"#
        ]],
    );
}

#[test]
fn plan_review_v1() {
    check(
        &PlanReview { plan: PlanId(1), branch: Some("main".into()), diff: diff() },
        &expect![[
            r#"{"plan":"plan-1","branch":"main","diff":{"from":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","to":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","files_count":2,"insertions":3,"deletions":1,"files":[{"path":"core/a.rs","change":"M","insertions":3,"deletions":1},{"path":"logo.png","change":"A","insertions":null,"deletions":null}],"text":"diff --git a/core/a.rs b/core/a.rs\n","truncated":false}}"#
        ]],
    );
}

#[test]
fn tool_answer_v1() {
    check(&ToolReply::ok("noted"), &expect![[r#"{"is_error":false,"text":"noted"}"#]]);
    check(
        &ToolReply::failed("there is no tool `x`"),
        &expect![[r#"{"is_error":true,"text":"there is no tool `x`"}"#]],
    );
}

#[test]
fn task_snapshots_v1() {
    check(
        &TaskSnapshots {
            task: TaskId(3),
            snapshots: vec![SnapshotRow {
                number: 2,
                attempt: AttemptId(5),
                at: Timestamp(1_700_000_000_000),
                kind: KeptKind::Snapshot,
                commit: CommitId("1".repeat(40)),
                files_count: 4,
                insertions: 12,
                deletions: 3,
            }],
        },
        &expect![[
            r#"{"task":"task-3","snapshots":[{"number":2,"attempt":"attempt-5","at":1700000000000,"kind":"snapshot","commit":"1111111111111111111111111111111111111111","files_count":4,"insertions":12,"deletions":3}]}"#
        ]],
    );
}

#[test]
fn garbage_preview_v1() {
    check(
        &GarbagePreview {
            removable: vec![RemovableCheckout {
                attempt: AttemptId(5),
                task: TaskId(3),
                path: "/w/task-3-core".into(),
            }],
            kept: vec![KeptCheckout {
                attempt: AttemptId(6),
                task: TaskId(4),
                path: "/w/task-4-api".into(),
                reason: "its task is running".into(),
            }],
            droppable: vec![DroppableSnapshots {
                attempt: AttemptId(7),
                task: TaskId(3),
                count: 12,
            }],
        },
        &expect![[
            r#"{"removable":[{"attempt":"attempt-5","task":"task-3","path":"/w/task-3-core"}],"kept":[{"attempt":"attempt-6","task":"task-4","path":"/w/task-4-api","reason":"its task is running"}],"droppable":[{"attempt":"attempt-7","task":"task-3","count":12}]}"#
        ]],
    );
}

#[test]
fn an_unknown_rejection_has_a_text() {
    let text = r#"{"rejection":{"kind":"moon_phase","phase":3},"message":"not at this moon"}"#;
    let refused: Refused = serde_json::from_str(text).expect("it can be read");
    assert_eq!(refused.message, "not at this moon");
    assert_eq!(refused.rejection.known(), None);
}

#[test]
fn an_unknown_event_is_passed_on_unchanged() {
    let text = r#"{"line":"event","seq":9,"at":1,"entry":{"seq":9,"at":1,"event":{"type":"x"}}}"#;
    let line: EventStreamLine = serde_json::from_str(text).expect("it can be read");
    let EventStreamLine::Event(EventLine { seq, entry: Known::Unknown(entry), .. }) = line else {
        panic!("{line:?}");
    };
    assert_eq!(seq, Seq(9));
    assert_eq!(entry, serde_json::json!({"seq": 9, "at": 1, "event": {"type": "x"}}));
}

#[test]
fn unknown_kinds_are_not_an_error() {
    let line: EventStreamLine = serde_json::from_str(r#"{"line":"x","y":1}"#).expect("a line");
    assert_eq!(line, EventStreamLine::Unknown);
    let line: LogStreamLine = serde_json::from_str(r#"{"line":"x"}"#).expect("a line");
    assert_eq!(line, LogStreamLine::Unknown);
    let code: ProblemCode = serde_json::from_str(r#""tea_pot""#).expect("a code");
    assert_eq!(code, ProblemCode::Unknown);
    let source: LogSource = serde_json::from_str(r#""dream""#).expect("a source");
    assert_eq!(source, LogSource::Unknown);
}

#[test]
fn health_of_a_later_version_can_be_read() {
    let later = r#"{"api_version":2,"version":"9.9.9","pid":4711,"workspace":"/w","started_at":1,
        "tier":"t4","workers_live_count":0,"moon":"full"}"#;
    let health: Health = serde_json::from_str(later).expect("it can be read");
    assert_eq!(health.tier, Tier::Unknown);
    let mismatch = health.check_version().expect_err("it is newer");
    expect!["orchestrator 4711 speaks API version 2, newer than our 1: use the newer `pitcrew`"]
        .assert_eq(&mismatch.to_string());
    let older = Health { api_version: 0, ..health.clone() };
    let mismatch = older.check_version().expect_err("it is older");
    expect!["orchestrator 4711 speaks API version 0, older than our 1: stop it with the `pitcrew` that started it, or wait until it ends by itself"].assert_eq(&mismatch.to_string());
    assert_eq!(Health { api_version: pitcrew_api::API_VERSION, ..health }.check_version(), Ok(()));
}

#[test]
fn created_ids_are_read_from_events() {
    let asked = Event::RequestOpened {
        request: RequestId(3),
        plan: PlanId(1),
        task: None,
        worker: None,
        kind: RequestKind::BranchMerge,
    };
    let created = Created::from_events(&[entry().event, asked]);
    assert_eq!(created, Created { requests: vec![RequestId(3)], ..Created::default() });
}
