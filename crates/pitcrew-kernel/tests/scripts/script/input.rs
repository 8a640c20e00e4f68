//! Parses one line into one input: a command or a signal.

use super::{Script, family, plan, queries, results::of_driver, signals::of_agent};
use pitcrew_model::{
    Actor, Addressee, Approval, AttemptId, Claim, Command, CommitId, Freshness, GrantScope,
    History, Hooks, InputBody, Matrix, MessageId, NoteKind, Party, Priority, Rule, Sandbox, Sign,
    Tier, Verdict, WorkerId,
};
use std::{fmt::Debug, str::FromStr};

pub fn parse(script: &Script, verb: &str, rest: &str) -> (Actor, InputBody) {
    let (subject, words) = rest.split_once(' ').unwrap_or((rest, ""));
    if let Some(command) = open_question(verb, rest, subject, words) {
        return (Actor::Person, InputBody::Command(command));
    }
    if verb == "client" {
        // A command of a person, sent by the person's own agent; optionally with a nonce.
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
        // A worker and its attempt are opened together and have the same number.
        let attempt = subject.parse::<AttemptId>().map_or(1, |it| it.0);
        return (Actor::Worker(WorkerId(attempt)), InputBody::Command(command));
    }
    if let Some(signal) = of_agent(verb, subject, words) {
        return (Actor::Orchestrator, InputBody::Signal(signal));
    }
    of_driver(script, verb, subject, words).unwrap_or_else(|| panic!("no line begins with {verb}"))
}

pub fn id<T: FromStr<Err: Debug>>(text: &str) -> T {
    text.parse().expect("an id")
}

fn open_question(verb: &str, rest: &str, subject: &str, words: &str) -> Option<Command> {
    let reason = (!words.is_empty()).then(|| words.to_owned());
    let is_plan = subject.starts_with("plan-");
    Some(match verb {
        "plan" => Command::CreatePlan(plan::parse(rest)),
        "approve" => {
            let (request, verdict) = (id(subject), Verdict::Approve);
            let (scope, shown) = (words.strip_prefix("scope="), words.strip_prefix("shown="));
            let reason = reason.filter(|_| scope.is_none() && shown.is_none());
            let scope = scope.map_or(GrantScope::Once, |it| it.parse().expect("a scope"));
            let shown = shown.map(|it| it.parse().expect("a number"));
            Command::DecideRequest { request, verdict, reason, scope, shown }
        }
        "deny" => {
            let (request, verdict, scope) = (id(subject), Verdict::Deny, GrantScope::Once);
            Command::DecideRequest { request, verdict, reason, scope, shown: None }
        }
        "matrix" => Command::ApplyMatrix { matrix: matrix(rest) },
        "crew" => Command::ApplyCrew { crew: super::crew::crew(rest) },
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
            let signed = words.strip_prefix("signed ").map(|it| CommitId(it.into()));
            let hooks = if words == "no-verify" { Hooks::Skip } else { Hooks::Run };
            let (plan, history, message) = (id(subject), None, None);
            Command::LandPlan { plan, approval, history, message, hooks, signed }
        }
        "undo-land" => {
            let signed = words.strip_prefix("signed ").map(|it| CommitId(it.into()));
            Command::UndoLanding { plan: id(subject), signed }
        }
        "restore" => Command::RestoreTask { task: id(subject), number: words.parse().ok() },
        "gc" => Command::CollectGarbage,
        "query-limits" => queries::limits(rest),
        "settings" => Command::ApplySettings {
            agents_max: subject.parse().expect("a number"),
            agents_live_max: words.parse().expect("a number"),
            history: History::default(),
            sign: Sign::default(),
        },
        "slots" => Command::SetAgentsMax { count: subject.parse().expect("a number") },
        _ => return None,
    })
}

/// The differences from the built-in matrix: `approve=git_push deny=pr_creation timeout=1000
/// default=approve`.
pub fn tier(word: &str) -> Tier {
    match word {
        "T1" => Tier::T1,
        "T2" => Tier::T2,
        "T3" => Tier::T3,
        _ => panic!("no tier is named {word}"),
    }
}

/// The available tier, then `min=TIER`, `consent` and `root`.
fn sandbox(words: &str) -> Sandbox {
    let (available, rest) = words.split_once(' ').unwrap_or((words, ""));
    let available = tier(available);
    let min_tier = rest.split_whitespace().find_map(|it| it.strip_prefix("min=")).map(tier);
    let has = |word: &str| rest.split_whitespace().any(|it| it == word);
    let obstacle = (available < Tier::T3).then(|| "no bubblewrap: install it".to_owned());
    Sandbox { available, min_tier, obstacle, consent: has("consent"), as_root: has("root") }
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
            let action = action.parse().expect("any text is an action");
            matrix.set(&action, rule);
            matrix.places.insert(action, "permissions.md:5".into());
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
        "self-plan" => Command::CreatePlan(plan::parse(words)),
        "self-add" => Command::AddTask { plan: id(subject), task: Box::new(plan::task(words)) },
        "done" => note(NoteKind::Completion),
        "fails" => note(NoteKind::Error),
        "reply" => note(NoteKind::Answer),
        // Commands that no worker may send.
        "self-cancel" => Command::CancelTask { task: id(subject) },
        "self-retry" => {
            let (tasks, freshness) = (vec![id(subject)], Freshness::Continue);
            Command::RetryTasks { tasks, freshness }
        }
        "self-land" => Command::LandPlan {
            plan: id(subject),
            approval: Approval::Given,
            history: None,
            message: None,
            hooks: Hooks::Run,
            signed: None,
        },
        "self-undo" => Command::UndoLanding { plan: id(subject), signed: None },
        "self-approve" => {
            let (request, verdict, scope) = (id(subject), Verdict::Approve, GrantScope::Always);
            Command::DecideRequest { request, verdict, reason: None, scope, shown: None }
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
