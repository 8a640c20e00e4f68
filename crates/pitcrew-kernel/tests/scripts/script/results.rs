//! Results of effects. A result finds its effect among the open ones.

use super::{
    Script,
    input::id,
    queries,
    signals::{error, usage},
};
use pitcrew_model::{
    Actor, AttemptId, CheckFailure, CheckResult, CommitId, Effect, EffectResult, ErrorCause, Exit,
    Failure, FileChange, InputBody, LandedAt, Landing, PlanBase, PlanId, Refusal, RefusalKind,
    Signal, Snapshot, StopReason, TaskId, Timestamp, Undo, UndoneBy, Unsigned, Work, WorkerId,
};

pub fn of_driver(
    script: &Script,
    verb: &str,
    subject: &str,
    words: &str,
) -> Option<(Actor, InputBody)> {
    if subject.starts_with("query-") {
        return queries::for_query(script, verb, id(subject), words);
    }
    if subject.starts_with("plan-") {
        return for_plan(script, verb, id(subject), words);
    }
    if subject.starts_with("worker-") {
        return for_worker(script, verb, id(subject), words);
    }
    for_attempt(script, verb, id(subject), words)
}

fn for_plan(script: &Script, verb: &str, plan: PlanId, words: &str) -> Option<(Actor, InputBody)> {
    let prepare = |it: &Effect| matches!(it, Effect::PreparePlan { plan: of, .. } if *of == plan);
    let land = |it: &Effect| matches!(it, Effect::Land { plan: of, .. } if *of == plan);
    let undo = |it: &Effect| matches!(it, Effect::UndoLanding { plan: of, .. } if *of == plan);
    let check = |it: &Effect| matches!(it, Effect::CheckBase { plan: of, .. } if *of == plan);
    let failure = || failure(words);
    Some(match verb {
        "prepared" => {
            let base = base();
            Script::ended(script.effect(prepare), EffectResult::PlanPrepared { plan, base })
        }
        "not-prepared" => {
            let result = EffectResult::PlanNotPrepared { plan, failure: failure() };
            Script::ended(script.effect(prepare), result)
        }
        "base-red" => {
            let (command, output) = (words.into(), String::new());
            let red = CheckResult { command, code: Some(1), output, took_ms: 1 };
            let result = EffectResult::BaseChecked { plan, checks: vec![red] };
            Script::ended(script.effect(check), result)
        }
        "landed" => {
            let landing = landing(words);
            Script::ended(script.effect(land), EffectResult::Landed { plan, landing })
        }
        "unsigned" | "undo-unsigned" => {
            let (commit, below) = (CommitId("unsigned".into()), vec![CommitId("base".into())]);
            let unsigned = Unsigned { commit, below, commits_count: 1 };
            let effect = if verb == "unsigned" { script.effect(land) } else { script.effect(undo) };
            Script::ended(effect, EffectResult::Unsigned { plan, unsigned })
        }
        "undone" => {
            let (branch, commit) = ("main".into(), CommitId("base".into()));
            let undo_of = Undo { branch, commit, by: UndoneBy::Restore };
            let result = EffectResult::LandingUndone { plan, undo: undo_of };
            Script::ended(script.effect(undo), result)
        }
        "not-undone" => {
            let result = EffectResult::LandingNotUndone { plan, failure: failure() };
            Script::ended(script.effect(undo), result)
        }
        "merged-by-hand" => {
            let (branch, landed) = ("main".into(), CommitId(words.into()));
            let signal = Signal::MergedByHand { plan, branch, landed };
            (Actor::Orchestrator, InputBody::Signal(signal))
        }
        "not-landed" => {
            let result = EffectResult::NotLanded { plan, failure: failure() };
            Script::ended(script.effect(land), result)
        }
        _ => return None,
    })
}

fn base() -> PlanBase {
    let (tip, start) = (CommitId("base".into()), CommitId("base".into()));
    let (branch, left_behind) = (Some("main".into()), pitcrew_model::LeftBehind::default());
    PlanBase { branch, tip, start, dirty_count: 0, notes: Vec::new(), left_behind }
}

