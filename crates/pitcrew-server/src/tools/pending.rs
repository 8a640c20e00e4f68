//! The pending duties of a waiting worker: requests to decide and questions to answer.

use super::{Calling, quoted::Tag};
use pitcrew_model::{AttemptId, Message, SubtaskName};
use pitcrew_runtime::SubtaskRequest;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// The duties as text and as rows.
pub struct Pending {
    pub text: String,
    pub requests: Value,
    pub questions: Value,
}

pub async fn collect(calling: &Calling<'_>, attempt: AttemptId, tag: &Tag) -> Pending {
    let handle = calling.doors.orchestrator.handle();
    let (asked, questions) =
        (handle.requests_to_decide(attempt).await, handle.questions_to(attempt).await);
    Pending {
        text: requests_text(&asked, tag) + &questions_text(&questions, tag),
        requests: asked.iter().map(request_row).collect(),
        questions: questions.iter().map(question_row).collect(),
    }
}

fn requests_text(asked: &[SubtaskRequest], tag: &Tag) -> String {
    if asked.is_empty() {
        return String::new();
    }
    let mut text = String::from("\nYour sub-tasks request permissions:\n");
    for it in asked {
        let (name, action, request) = (SubtaskName(it.task), &it.action, it.request);
        writeln!(text, "- {request} from {name}: {action}").expect("a string takes everything");
        let command = it.tool.command.as_ref().map(|it| format!("\n{it}")).unwrap_or_default();
        let words = it.tool.title.clone() + &command;
        text.push_str(&tag.block(&format!("request=\"{request}\""), &words));
    }
    text.push_str(
        "Call a2a_decide_permissions with these ids, then call a2a_await_subtasks again.\n\
         A request that you do not decide within a minute, or before you wait again, goes to a \
         person.\n",
    );
    text
}

fn request_row(it: &SubtaskRequest) -> Value {
    json!({
        "request": it.request,
        "subtask": SubtaskName(it.task).to_string(),
        "action": it.action.to_string(),
        "title": it.tool.title,
        "command": it.tool.command,
    })
}

fn questions_text(questions: &[Message], tag: &Tag) -> String {
    if questions.is_empty() {
        return String::new();
    }
    let mut text = String::from("\nWorkers wait for your answer to these questions:\n");
    for it in questions {
        let (id, asker) = (it.id, asker(it));
        writeln!(text, "- {id} from {asker}").expect("a string takes everything");
        text.push_str(&tag.block(&format!("message=\"{id}\""), &it.content));
    }
    text.push_str(
        "Answer each with a2a_notify_orchestrator, kind `answer` and `reply_to`, then call \
         a2a_await_subtasks again.\n\
         If you wait again without an answer, the question ends without one.\n",
    );
    text
}

fn question_row(it: &Message) -> Value {
    json!({ "message": it.id, "from": asker(it), "content": it.content })
}

fn asker(it: &Message) -> String {
    let name = it.context.subtask.map(|it| SubtaskName(it).to_string());
    name.unwrap_or_else(|| it.context.task.to_string())
}
