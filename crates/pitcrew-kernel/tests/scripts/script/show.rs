//! Prints events and effects as lines. An event that only requests an effect is printed as the
//! effect.

use pitcrew_kernel::Step;
use pitcrew_model::{
    AwaitEnd, Backend, CheckoutRole, Delegation, Dollars, Effect, EffectId, Event, Hooks, Matrix,
    Message, QueryLimits, Reads, Reason, RepoPath, RequestKind, SubtaskName, SubtaskNames,
    Timestamp, TurnCause, Usage, Zone,
};
use std::{collections::BTreeMap, fmt::Write};

pub fn step(step: &Step) -> String {
    let effects: BTreeMap<EffectId, &Effect> =
        step.effects.iter().map(|it| (it.0, &it.1)).collect();
    let mut out = String::new();
    for entry in &step.entries {
        out.push_str(&event(&entry.event));
        if let Some(it) = effects.get(&EffectId(entry.seq.0)) {
            let _ = writeln!(out, "  => {}", effect(it, &entry.event));
        }
    }
    out
}

fn because(reason: &str) -> String {
    if reason.is_empty() { String::new() } else { format!(" ({reason})") }
}

fn reason(reason: &Reason) -> String {
    match reason {
        Reason::Failure { failure, retry_at: Some(Timestamp(at)) } => {
            format!(" ({failure}; again at {at} ms)")
        }
        Reason::Failure { .. }
        | Reason::Progress
        | Reason::DependenciesCompleted
        | Reason::DependencyEnded { .. }
        | Reason::Unblocked
        | Reason::SlotFree
        | Reason::Retry
        | Reason::Cancelled
        | Reason::Accepted => because(&reason.to_string()),
    }
}

