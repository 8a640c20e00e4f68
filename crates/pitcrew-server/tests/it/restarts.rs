//! Acknowledged work continues after the orchestrator dies, and nothing is done twice.

use crate::lab::{Lab, task};
use pitcrew_model::{
    Approval, Command, Failure, Hooks, LandingStatus, Outcome, PlanStatus, TaskId, TaskStatus,
};
use pitcrew_views::BoardView;
use rustix::process::Signal;
use std::{fs, time::Duration};

/// Killed in the middle: completed work stays completed, and running work continues.
#[tokio::test]
async fn work_continues_after_the_orchestrator_is_killed() {
    let mut lab = Lab::started().await;
    let (count, go, pid) = (lab.path("count"), lab.path("go"), lab.path("pid"));
    let plan = lab
        .plan(&format!(
            r#"
            name = "k"
            max_attempts = 1
            [[task]]
            id = "first"
            command = "echo once >> '{}'; echo 1 > first.txt"
            [[task]]
            id = "second"
            command = "echo $$ > '{}'; echo half > half.txt; while [ ! -e '{}' ]; do sleep 0.02; done"
            depends_on = ["first"]
            [[task]]
            id = "third"
            command = "cat first.txt half.txt"
            depends_on = ["second"]
            "#,
            count.display(),
            pid.display(),
            go.display()
        ))
        .await;
    lab.until_file("pid").await;
    lab.kill().await;
    lab.start().await;
    fs::write(&go, "").unwrap();
    let board = lab.until_plan(plan, PlanStatus::Completed).await;
    assert_eq!(task(&board, 1).attempts.len(), 1);
    assert_eq!(fs::read_to_string(&count).unwrap(), "once\n", "a completed task runs once");
    let attempts = &task(&board, 2).attempts;
    assert_eq!(attempts.len(), 1, "{attempts:#?}");
    assert_eq!((&attempts[0].failure, attempts[0].turns_count), (&None, 1));
    assert_eq!(task(&board, 3).attempts.len(), 1);
}

/// Killed and restarted immediately, while an agent that was starting is still dying: the start is
/// repeated for the same attempt.
#[tokio::test]
async fn an_interrupted_start_is_repeated() {
    let mut lab = Lab::started().await;
    let plan = lab
        .plan("name = \"l\"\nmax_attempts = 1\n[[task]]\nid = \"t\"\nagent = \"late\"\nprompt = \"Do it.\"\n")
        .await;
    let starts = |board: &BoardView| {
        board.workers.first().is_some_and(|it| it.status == pitcrew_model::WorkerStatus::Starting)
    };
    for _ in 0..3 {
        lab.until("the agent starts", starts).await;
        lab.kill().await;
        lab.start().await;
    }
    fs::write(lab.path("go"), "").unwrap();
    let board = lab.until_plan(plan, PlanStatus::Completed).await;
    assert_eq!(task(&board, 1).attempts.len(), 1, "{board:#?}");
    assert_eq!(task(&board, 1).attempts[0].turns_count, 1);
}

/// A long check does not delay the shutdown; it is killed with all its processes and runs again.
#[tokio::test]
async fn a_long_check_is_killed_at_shutdown_and_runs_again() {
    let mut lab = Lab::started().await;
    let (go, pid) = (lab.path("go"), lab.path("pid"));
    let plan = lab
        .plan(&format!(
            r#"
            name = "c"
            max_attempts = 1
            [[task]]
            id = "t"
            command = "echo 1 > made.txt"
            checks = ["[ ! -e made.txt ] || [ -e '{}' ] || {{ sh -c 'echo $$ > {}; exec sleep 600' & wait; }}"]
            "#,
            go.display(),
            pid.display()
        ))
        .await;
    lab.until_file("pid").await;
    let verifies = |board: &BoardView| task(board, 1).status == TaskStatus::Verifying;
    lab.until("the check", verifies).await;
    lab.signal(Signal::TERM);
    let took = lab.wait_for_end().await;
    assert!(took < Duration::from_secs(20), "{took:?}");
    lab.until_gone("pid").await;
    fs::write(&go, "").unwrap();
    lab.start().await;
    let board = lab.until_plan(plan, PlanStatus::Completed).await;
    assert_eq!(task(&board, 1).attempts.len(), 1, "{board:#?}");
}

