//! Models that reject requests: no key, no quota.

use super::{Aspect, Crew, Findings, Requests, failure_of};
use pitcrew_views::TaskView;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The model rejects the key.
    Auth,
    /// The quota is used up for a while.
    Quota,
}

impl Trouble {
    pub const ALL: &[Self] = &[Self::Auth, Self::Quota];

    fn step(self) -> &'static str {
        match self {
            Self::Auth => "@fail 401 invalid api key",
            Self::Quota => "@fail 429 reset=20m the quota is used up",
        }
    }

    fn aspect(self) -> Aspect {
        match self {
            Self::Auth => Aspect::Auth,
            Self::Quota => Aspect::Quota,
        }
    }
}

/// One task, whose model rejects the second step.
pub fn trouble(crew: &Crew, agent: &str, trouble: Trouble) -> Findings {
    let step = trouble.step();
    let plan = crew.sandbox.plan(&format!(
        r#"
name = "trouble"

[[task]]
id = "task"
agent = "{agent}"
region = "core"
max_attempts = 1
prompt = '''
@write core/half.txt half
{step}
@complete although its model rejected it
'''
"#
    ));
    crew.sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
    let mut requests = Requests::default();
    let found = match trouble {
        Trouble::Auth => crew.await_end_of("task", &mut requests).and_then(|it| is_auth(&it)),
        Trouble::Quota => waits(crew, &mut requests),
    };
    crew.sandbox.pitcrew(&["cancel", "plan-1"]);
    let mut findings = Findings::default();
    findings.note(trouble.aspect(), found);
    findings
}

fn is_auth(task: &TaskView) -> Result<String, String> {
    match task.newest_attempt().and_then(failure_of) {
        Some((kind, _)) if kind == "auth" => Ok(String::new()),
        Some((_, text)) => Err(text),
        None => Err(format!("it is {}", task.status)),
    }
}

/// The worker waits, and its task has not failed.
fn waits(crew: &Crew, requests: &mut Requests) -> Result<String, String> {
    let waited = crew.attend(requests, || {
        let board = crew.board();
        let waits = board.workers.iter().any(|it| it.status.to_string() == "waiting_quota");
        let task = board.tasks.iter().find(|it| it.key == "task")?;
        match (waits, task.status.has_ended()) {
            (true, _) => Some(Ok(String::new())),
            (false, true) => {
                let failure = task.newest_attempt().and_then(failure_of);
                Some(Err(failure.map_or_else(|| task.status.to_string(), |it| it.1)))
            }
            (false, false) => None,
        }
    });
    waited.map_err(|reason| {
        let calls = crew.model.calls();
        let asked = calls.iter().filter(|it| it.1.to_string().contains("# Task task ("));
        format!("{reason}; its model was called {} times", asked.count())
    })?
}
