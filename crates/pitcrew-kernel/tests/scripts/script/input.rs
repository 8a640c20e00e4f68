//! One line becomes one input. Results find the effect they belong to among the open ones.

use super::{Script, family, plan, queries};
use pitcrew_model::{
    Access, Actor, Addressee, Approval, AttemptId, CheckFailure, CheckResult, Claim, Command,
    CommitId, Confined, Effect, EffectResult, EgressDecision, EgressOf, ErrorCause, Exit, Failure,
    FileChange, Freshness, GrantScope, InputBody, LandedAt, Landing, Matrix, MessageId, NoteKind,
    Party, PermissionOption, PermissionOptionKind, PlanBase, PlanId, Priority, Refusal,
    RefusalKind, Rule, Sandbox, Signal, Snapshot, StopReason, TaskId, Tier, Timestamp, ToolUse,
    Usage, Verdict, Work, WorkerId,
};
use std::{fmt::Debug, str::FromStr};

pub fn parse(script: &Script, verb: &str, rest: &str) -> (Actor, InputBody) {
    let (subject, words) = rest.split_once(' ').unwrap_or((rest, ""));
    if let Some(command) = of_person(verb, rest, subject, words) {
        return (Actor::Person, InputBody::Command(command));
    }
    if verb == "client" {
        // An order of a person's, given by the person's own agent; also under a nonce.
        let (verb, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        if verb == "once" {
            let (nonce, rest) = rest.split_once(' ').expect("a nonce and an order");
            let (_, InputBody::Command(order)) = parse(script, "client", rest) else {
                panic!("a client gives orders");
            };
            let once = Command::Once { nonce: nonce.into(), order: Box::new(order) };
            return (Actor::Client, InputBody::Command(once));
        }
        if verb == "spawn" {
            let command = family::standalone(rest);
            return (Actor::Client, InputBody::Command(command));
        }
        let (_, InputBody::Command(command)) = parse(script, verb, rest) else {
            panic!("a client gives orders");
        };
        return (Actor::Client, InputBody::Command(command));
    }
    if let Some(command) = of_worker(verb, subject, words) {
        // Worker and attempt are opened together and have the same number.
        let attempt = subject.parse::<AttemptId>().map_or(1, |it| it.0);
        return (Actor::Worker(WorkerId(attempt)), InputBody::Command(command));
    }
    if let Some(signal) = of_agent(verb, subject, words) {
        return (Actor::Orchestrator, InputBody::Signal(signal));
    }
    of_driver(script, verb, subject, words).unwrap_or_else(|| panic!("no line begins with {verb}"))
}

fn id<T: FromStr<Err: Debug>>(text: &str) -> T {
    text.parse().expect("an id")
}

fn of_person(verb: &str, rest: &str, subject: &str, words: &str) -> Option<Command> {
    let reason = (!words.is_empty()).then(|| words.to_owned());
    let is_plan = subject.starts_with("plan-");
    Some(match verb {
        "plan" => Command::CreatePlan(plan::parse(rest)),
        "approve" => {
            let (request, verdict) = (id(subject), Verdict::Approve);
            let scope = words.strip_prefix("scope=");
            let reason = reason.filter(|_| scope.is_none());
            let scope = scope.map_or(GrantScope::Once, |it| it.parse().expect("a scope"));
            Command::DecideRequest { request, verdict, reason, scope }
        }
        "deny" => {
            let (request, verdict, scope) = (id(subject), Verdict::Deny, GrantScope::Once);
            Command::DecideRequest { request, verdict, reason, scope }
        }
        "matrix" => Command::ApplyMatrix { matrix: matrix(rest) },
        "sandbox" => Command::ApplySandbox { sandbox: sandbox(rest) },
        "accept-tier" => Command::AcceptTier { tier: tier(subject) },
        "revoke" => Command::RevokeGrant { grant: id(subject) },
        "answer" => Command::AnswerQuestion { request: id(subject), text: words.into() },
        "message" => message(subject, words),
        "deploy" => Command::DeployTask { task: id(subject) },
        "add" => Command::AddTask { plan: id(subject), task: Box::new(plan::task(words)) },
        "retry" => {
            let fresh = rest.ends_with(" fresh");
            let freshness = if fresh { Freshness::Fresh } else { Freshness::Continue };
            let tasks = rest.trim_end_matches(" fresh").split(' ').map(id).collect();
            Command::RetryTasks { tasks, freshness }
        }
        "accept" => Command::AcceptTask { task: id(subject) },
        "cancel" if is_plan => Command::CancelPlan { plan: id(subject) },
        "cancel" => Command::CancelTask { task: id(subject) },
        "pause" => Command::PausePlan { plan: id(subject) },
        "resume" => Command::ResumePlan { plan: id(subject) },
        "abandon" if is_plan => Command::AbandonPlan { plan: id(subject) },
        "abandon" => Command::AbandonTask { task: id(subject) },
        "land" => {
            let approval = if words == "ask" { Approval::Ask } else { Approval::Given };
            Command::LandPlan { plan: id(subject), approval }
        }
        "restore" => Command::RestoreTask { task: id(subject), number: words.parse().ok() },
        "gc" => Command::CollectGarbage,
        "query-limits" => queries::limits(rest),
        "settings" => Command::ApplySettings {
            agents_max: subject.parse().expect("a number"),
            agents_live_max: words.parse().expect("a number"),
        },
        "slots" => Command::SetAgentsMax { count: subject.parse().expect("a number") },
        _ => return None,
    })
}

/// What differs from the built-in one: `approve=git_push deny=pr_creation timeout=1000 default=approve`.
fn tier(word: &str) -> Tier {
    match word {
        "T1" => Tier::T1,
        "T2" => Tier::T2,
        "T3" => Tier::T3,
        _ => panic!("no tier is named {word}"),
    }
}

/// The tier that there is, then `min=TIER` and `consent`.
fn sandbox(words: &str) -> Sandbox {
    let (available, rest) = words.split_once(' ').unwrap_or((words, ""));
    let available = tier(available);
    let min_tier = rest.split_whitespace().find_map(|it| it.strip_prefix("min=")).map(tier);
    let consent = rest.split_whitespace().any(|it| it == "consent");
    let obstacle = (available < Tier::T3).then(|| "no bubblewrap: install it".to_owned());
    Sandbox { available, min_tier, obstacle, consent }
}

fn matrix(words: &str) -> Matrix {
    let mut matrix = Matrix::builtin();
    for word in words.split_whitespace() {
        let (key, value) = word.split_once('=').expect("key=value");
        let rule = match key {
            "approve" => Rule::AutoApprove,
            "ask" => Rule::AskUser,
            "deny" => Rule::AutoDeny,
            "timeout" => {
                matrix.limits.permission_timeout_ms = value.parse().ok();
                continue;
            }
            "subtasks" => {
                matrix.limits.auto_approve_for_subtasks = true;
                continue;
            }
            "standalone" => {
                matrix.limits.subtask_depth_standalone = value.parse().expect("a number");
                continue;
            }
            "default" => {
                matrix.limits.permission_default = Verdict::Approve;
                continue;
            }
            other => panic!("no rule is called `{other}`"),
        };
        for action in value.split(',') {
            matrix.set(&action.parse().expect("any text is an action"), rule);
        }
    }
    matrix
}

fn of_worker(verb: &str, subject: &str, words: &str) -> Option<Command> {
    let family = family::of_worker(verb, subject, words);
    if let Some(command) = family.or_else(|| queries::of_worker(verb, subject, words)) {
        return Some(command);
    }
    let note = |kind| {
        let (to, reply_to, words) = addressed(words);
        Command::Notify { attempt: id(subject), kind, message: words.into(), to, reply_to }
    };
    if verb == "once" {
        let mut words = words.splitn(3, ' ');
        let mut next = || words.next().unwrap_or_default();
        let order = of_worker(next(), next(), next())?;
        return Some(Command::Once { nonce: subject.into(), order: Box::new(order) });
    }
    Some(match verb {
        "complete" => {
            let (claim, summary) = match words.split_once(' ').unwrap_or((words, "")) {
                ("partial", summary) => (Claim::Partial, summary),
                ("failed", summary) => (Claim::Failed, summary),
                _ => (Claim::Success, words),
            };
            Command::CompleteTask {
                attempt: id(subject),
                claim,
                summary: summary.into(),
                output: None,
            }
        }
        "ask" => note(NoteKind::Question),
        "tell" => note(NoteKind::Status),
        "self-add" => Command::AddTask { plan: id(subject), task: Box::new(plan::task(words)) },
        "done" => note(NoteKind::Completion),
        "fails" => note(NoteKind::Error),
        "reply" => note(NoteKind::Answer),
        // What no worker may do.
        "self-cancel" => Command::CancelTask { task: id(subject) },
        "self-retry" => {
            let (tasks, freshness) = (vec![id(subject)], Freshness::Continue);
            Command::RetryTasks { tasks, freshness }
        }
        "self-land" => Command::LandPlan { plan: id(subject), approval: Approval::Given },
        "self-approve" => {
            let (request, verdict, scope) = (id(subject), Verdict::Approve, GrantScope::Always);
            Command::DecideRequest { request, verdict, reason: None, scope }
        }
        "child" => {
            let mut words = words.split_whitespace();
            let verdict = match words.next() {
                Some("deny") => Verdict::Deny,
                _ => Verdict::Approve,
            };
            let (attempt, requests) = (id(subject), words.map(id).collect());
            Command::DecideForChild { attempt, requests, verdict, reason: None }
        }
        "self-matrix" => Command::ApplyMatrix { matrix: matrix(words) },
        "self-accept-tier" => Command::AcceptTier { tier: tier(subject) },
        "self-revoke" => Command::RevokeGrant { grant: id(subject) },
        "self-answer" => Command::AnswerQuestion { request: id(subject), text: words.into() },
        _ => return None,
    })
}

/// `@worker-2 words`, `@parent words`, `#message-3 words`.
fn addressed(words: &str) -> (Addressee, Option<MessageId>, &str) {
    let (first, rest) = words.split_once(' ').unwrap_or((words, ""));
    match (first.strip_prefix('@'), first.strip_prefix('#')) {
        (Some("parent"), _) => (Addressee::Parent, None, rest),
        (Some(worker), _) => (Addressee::Worker(id(worker)), None, rest),
        (None, Some(message)) => (Addressee::Orchestrator, Some(id(message)), rest),
        (None, None) => (Addressee::Orchestrator, None, words),
    }
}

/// `task-1 words`, with `critical`, `normal` or `low`, `key=K` and `thread=M` before the words.
fn message(to: &str, words: &str) -> Command {
    let is_worker = to.starts_with("worker-");
    let to = if is_worker { Party::Worker(id(to)) } else { Party::Task(id(to)) };
    let (mut priority, mut thread, mut key, mut words) = (None, None, None, words);
    loop {
        let (first, rest) = words.split_once(' ').unwrap_or((words, ""));
        match first.split_once('=').unwrap_or((first, "")) {
            ("critical", _) => priority = Some(Priority::Critical),
            ("normal", _) => priority = Some(Priority::Normal),
            ("low", _) => priority = Some(Priority::Low),
            ("key", name) => key = Some(name.into()),
            ("thread", message) => thread = Some(id(message)),
            _ => break,
        }
        words = rest;
    }
    Command::SendMessage { to, content: words.into(), priority, thread, key }
}

fn of_agent(verb: &str, subject: &str, words: &str) -> Option<Signal> {
    Some(match verb {
        "exited" => Signal::AgentExited { worker: id(subject), exit: exit(words) },
        "reattached" => Signal::AgentReattached {
            worker: id(subject),
            away_ms: words.parse().expect("a number"),
        },
        "confined" => Signal::AgentConfined {
            worker: id(subject),
            confined: Confined { tier: tier(words), policy: "0a1b".into() },
        },
        "uses" => Signal::UsageTold { worker: id(subject), usage: usage(words) },
        "permit" => permission(id(subject), words),
        "blocked" => blocked(id(subject), words),
        "needs" => need(id(subject), words),
        "does" => Signal::Activity { worker: id(subject), note: words.into() },
        "reaches" => egress(egress_of(subject), words, true),
        "is-refused" => egress(egress_of(subject), words, false),
        _ => return None,
    })
}

/// `7 read core/auth.rs`: at this place of what it has said.
fn blocked(worker: WorkerId, words: &str) -> Signal {
    let mut words = words.split(' ');
    let place = words.next().and_then(|it| it.parse().ok()).expect("a place");
    let access = if words.next() == Some("write") { Access::Write } else { Access::Read };
    let path = words.next().expect("a path").into();
    Signal::AccessBlocked { worker, place, access, path, bytes_saved: 100 }
}

/// `n1 AuthValidator core/auth.rs`
fn need(worker: WorkerId, words: &str) -> Signal {
    let mut words = words.split(' ').map(String::from);
    let (nonce, symbol) = (words.next().expect("a nonce"), words.next().expect("a symbol"));
    let context = words.next().unwrap_or_default();
    Signal::QueryHeard { worker, nonce, symbol, context }
}

fn egress_of(subject: &str) -> EgressOf {
    if subject.starts_with("plan") {
        EgressOf::Plan(id(subject))
    } else {
        EgressOf::Attempt(id(subject))
    }
}

/// `HOST OFFSET`: a line of the record that ends there.
fn egress(whose: EgressOf, words: &str, allowed: bool) -> Signal {
    let (host, offset) = words.split_once(' ').expect("a host and an offset");
    Signal::EgressDecided(EgressDecision {
        whose,
        host: host.into(),
        port: 443,
        allowed,
        reason: "because".into(),
        count: 1,
        offset: offset.parse().expect("a number"),
    })
}

/// `40`: tokens, half of them in. `$3`: dollars. `max`: nobody believes it.
fn usage(words: &str) -> Usage {
    let mut usage = Usage::default();
    for word in words.split_whitespace() {
        if let Some(dollars) = word.strip_prefix('$') {
            usage.cost_micros = dollars.parse::<u64>().expect("a number") * 1_000_000;
        } else if word == "max" {
            usage.tokens_in = u64::MAX;
        } else {
            let tokens: u64 = word.parse().expect("a number");
            (usage.tokens_in, usage.tokens_out) = (tokens / 2, tokens - tokens / 2);
        }
    }
    usage
}

fn error(cause: ErrorCause, message: &str) -> StopReason {
    StopReason::Error { cause, message: message.into() }
}

fn exit(words: &str) -> Exit {
    let (code, signal) = match words {
        "lost" => (None, None),
        "killed" => (None, Some(9)),
        _ => (Some(1), None),
    };
    Exit { code, signal, stderr: String::new() }
}

/// `edit src/a` inside the checkout, `edit /etc/passwd` outside it, `execute make`, `read src/a`;
/// `edit src/a $ make` is a call that names a command beside its path.
fn permission(worker: WorkerId, words: &str) -> Signal {
    let (kind, rest) = words.split_once(' ').unwrap_or((words, ""));
    let (path, hidden) = rest.split_once(" $ ").unwrap_or((rest, ""));
    let (outside, paths): (Vec<String>, Vec<String>) =
        path.split_whitespace().map(str::to_owned).partition(|it| it.starts_with('/'));
    let command = if kind == "execute" { path } else { hidden };
    let command = (!command.is_empty()).then(|| command.to_owned());
    let partial = words.ends_with('…');
    let (title, kind) = (words.into(), kind.into());
    let tool = ToolUse { title, kind, paths, outside, command, partial };
    let option = |id: &str, kind| PermissionOption { id: id.into(), kind };
    let options = vec![
        option("always", PermissionOptionKind::AllowAlways),
        option("yes", PermissionOptionKind::AllowOnce),
        option("no", PermissionOptionKind::RejectOnce),
    ];
    Signal::PermissionAsked { worker, call: format!("call {words}"), tool, options }
}

fn of_driver(
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
    let check = |it: &Effect| matches!(it, Effect::CheckBase { plan: of, .. } if *of == plan);
    let failure = || failure(words);
    Some(match verb {
        "prepared" => {
            let (tip, start) = (CommitId("base".into()), CommitId("base".into()));
            let branch = Some("main".into());
            let base = PlanBase { branch, tip, start, dirty_count: 0, notes: Vec::new() };
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
            let at = LandedAt::Base { branch: "main".into() };
            let commit = CommitId("landed".into());
            let landing = Landing { commit, at, files_count: 1, insertions: 1, deletions: 0 };
            Script::ended(script.effect(land), EffectResult::Landed { plan, landing })
        }
        "not-landed" => {
            let result = EffectResult::NotLanded { plan, failure: failure() };
            Script::ended(script.effect(land), result)
        }
        _ => return None,
    })
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
    // Worker and attempt are opened together and have the same number.
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
    let mut effect = script.step_of(attempt);
    let result = match verb {
        "checkout" => EffectResult::CheckoutPrepared {
            attempt,
            path: format!("/checkouts/{attempt}"),
            notes: Vec::new(),
        },
        "collected" => {
            let file = |it: &str| FileChange { path: it.into(), change: 'M' };
            let files: Vec<FileChange> = words.split_whitespace().map(file).collect();
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
            effect = script.effect(of);
            EffectResult::SnapshotsDropped { attempt }
        }
        "pulled" | "not-pulled" => {
            let of =
                |it: &Effect| matches!(it, Effect::PullWork { attempt: of, .. } if *of == attempt);
            effect = script.effect(of);
            pull_ended(attempt, script.pulled(effect), verb, words)
        }
        "snapshot" | "unchanged" | "no-snapshot" => {
            let of =
                |it: &Effect| matches!(it, Effect::Snapshot { attempt: of, .. } if *of == attempt);
            effect = script.effect(of);
            snapshot_ended(attempt, verb, words)
        }
        "removed" | "kept" => {
            let of = |it: &Effect| matches!(it, Effect::RemoveCheckout { attempt: of, .. } if *of == attempt);
            effect = script.effect(of);
            if verb == "removed" {
                EffectResult::CheckoutRemoved { attempt }
            } else {
                EffectResult::CheckoutKept { attempt, reason: words.into() }
            }
        }
        _ => return None,
    };
    Some(Script::ended(effect, result))
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

fn failure(words: &str) -> Failure {
    let (kind, what) = words.split_once(' ').unwrap_or((words, ""));
    let what = || String::from(what);
    match kind {
        "checks" => {
            let (command, output) = (what(), "1 test failed".into());
            let failed = CheckFailure { command, code: Some(1), output, red_on_base: false };
            Failure::Checks { failed: vec![failed] }
        }
        "conflict" => Failure::Conflict { paths: vec![what()], with: Vec::new() },
        "gate" => {
            let refusal = Refusal { path: what(), kind: RefusalKind::OutsideZone };
            Failure::Gate { refusals: vec![refusal], refusals_count: 1 }
        }
        "no-model" => {
            Failure::ModelMissing { agent: "claude".into(), message: "it has no such model".into() }
        }
        "missing" => Failure::AgentMissing { program: what(), message: "not found".into() },
        "exited" => Failure::AgentExited { exit: "exit code 1".into(), output: what() },
        "setup" => Failure::Setup { command: what(), code: Some(1), output: String::new() },
        "protocol" => Failure::Protocol { message: what() },
        "git" => Failure::Git { message: what() },
        "no-login" => Failure::Auth { message: what() },
        "quota" => {
            let until = what().parse().ok().map(Timestamp);
            Failure::Quota { until, message: "usage limit reached".into() }
        }
        other => panic!("no failure is called `{other}`"),
    }
}
