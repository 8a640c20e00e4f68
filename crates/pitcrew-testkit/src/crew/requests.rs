//! A user who approves every request and records it.

use crate::Sandbox;
use pitcrew_views::OpenRequest;

#[derive(Default)]
pub struct Requests {
    pub approved: Vec<OpenRequest>,
}

impl Requests {
    /// Approves all open requests.
    pub fn approve(&mut self, sandbox: &Sandbox) {
        let inbox = sandbox.pitcrew(&["inbox", "--json"]).expect(0).json();
        for request in inbox["open"].as_array().into_iter().flatten() {
            let request: OpenRequest =
                serde_json::from_value(request.clone()).expect("the inbox has requests");
            // Its agent may have ended in the meantime.
            let answered = sandbox.pitcrew(&["approve", &request.id.to_string()]);
            if answered.code == Some(0) {
                self.approved.push(request);
            }
        }
    }

    /// The requests of a task.
    pub fn of(&self, key: &str) -> impl Iterator<Item = &OpenRequest> {
        self.approved.iter().filter(move |it| it.task_key.as_deref() == Some(key))
    }
}
