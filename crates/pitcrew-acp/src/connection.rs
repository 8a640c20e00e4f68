//! The wire: what was asked and not yet answered, on both sides, and the task that reads.
//!
//! One task reads both directions in their order, so whoever comes back to an agent and reads from
//! the beginning knows as much as if it had never been away. Everything that callers wait for is a
//! map entry under one short lock; nobody waits while holding it.

mod pace;
mod reader;
mod incoming;
mod sent;
mod totals;
mod silence;

use incoming::ask_name;
pub(crate) use incoming::{OPTION_ID_BYTES_MAX, OPTIONS_MAX};
pub(crate) use reader::{CaughtUp, catch_up, read};

use crate::{
    Profile, Reach,
    error::TurnError,
    fault::{self, Known},
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

/// How long the end of an agent may take beyond its grace: more than a shim needs to end what does
/// not end by itself, and its last words to be heard.
const STOPPED_MAX: Duration = Duration::from_secs(15);

pub(crate) struct Connection {
    shim: ShimHandle,
    /// The checkout: what paths are told relative to.
    root: PathBuf,
    /// What is known of the agent's backend.
    profile: Profile,
    /// The files that it reaches through us; none where it opens them itself.
    reach: Option<Reach>,
    state: Mutex<State>,
    /// Rings when there is a new note of activity.
    pub activity: Notify,
    /// Rings when its end is wanted: what it has said is to be heard without a pause then.
    hurry: Notify,
    exit: watch::Sender<Option<Exit>>,
}

#[derive(Default)]
struct State {
    /// Our requests but prompts, by number.
    requests: BTreeMap<u64, Request>,
    /// The effect that opened the session.
    opened_by: Option<EffectId>,
    turn: Option<Turn>,
    /// The end of the last turn, while nobody has asked for it.
    turn_end: Option<(EffectId, TurnEnd)>,
    /// The agent's requests for permission that wait for an answer, by the name that we gave them.
    asks: BTreeMap<String, Ask>,
    /// What it is told of files that it may not reach, as soon as that is noted.
    refusals: BTreeMap<String, Refusal>,
    calls: ToolCalls,
    usage: UsageMeter,
    /// What a turn that was cut off has used, where nobody was told yet.
    usage_left: Option<Usage>,
    note: Option<String>,
    /// When it last said something, or was prompted.
    heard_at: Option<Instant>,
    /// The same by the clock on the wall, which whoever was here before us had too.
    heard_at_ms: Timestamp,
    /// The model that the session works with, where the agent says it.
    model: Option<String>,
    /// It has said that nobody is logged in.
    is_logged_out: bool,
    garbage_count: u32,
    /// Why nothing more is expected of the agent, though its process may still be there.
    broken: Option<String>,
    /// Its process is told to end for that.
    ending: bool,
    /// The reader has ended: nobody will answer any more.
    over: bool,
}

/// What there is to be told of an agent.
pub(crate) struct News {
    pub has_note: bool,
    pub has_usage: bool,
    /// It works on a turn, and this was its last word.
    pub silent_since: Option<Instant>,
}

/// A request of ours.
enum Request {
    Waiting(oneshot::Sender<Answer>),
    /// Sent before we came.
    Sent,
    /// Answered before anybody asked for it.
    Answered(Answer),
}

/// A request of the agent's, as much of it as the answer needs.
struct Ask {
    id: Value,
    offset: u64,
}

/// An answer that waits to be sent.
struct Refusal {
    number: u64,
    frame: String,
}

impl Connection {
    pub fn new(shim: ShimHandle, root: PathBuf, profile: Profile, reach: Option<Reach>) -> Self {
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

    /// Sends a request and waits for its answer. One that was sent before is not sent again, and
    /// an answer that came before is taken.
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

    /// The answer to a request that was sent before we came, if it was answered.
    pub fn kept_answer(&self, id: u64) -> Option<Answer> {
        match self.state().requests.get(&id) {
            Some(Request::Answered(answer)) => Some(answer.clone()),
            Some(Request::Waiting(_) | Request::Sent) | None => None,
        }
    }

    /// What an error is about that a request of ours was answered with just now.
    pub fn cause(&self, error: &RpcError) -> ErrorCause {
        let now = silence::timestamp(SystemTime::now());
        let is_logged_out = self.state().is_logged_out;
        fault::of_answer(error, &self.known(is_logged_out, now))
    }

    fn known(&self, is_logged_out: bool, at: Timestamp) -> Known<'_> {
        Known { rules: &self.profile.errors, is_logged_out, at }
    }

    /// The effect that opened the session, where it was opened before we came.
    pub fn opened_by(&self) -> Option<EffectId> {
        self.state().opened_by
    }

    /// Sends a prompt and waits for the end of its turn. A turn that was begun before is waited
    /// for, and an end that came before is taken.
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

    /// Opens a turn; what is given back resolves at its end, or fails when the agent is gone.
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

    /// That the agent is gone is not told here: the reader learns how it ended.
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

    /// Sends what is too small to be refused.
    async fn send_small(&self, number: u64, frame: &str) {
        self.send(number, frame).await.ok();
    }

    /// Asks the agent to end the open turn, and takes back everything that it waits for.
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

    /// Answers a request for permission; one that nobody waits for any more is let be.
    pub async fn answer_permission(&self, call: &str, option: Option<&str>) {
        let ask = self.state().asks.remove(call);
        if let Some(ask) = ask {
            self.answer(&ask, option).await;
        }
    }

    /// Tells the agent that it may not reach the file it asked for at this place.
    pub async fn answer_blocked(&self, place: u64) {
        let refusal = self.state().refusals.remove(&ask_name(place));
        if let Some(Refusal { number, frame }) = refusal {
            self.send_small(number, &frame).await;
        }
    }

    async fn answer(&self, ask: &Ask, option: Option<&str>) {
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

    /// Which of these there is to be told: a note of activity, what the open turn has used, and since
    /// when nothing was heard in it.
    pub fn news(&self) -> News {
        let state = self.state();
        let is_waiting = state.turn.is_some() && state.asks.is_empty();
        News {
            has_note: state.note.is_some(),
            has_usage: state.turn.is_some() && state.usage.has_news(),
            silent_since: is_waiting.then_some(state.heard_at).flatten(),
        }
    }

    /// What the open turn has used so far, where that is news; also that of one that was cut off.
    pub fn take_usage(&self) -> Option<Usage> {
        let mut state = self.state();
        let usage = match state.turn {
            Some(_) => state.usage.take_news(),
            None => state.usage_left.take(),
        };
        usage.map(|it| self.profile.prices.priced(it, state.model.as_deref()))
    }

    /// Ends the agent's process tree and waits until nothing of it runs any more. A shim that does
    /// not bring that about is ended too.
    pub async fn stop(&self, grace: Duration) -> Exit {
        self.hurry.notify_one();
        let heard = self.shim.stop(grace).await;
        if heard.is_ok()
            && let Ok(exit) = timeout(grace + STOPPED_MAX, self.exited()).await
        {
            return exit;
        }
        self.shim.end_by_force().await;
        // Nothing of it runs; only what it has said before may not be heard to its end.
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

    /// The end is kept where nobody waits for it.
    fn end_turn(&mut self, turn: Turn, stop: StopReason, usage: Usage) {
        self.asks.clear();
        let effect = turn.effect;
        self.turn_end = turn.finish(stop, usage).map(|end| (effect, end));
    }

    /// Nothing more comes of what is open. What has come is kept for whoever asks for it.
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