/// At a regular shutdown an agent is stopped, and its work is not lost.
#[tokio::test]
async fn agents_end_with_their_orchestrator() {
    let mut lab = Lab::started().await;
    let (go, pid) = (lab.path("go"), lab.path("pid"));
    let plan = lab
        .plan(&format!(
            "name = \"a\"\n[[task]]\nid = \"t\"\ncommand = \"echo kept > kept.txt; echo $$ > '{}'; while [ ! -e '{}' ]; do sleep 0.02; done\"\n",
            pid.display(),
            go.display()
        ))
        .await;
    lab.until_file("pid").await;
    lab.signal(Signal::TERM);
    let took = lab.wait_for_end().await;
    assert!(took < Duration::from_secs(20), "{took:?}");
    assert!(lab.until_gone("pid").await < Duration::from_secs(1), "it went first");
    fs::remove_file(&pid).unwrap();
    lab.start().await;
    lab.until_file("pid").await;
    let board = lab.board().await;
    let attempts = &task(&board, 1).attempts;
    assert_eq!(attempts.len(), 2, "{attempts:#?}");
    assert_eq!(attempts[0].failure, Some(Failure::Interrupted));
    let checkout = std::path::PathBuf::from(attempts[1].path.as_ref().unwrap());
    assert!(checkout.join("kept.txt").exists());
    lab.command(&Command::CancelTask { task: TaskId(1) }).await;
    lab.until_gone("pid").await;
    lab.until_plan(plan, PlanStatus::Failed).await;
}

/// Killed repeatedly after a few entries: the plan still completes, each task is integrated once,
/// and it lands.
#[tokio::test]
async fn a_plan_survives_repeated_kills() {
    let mut lab = Lab::started().await;
    let plan = lab
        .plan(
            r#"
            name = "often"
            max_attempts = 1
            [[task]]
            id = "one"
            command = "echo 1 > one.txt"
            checks = ["[ ! -e broken.txt ]"]
            [[task]]
            id = "two"
            script = "write two.txt <<END\n2\nEND\ncomplete two"
            [[task]]
            id = "three"
            command = "cat one.txt two.txt > three.txt"
            depends_on = ["one", "two"]
            "#,
        )
        .await;
    // Each run lasts a little longer than the previous one, so that the test ends.
    for kills in 0..8 {
        let seq = lab.board().await.seq.0;
        let moved =
            |board: &BoardView| board.plans[0].status.has_ended() || board.seq.0 >= seq + 3 + kills;
        lab.until("a few more entries", moved).await;
        lab.kill().await;
        lab.start().await;
    }
    let board = lab.until_plan(plan, PlanStatus::Completed).await;
    for number in 1..=3 {
        let attempts = &task(&board, number).attempts;
        let (last, before) = attempts.split_last().unwrap();
        assert_eq!(last.outcome, Some(Outcome::Success), "{attempts:#?}");
        for attempt in before {
            assert_eq!(attempt.failure, Some(Failure::Interrupted), "{attempts:#?}");
        }
    }
    lab.command(&Command::LandPlan {
        plan,
        approval: Approval::Given,
        history: None,
        message: None,
        hooks: Hooks::Run,
        signed: None,
    })
    .await;
    lab.until("the landing", |board| {
        board.plans[0].landing.status == LandingStatus::Merging
            || board.plans[0].landing.status == LandingStatus::Cleaned
    })
    .await;
    lab.kill().await;
    lab.start().await;
    lab.until("the landing", |board| board.plans[0].landing.status == LandingStatus::Cleaned).await;
    assert_eq!(lab.git(&["show", "main:three.txt"]), "1\n2\n");
    let merges = lab.git(&["rev-list", "--count", "--first-parent", "main"]);
    assert_eq!(merges, "2\n", "landed once");
}