/// On the base branch, or beside it for this reason.
fn landing(reason: &str) -> Landing {
    let at = if reason.is_empty() {
        LandedAt::Base { branch: "main".into() }
    } else {
        LandedAt::Side { branch: "pitcrew/plan-1-demo".into(), reason: reason.into() }
    };
    Landing {
        commit: CommitId("landed".into()),
        at,
        files_count: 1,
        insertions: 1,
        deletions: 0,
        commits_count: 1,
        before: Some(CommitId("base".into())),
    }
}

fn for_worker(
    script: &Script,
    verb: &str,
    worker: WorkerId,
    words: &str,
) -> Option<(Actor, InputBody)> {
    let start = |it: &Effect| matches!(it, Effect::StartAgent { worker: of, .. } if *of == worker);
    let prompt = |it: &Effect| matches!(it, Effect::Prompt { worker: of, .. } if *of == worker);
    let interrupt =
        |it: &Effect| matches!(it, Effect::InterruptTurn { worker: of } if *of == worker);
    let stop = |it: &Effect| matches!(it, Effect::StopAgent { worker: of } if *of == worker);
    // A worker and its attempt are opened together and have the same number.
    let fails =
        || EffectResult::AttemptFailed { attempt: AttemptId(worker.0), failure: failure(words) };
    Some(match verb {
        "ready" => {
            let (agent, session) = (String::from("agent"), String::from("session"));
            let result = EffectResult::AgentReady { worker, agent, session };
            Script::ended(script.effect(start), result)
        }
        "turn" => {
            let (words, said) = words.split_once(" saying ").unwrap_or((words, ""));
            let (words, used) = words.split_once("using ").unwrap_or((words, ""));
            let words = words.trim_end();
            let stop = match words.split_once(' ').unwrap_or((words, "")) {
                ("cancelled", _) => StopReason::Cancelled,
                ("error", message) => error(ErrorCause::Other, message),
                ("no-login", message) => error(ErrorCause::Auth, message),
                ("unreachable", _) => {
                    error(ErrorCause::Unreachable, "cannot reach api.example.com")
                }
                ("model-error", message) => error(ErrorCause::Model, message),
                ("quota", until) => {
                    let until = until.parse().ok().map(Timestamp);
                    error(ErrorCause::Quota { until }, "usage limit reached")
                }
                _ => StopReason::EndTurn,
            };
            let (usage, last_words) = (usage(used), said.to_owned());
            let result = EffectResult::TurnEnded { worker, stop, usage, last_words };
            Script::ended(script.effect(prompt), result)
        }
        "interrupted" => {
            Script::ended(script.effect(interrupt), EffectResult::TurnInterrupted { worker })
        }
        "answered" => {
            let answer = |it: &Effect| matches!(it, Effect::AnswerPermission { worker: of, .. } if *of == worker);
            Script::ended(script.effect(answer), EffectResult::PermissionAnswered { worker })
        }
        "stopped" => {
            let exit = Exit { code: Some(0), signal: None, stderr: String::new() };
            Script::ended(script.effect(stop), EffectResult::AgentStopped { worker, exit })
        }
        "fail-start" => Script::ended(script.effect(start), fails()),
        "fail-turn" => Script::ended(script.effect(prompt), fails()),
        _ => return None,
    })
}

