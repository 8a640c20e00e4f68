//! Decides what events an input leads to. Validates everything first: a rejection changes nothing.
//!
//! One file for each command and for each family of signals. The events that follow from the new
//! state by standing rules are in `settle`.

mod authority;
mod create_plan;
mod add_task;
mod order;
mod saved_plans;
mod decide_request;
mod grant;
mod answer_question;
mod deploy_task;
mod reopen;
mod retry_tasks;
mod accept_task;
pub(crate) mod cancel;
mod pause;
mod abandon;
mod restore_task;
mod land_plan;
mod undo_landing;
mod collect_garbage;
mod complete_task;
mod notify;
mod spawn_safety;
mod spawn_subtasks;
mod spawn_standalone;
mod await_subtasks;
mod pull_subtask;
mod ask;
pub(crate) mod auto_answer;
mod ask_query;
pub(crate) mod send_message;
mod once;
mod apply_settings;
mod apply_matrix;
mod apply_crew;
mod apply_sandbox;
mod accept_tier;
mod revoke_grant;
mod set_agents_max;
mod quota;
mod budget;
mod fleet;
pub(crate) mod attempt_fails;
mod effect_ended;
pub(crate) mod turn_ended;
mod egress_decided;
mod agent_exited;
mod permission_asked;
mod out_of_zone;
mod decide_for_child;
pub(crate) mod bubble;

use crate::{State, message::Draft, state::LandingPlan};
use alloc::{vec, vec::Vec};
use pitcrew_model::{Command, Event, Input, InputBody, MessageKind, QueryVia, Rejection, Signal};

/// Turns an input into events, or rejects it.
pub fn decide(state: &State, input: &Input) -> Result<Vec<Event>, Rejection> {
    match &input.body {
        InputBody::Command(command) => decide_command(state, input, command),
        InputBody::Signal(signal) => decide_signal(state, input, signal),
        InputBody::Tick => Ok(Vec::new()),
    }
}

#[expect(clippy::too_many_lines, reason = "one arm for each command")]
fn decide_command(
    state: &State,
    input: &Input,
    command: &Command,
) -> Result<Vec<Event>, Rejection> {
    authority::check(state, input.actor, command)?;
    match command {
        Command::CreatePlan(it) => create_plan::decide(state, input.actor, it),
        Command::DecideRequest { request, verdict, reason, scope, shown } => {
            let (verdict, scope, shown) = (*verdict, *scope, *shown);
            let decision = decide_request::Decision { verdict, scope, shown };
            decide_request::decide(state, input, *request, decision, reason.as_deref())
        }
        Command::AnswerQuestion { request, text } => {
            answer_question::decide(state, input.actor, *request, text)
        }
        Command::DeployTask { task } => deploy_task::decide(state, input.actor, *task),
        Command::AddTask { plan, task } => add_task::decide(state, input.actor, *plan, task),
        Command::RetryTasks { tasks, freshness } => {
            retry_tasks::decide(state, input, tasks, *freshness)
        }
        Command::AcceptTask { task } => accept_task::decide(state, input.actor, *task),
        Command::CancelTask { task } => cancel::task(state, input, *task),
        Command::CancelPlan { plan } => cancel::plan(state, input, *plan),
        Command::PausePlan { plan } => pause::pause(state, input, *plan),
        Command::ResumePlan { plan } => pause::resume(state, input.actor, *plan),
        Command::AbandonTask { task } => abandon::task(state, input.actor, *task),
        Command::AbandonPlan { plan } => abandon::plan(state, input.actor, *plan),
        Command::RestoreTask { task, number } => {
            restore_task::decide(state, input.actor, *task, *number)
        }
        Command::LandPlan { plan, approval, history, message, hooks, signed } => {
            let (history, message) = (history.unwrap_or(state.history), message.clone());
            let how = LandingPlan { history, message, hooks: *hooks, signed: signed.clone() };
            land_plan::decide(state, input.actor, *plan, *approval, how)
        }
        Command::UndoLanding { plan, signed } => {
            undo_landing::decide(state, input.actor, *plan, signed.as_ref())
        }
        Command::CollectGarbage => Ok(collect_garbage::decide(state, input.at)),
        Command::ApplySettings { agents_max, agents_live_max, history, sign } => {
            Ok(apply_settings::decide(state, (*agents_max, *agents_live_max), (*history, *sign)))
        }
        Command::SetAgentsMax { count } => set_agents_max::decide(state, *count),
        Command::CompleteTask { attempt, claim, summary, output } => {
            complete_task::decide(state, input, *attempt, *claim, summary, output.as_ref())
        }
        Command::Notify { attempt, kind, message, to, reply_to } => {
            let note = notify::Note { kind: *kind, words: message, to: *to, reply_to: *reply_to };
            notify::decide(state, input.at, *attempt, &note)
        }
        Command::SendMessage { to, content, priority, thread, key } => {
            let mut draft = Draft::new(input.actor.into(), *to, MessageKind::Update, content);
            (draft.priority, draft.thread) = (*priority, *thread);
            draft.key.clone_from(key);
            send_message::decide(state, input.at, draft)
        }
        Command::Once { nonce, order } => once::decide(state, input, nonce, order),
        Command::SpawnSubtasks { .. }
        | Command::AwaitSubtasks { .. }
        | Command::SpawnStandalone { .. } => decide_family(state, input, command, None),
        Command::PullSubtask { attempt, task } => pull_subtask::decide(state, *attempt, *task),
        Command::ApplyMatrix { matrix } => Ok(apply_matrix::decide(state, matrix)),
        Command::ApplyCrew { crew } => Ok(apply_crew::decide(state, crew)),
        Command::ApplySandbox { sandbox } => Ok(apply_sandbox::decide(state, input.at, sandbox)),
        Command::AcceptTier { tier } => accept_tier::decide(state, input.actor, *tier),
        Command::RevokeGrant { grant } => revoke_grant::decide(state, input.actor, *grant),
        Command::AskQuery { attempt, nonce, symbol, context, via } => {
            let ask = ask_query::Ask { nonce, symbol, context, via: *via };
            ask_query::decide(state, input.at, *attempt, &ask)
        }
        Command::ApplyQueryLimits { limits } => Ok(ask_query::limits(state, *limits)),
        Command::DecideForChild { attempt, requests, verdict, reason } => {
            let reason = reason.as_deref();
            decide_for_child::decide(state, input.actor, *attempt, requests, *verdict, reason)
        }
    }
}

