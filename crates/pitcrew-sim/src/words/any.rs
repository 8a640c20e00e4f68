//! Any text of an agent: a small choice, so that some repeat, and nonsense.

use crate::{counters::Fault, dice::Dice};
use pitcrew_model::{
    AgentRef, AttemptId, Command, ErrorCause, PermissionOption, PermissionOptionKind, QueryVia,
    RepoPath, Signal, StopReason, SubtaskKind, SubtaskSpec, TaskWork, Timestamp, ToolUse, Usage,
    WorkerId, WorkspaceMode,
};

/// A small choice, so that some repeat; sometimes too long, with a multi-byte character at the cut.
pub fn any_words(dice: &mut Dice) -> String {
    match dice.below(40) {
        0 => String::from("é€😀").repeat(3_000),
        1 => format!("{} ", "€".repeat(700)),
        2 => String::new(),
        it if it % 2 == 0 => "one".into(),
        _ => "two".into(),
    }
}

/// Questions that the matrix or the index may answer, and others.
pub fn any_question(dice: &mut Dice) -> String {
    let questions = [
        "May I run `cargo test`?",
        "May I run `git push --force`?",
        "What are the fields of `One`?",
        "Where is `Two` defined?",
        "Which of `One` and `Two` has the definition?",
    ];
    dice.pick(&questions).expect("a question").into()
}

/// A small choice of names, so that some repeat.
pub fn any_query(attempt: AttemptId, dice: &mut Dice) -> Command {
    let vias = [QueryVia::Tool, QueryVia::Tool, QueryVia::Need, QueryVia::Read];
    Command::AskQuery {
        attempt,
        nonce: dice.below(40).to_string(),
        symbol: dice.pick(&["One", "One", "Two"]).expect("a name").into(),
        context: "core/a".into(),
        via: dice.pick(&vias).expect("a way"),
    }
}

pub fn any_subtask(dice: &mut Dice) -> SubtaskSpec {
    let workspaces = [
        WorkspaceMode::ReadOnly,
        WorkspaceMode::Isolated,
        WorkspaceMode::Isolated,
        WorkspaceMode::Shared,
    ];
    let files = ["core/a", "core/b", "core/b/c", "ui"];
    let path = |it: &str| RepoPath::parse(it).expect("a path");
    let target_files = if dice.one_in(3) { None } else { dice.pick(&files) };
    SubtaskSpec {
        kind: SubtaskKind::Delegate,
        agent: AgentRef::backend(dice.pick(&["agent", "other"]).expect("a backend")),
        work: TaskWork::Prompt { prompt: format!("part {}", dice.below(40)) },
        expected_output: String::new(),
        model: None,
        workspace: dice.pick(&workspaces),
        target_files: target_files.into_iter().map(path).collect(),
        attempts_max: 1 + dice.small(2),
        timeout_ms: if dice.one_in(6) { 1_000 + dice.below(10_000) } else { 60 * 60 * 1_000 },
    }
}

/// The same roll describes the same request.
pub fn permission(worker: WorkerId, call: String, roll: u64) -> Signal {
    let mut dice = Dice::new(roll);
    let kinds = ["edit", "execute", "execute", "execute", "read", "delete"];
    let path = |it: &str| vec![String::from(it)];
    let kind = dice.pick(&kinds).expect("a kind");
    let commands = ["make", "make", "git push", "make && git push -f", "gh pr create", "$X"];
    let command = dice.pick(&commands).filter(|_| kind == "execute");
    let tool = ToolUse {
        // Every title is different: nothing may depend on them.
        title: format!("{call} of {worker}"),
        kind: kind.into(),
        paths: if dice.one_in(3) { Vec::new() } else { path("src/a") },
        outside: if dice.one_in(3) { path("/etc") } else { Vec::new() },
        command: command.map(str::to_owned),
        partial: dice.one_in(20),
    };
    let option = |id: &str, kind| PermissionOption { id: id.into(), kind };
    let options = vec![
        option("yes", PermissionOptionKind::AllowOnce),
        option("no", PermissionOptionKind::RejectOnce),
    ];
    Signal::PermissionAsked { worker, call, tool, options }
}

pub fn error(cause: ErrorCause) -> StopReason {
    StopReason::Error { cause, message: "no".into() }
}

pub fn any_stop(dice: &mut Dice, now: Timestamp) -> StopReason {
    match dice.below(16) {
        0 => StopReason::MaxTokens,
        1 => StopReason::Refusal,
        2 => StopReason::Cancelled,
        3 => error(ErrorCause::Other),
        4 | 5 => error(ErrorCause::Quota { until: until(dice, now) }),
        6 if dice.one_in(3) => error(ErrorCause::Auth),
        6 if dice.one_in(2) => error(ErrorCause::Unreachable),
        6 => error(ErrorCause::Model),
        _ => StopReason::EndTurn,
    }
}

/// More than before, or nonsense.
pub fn any_usage(dice: &mut Dice, reported: Usage) -> Usage {
    let more = Usage {
        tokens_in: dice.below(60),
        tokens_out: dice.below(60),
        tokens_cached: dice.below(500),
        cost_micros: dice.below(60),
    };
    match dice.below(40) {
        0 => Usage { tokens_in: u64::MAX, ..more },
        1 => Usage { cost_micros: u64::MAX, ..reported },
        2 | 3 => more,
        4..10 => reported,
        _ => reported.plus(more),
    }
}

/// A reset time of a provider: none, the truth, or nonsense.
pub fn until(dice: &mut Dice, now: Timestamp) -> Option<Timestamp> {
    match dice.below(6) {
        0 => Some(Timestamp(now.0.saturating_sub(dice.below(1_000)))),
        1 => Some(Timestamp(u64::MAX)),
        2..5 => Some(now.plus(1 + dice.below(20_000))),
        _ => None,
    }
}

pub fn fault_of(stop: &StopReason) -> Fault {
    match stop {
        StopReason::Error { cause: ErrorCause::Auth, .. } => Fault::LoginMissing,
        StopReason::Error { cause: ErrorCause::Quota { .. }, .. } => Fault::QuotaMet,
        StopReason::Error { cause: ErrorCause::Unreachable, .. } => Fault::Unreachable,
        StopReason::Error { cause: ErrorCause::Model, .. } => Fault::ModelFailed,
        StopReason::Error { cause: ErrorCause::Other, .. } => Fault::TurnFailed,
        StopReason::EndTurn
        | StopReason::MaxTokens
        | StopReason::MaxTurnRequests
        | StopReason::Refusal
        | StopReason::Cancelled => Fault::NoCompletion,
    }
}
