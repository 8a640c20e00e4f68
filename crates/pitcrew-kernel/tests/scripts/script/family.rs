//! `spawn attempt-1 wait=10s | look | write isolated on=src/a agent=codex attempts=2 timeout=5s`

use super::plan::milliseconds;
use pitcrew_model::{
    AgentRef, AttemptId, Claim, Command, HouseRules, RepoPath, SubtaskKind, SubtaskSpec,
    TaskOutput, TaskWork, WorkspaceMode, limits,
};

pub fn of_worker(verb: &str, subject: &str, words: &str) -> Option<Command> {
    let attempt: AttemptId = subject.parse().ok()?;
    Some(match verb {
        "spawn" => spawn(attempt, words),
        "await" => {
            let (timeout, tasks) = words.split_once(' ').unwrap_or((words, ""));
            let tasks = tasks.split_whitespace().map(|it| it.parse().expect("a sub-task"));
            let (tasks, timeout_ms) = (tasks.collect(), milliseconds(timeout));
            Command::AwaitSubtasks { attempt, tasks, timeout_ms }
        }
        "pull" => Command::PullSubtask { attempt, task: words.parse().expect("a sub-task") },
        // A file, a JSON value without spaces, and a text.
        "deliver" => {
            let mut words = words.splitn(3, ' ');
            let mut next = || words.next().unwrap_or_default().to_owned();
            let file = RepoPath::parse(&next()).ok();
            let output = TaskOutput { file, metadata: Some(next()), ..TaskOutput::default() };
            let (claim, output) = (Claim::Success, Some(output));
            Command::CompleteTask { attempt, claim, summary: next(), output }
        }
        _ => return None,
    })
}

fn spawn(attempt: AttemptId, words: &str) -> Command {
    let mut parts = words.split('|').map(str::trim);
    let head = parts.next().unwrap_or_default();
    let wait_ms = head.strip_prefix("wait=").map(milliseconds);
    let subtasks = parts.filter(|it| !it.is_empty()).map(subtask).collect();
    Command::SpawnSubtasks { attempt, subtasks, wait_ms, nonce: "5f3a".into() }
}

/// `denied=infra | look | write on=src/a`, by an outside client.
pub fn standalone(words: &str) -> Command {
    let (rules, words) = words.split_once('|').expect("what they are to do");
    let mut house = HouseRules::default();
    for word in rules.split_whitespace() {
        match word.split_once('=') {
            Some(("denied", path)) => {
                house.denied.push(RepoPath::parse_prefix(path).expect("a path"));
            }
            Some(("tokens", count)) => house.caps.tokens = count.parse().ok(),
            Some(_) | None => panic!("the settings have no `{word}`"),
        }
    }
    let parts = words.split('|').map(str::trim).filter(|it| !it.is_empty());
    Command::SpawnStandalone { subtasks: parts.map(subtask).collect(), rules: house }
}

fn subtask(text: &str) -> SubtaskSpec {
    let mut words = text.split_whitespace();
    let name = words.next().expect("what it is to do");
    let mut it = SubtaskSpec {
        kind: SubtaskKind::Delegate,
        agent: AgentRef::backend("claude"),
        work: TaskWork::Prompt { prompt: format!("Do {name}.") },
        expected_output: String::new(),
        model: None,
        workspace: Some(WorkspaceMode::ReadOnly),
        target_files: Vec::new(),
        attempts_max: limits::ATTEMPTS_PER_SUBTASK_DEFAULT,
        timeout_ms: limits::TASK_TIMEOUT_MS_DEFAULT,
    };
    for word in words {
        match word.split_once('=').unwrap_or((word, "")) {
            ("usual", _) => it.workspace = None,
            ("isolated", _) => it.workspace = Some(WorkspaceMode::Isolated),
            ("shared", _) => it.workspace = Some(WorkspaceMode::Shared),
            ("on", path) => it.target_files.push(RepoPath::parse(path).expect("a path")),
            ("command", command) => {
                let (prompt, command) = (format!("Do {name}."), command.into());
                (it.agent, it.work) =
                    (AgentRef::backend("command"), TaskWork::Command { prompt, command });
            }
            ("agent", name) => it.agent = name.parse().expect("an agent"),
            ("attempts", count) => it.attempts_max = count.parse().expect("a number"),
            ("timeout", time) => it.timeout_ms = milliseconds(time),
            ("expects", words) => it.expected_output = words.replace('_', " "),
            (other, _) => panic!("a sub-task has no `{other}`"),
        }
    }
    it
}