/// Returns the event as lines; empty if the effect says everything.
#[expect(clippy::too_many_lines, reason = "one arm for each kind of event")]
pub fn event(event: &Event) -> String {
    let line = match event {
        Event::SettingsApplied { agents_max, agents_live_max, history, .. } => {
            let history = if history.is_merge() { "" } else { ", another history" };
            format!("settings: {agents_max} slots, {agents_live_max} processes{history}")
        }
        Event::AgentsMaxSet { count } => format!("slots: {count}"),
        Event::PlanCreated { plan, head, .. } => format!("{plan} = {}", head.name),
        Event::TaskAdded { task, spec, depends_on, .. } => {
            let after: Vec<String> = depends_on.iter().map(ToString::to_string).collect();
            let after = if after.is_empty() {
                String::new()
            } else {
                format!(" after {}", after.join(", "))
            };
            format!("{task} = {}{after}", spec.key)
        }
        Event::PlanMoved { plan, from, to, reason, .. } => {
            format!("{plan} {from} -> {to}{}", because(reason))
        }
        Event::TaskMoved { task, from, to, reason: why, .. } => {
            format!("{task} {from} -> {to}{}", reason(why))
        }
        Event::TaskDeployed { task, .. } => format!("{task} deployed"),
        Event::TaskHeld { task, .. } => format!("{task} waits for a person"),
        Event::RetryGranted { task, .. } => format!("{task} is granted one more attempt"),
        Event::AttemptOpened { attempt, task, number, start, base, .. } => {
            format!("{attempt} opened: {task} #{number} from {start}{}", of_base(start, base))
        }
        Event::AttemptEnded { attempt, outcome, failure } => {
            let failure = failure.as_ref().map(ToString::to_string).unwrap_or_default();
            format!("{attempt} ended: {outcome}{}", because(&failure))
        }
        Event::BackendProbed { backend, task } => format!("{backend} is probed by {task}"),
        Event::BackendHeld { backend, until, reason, .. } => {
            format!("{backend} is held until {} ms{}", until.0, because(reason))
        }
        Event::BackendReleased { backend, .. } => format!("{backend} is released"),
        Event::WorkerMoved { worker, from, to, reason } => {
            format!("{worker} {from} -> {to}{}", because(reason))
        }
        Event::AgentExited { worker, exit } => format!("{worker} exited: {exit}"),
        Event::ActivityNoted { worker, note } => format!("{worker}: {note}"),
        Event::UsageNoted { worker, usage } => format!("{worker} has used {}", used(usage)),
        Event::BudgetWarned(spending) => format!("little is left: {spending}"),
        Event::AgentReattached { worker, away_ms } => {
            format!("{worker} worked on for {away_ms} ms")
        }
        Event::CallTaken { worker, nonce } => format!("{worker} calls, nonce {nonce}"),
        Event::CompletionClaimed { attempt, claim, summary } => {
            format!("{attempt} claims {}: {summary}", format!("{claim:?}").to_lowercase())
        }
        Event::MessageQueued(it) => {
            let Message { id, from, to, kind, priority, content, thread, reply_to, .. } = it;
            let reply = reply_to.map(|it| format!(", to {it}")).unwrap_or_default();
            let thread = if thread == id { String::new() } else { format!(", in {thread}") };
            let words = content.replace('\n', " ");
            format!("{id}: {from} -> {to}, {kind}, {priority}{reply}{thread}: {words}")
        }
        Event::MessageMoved { message, from, to, reader, reason, .. } => {
            let reader = reader.map(|it| format!(" by {it}")).unwrap_or_default();
            format!("{message} {from} -> {to}{reader}{}", because(reason))
        }
        Event::RequestOpened { request, kind, .. } => format!("{request}: {}", asked(kind)),
        Event::RequestMoved { request, from, to, text, .. } => {
            format!("{request} {from} -> {to}{}", because(text.as_deref().unwrap_or_default()))
        }
        Event::MatrixApplied { matrix } => {
            let list = |it: &std::collections::BTreeSet<_>| it.len();
            let Matrix { auto_approve, ask_user, auto_deny, .. } = matrix;
            let (yes, ask, no) = (list(auto_approve), list(ask_user), list(auto_deny));
            format!("matrix: {yes} approved, {ask} asked, {no} denied")
        }
        Event::CrewApplied { crew } => {
            format!("crew: {} backends, {} agents", crew.backends.len(), crew.agents.len())
        }
        Event::GrantGiven { grant, .. } => {
            let actions: Vec<&str> =
                grant.actions.iter().map(pitcrew_model::Action::name).collect();
            let command = grant.command.as_deref().unwrap_or_default();
            format!("{}: {} {command} ({})", grant.id, actions.join(", "), grant.reach)
        }
        Event::AccessBlocked { worker, access, path, .. } => {
            format!("{worker} may not {access} {path}")
        }
        Event::SandboxApplied { sandbox } => format!("sandbox: {} available", sandbox.available),
        Event::TierAccepted { tier, .. } => format!("{tier} accepted"),
        Event::AgentConfined { worker, confined } => {
            format!("{worker} confined by {}", confined.tier)
        }
        Event::GrantRevoked { grant, .. } => format!("{grant} revoked"),
        Event::ClientCallTaken { nonce } => format!("a client calls, nonce {nonce}"),
        Event::AgentGroupCreated { group, tasks, .. } => {
            format!("group {group}: {}", SubtaskNames(tasks))
        }
        Event::AgentGroupMemberCompleted { group, task, success } => {
            let how = if *success { "is done" } else { "has failed" };
            format!("group {group}: {} {how}", SubtaskName(*task))
        }
        Event::StandaloneSpawned { plan, tasks, .. } => {
            format!("{plan} holds {} of a client", SubtaskNames(tasks))
        }
        Event::LandingPlanned { plan, history, message, hooks, signed } => {
            let skips = if *hooks == Hooks::Skip { ", without hooks" } else { "" };
            let signed = signed.as_ref().map(|it| format!(", signed as {it}")).unwrap_or_default();
            let message = because(message.as_deref().unwrap_or(""));
            format!("{plan} is landed as {history:?}{skips}{signed}{message}")
        }
        Event::MergedByHand { plan, branch } => format!("{branch} contains the result of {plan}"),
        Event::LandingMoved { plan, from, to, reason, .. } => {
            format!("{plan} landing {from} -> {to}{}", because(reason))
        }
        Event::Abandoned { attempt, .. } => format!("{attempt} abandoned"),
        Event::SubtaskAdded { task, spec, delegation, .. } => {
            let Delegation { parent, depth, workspace, .. } = delegation;
            format!(
                "{} = {} for {parent}, {workspace}, depth {depth}",
                SubtaskName(*task),
                spec.key
            )
        }
        Event::AwaitBegun { worker, tasks, until, .. } => {
            format!("{worker} waits for {} until {} ms", SubtaskNames(tasks), until.0)
        }
        Event::AwaitEnded { worker, open, end, .. } => {
            let end = match end {
                AwaitEnd::AllEnded => "all have ended",
                AwaitEnd::TimedOut => "its time is over",
                AwaitEnd::TurnOver => "its turn has ended",
                AwaitEnd::ChildAsks => "one of them asks it",
                AwaitEnd::Questioned => "somebody asks it something",
                AwaitEnd::Replaced => "it has called again",
            };
            let open = if open.is_empty() {
                String::new()
            } else {
                format!("; {} go on", SubtaskNames(open))
            };
            format!("{worker} is answered: {end}{open}")
        }
        Event::ResultsHanded { worker, tasks } => {
            format!("{worker} hears of {}", SubtaskNames(tasks))
        }
        Event::OutputHanded { attempt, output } => {
            let file = output.file.as_ref().map(ToString::to_string).unwrap_or_default();
            format!("{attempt} hands in {file}{}", output.metadata.as_deref().unwrap_or_default())
        }
        Event::QueryLimitsApplied { limits } => {
            let QueryLimits { worker_tokens, plan_tokens, deadline_ms } = limits;
            format!("queries: {worker_tokens} and {plan_tokens} tokens, {deadline_ms} ms")
        }
        Event::EgressDecided(decision) => format!("{}: {decision}", decision.whose),
        Event::QueryAsked { query, worker, symbol, via, until, .. } => {
            format!("{query}: {worker} needs {symbol} ({via}) until {} ms", until.0)
        }
        Event::QueryRouted { query, owner, message, .. } => {
            format!("{query} goes to {owner} as {message}")
        }
        Event::QueryEnded { query, outcome, text, tokens_spent, tokens_saved, .. } => {
            let text = text.replace('\n', " ");
            let text = if text.is_empty() { text } else { format!(": {text}") };
            format!("{query} {outcome}, {tokens_spent} spent, {tokens_saved} saved{text}")
        }
        Event::QueryAnsweredLate { query, owner, text, tokens_spent, .. } => {
            format!("{query} answered late by {owner}, {tokens_spent} spent: {text}")
        }
        Event::PlanOpened { .. }
        | Event::BaseCheckAsked { .. }
        | Event::AgentStartAsked { .. }
        | Event::TurnOpened { .. }
        | Event::StopAsked { .. }
        | Event::InterruptAsked { .. }
        | Event::CollectAsked { .. }
        | Event::SaveAsked { .. }
        | Event::SnapshotAsked { .. }
        | Event::RestoreAsked { .. }
        | Event::DropAsked { .. }
        | Event::TidyAsked
        | Event::VerifyAsked { .. }
        | Event::IntegrateAsked { .. }
        | Event::ToolDecided { .. }
        | Event::ToolAnswered { .. }
        | Event::RemovalAsked { .. }
        | Event::PullAsked { .. }
        | Event::EffectEnded { .. } => return String::new(),
    };
    format!("  {line}\n")
}