fn for_attempt(
    script: &Script,
    verb: &str,
    attempt: AttemptId,
    words: &str,
) -> Option<(Actor, InputBody)> {
    let number = attempt.0;
    let mut effect = None;
    let result = match verb {
        "checkout" => EffectResult::CheckoutPrepared {
            attempt,
            path: format!("/checkouts/{attempt}"),
            notes: Vec::new(),
        },
        "collected" => {
            let file = |it: &str| FileChange { path: it.into(), change: 'M' };
            let files: Vec<FileChange> = words.split_terminator(' ').map(file).collect();
            let (commit, files_count) = (CommitId(format!("work-{number}")), files.len() as u64);
            let work = Work { commit, files_count, insertions: 1, deletions: 0, files };
            EffectResult::WorkCollected { attempt, work }
        }
        "saved" => {
            let commit = Some(CommitId(format!("saved-{number}")));
            EffectResult::WorkSaved { attempt, commit }
        }
        "verified" => {
            let merged = CommitId(format!("merged-{number}"));
            EffectResult::Verified { attempt, merged, checks: Vec::new() }
        }
        "integrated" => {
            EffectResult::Integrated { attempt, head: CommitId(format!("merged-{number}")) }
        }
        "fail" => EffectResult::AttemptFailed { attempt, failure: failure(words) },
        "dropped" => {
            let of =
                |it: &Effect| matches!(it, Effect::DropSnapshots { attempt: of } if *of == attempt);
            effect = Some(script.effect(of));
            EffectResult::SnapshotsDropped { attempt }
        }
        "pulled" | "not-pulled" => {
            let of =
                |it: &Effect| matches!(it, Effect::PullWork { attempt: of, .. } if *of == attempt);
            let pull = script.effect(of);
            effect = Some(pull);
            pull_ended(attempt, script.pulled(pull), verb, words)
        }
        "snapshot" | "unchanged" | "no-snapshot" => {
            let of =
                |it: &Effect| matches!(it, Effect::Snapshot { attempt: of, .. } if *of == attempt);
            effect = Some(script.effect(of));
            snapshot_ended(attempt, verb, words)
        }
        "removed" | "kept" => {
            let of = |it: &Effect| matches!(it, Effect::RemoveCheckout { attempt: of, .. } if *of == attempt);
            effect = Some(script.effect(of));
            if verb == "removed" {
                EffectResult::CheckoutRemoved { attempt }
            } else {
                EffectResult::CheckoutKept { attempt, reason: words.into() }
            }
        }
        _ => return None,
    };
    Some(Script::ended(effect.unwrap_or_else(|| script.step_of(attempt)), result))
}

fn pull_ended(attempt: AttemptId, task: TaskId, verb: &str, words: &str) -> EffectResult {
    if verb == "not-pulled" {
        return EffectResult::WorkNotPulled { attempt, task, failure: failure(words) };
    }
    let (commit, files) = (CommitId("pulled".into()), Vec::new());
    let work = Work { commit, files_count: 1, insertions: 1, deletions: 0, files };
    EffectResult::WorkPulled { attempt, task, work }
}

fn snapshot_ended(attempt: AttemptId, verb: &str, words: &str) -> EffectResult {
    match verb {
        "snapshot" => {
            let commit = CommitId(words.into());
            let snapshot = Snapshot { commit, files_count: 1, insertions: 1, deletions: 0 };
            EffectResult::SnapshotTaken { attempt, snapshot }
        }
        "unchanged" => EffectResult::SnapshotUnchanged { attempt },
        _ => EffectResult::SnapshotNotTaken { attempt, reason: words.into() },
    }
}

fn gate(path: String, kind: RefusalKind) -> Failure {
    Failure::Gate { refusals: vec![Refusal::new(path, kind)], refusals_count: 1 }
}

fn failure(words: &str) -> Failure {
    let (kind, what) = words.split_once(' ').unwrap_or((words, ""));
    let what = || String::from(what);
    match kind {
        "checks" => {
            let (command, output) = (what(), "1 test failed".into());
            let failed = CheckFailure { command, code: Some(1), output, red_on_base: false };
            Failure::Checks { failed: vec![failed] }
        }
        "red" => {
            let (command, output) = ("test".into(), what());
            let failed = CheckFailure { command, code: Some(1), output, red_on_base: false };
            Failure::Checks { failed: vec![failed] }
        }
        "conflict" => Failure::Conflict { paths: vec![what()], with: Vec::new() },
        "gate" => gate(what(), RefusalKind::OutsideZone),
        "gate-denied" => gate(what(), RefusalKind::Denied),
        "no-model" => {
            Failure::ModelMissing { agent: "claude".into(), message: "it has no such model".into() }
        }
        "missing" => Failure::AgentMissing { program: what(), message: "not found".into() },
        "exited" => Failure::AgentExited { exit: "exit code 1".into(), output: what() },
        "setup" => Failure::Setup { command: what(), code: Some(1), output: String::new() },
        "protocol" => Failure::Protocol { message: what() },
        "git" => Failure::Git { message: what() },
        "unreachable" => Failure::Unreachable { message: "cannot reach api.example.com".into() },
        "no-login" => Failure::Auth { message: what() },
        "quota" => {
            let until = what().parse().ok().map(Timestamp);
            Failure::Quota { until, message: "usage limit reached".into() }
        }
        other => panic!("no failure is called `{other}`"),
    }
}
