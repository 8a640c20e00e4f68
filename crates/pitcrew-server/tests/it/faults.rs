//! Misbehaving agents fail their own task and nothing else.

use crate::lab::{LONG, Lab, looks, task};
use pitcrew_model::{Command, Failure, Outcome, PlanStatus, TaskId, TaskStatus};
use std::{fs, time::Instant};

/// S0-018: every fault has its typed outcome, and the task beside them completes.
#[tokio::test]
async fn a_fault_of_an_agent_fails_only_its_own_task() {
    let lab = Lab::started().await;
    let faults = ["exits_at_once", "exits", "garbage", "silent", "missing"];
    let task_of = |fault: &str| {
        format!("[[task]]\nid = \"{fault}\"\nagent = \"{fault}\"\nprompt = \"work\"\n")
    };
    let bad: Vec<String> = faults.into_iter().map(task_of).collect();
    let good = "[[task]]\nid = \"good\"\nscript = \"complete nothing to do\"\n";
    let text = format!("name = \"faults\"\nmax_attempts = 1\n{}{good}", bad.concat());
    let plan = lab.plan(&text).await;
    let board = lab.until_plan(plan, PlanStatus::Partial).await;
    let failure = |number: u64| {
        let task = task(&board, number);
        assert_eq!((task.status, task.attempts.len()), (TaskStatus::Failed, 1), "{task:#?}");
        assert_eq!(task.attempts[0].outcome, Some(Outcome::Failed));
        task.attempts[0].failure.clone().unwrap()
    };
    assert_eq!(
        failure(1),
        Failure::AgentExited { exit: "exit code 4".into(), output: "no licence\n".into() }
    );
    assert_eq!(
        failure(2),
        Failure::AgentExited { exit: "exit code 3".into(), output: "out of cheese\n".into() }
    );
    assert!(matches!(failure(3), Failure::Protocol { .. }), "{:?}", failure(3));
    assert_eq!(failure(4), Failure::NoCompletion);
    assert_eq!(task(&board, 4).attempts[0].turns_count, 2, "it was reminded once");
    assert!(matches!(failure(5), Failure::AgentMissing { .. }), "{:?}", failure(5));
    assert_eq!(task(&board, 6).status, TaskStatus::Completed);
    lab.until_gone(".worktrees/repository/garbage.pid").await;
}

/// No process of an agent is left when its task is cancelled during the start.
#[tokio::test]
async fn a_task_is_cancelled_while_its_agent_is_starting() {
    let lab = Lab::started().await;
    lab.plan("name = \"h\"\n[[task]]\nid = \"t\"\nagent = \"hangs\"\nprompt = \"work\"\n").await;
    lab.until_file(".worktrees/repository/hangs.pid").await;
    let board = lab.board().await;
    assert_eq!(task(&board, 1).status, TaskStatus::Starting);
    lab.command(&Command::CancelTask { task: TaskId(1) }).await;
    let took = lab.until_gone(".worktrees/repository/hangs.pid").await;
    assert!(took < LONG / 4, "{took:?}: it did not wait for the start timeout");
    let board = lab.board().await;
    assert_eq!(task(&board, 1).status, TaskStatus::Cancelled);
    assert_eq!(task(&board, 1).attempts[0].outcome, Some(Outcome::Cancelled));
    // Its work is saved, so the task can be retried.
    let retry = Command::RetryTasks {
        tasks: vec![TaskId(1)],
        freshness: pitcrew_model::Freshness::Continue,
    };
    let (began, mut look) = (Instant::now(), looks());
    while let Err(refused) = lab.try_command(&retry).await {
        assert!(began.elapsed() < LONG, "{}", refused.message);
        look.tick().await;
    }
    let again = |board: &pitcrew_views::BoardView| task(board, 1).attempts.len() == 2;
    lab.until("the second attempt", again).await;
}

/// An agent that ignores the interrupt and SIGTERM is killed; the attempt does not count as failed.
#[tokio::test]
async fn an_unresponsive_agent_is_killed() {
    let lab = Lab::started().await;
    let text = "name = \"d\"\nmax_attempts = 1\n[[task]]\nid = \"t\"\nagent = \"deaf\"\nprompt = \"work\"\n";
    let plan = lab.plan(text).await;
    let runs = |board: &pitcrew_views::BoardView| task(board, 1).status == TaskStatus::Running;
    lab.until("the agent runs", runs).await;
    lab.command(&Command::PausePlan { plan }).await;
    lab.until_gone(".worktrees/repository/deaf.pid").await;
    let ended = |board: &pitcrew_views::BoardView| task(board, 1).attempts[0].outcome.is_some();
    let board = lab.until("the attempt ends", ended).await;
    let task_view = task(&board, 1);
    assert_eq!(task_view.attempts[0].failure, Some(Failure::Interrupted), "{task_view:#?}");
    assert_eq!(task_view.status, TaskStatus::Pending, "it is tried again after the pause");

    fs::remove_file(lab.path(".worktrees/repository/deaf.pid")).unwrap();
    lab.command(&Command::ResumePlan { plan }).await;
    lab.until_file(".worktrees/repository/deaf.pid").await;
    lab.until("the second agent runs", runs).await;
    lab.command(&Command::CancelPlan { plan }).await;
    lab.until_gone(".worktrees/repository/deaf.pid").await;
    lab.until_plan(plan, PlanStatus::Cancelled).await;
}