/// Decides the commands whose result is looked up by the worker's idempotency key.
fn decide_family(
    state: &State,
    input: &Input,
    command: &Command,
    call: Option<&str>,
) -> Result<Vec<Event>, Rejection> {
    if let Command::SpawnSubtasks { attempt, subtasks, wait_ms, nonce } = command {
        let names = spawn_subtasks::Names { nonce, call };
        return spawn_subtasks::decide(state, input, *attempt, subtasks, *wait_ms, &names);
    }
    if let Command::AwaitSubtasks { attempt, tasks, timeout_ms } = command {
        return await_subtasks::decide(state, input, *attempt, tasks, *timeout_ms, call);
    }
    if let Command::SpawnStandalone { subtasks, rules } = command {
        return spawn_standalone::decide(state, input, subtasks, rules, call);
    }
    decide_command(state, input, command)
}

fn decide_signal(state: &State, input: &Input, signal: &Signal) -> Result<Vec<Event>, Rejection> {
    match signal {
        Signal::EffectEnded { effect, result } => {
            effect_ended::decide(state, input, *effect, result)
        }
        Signal::AgentExited { worker, exit } => agent_exited::decide(state, input, *worker, exit),
        Signal::AgentReattached { worker, away_ms } => {
            agent_exited::reattached(state, *worker, *away_ms)
        }
        Signal::PermissionAsked { worker, call, tool, options } => {
            permission_asked::decide(state, *worker, call, tool, options)
        }
        Signal::Activity { worker, note } => notify::activity(state, input.at, *worker, note),
        Signal::UsageReported { worker, usage } => budget::report_usage(state, *worker, *usage),
        Signal::AccessBlocked { worker, place, access, path, bytes_saved } => {
            let (worker, place, access, bytes_saved) = (*worker, *place, *access, *bytes_saved);
            let blocked = out_of_zone::Blocked { worker, place, access, path, bytes_saved };
            out_of_zone::blocked(state, input.at, &blocked)
        }
        Signal::NeedLine { worker, nonce, symbol, context } => {
            let ask = ask_query::Ask { nonce, symbol, context, via: QueryVia::Need };
            out_of_zone::query(state, input.at, *worker, &ask)
        }
        Signal::EgressDecided(decision) => egress_decided::decide(state, decision),
        Signal::AgentConfined { worker, confined } => {
            let (worker, confined) = (state.worker(*worker)?.id, confined.clone());
            Ok(vec![Event::AgentConfined { worker, confined }])
        }
        Signal::MergedByHand { plan, branch, landed } => {
            effect_ended::merged_by_hand(state, *plan, branch, landed)
        }
    }
}
