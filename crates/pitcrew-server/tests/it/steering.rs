//! User actions on running plans.

use crate::lab::{Lab, task, worker_status};
use pitcrew_model::{
    Command, GrantScope, PlanStatus, RequestId, TaskId, TaskStatus, Verdict, WorkerStatus,
};
use pitcrew_views::{BoardView, InboxView};
use std::fs;

/// The turn is interrupted and continues later.
#[tokio::test]
async fn a_paused_plan_stops_and_resumes() {
    let lab = Lab::started().await;
    let plan = lab
        .plan(&format!(
            r#"
            name = "p"
            [[task]]
            id = "t"
            script = """
            write begun.txt <<END
            begun
            END
            run echo $$ > '{}'; while [ ! -e '{}' ]; do sleep 0.02; done
            complete done
            """
            "#,
            lab.path("pid").display(),
            lab.path("go").display()
        ))
        .await;
    lab.until_file("pid").await;
    lab.command(&Command::PausePlan { plan }).await;
    lab.until_gone("pid").await;
    let board = lab.board().await;
    assert_eq!(worker_status(&board, 1), Some(WorkerStatus::Paused));
    assert_eq!(board.slots_taken, 0);
    fs::write(lab.path("go"), "").unwrap();
    lab.command(&Command::ResumePlan { plan }).await;
    let board = lab.until_plan(plan, PlanStatus::Completed).await;
    let attempts = &task(&board, 1).attempts;
    assert_eq!(attempts.len(), 1, "the same agent continued: {attempts:#?}");
    assert_eq!(attempts[0].turns_count, 2);
}

/// A question goes to the inbox, and its answer to the agent.
#[tokio::test]
async fn a_question_is_answered_by_a_person() {
    let lab = Lab::started().await;
    let plan = lab
        .plan(
            r#"
            name = "q"
            [[task]]
            id = "t"
            script = """
            ask which port?
            when "8080" complete took 8080
            fail no answer
            """
            "#,
        )
        .await;
    let waits = |board: &BoardView| worker_status(board, 1) == Some(WorkerStatus::WaitingInput);
    lab.until("the question", waits).await;
    let inbox: InboxView = lab.get("/v1/inbox").await;
    assert_eq!(inbox.open.len(), 1);
    let answer = Command::AnswerQuestion { request: RequestId(1), text: "8080".into() };
    lab.command(&answer).await;
    let board = lab.until_plan(plan, PlanStatus::Completed).await;
    assert_eq!(task(&board, 1).attempts[0].summary.as_deref(), Some("took 8080"));
}

/// An action that is not in the matrix waits for a person in the middle of a turn.
#[tokio::test]
async fn a_tool_call_waits_for_permission() {
    let lab = Lab::started().await;
    let plan = lab
        .plan(
            r#"
            name = "p"
            max_attempts = 1
            [[task]]
            id = "yes"
            script = "permit make release\ncomplete released"
            [[task]]
            id = "no"
            script = "permit drop tables\ncomplete dropped"
            "#,
        )
        .await;
    let both = |board: &BoardView| {
        let waits = |it: &&pitcrew_views::Worker| it.status == WorkerStatus::WaitingPermission;
        board.workers.iter().filter(waits).count() == 2
    };
    lab.until("two requests", both).await;
    let inbox: InboxView = lab.get("/v1/inbox").await;
    assert_eq!(inbox.open.len(), 2);
    for request in &inbox.open {
        let yes = request.task == Some(TaskId(1));
        let verdict = if yes { Verdict::Approve } else { Verdict::Deny };
        let (request, scope) = (request.id, GrantScope::Once);
        let command = Command::DecideRequest { request, verdict, reason: None, scope, shown: None };
        lab.command(&command).await;
    }
    let board = lab.until_plan(plan, PlanStatus::Partial).await;
    assert_eq!(task(&board, 1).status, TaskStatus::Completed);
    assert_eq!(task(&board, 2).status, TaskStatus::Failed);
}
