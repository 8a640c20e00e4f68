//! The connection: open requests on both sides, and the task that reads.
//!
//! One task reads both directions in order, so a process that reattaches and reads from the start
//! has the same state as one that was never interrupted. Everything that callers wait for is a map
//! entry under one short lock, which is never held while waiting.

mod rate_limit;
mod reader;
mod incoming;
mod sent;
mod totals;
mod silence;

use incoming::ask_name;
pub(crate) use incoming::{OPTION_ID_BYTES_MAX, OPTIONS_MAX};
pub(crate) use reader::{CaughtUp, catch_up, read};

use crate::{
    FileScope, Profile,
    error::TurnError,
    fault::{self, ErrorContext},
    frame::{self, Answer, RpcError, number},
    schema::{RequestPermissionOutcome, RequestPermissionResponse, SelectedPermissionOutcome},
    session::TurnEnd,
    tool_use::ToolCalls,
    turn::Turn,
    usage::UsageMeter,
};
use pitcrew_model::{EffectId, ErrorCause, Exit, StopReason, Timestamp, Usage};
use pitcrew_process::{ShimErrorKind, ShimHandle};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};
use tokio::{
    sync::{Notify, oneshot, watch},
    time::{Instant, timeout},
};

/// How long stopping an agent may exceed its grace period: longer than a shim needs to kill what
/// does not exit, and to deliver its last output.
const STOPPED_MAX: Duration = Duration::from_secs(15);

pub(crate) struct Connection {
    shim: ShimHandle,
    /// The checkout; paths in messages are relative to it.
    root: PathBuf,
    /// The properties of the agent's backend.
    profile: Profile,
    /// The files that it reaches through us; `None` if it opens them itself.
    reach: Option<FileScope>,
    state: Mutex<State>,
    /// Notified when there is a new activity note.
    pub activity: Notify,
    /// Notified when the agent should end; its remaining output is then read without a rate limit.
    hurry: Notify,
    exit: watch::Sender<Option<Exit>>,
}

#[derive(Default)]
struct State {
    /// Our requests except prompts, by number.
    requests: BTreeMap<u64, Request>,
    /// The effect that opened the session.
    opened_by: Option<EffectId>,
    turn: Option<Turn>,
    /// The result of the last turn until it is collected.
    turn_end: Option<(EffectId, TurnEnd)>,
    /// The agent's open permission requests, by the name that we gave them.
    asks: BTreeMap<String, OpenPermission>,
    /// Refusals of files outside the zone, sent as soon as the refusal is recorded.
    refusals: BTreeMap<String, HeldRefusal>,
    calls: ToolCalls,
    usage: UsageMeter,
    /// The usage of a turn that was cut off and has not been reported yet.
    usage_left: Option<Usage>,
    note: Option<String>,
    /// When it last sent something, or was prompted.
    heard_at: Option<Instant>,
    /// The same by the wall clock, which is comparable across processes.
    heard_at_ms: Timestamp,
    /// The model of the session, if the agent reports it.
    model: Option<String>,
    /// The agent has reported that there is no login.
    is_logged_out: bool,
    garbage_count: u32,
    /// Why the agent is given up, although its process may still exist.
    broken: Option<String>,
    /// Its process is being stopped for that reason.
    ending: bool,
    /// The reader has ended: there will be no more answers.
    over: bool,
}

/// What is due to be reported about an agent.
pub(crate) struct News {
    pub has_note: bool,
    pub has_usage: bool,
    /// It is in a turn, and last sent something at this time.
    pub silent_since: Option<Instant>,
}

/// A request of ours.
enum Request {
    Waiting(oneshot::Sender<Answer>),
    /// Sent before we attached.
    Sent,
    /// Answered before a caller asked for the answer.
    Answered(Answer),
}

/// The parts of an agent's request that the answer needs.
struct OpenPermission {
    id: Value,
    offset: u64,
}

/// An answer that is sent later.
struct HeldRefusal {
    number: u64,
    frame: String,
}

