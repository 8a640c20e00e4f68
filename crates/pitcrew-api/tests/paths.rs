//! Paths are part of the wire format.

use expect_test::expect;
use pitcrew_api::paths::{self, BoardQuery, EventsQuery, LogQuery, MessagesQuery};
use pitcrew_model::{MessageStatus, PlanId, Seq, TaskId, WorkerId};

#[test]
fn paths_keep_their_form() {
    let task = TaskId(7);
    let all = [
        paths::HEALTH.to_owned(),
        paths::board(BoardQuery::default()),
        paths::board(BoardQuery { all: true, plan: Some(PlanId(2)) }),
        paths::INBOX.to_owned(),
        paths::messages(MessagesQuery::default()),
        paths::messages(MessagesQuery {
            plan: Some(PlanId(2)),
            worker: Some(WorkerId(3)),
            status: Some(MessageStatus::Dead),
        }),
        paths::COMMANDS.to_owned(),
        paths::events(EventsQuery { after: Seq(12), follow: true }),
        paths::task_log(task, LogQuery { from: 3, follow: false }),
        paths::task_diff(task),
        paths::task_path(task),
        paths::task_snapshots(task),
        paths::plan_review(PlanId(2)),
        paths::tool("orchestrator_complete_task", "a1").expect("a name"),
        paths::SHUTDOWN.to_owned(),
        paths::GARBAGE.to_owned(),
    ];
    expect![[r#"
        /v1/health
        /v1/board?all=false
        /v1/board?all=true&plan=plan-2
        /v1/inbox
        /v1/messages?
        /v1/messages?plan=plan-2&worker=worker-3&status=dead
        /v1/commands
        /v1/events?after=12&follow=true
        /v1/tasks/task-7/log?from=3&follow=false
        /v1/tasks/task-7/diff
        /v1/tasks/task-7/path
        /v1/tasks/task-7/snapshots
        /v1/plans/plan-2/review
        /v1/tools/orchestrator_complete_task?nonce=a1
        /v1/shutdown
        /v1/gc
    "#]]
    .assert_eq(&(all.join("\n") + "\n"));
}

#[test]
fn the_name_of_a_tool_cannot_leave_its_path() {
    for wrong in ["", "../shutdown", "a/b", "a?b=c", "a b", "%2e"] {
        assert_eq!(paths::tool(wrong, "a1"), None, "{wrong}");
        assert_eq!(paths::tool("tool", wrong), None, "{wrong}");
    }
}
