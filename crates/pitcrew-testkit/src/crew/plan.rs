//! The plan of four tasks: one agent fixes a check, one asks, one leaves its region, and the
//! built-in one.

use super::{Aspect, Crew, Findings, Requests, failure_of};
use pitcrew_model::{Failure, TaskStatus};
use pitcrew_views::{Attempt, TaskView};
use std::time::Instant;

/// The backend of each role.
#[derive(Clone, Copy)]
pub struct Cast<'a> {
    /// Edits files, fails a check, and fixes it.
    pub fixes: &'a str,
    /// Runs a command that a person has to allow, and keeps working while the orchestrator is
    /// killed.
    pub asks: &'a str,
    /// Writes outside its region and its sandbox; then its model fails, and it is cancelled.
    pub strays: &'a str,
}

fn text(cast: Cast<'_>) -> String {
    let Cast { fixes, asks, strays } = cast;
    format!(
        r#"
name = "four tasks"

[[task]]
id = "built-in"
agent = "builtin"
region = "ui"
prompt = '''
@write ui/three.txt three
@complete wrote it
'''

[[task]]
id = "fixes"
agent = "{fixes}"
region = "core"
max_attempts = 2
prompt = '''
@say I begin.
@read core/one.txt
@edit core/one.txt one => two
@write core/port.txt 8081
@complete wrote the port
@when attempt 2)
@read core/port.txt
@edit core/port.txt 8081 => 8080
@complete fixed the port
'''
checks = ["grep -q two core/one.txt", "grep -q 8080 core/port.txt"]

[[task]]
id = "asks"
agent = "{asks}"
region = "docs"
depends_on = ["built-in"]
max_attempts = 1
prompt = '''
@escalate mkdir -p docs && cat ui/three.txt > docs/seen.txt
@hold asks
@complete read the other task's work
'''
checks = "grep -q three docs/seen.txt"

[[task]]
id = "strays"
agent = "{strays}"
region = "lib"
max_attempts = 2
prompt = '''
@read lib/four.txt
@edit lib/four.txt four => mine
@read other/five.txt
@edit other/five.txt five => yours
@bash printf '%s\n' '--- a/other/five.txt' '+++ b/other/five.txt' '@@ -1 +1 @@' '-five' '+yours' | git apply --cached && git -c user.name=a -c user.email=a@example.org commit -qm strays
@complete wrote both
@when attempt 2)
@read lib/four.txt
@fail 400 the model is out of order
@when attempt 3)
@read lib/four.txt
@hold strays
@complete too late
'''
"#
    )
}

/// Runs the plan with all its faults.
pub fn four_tasks(crew: &Crew, cast: Cast<'_>) -> Findings {
    crew.sandbox.write("lib/four.txt", "four\n");
    crew.sandbox.write("other/five.txt", "five\n");
    crew.sandbox.commit("places to write to");
    let plan = crew.sandbox.plan(&text(cast));
    crew.sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
    let mut requests = Requests::default();
    let killed = kill_while_held(crew, &mut requests);
    let ended = crew.attend(&mut requests, || {
        crew.board().plans.first().is_some_and(|it| it.status.has_ended()).then_some(())
    });
    let mut found = Findings::default();
    let [fixes, asks, strays] = ["fixes", "asks", "strays"].map(|it| crew.task(it));
    found.note(Aspect::Edit, ended.clone().and_then(|()| edits(&fixes, &requests)));
    found.note(Aspect::Complete, completes(crew, &fixes));
    found.note(Aspect::Retry, retries(&fixes));
    found.note(Aspect::Permission, asks_first(crew, &asks, &requests));
    found.note(Aspect::Reattach, killed.and_then(|()| reattaches(crew, &asks)));
    found.note(Aspect::Gate, is_refused(&strays));
    found.note(Aspect::ModelError, fails_with_its_model(crew, &strays));
    found.note(Aspect::Tokens, reports_tokens(crew, &[&fixes, &asks]));
    found.note(Aspect::Cost, reports_cost(&[&fixes, &asks]));
    found.note(Aspect::Cancel, ended.and_then(|()| is_cancelled(crew, &mut requests)));
    found
}