/// Prints the zone if it is restricted.
fn in_zone(zone: &Zone, sees: &[RepoPath], reads: Reads) -> String {
    let names = |it: &[RepoPath]| it.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    let mut out = String::new();
    if !zone.denied.is_empty() {
        let (region, shared, denied) =
            (names(&zone.region), names(&zone.shared), names(&zone.denied));
        out = format!(" in {region} + {shared} - {denied}, reads {reads}");
    }
    if sees.is_empty() { out } else { format!("{out}, sees {}", names(sees)) }
}

fn used(usage: &Usage) -> String {
    let Usage { tokens_in, tokens_out, tokens_cached, cost_micros } = usage;
    format!("{tokens_in} + {tokens_out} tokens, {tokens_cached} cached, {}", Dollars(*cost_micros))
}

fn of_base(start: &pitcrew_model::CommitId, base: &pitcrew_model::CommitId) -> String {
    if start == base { String::new() } else { format!(", judged against {base}") }
}

fn asked(kind: &RequestKind) -> String {
    match kind {
        RequestKind::PlanExecution => "may the plan run?".into(),
        RequestKind::BranchMerge => "may it be merged?".into(),
        RequestKind::ToolUse { tool, .. } => format!("may it {}?", tool.title),
        RequestKind::Budget(spending) => format!("{spending}: as much once more?"),
        RequestKind::Question { question } => format!("\"{question}\""),
    }
}

