//! Authorization.

use crate::lab::{Lab, task};
use hyper::Method;
use pitcrew_api::{ToolReply, paths};
use pitcrew_model::{Command, TaskId, TaskStatus};
use pitcrew_testkit::escape_stopped;

const TOOL: &str = "/v1/tools/orchestrator_complete_task";
const DONE: &str = r#"{"summary": "done"}"#;

/// Every endpoint with its method.
fn doors() -> Vec<(Method, &'static str)> {
    vec![
        (Method::GET, paths::HEALTH),
        (Method::GET, paths::BOARD),
        (Method::GET, paths::INBOX),
        (Method::POST, paths::COMMANDS),
        (Method::GET, paths::EVENTS),
        (Method::GET, "/v1/tasks/task-1/log"),
        (Method::GET, "/v1/tasks/task-1/diff"),
        (Method::GET, "/v1/tasks/task-1/path"),
        (Method::GET, "/v1/plans/plan-1/review"),
        (Method::GET, paths::GARBAGE),
        (Method::POST, paths::SHUTDOWN),
    ]
}

/// A lab with a waiting worker: `attempt-1`.
async fn with_worker() -> Lab {
    let lab = Lab::started().await;
    lab.plan("name = \"w\"\n[[task]]\nid = \"t\"\nagent = \"deaf\"\nprompt = \"work\"\n").await;
    lab.until("it runs", |board| {
        board.tasks.first().is_some_and(|it| it.status == TaskStatus::Running)
    })
    .await;
    lab
}

#[tokio::test]
async fn every_endpoint_needs_the_users_token() {
    let lab = with_worker().await;
    let unknown = format!("Bearer {}", "0".repeat(64));
    let (stranger, worker) = (lab.worker(2), lab.worker(1));
    for (method, path) in doors() {
        for who in [None, Some("Basic x"), Some(&*unknown), Some(&*stranger)] {
            let (status, _) = lab.problem(who, method.clone(), path, "{}").await;
            assert_eq!(status, 401, "{method} {path} as {who:?}");
        }
        let (status, _) = lab.problem(Some(&worker), method.clone(), path, "{}").await;
        assert_eq!(status, 403, "{method} {path} as a worker");
    }
    escape_stopped("decide for a person with a worker's token", "orchestrator", "any", "the token");
    escape_stopped("use another worker's door", "orchestrator", "any", "the token");
    let (status, _) = lab.call_as(Some(&lab.person()), Method::GET, paths::HEALTH, "").await;
    assert_eq!(status, 200);
}

/// A worker's token is valid for its tools and its own attempt, while it is active.
#[tokio::test]
async fn a_worker_may_call_its_tools_while_it_is_active() {
    let lab = with_worker().await;
    let (person, stranger) = (lab.person(), lab.worker(2));
    assert_eq!(lab.problem(None, Method::POST, TOOL, DONE).await.0, 401);
    assert_eq!(lab.problem(Some(&stranger), Method::POST, TOOL, DONE).await.0, 401);
    assert_eq!(lab.problem(Some(&person), Method::POST, TOOL, DONE).await.0, 403);

    let (worker, door) = (lab.worker(1), lab.worker_socket(1));
    let call = async |tool: &str, arguments: &str| -> ToolReply {
        let path = format!("/v1/tools/{tool}");
        let (status, body) =
            lab.call_at(&door, Some(&worker), Method::POST, &path, arguments).await;
        assert_eq!(status, 200, "{}", String::from_utf8_lossy(&body));
        serde_json::from_slice(&body).unwrap()
    };
    let answer = call("a2a_notify_orchestrator", r#"{"kind": "status", "message": "half"}"#).await;
    assert!(!answer.is_error, "{answer:?}");
    let answer = call("rm_rf", "{}").await;
    assert!(answer.is_error && answer.text.contains("rm_rf"), "{answer:?}");
    let answer = call("orchestrator_complete_task", "{}").await;
    assert!(answer.is_error && answer.text.contains("summary"), "{answer:?}");
    let long = format!("{{\"summary\": \"{}\"}}", "x".repeat(1_024 * 1_024));
    assert_eq!(lab.call_at(&door, Some(&worker), Method::POST, TOOL, long).await.0, 413);
    let board = lab.board().await;
    assert_eq!(board.workers[0].activity.as_ref().unwrap().note, "half");

    lab.command(&Command::CancelTask { task: TaskId(1) }).await;
    let (status, problem) = lab.problem(Some(&worker), Method::POST, TOOL, DONE).await;
    assert_eq!(status, 401, "{problem:?}");
    assert_eq!(task(&lab.board().await, 1).status, TaskStatus::Cancelled);
}

/// A worker's socket serves only its own tools; the user's socket serves no worker's tools.
#[tokio::test]
async fn each_socket_serves_its_own_callers_only() {
    let lab = with_worker().await;
    let (person, worker, door) = (lab.person(), lab.worker(1), lab.worker_socket(1));
    for (method, path) in doors() {
        for who in [&person, &worker] {
            let (status, _) = lab.call_at(&door, Some(who), method.clone(), path, "{}").await;
            assert_eq!(status, 404, "{method} {path} at the worker's socket");
        }
    }
    for who in [&person, &lab.client()] {
        let (status, _) = lab.call_at(&door, Some(who), Method::POST, TOOL, DONE).await;
        assert!([401, 403].contains(&status), "{status}");
    }
    assert_eq!(lab.problem(Some(&worker), Method::POST, TOOL, DONE).await.0, 403);
    let (status, _) = lab.call_at(&door, Some(&worker), Method::GET, paths::TOOLS, "").await;
    assert_eq!(status, 200);
}