/// Waits until the turn of one task is held, and kills the orchestrator.
fn kill_while_held(crew: &Crew, requests: &mut Requests) -> Result<(), String> {
    let held = crew.attend(requests, || {
        let task = crew.task("asks");
        match (crew.model.has_held("asks"), task.status.has_ended()) {
            (true, _) => Some(Ok(())),
            (false, true) => Some(Err(ended_early(&task))),
            (false, false) => None,
        }
    });
    held??;
    crew.sandbox.kill_orchestrator();
    // The next command starts another one.
    crew.sandbox.pitcrew(&["status"]).expect(0);
    crew.model.release("asks");
    Ok(())
}

fn ended_early(task: &TaskView) -> String {
    let failure = task.newest_attempt().and_then(failure_of);
    failure.map_or_else(|| format!("it is {} before", task.status), |it| it.1)
}

fn first(task: &TaskView) -> Result<&Attempt, String> {
    task.attempts.first().ok_or_else(|| format!("it never began: {:?}", task.reason))
}

fn edits(task: &TaskView, requests: &Requests) -> Result<String, String> {
    if let Some(request) = requests.of("fixes").next() {
        return Err(format!("it asked a person: {}", request.title));
    }
    match &first(task)?.failure {
        Some(Failure::Checks { failed }) => {
            match failed.iter().find(|it| it.command.contains("one.txt")) {
                Some(check) => Err(format!("`{}` failed", check.command)),
                None => Ok(String::new()),
            }
        }
        Some(other) => Err(other.to_string()),
        None => Err(format!("the first attempt succeeded unexpectedly; {}", task.status)),
    }
}

fn completes(crew: &Crew, task: &TaskView) -> Result<String, String> {
    let attempt = first(task)?;
    match (attempt.summary.as_deref(), attempt.turns_count) {
        (Some("wrote the port"), 1) => {}
        (Some("wrote the port"), turns) => return Err(format!("only in turn {turns}")),
        (Some(other), _) => return Err(format!("it reported `{other}`")),
        (None, _) => return Err("it did not report completion".into()),
    }
    // Others work on the same plan.
    let offered = |it: &(String, serde_json::Value)| {
        it.1.to_string().contains("# Task fixes (")
            && it.1["tools"].to_string().contains("orchestrator_complete_task")
    };
    let by_tool = crew.model.calls().iter().any(offered);
    Ok(if by_tool { "MCP".into() } else { "`pitcrew tool`".into() })
}

fn retries(task: &TaskView) -> Result<String, String> {
    match (task.status, task.attempts.len()) {
        (TaskStatus::Completed, 2) => Ok(String::new()),
        (status, count) => Err(format!("{status} after {count} attempts: {}", ended_early(task))),
    }
}

fn asks_first(crew: &Crew, task: &TaskView, requests: &Requests) -> Result<String, String> {
    // Such an agent asks when its model wants to leave the sandbox, and runs everything else inside
    // it.
    let has_sandbox = |it: &(String, serde_json::Value)| {
        it.1.to_string().contains("# Task asks (")
            && it.1["tools"].to_string().contains("sandbox_permissions")
    };
    let is_sandboxed = crew.model.calls().iter().any(has_sandbox);
    let remark = if is_sandboxed { "outside its sandbox" } else { "" };
    let asked: Vec<&str> = requests.of("asks").map(|it| it.title.as_str()).collect();
    match (asked[..].iter().find(|it| it.contains("seen.txt")), task.status) {
        (Some(_), TaskStatus::Completed) if asked.len() == 1 => Ok(remark.to_owned()),
        (Some(_), TaskStatus::Completed) => {
            Err(format!("asked {} times: {}", asked.len(), asked.join("; ")))
        }
        (Some(_), _) => Err(format!("allowed, and then: {}", ended_early(task))),
        (None, TaskStatus::Completed) => Err("it ran the command without asking".into()),
        (None, _) => Err(ended_early(task)),
    }
}