impl Connection {
    pub fn new(
        shim: ShimHandle,
        root: PathBuf,
        profile: Profile,
        reach: Option<FileScope>,
    ) -> Self {
        let usage = UsageMeter::new(profile.usage);
        Self {
            shim,
            root,
            profile,
            reach,
            state: Mutex::new(State::new(usage)),
            activity: Notify::new(),
            hurry: Notify::new(),
            exit: watch::Sender::new(None),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a request and waits for its answer. A request that was sent before is not repeated,
    /// and an earlier answer is used.
    pub async fn request(
        &self,
        id: u64,
        method: &str,
        params: &impl serde::Serialize,
    ) -> Result<Answer, TurnError> {
        if let Some(answer) = self.kept_answer(id) {
            return Ok(answer);
        }
        let frame = frame::request(id, method, params);
        let (sender, answer) = oneshot::channel();
        {
            let mut state = self.state();
            if !state.over && state.broken.is_none() {
                state.requests.insert(id, Request::Waiting(sender));
            }
        }
        if let Err(error) = self.send(id, &frame).await {
            self.state().requests.remove(&id);
            return Err(error);
        }
        match answer.await {
            Ok(answer) => Ok(answer),
            Err(_) => Err(self.why_gone().await),
        }
    }

    /// The answer to a request that was sent before we attached, if there is one.
    pub fn kept_answer(&self, id: u64) -> Option<Answer> {
        match self.state().requests.get(&id) {
            Some(Request::Answered(answer)) => Some(answer.clone()),
            Some(Request::Waiting(_) | Request::Sent) | None => None,
        }
    }

    /// The cause of an error that a request of ours was just answered with.
    pub fn cause(&self, error: &RpcError) -> ErrorCause {
        let now = silence::timestamp(SystemTime::now());
        let is_logged_out = self.state().is_logged_out;
        fault::of_answer(error, &self.known(is_logged_out, now))
    }

    fn known(&self, is_logged_out: bool, at: Timestamp) -> ErrorContext<'_> {
        ErrorContext { rules: &self.profile.errors, is_logged_out, at }
    }

    /// The effect that opened the session, if it was opened before we attached.
    pub fn opened_by(&self) -> Option<EffectId> {
        self.state().opened_by
    }

    /// Sends a prompt and waits for the end of its turn. If the turn is already open it waits for
    /// it; an earlier result is returned.
    pub async fn turn(
        &self,
        effect: EffectId,
        session: &str,
        frame: &str,
    ) -> Result<TurnEnd, TurnError> {
        let kept = self.state().turn_end.take_if(|it| it.0 == effect);
        if let Some((_, end)) = kept {
            return Ok(end);
        }
        let end = self.begin_turn(effect)?;
        fail::fail_point!("prompt-before", |_| std::process::abort());
        if let Err(error) = self.send(number::prompt(effect), frame).await {
            self.state().turn = None;
            return Err(error);
        }
        fail::fail_point!("prompt-sent", |_| std::process::abort());
        let end = tokio::select! {
            end = end => end,
            never = self.end_silent_wait(effect, session) => match never {},
        };
        match end {
            Ok(end) => Ok(end),
            Err(_) => Err(self.why_gone().await),
        }
    }

    /// Opens a turn. The receiver resolves at its end, or fails when the agent exits.
    fn begin_turn(&self, effect: EffectId) -> Result<oneshot::Receiver<TurnEnd>, TurnError> {
        let mut state = self.state();
        if state.turn.as_ref().is_some_and(|it| it.effect != effect || it.is_waited_for()) {
            return Err(TurnError::Busy);
        }
        let (end, receiver) = oneshot::channel();
        if !state.over && state.broken.is_none() {
            if state.turn.is_none() {
                state.garbage_count = 0;
                state.heard_at = Some(Instant::now());
                state.heard_at_ms = silence::timestamp(SystemTime::now());
                self.activity.notify_one();
            }
            let turn = state.turn.get_or_insert_with(|| Turn::new(effect));
            turn.waiter = Some(end);
        }
        Ok(receiver)
    }

    /// An exit of the agent is not reported here: the reader finds out how it ended.
    async fn send(&self, number: u64, frame: &str) -> Result<(), TurnError> {
        match self.shim.send(number, frame).await.map_err(|it| it.kind) {
            Err(kind @ ShimErrorKind::BadFrame { .. }) => {
                Err(TurnError::Protocol { message: kind.to_string() })
            }
            Ok(())
            | Err(
                ShimErrorKind::Gone(_)
                | ShimErrorKind::AgentMissing { .. }
                | ShimErrorKind::AlreadyRunning
                | ShimErrorKind::NotStarted { .. },
            ) => Ok(()),
        }
    }

    /// Sends a frame that is too small to be rejected.
    async fn send_small(&self, number: u64, frame: &str) {
        self.send(number, frame).await.ok();
    }

    /// Asks the agent to end the open turn, and cancels all its open requests.
    pub async fn cancel(&self, before: EffectId, cancel: impl FnOnce() -> String) {
        let (effect, asks) = {
            let mut state = self.state();
            let turn = state.turn.as_ref().map(|it| it.effect);
            let Some(effect) = turn.filter(|it| *it < before) else { return };
            (effect, std::mem::take(&mut state.asks))
        };
        self.send_small(number::cancel(effect), &cancel()).await;
        for ask in asks.into_values() {
            self.answer(&ask, None).await;
        }
    }

    pub fn is_in_turn(&self) -> bool {
        self.state().turn.is_some()
    }

    /// Answers a permission request; ignores one that is no longer open.
    pub async fn answer_permission(&self, call: &str, option: Option<&str>) {
        let ask = self.state().asks.remove(call);
        if let Some(ask) = ask {
            self.answer(&ask, option).await;
        }
    }

    /// Sends the refusal for the file request at this offset.
    pub async fn answer_blocked(&self, place: u64) {
        let refusal = self.state().refusals.remove(&ask_name(place));
        if let Some(HeldRefusal { number, frame }) = refusal {
            self.send_small(number, &frame).await;
        }
    }

    async fn answer(&self, ask: &OpenPermission, option: Option<&str>) {
        let outcome = match option {
            Some(option) => RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(
                option.to_owned(),
            )),
            None => RequestPermissionOutcome::Cancelled,
        };
        let frame = frame::answer(&ask.id, &RequestPermissionResponse::new(outcome));
        self.send_small(number::answer(ask.offset), &frame).await;
    }

