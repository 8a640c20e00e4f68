//! The wire: what was asked and not yet answered, on both sides, and the task that reads.
//!
//! One task reads the agent's frames in order. Everything that callers wait for is a map entry
//! under one short lock; nobody waits while holding it.

mod reader;

pub(crate) use reader::{OPTION_ID_BYTES_MAX, OPTIONS_MAX, read};

use crate::{
    error::TurnError,
    frame::{self, RpcError, number},
    schema::{RequestPermissionOutcome, RequestPermissionResponse, SelectedPermissionOutcome},
    session::TurnEnd,
    tool_use::ToolCalls,
    turn::{Turn, Words},
    usage::UsageMeter,
};
use pitcrew_model::{EffectId, Exit, limits};
use pitcrew_process::{ShimErrorKind, ShimHandle};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::sync::{Notify, oneshot, watch};

pub(crate) struct Connection {
    shim: ShimHandle,
    /// The checkout: what paths are told relative to.
    root: PathBuf,
    state: Mutex<State>,
    /// Rings when there is a new note of activity.
    pub activity: Notify,
    exit: watch::Sender<Option<Exit>>,
}

#[derive(Default)]
struct State {
    /// Our requests but prompts, by number.
    pending: BTreeMap<u64, oneshot::Sender<Result<Value, RpcError>>>,
    turn: Option<Turn>,
    /// The agent's requests for permission that wait for an answer, by the name that we gave them.
    asks: BTreeMap<String, Ask>,
    calls: ToolCalls,
    usage: UsageMeter,
    note: Option<String>,
    garbage_count: u32,
    /// Why nothing more is expected of the agent, though its process may still be there.
    broken: Option<String>,
    /// The reader has ended: nobody will answer any more.
    over: bool,
}

/// A request of the agent's, as much of it as the answer needs.
struct Ask {
    id: Value,
    offset: u64,
}

impl Connection {
    pub fn new(shim: ShimHandle, root: PathBuf) -> Self {
        Self {
            shim,
            root,
            state: Mutex::default(),
            activity: Notify::new(),
            exit: watch::Sender::new(None),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a request and waits for its answer.
    pub async fn request(
        &self,
        id: u64,
        method: &str,
        params: &impl serde::Serialize,
    ) -> Result<Result<Value, RpcError>, TurnError> {
        let frame = frame::request(id, method, params);
        let (sender, answer) = oneshot::channel();
        {
            let mut state = self.state();
            if !state.over && state.broken.is_none() {
                state.pending.insert(id, sender);
            }
        }
        if let Err(error) = self.send(id, &frame).await {
            self.state().pending.remove(&id);
            return Err(error);
        }
        match answer.await {
            Ok(answer) => Ok(answer),
            Err(_) => Err(self.why_gone().await),
        }
    }

    /// Sends a prompt and waits for the end of its turn.
    pub async fn turn(&self, effect: EffectId, frame: &str) -> Result<TurnEnd, TurnError> {
        let end = self.begin_turn(effect)?;
        if let Err(error) = self.send(number::prompt(effect), frame).await {
            self.state().turn = None;
            return Err(error);
        }
        match end.await {
            Ok(end) => Ok(end),
            Err(_) => Err(self.why_gone().await),
        }
    }

    /// Opens a turn; what is given back resolves at its end, or fails when the agent is gone.
    fn begin_turn(&self, effect: EffectId) -> Result<oneshot::Receiver<TurnEnd>, TurnError> {
        let mut state = self.state();
        if state.turn.is_some() {
            return Err(TurnError::Busy);
        }
        let (end, receiver) = oneshot::channel();
        if !state.over && state.broken.is_none() {
            state.garbage_count = 0;
            state.turn = Some(Turn { effect, end, words: Words::default() });
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

    /// Answers a request for permission; one that nobody waits for any more is let be.
    pub async fn answer_permission(&self, call: &str, option: Option<&str>) {
        let ask = self.state().asks.remove(call);
        if let Some(ask) = ask {
            self.answer(&ask, option).await;
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

    pub fn has_note(&self) -> bool {
        self.state().note.is_some()
    }

    /// Ends the agent's process tree and waits until it is gone.
    pub async fn stop(&self, grace: Duration) -> Exit {
        self.shim.stop(grace).await.ok();
        self.exited().await
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

    /// Gives the agent up: whoever waits for it is told, and its process is ended.
    async fn give_up(&self, message: String) {
        {
            let mut state = self.state();
            state.broken = Some(message);
            state.pending.clear();
            state.turn = None;
            state.asks.clear();
        }
        self.shim.stop(Duration::from_millis(limits::STOP_GRACE_MS)).await.ok();
    }

    fn end(&self, exit: Exit) {
        let mut state = self.state();
        state.over = true;
        state.pending.clear();
        state.turn = None;
        state.asks.clear();
        drop(state);
        self.exit.send_replace(Some(exit));
    }
}

fn lost() -> Exit {
    Exit { code: None, signal: None, stderr: String::new() }
}
