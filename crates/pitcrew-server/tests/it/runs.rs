//! Plans that run to completion.

use crate::lab::{Lab, task, worker_status};
use pitcrew_model::{
    Approval, Command, Hooks, LandingStatus, PlanStatus, TaskId, TaskStatus, WorkerId, WorkerStatus,
};
use std::fs;

/// A script, a command and a check, in dependency order, landed on the branch.
#[tokio::test]
async fn a_plan_completes_and_lands() {
    let lab = Lab::started().await;
    let plan = lab
        .plan(
            r#"
            name = "three"
            [[task]]
            id = "write"
            script = "edit core/lib.txt <<OLD <<NEW\ntwo\nOLD\n2\nNEW\ncomplete changed a line"
            checks = ["grep -q 2 core/lib.txt"]
            [[task]]
            id = "copy"
            command = "cp core/lib.txt core/copy.txt"
            depends_on = ["write"]
            expected_files = ["core/copy.txt"]
            [[task]]
            id = "note"
            script = "write note.md <<END\nhi\nEND\ncomplete wrote a note"
            "#,
        )
        .await;
    let board = lab.until_plan(plan, PlanStatus::Completed).await;
    for number in 1..=3 {
        let task = task(&board, number);
        assert_eq!((task.status, task.attempts.len()), (TaskStatus::Completed, 1), "{task:#?}");
    }
    let (approval, hooks) = (Approval::Given, Hooks::Run);
    let land =
        Command::LandPlan { plan, approval, history: None, message: None, hooks, signed: None };
    lab.command(&land).await;
    let cleaned =
        |board: &pitcrew_views::BoardView| board.plans[0].landing.status == LandingStatus::Cleaned;
    lab.until("cleaned", cleaned).await;
    assert_eq!(lab.git(&["show", "main:core/copy.txt"]), "one\n2\n");
    assert_eq!(lab.git(&["show", "main:note.md"]), "hi\n");
    assert_eq!(fs::read_to_string(lab.path("repository/core/copy.txt")).unwrap(), "one\n2\n");
}

/// S0-014, S0-018, S0-019, S0-020, S0-026: two agents that can only complete if both run at the
/// same time, each in its own session, and a third that fails alone.
#[tokio::test]
async fn agents_run_concurrently_and_fail_independently() {
    let lab = Lab::started().await;
    let meet = |own: &str, other: &str| {
        let (own, other) = (lab.path(own), lab.path(other));
        format!(
            "touch '{}'; while [ ! -e '{}' ] || [ ! -e '{}' ]; do sleep 0.02; done",
            own.display(),
            other.display(),
            lab.path("go").display()
        )
    };
    let plan = lab
        .plan(&format!(
            r#"
            name = "meeting"
            max_attempts = 1
            [[task]]
            id = "left"
            region = "left"
            command = "{}"
            [[task]]
            id = "right"
            region = "right"
            command = "{}"
            [[task]]
            id = "broken"
            command = "echo no way >&2; exit 7"
            "#,
            meet("left-is-here", "right-is-here"),
            meet("right-is-here", "left-is-here"),
        ))
        .await;
    let both = |board: &pitcrew_views::BoardView| {
        board.sessions.len() == 2 && task(board, 3).status == TaskStatus::Failed
    };
    let board = lab.until("two sessions and a failure", both).await;
    assert_ne!(board.sessions[0].worker, board.sessions[1].worker);
    assert_ne!(board.sessions[0].attempt, board.sessions[1].attempt);
    let owners: Vec<(&str, WorkerId)> =
        board.regions.iter().map(|it| (it.region.as_str(), it.worker)).collect();
    assert_eq!(owners, [("left", WorkerId(1)), ("right", WorkerId(2))]);
    fs::write(lab.path("go"), "").unwrap();
    let board = lab.until_plan(plan, PlanStatus::Partial).await;
    let statuses: Vec<TaskStatus> = board.tasks.iter().map(|it| it.status).collect();
    assert_eq!(
        statuses,
        [TaskStatus::Completed, TaskStatus::Completed, TaskStatus::Failed],
        "{board:#?}"
    );
    let failure = task(&board, 3).attempts[0].failure.as_ref().unwrap().to_string();
    assert!(failure.contains("no way"), "{failure}");
    assert!(board.sessions.is_empty() && board.regions.is_empty());
}

/// S1-016, S1-017, S1-018, S1-019, S1-020, S1-089, S1-091: a manual deployment, step by step, and
/// its log file.
#[tokio::test]
async fn a_deployed_task_gets_a_checkout_and_a_worker_and_is_logged() {
    let lab = Lab::started().await;
    let plan = lab
        .plan(&format!(
            r#"
            name = "by hand"
            deploy = "manual"
            [[task]]
            id = "wait"
            command = "while [ ! -e '{}' ]; do sleep 0.02; done"
            "#,
            lab.path("go").display()
        ))
        .await;
    let opened = |board: &pitcrew_views::BoardView| board.plans[0].base.is_some();
    let board = lab.until("the base", opened).await;
    assert_eq!(task(&board, 1).status, TaskStatus::Pending, "it was not deployed");
    lab.command(&Command::DeployTask { task: TaskId(1) }).await;
    let runs = |board: &pitcrew_views::BoardView| {
        task(board, 1).status == TaskStatus::Running
            && worker_status(board, 1) == Some(WorkerStatus::Running)
    };
    let board = lab.until("the task runs", runs).await;
    let attempt = &task(&board, 1).attempts[0];
    let base = board.plans[0].base.as_ref().unwrap();
    assert_eq!(attempt.start, base.start);
    assert_eq!(base.branch.as_deref(), Some("main"));
    let checkout = std::path::PathBuf::from(attempt.path.as_ref().unwrap());
    assert!(checkout.starts_with(lab.path(".worktrees/repository")), "{}", checkout.display());
    assert!(checkout.join(".claude/settings.json").exists(), "agent settings are in the checkout");
    assert_eq!(board.sessions.len(), 1);
    fs::write(lab.path("go"), "").unwrap();
    lab.until_plan(plan, PlanStatus::Completed).await;

    let text = fs::read_to_string(&lab.log_files()[0]).unwrap();
    let lines_of = |part: &str| -> Vec<&str> {
        text.lines().filter(|it| it.contains(&format!(" [{part}] "))).collect()
    };
    assert!(!lines_of("Orchestrator:deploy").is_empty(), "{text}");
    let moves = lines_of("WorkerSession:worker-1").join("\n");
    for step in ["created -> starting", "starting -> running", "running -> completed"] {
        assert!(moves.contains(step), "{step} is missing:\n{moves}");
    }
    assert!(!moves.contains("by itself"), "we ended it: {moves}");
}
