//! The changes of a task or a plan, its checkout, and what could be removed.

use crate::lab::{Lab, task};
use pitcrew_api::{GarbagePreview, PlanReview, TaskDiff, TaskPath};
use pitcrew_model::{AttemptId, Command, PlanStatus, TaskId, TaskStatus};
use pitcrew_views::BoardView;
use std::{fs, path::Path};

/// The numbers are the same during the work and after collecting it.
#[tokio::test]
async fn a_diff_is_available_during_the_work_and_after() {
    let lab = Lab::started().await;
    let plan = lab
        .plan(&format!(
            r#"
            name = "d"
            [[task]]
            id = "t"
            script = """
            write core/new.txt <<END
            a
            b
            END
            delete core/lib.txt
            run while [ ! -e '{}' ]; do sleep 0.02; done
            complete done
            """
            "#,
            lab.path("go").display()
        ))
        .await;
    let deleted = |board: &BoardView| {
        let attempt = board.tasks.first().and_then(|it| it.attempts.first()?.path.clone());
        attempt.is_some_and(|it| !Path::new(&it).join("core/lib.txt").exists())
    };
    lab.until("the agent works", |board| {
        task(board, 1).status == TaskStatus::Running && deleted(board)
    })
    .await;
    let live: TaskDiff = lab.get("/v1/tasks/task-1/diff").await;
    let place: TaskPath = lab.get("/v1/tasks/task-1/path").await;
    assert!(Path::new(&place.path).join("core/new.txt").exists());
    let preview: GarbagePreview = lab.get("/v1/gc").await;
    assert_eq!(preview.removable, []);
    assert_eq!(preview.kept[0].reason, "task-1 is running");

    fs::write(lab.path("go"), "").unwrap();
    lab.until_plan(plan, PlanStatus::Completed).await;
    let done: TaskDiff = lab.get("/v1/tasks/task-1/diff").await;
    assert_eq!((&live.diff.to, live.attempt), (&None, AttemptId(1)));
    assert!(done.diff.to.is_some());
    for diff in [&live.diff, &done.diff] {
        assert_eq!((diff.files_count, diff.insertions, diff.deletions), (2, 2, 2), "{diff:#?}");
        let files: Vec<(&str, char)> =
            diff.files.iter().map(|it| (it.path.as_str(), it.change)).collect();
        assert_eq!(files, [("core/lib.txt", 'D'), ("core/new.txt", 'A')]);
    }
    assert_eq!(live.diff.text, done.diff.text);
    let review: PlanReview = lab.get("/v1/plans/plan-1/review").await;
    assert_eq!((review.branch.as_deref(), review.diff.insertions), (Some("main"), 2));

    let preview: GarbagePreview = lab.get("/v1/gc").await;
    assert_eq!((preview.removable.len(), preview.kept.len()), (1, 0));
    lab.command(&Command::CollectGarbage).await;
    let removed = |board: &BoardView| task(board, 1).attempts[0].removed_at.is_some();
    lab.until("the removal", removed).await;
    assert!(!Path::new(&place.path).exists());
    let preview: GarbagePreview = lab.get("/v1/gc").await;
    assert_eq!((preview.removable.len(), preview.kept.len()), (0, 0));
    // The work is still in the vault.
    let again: TaskPath = lab.get("/v1/tasks/task-1/path").await;
    assert_eq!(again.path, place.path);
    assert!(Path::new(&again.path).join("core/new.txt").exists());
}

#[tokio::test]
async fn a_failed_task_keeps_its_checkout_until_it_is_abandoned() {
    let lab = Lab::started().await;
    let plan = lab
        .plan("name = \"f\"\nmax_attempts = 1\n[[task]]\nid = \"t\"\ncommand = \"echo x > x; exit 1\"\n")
        .await;
    lab.until_plan(plan, PlanStatus::Failed).await;
    lab.until("the work is saved", |board| task(board, 1).attempts[0].commit.is_some()).await;
    let preview: GarbagePreview = lab.get("/v1/gc").await;
    assert_eq!(preview.removable, []);
    assert!(preview.kept[0].reason.contains("pitcrew abandon task-1"), "{preview:?}");
    lab.command(&Command::AbandonTask { task: TaskId(1) }).await;
    lab.until("the removal", |board| task(board, 1).attempts[0].removed_at.is_some()).await;
}
