//! The inbox.

use crate::journal::{Journal, PLAN, commit, spec};
use expect_test::expect;
use pitcrew_model::{
    Actor, AttemptId, EffectResult, Event, PermissionOption, PermissionOptionKind, RequestId,
    RequestKind, RequestStatus, TaskId, TaskSpec, TaskStatus, TaskWork, ToolUse, Work,
};
use pitcrew_views::Ask;

fn decide(journal: &mut Journal, request: u64, to: RequestStatus, text: Option<&str>) {
    let (request, from) = (RequestId(request), RequestStatus::AtUser);
    let text = text.map(str::to_owned);
    journal.push(Event::RequestMoved { request, from, to, text, actor: Actor::Person });
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string_pretty(value).expect("it can be encoded")
}

#[test]
fn a_plan_request_shows_everything_it_executes() {
    let mut journal = Journal::active();
    journal.task(1, "core", "core", &[]);
    let prompt = "Format.".to_owned();
    let work = TaskWork::Command { prompt, command: "make format\u{202e}".to_owned() };
    let command = TaskSpec { work, ..spec("format", "") };
    let (task, depends_on) = (TaskId(2), vec![TaskId(1)]);
    journal.push(Event::TaskAdded { plan: PLAN, task, spec: command, depends_on });
    journal.ask(1, None, RequestKind::PlanExecution);
    let view = journal.inbox.view(&journal.board);
    assert_eq!((view.open.len(), view.open[0].title.as_str()), (1, "run this plan?"));
    expect![[r#"
        {
          "kind": "plan_execution",
          "base": {
            "branch": "main",
            "tip": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            "start": "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
            "dirty_count": 2,
            "notes": [
              "the repository is shallow"
            ]
          },
          "start": {
            "base": null,
            "clean": false,
            "include": []
          },
          "setup": [
            "make deps"
          ],
          "tasks": [
            {
              "id": "task-1",
              "key": "core",
              "agent": "claude:agent",
              "work": {
                "kind": "prompt",
                "prompt": "Do core."
              },
              "region": [
                "core"
              ],
              "depends_on": [],
              "checks": [
                "make test"
              ]
            },
            {
              "id": "task-2",
              "key": "format",
              "agent": "claude:agent",
              "work": {
                "kind": "command",
                "prompt": "Format.",
                "command": "make format\\u{202e}"
              },
              "region": [],
              "depends_on": [
                "task-1"
              ],
              "checks": [
                "make test"
              ]
            }
          ],
          "tasks_asked": 2
        }"#]]
    .assert_eq(&json(&view.open[0].ask));
}

#[test]
fn a_landing_request_shows_missing_tasks() {
    let mut journal = Journal::active();
    journal.task(1, "core", "core", &[]);
    journal.task(2, "api", "api", &[]);
    journal.start(1, 1, 1);
    let (attempt, commit) = (AttemptId(1), commit('c'));
    let work = Work { commit, files_count: 2, insertions: 10, deletions: 3, files: Vec::new() };
    journal.result(EffectResult::WorkCollected { attempt, work });
    let (from, to) = (TaskStatus::Integrating, TaskStatus::Completed);
    journal.move_task(1, from, to, pitcrew_model::Reason::Progress);
    journal.ask(1, None, RequestKind::BranchMerge);
    let view = journal.inbox.view(&journal.board);
    let Ask::BranchMerge { completed, missing, files_count, insertions, deletions, .. } =
        &view.open[0].ask
    else {
        panic!("{:?}", view.open[0].ask);
    };
    assert_eq!((completed.as_slice(), missing.as_slice()), (&[TaskId(1)][..], &[TaskId(2)][..]));
    assert_eq!((*files_count, *insertions, *deletions), (2, 10, 3));
}

#[test]
fn a_command_cannot_hide_behind_invisible_characters() {
    let mut journal = Journal::active();
    journal.task(1, "core", "core", &[]);
    journal.start(1, 1, 1);
    journal.run(1, 1);
    let tool = ToolUse {
        title: "list\u{1b}[2K".to_owned(),
        kind: "execute".to_owned(),
        paths: vec!["core/a.rs".to_owned()],
        outside: vec!["/etc/\u{202e}passwd".to_owned()],
        command: Some("ls\r\nrm -rf .\u{200b}".to_owned()),
        partial: false,
    };
    let allow = PermissionOption { id: "yes".to_owned(), kind: PermissionOptionKind::AllowOnce };
    let kind = RequestKind::ToolUse {
        tool,
        call: "call-1".to_owned(),
        options: vec![allow],
        action: None,
        actions: [].into(),
    };
    journal.ask(1, Some((1, 1)), kind);
    let view = journal.inbox.view(&journal.board);
    expect![[r#"
        [
          {
            "id": "request-1",
            "opened_at": 16000,
            "plan": "plan-1",
            "plan_name": "demo",
            "task": "task-1",
            "task_key": "core",
            "task_name": "task-1 core",
            "worker": "worker-1",
            "agent": "tester",
            "title": "may it run `ls\\u{d}\\nrm -rf .\\u{200b}`?",
            "ask": {
              "kind": "tool_use",
              "tool": {
                "title": "list\\u{1b}[2K",
                "kind": "execute",
                "paths": [
                  "core/a.rs"
                ],
                "outside": [
                  "/etc/\\u{202e}passwd"
                ],
                "command": "ls\\u{d}\nrm -rf .\\u{200b}"
              },
              "options": [
                {
                  "id": "yes",
                  "kind": "allow_once"
                }
              ],
              "region": [
                "core"
              ],
              "checkout": "/w/task-1",
              "action": null,
              "scopes": [
                "once",
                "task",
                "plan",
                "always"
              ]
            }
          }
        ]"#]]
    .assert_eq(&json(&view.open));
}

#[test]
fn an_answered_question_moves_to_the_closed_ones() {
    let mut journal = Journal::active();
    journal.task(1, "core", "core", &[]);
    journal.start(1, 1, 1);
    let question = "Which\nport?".to_owned();
    journal.ask(1, Some((1, 1)), RequestKind::Question { question });
    let question = "And the host?".to_owned();
    journal.ask(2, Some((1, 1)), RequestKind::Question { question });
    assert_eq!(journal.inbox.open_count(), 2);
    assert_eq!(journal.board.worker(pitcrew_model::WorkerId(1)).expect("it").requests.len(), 2);
    decide(&mut journal, 1, RequestStatus::Answered, Some("8080"));
    decide(&mut journal, 1, RequestStatus::Answered, Some("said twice"));
    let view = journal.inbox.view(&journal.board);
    assert_eq!(view.open.iter().map(|it| it.id).collect::<Vec<_>>(), [RequestId(2)]);
    expect![[r#"
        [
          {
            "id": "request-1",
            "opened_at": 9000,
            "closed_at": 11000,
            "plan": "plan-1",
            "task": "task-1",
            "worker": "worker-1",
            "title": "Which port?",
            "status": "answered",
            "text": "8080",
            "decided_by": {
              "kind": "person"
            }
          }
        ]"#]]
    .assert_eq(&json(&view.closed));
    assert_eq!(view.closed_count, 1);
}

#[test]
fn only_the_newest_closed_requests_are_listed() {
    let mut journal = Journal::active();
    for request in 1..=150 {
        journal.ask(request, None, RequestKind::PlanExecution);
        decide(&mut journal, request, RequestStatus::Denied, None);
    }
    let view = journal.inbox.view(&journal.board);
    assert_eq!((view.closed.len(), view.closed_count), (100, 150));
    assert_eq!(view.closed[0].id, RequestId(150));
}