    pub fn take_note(&self) -> Option<String> {
        self.state().note.take()
    }

    /// What is due to be reported: an activity note, new usage of the open turn, or the start of a
    /// silence.
    pub fn news(&self) -> News {
        let state = self.state();
        let is_waiting = state.turn.is_some() && state.asks.is_empty();
        News {
            has_note: state.note.is_some(),
            has_usage: state.turn.is_some() && state.usage.has_news(),
            silent_since: is_waiting.then_some(state.heard_at).flatten(),
        }
    }

    /// The usage of the open turn if it is new; also that of a turn that was cut off.
    pub fn take_usage(&self) -> Option<Usage> {
        let mut state = self.state();
        let usage = match state.turn {
            Some(_) => state.usage.take_news(),
            None => state.usage_left.take(),
        };
        usage.map(|it| self.profile.prices.priced(it, state.model.as_deref()))
    }

    /// Ends the agent's process tree and waits until none of it runs. A shim that fails to do so is
    /// killed too.
    pub async fn stop(&self, grace: Duration) -> Exit {
        self.hurry.notify_one();
        let heard = self.shim.stop(grace).await;
        if heard.is_ok()
            && let Ok(exit) = timeout(grace + STOPPED_MAX, self.exited()).await
        {
            return exit;
        }
        self.shim.end_by_force().await;
        // Nothing of it runs; at worst some of its output was not read.
        timeout(STOPPED_MAX, self.exited()).await.unwrap_or_else(|_| lost())
    }

    pub async fn exited(&self) -> Exit {
        let mut exit = self.exit.subscribe();
        match exit.wait_for(Option::is_some).await {
            Ok(exit) => exit.clone().expect("waited until it is there"),
            Err(_) => lost(),
        }
    }

    pub async fn why_gone(&self) -> TurnError {
        let broken = self.state().broken.clone();
        match broken {
            Some(message) => TurnError::Protocol { message },
            None => TurnError::Exited(self.exited().await),
        }
    }

    fn end(&self, exit: Exit) {
        let mut state = self.state();
        state.over = true;
        state.forget_open();
        drop(state);
        self.exit.send_replace(Some(exit));
    }
}

impl State {
    fn new(usage: UsageMeter) -> Self {
        Self { usage, ..Self::default() }
    }

    /// Keeps the result if no caller waits for it.
    fn end_turn(&mut self, turn: Turn, stop: StopReason, usage: Usage) {
        self.asks.clear();
        let effect = turn.effect;
        self.turn_end = turn.finish(stop, usage).map(|end| (effect, end));
    }

    /// Drops everything that is open. Received results are kept for their callers.
    fn forget_open(&mut self) {
        self.requests.retain(|_, it| matches!(it, Request::Answered(_)));
        if self.turn.take().is_some() {
            self.usage_left = self.usage.take_news();
        }
        self.asks.clear();
        self.refusals.clear();
    }
}

fn lost() -> Exit {
    Exit { code: None, signal: None, stderr: String::new() }
}