fn effect(effect: &Effect, event: &Event) -> String {
    let list = |items: &[String]| {
        if items.is_empty() { String::new() } else { format!(" [{}]", items.join(", ")) }
    };
    match effect {
        Effect::PreparePlan { plan, .. } => format!("prepare {plan}"),
        Effect::CheckBase { plan, commit, checks, .. } => {
            format!("check base of {plan} at {commit}{}", list(checks))
        }
        Effect::PrepareCheckout { attempt, place: None, .. } => {
            format!("prepare checkout {attempt}")
        }
        Effect::PrepareCheckout { attempt, place: Some(place), .. } => {
            format!("prepare checkout {attempt}, {} of {}", place.workspace, place.parent)
        }
        Effect::PullWork { attempt, task, commit, base, .. } => {
            format!("pull {} into {attempt}: {base}..{commit}", SubtaskName(*task))
        }
        Effect::StartAgent { worker, backend, model, zone, sees, reads, stay, .. } => {
            let with = match (backend, model) {
                (_, Some(model)) => format!(" with {model}"),
                (Backend::Model, None) => " with a model".into(),
                (Backend::Builtin | Backend::Program { .. }, None) => String::new(),
            };
            let stay = match stay {
                CheckoutRole::Owner => "",
                CheckoutRole::Guest => ", guest",
                CheckoutRole::Reader => ", reader",
            };
            format!("start agent {worker}{with}{}{stay}", in_zone(zone, sees, *reads))
        }
        Effect::Prompt { worker, .. } => format!("prompt {worker} ({})", cause(event)),
        Effect::AnswerPermission { worker, call, option } => {
            format!("answer {worker}, {call}: {}", option.as_deref().unwrap_or("cancelled"))
        }
        Effect::InterruptTurn { worker } => format!("interrupt {worker}"),
        Effect::StopAgent { worker } => format!("stop {worker}"),
        Effect::CollectWork { attempt, .. } => format!("collect work of {attempt}"),
        Effect::Snapshot { attempt, number, last, .. } => {
            let after = last.as_ref().map(|it| format!(" after {it}")).unwrap_or_default();
            format!("snapshot {number} of {attempt}{after}")
        }
        Effect::Restore { task, number, commit, .. } => {
            format!("restore {task} #{number}: {commit}")
        }
        Effect::DropSnapshots { attempt } => format!("drop snapshots of {attempt}"),
        Effect::TidyVault => "tidy the vault".into(),
        Effect::SaveWork { attempt, .. } => format!("save work of {attempt}"),
        Effect::Verify { attempt, onto, work, checks, .. } => {
            format!("verify {attempt}: {work} onto {onto}{}", list(checks))
        }
        Effect::Integrate { attempt, onto, merged, .. } => {
            format!("integrate {attempt}: {onto} becomes {merged}")
        }
        Effect::Land { plan, head, checks, signed, .. } => {
            let signed = signed.as_ref().map(|it| format!(", signed as {it}")).unwrap_or_default();
            format!("land {plan}: {head}{}{signed}", list(checks))
        }
        Effect::UndoLanding { plan, branch, landed, before, signed, .. } => {
            let signed = signed.as_ref().map(|it| format!(", signed as {it}")).unwrap_or_default();
            format!("undo landing {plan}: {branch} from {landed} to {before}{signed}")
        }
        Effect::RemoveCheckout { attempt, .. } => format!("remove checkout {attempt}"),
        Effect::ConsultOracle { query, path, .. } => {
            format!("consult the index of {path} for {query}")
        }
    }
}

fn cause(event: &Event) -> &'static str {
    let Event::TurnOpened { cause, .. } = event else { return "?" };
    match cause {
        TurnCause::Start => "start",
        TurnCause::Reminder => "reminder",
        TurnCause::Answer { .. } => "answer",
        TurnCause::Resumed => "resumed",
        TurnCause::QuotaOver => "the limit is over",
        TurnCause::Results => "results",
        TurnCause::Messages => "messages",
    }
}
