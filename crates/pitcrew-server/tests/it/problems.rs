//! Failed requests get a readable problem.

use crate::lab::Lab;
use hyper::Method;
use pitcrew_api::{ProblemCode, paths};
use pitcrew_model::{Command, PlanId, Rejection};

#[tokio::test]
async fn an_invalid_request_gets_a_problem() {
    let lab = Lab::started().await;
    let person = lab.person();
    let check = async |method: Method, path: &str, body: &str, code: ProblemCode, word: &str| {
        let (status, problem) = lab.problem(Some(&person), method, path, body).await;
        assert_eq!(problem.code, code, "{path}: {status}: {problem:?}");
        assert!(problem.message.contains(word), "{path}: {problem:?}");
    };
    let (bad, missing) = (ProblemCode::BadRequest, ProblemCode::NotFound);
    check(Method::POST, paths::COMMANDS, "", bad, "is invalid").await;
    check(Method::POST, paths::COMMANDS, "{\"command\": ", bad, "line 1").await;
    check(Method::POST, paths::COMMANDS, r#"{"command": "fly"}"#, bad, "fly").await;
    check(Method::POST, paths::COMMANDS, r#"{"command": "cancel_task"}"#, bad, "task").await;
    check(Method::POST, paths::COMMANDS, "\u{0}\u{1}", bad, "is invalid").await;
    check(Method::GET, "/v1/events?after=x", "", bad, "after").await;
    check(Method::GET, "/v1/board?plan=task-1", "", bad, "plan-7").await;
    check(Method::GET, "/v1/tasks/seven/log", "", bad, "task-7").await;
    check(Method::GET, "/v1/tasks/%ff/log", "", bad, "").await;
    check(Method::GET, "/v1/tasks/task-9/log", "", missing, "task-9").await;
    check(Method::GET, "/v1/tasks/task-9/diff", "", missing, "task-9").await;
    check(Method::GET, "/v1/tasks/task-9/path", "", missing, "task-9").await;
    check(Method::GET, "/v1/plans/plan-9/review", "", missing, "plan-9").await;
    check(Method::GET, "/v1/nowhere", "", missing, "/v1/nowhere").await;
    check(Method::DELETE, paths::BOARD, "", missing, "DELETE").await;
}

#[tokio::test]
async fn an_oversized_body_is_rejected() {
    let lab = Lab::started().await;
    let body = vec![b' '; 64 * 1_024 * 1_024 + 1];
    let (status, problem) =
        lab.problem(Some(&lab.person()), Method::POST, paths::COMMANDS, body).await;
    assert_eq!((status, problem.code), (413, ProblemCode::TooLarge));
}

#[tokio::test]
async fn a_rejected_command_returns_its_rejection() {
    let lab = Lab::started().await;
    let refused = lab.try_command(&Command::PausePlan { plan: PlanId(7) }).await.unwrap_err();
    let rejection = Rejection::NoSuchPlan { plan: PlanId(7) };
    assert_eq!(refused.message, rejection.to_string());
    assert_eq!(refused.rejection.known(), Some(&rejection));
}