fn reattaches(crew: &Crew, task: &TaskView) -> Result<String, String> {
    let attempt = first(task)?;
    let prompted_count = crew.model.begun_count("# Task asks (");
    match (task.status, attempt.turns_count, prompted_count) {
        (TaskStatus::Completed, 1, 1) => Ok(String::new()),
        (TaskStatus::Completed, turns, prompts) => {
            Err(format!("{turns} turns and {prompts} prompts instead of one"))
        }
        (_, _, _) => Err(ended_early(task)),
    }
}

fn is_refused(task: &TaskView) -> Result<String, String> {
    match &first(task)?.failure {
        Some(Failure::Gate { refusals, .. }) => {
            let paths: Vec<&str> = refusals.iter().map(|it| it.path.as_str()).collect();
            if paths == ["other/five.txt"] {
                Ok(String::new())
            } else {
                Err(format!("refused is {}", paths.join(", ")))
            }
        }
        Some(other) => Err(other.to_string()),
        None => Err(format!("the first attempt succeeded unexpectedly; {}", task.status)),
    }
}

fn fails_with_its_model(crew: &Crew, task: &TaskView) -> Result<String, String> {
    let attempt = task.attempts.get(1).ok_or("there was no second attempt")?;
    match failure_of(attempt) {
        Some((kind, text)) if kind == "model" && text.contains("out of order") => Ok(String::new()),
        Some((_, text)) => {
            let logged = crew.conversation("strays").contains("the model is out of order");
            let logged = if logged { "; the log has the model's words" } else { "" };
            Err(format!("{text}{logged}"))
        }
        None => Err("it succeeded".into()),
    }
}

/// The agent's token counts relative to its model's. More is fine: some agents also request titles
/// and summaries.
fn reports_tokens(crew: &Crew, tasks: &[&TaskView]) -> Result<String, String> {
    let percent = |part: u64, whole: u64| part * 100 / whole.max(1);
    let told = |task: &TaskView| {
        let (told_in, told_out) = crew.model.tokens_reported(&format!("# Task {} (", task.key));
        let used = task.usage;
        let tokens_in = percent(used.tokens_in + used.tokens_cached, told_in);
        (tokens_in, percent(used.tokens_out, told_out))
    };
    let shares = tasks.iter().map(|it| told(it));
    let least = shares.min().ok_or("there are no tasks")?;
    match least {
        (100.., 100..) => Ok(String::new()),
        (0, _) | (_, 0) => Err("none".into()),
        (tokens_in, tokens_out) => {
            Err(format!("{tokens_in} % of those in, {tokens_out} % of those out"))
        }
    }
}

fn reports_cost(tasks: &[&TaskView]) -> Result<String, String> {
    match tasks.iter().find(|it| it.usage.cost_micros == 0) {
        Some(_) => Err("none".into()),
        None => Ok(String::new()),
    }
}

/// One more attempt of the task that leaves its region, which is cancelled while its model is busy.
fn is_cancelled(crew: &Crew, requests: &mut Requests) -> Result<String, String> {
    let retried = crew.sandbox.pitcrew(&["retry", "strays"]);
    if retried.code != Some(0) {
        return Err(retried.stderr.trim().to_owned());
    }
    let held = crew.attend(requests, || {
        let task = crew.task("strays");
        match (crew.model.has_held("strays"), task.status.has_ended()) {
            (true, _) => Some(Ok(())),
            (false, true) => Some(Err(ended_early(&task))),
            (false, false) => None,
        }
    });
    held??;
    let began = Instant::now();
    crew.sandbox.pitcrew(&["cancel", "strays"]).expect(0);
    let task = crew.await_end_of("strays", requests)?;
    let took = began.elapsed();
    if task.status == TaskStatus::Cancelled {
        Ok(format!("{:.1} s", took.as_secs_f64()))
    } else {
        Err(format!("it is {}", task.status))
    }
}
