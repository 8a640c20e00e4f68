//! A crew of real agents with a scripted model, and the trials for it.
//!
//! The tests and the table of tested agents use the same trials. A trial records what works and why
//! something does not.

mod finding;
mod requests;
mod plan;
mod trouble;
mod start;
mod memory;

pub use finding::{Aspect, Findings};
pub use memory::PeakMemory;
pub use plan::{Cast, four_tasks};
pub use start::{Kind, Starts, starts};
pub use trouble::{Trouble, trouble};

use crate::{RealAgent, Sandbox, model::ModelServer, within};
use pitcrew_views::{Attempt, BoardView, TaskView};
use requests::Requests;
use std::time::Duration;

/// A sandbox whose backends are real agents, and their model.
pub struct Crew {
    // Dropped first: the agents end before their model.
    pub sandbox: Sandbox,
    pub model: ModelServer,
    /// The timeout of one step of a trial.
    pub patience: Duration,
}

impl Crew {
    /// `binary` is the program under test.
    pub fn new(binary: &str, agents: &[RealAgent], patience: Duration) -> Self {
        let mut sandbox = Sandbox::new(binary);
        let model = ModelServer::start();
        for agent in agents {
            agent.join(&mut sandbox, &model.url());
        }
        // The built-in agent is always available.
        sandbox.set("PITCREW_MODEL", "openai/scripted");
        sandbox.set("PITCREW_MODEL_PRICE_IN", "3");
        sandbox.set("PITCREW_MODEL_PRICE_OUT", "15");
        sandbox.set("PITCREW_MODEL_ENDPOINT", &format!("{}/v1", model.url()));
        Self { sandbox, model, patience }
    }

    #[track_caller]
    pub fn board(&self) -> BoardView {
        let board = self.sandbox.pitcrew(&["status", "--all", "--json"]).expect(0);
        serde_json::from_str(&board.stdout).unwrap_or_else(|error| panic!("{error} in {board}"))
    }

    #[track_caller]
    pub fn task(&self, key: &str) -> TaskView {
        let task = self.board().tasks.into_iter().find(|it| it.key == key);
        task.unwrap_or_else(|| panic!("there is no task {key}"))
    }

    /// The conversation with a task's agent.
    pub fn conversation(&self, key: &str) -> String {
        self.sandbox.pitcrew(&["logs", key]).expect(0).stdout
    }

    /// Waits until `look` finds something, and meanwhile answers requests for the user.
    fn attend<T>(
        &self,
        requests: &mut Requests,
        mut look: impl FnMut() -> Option<T>,
    ) -> Result<T, String> {
        let found = within(self.patience, || {
            requests.approve(&self.sandbox);
            look()
        });
        found.ok_or_else(|| format!("no result within {} s", self.patience.as_secs()))
    }

    fn await_end_of(&self, key: &str, requests: &mut Requests) -> Result<TaskView, String> {
        self.attend(requests, || Some(self.task(key)).filter(|it| it.status.has_ended()))
    }
}

/// The kind of an attempt's failure, and its text.
fn failure_of(attempt: &Attempt) -> Option<(String, String)> {
    let failure = attempt.failure.as_ref()?;
    let value = serde_json::to_value(failure).expect("a failure is plain data");
    Some((value["kind"].as_str().unwrap_or_default().to_owned(), failure.to_string()))
}
