//! Handles frames that were sent to the agent, as recorded in the spool: by us just now, or by an
//! earlier process.

use super::{Connection, Request, incoming::ask_name, silence::given_up};
use crate::{
    frame::{Incoming, number},
    turn::Turn,
    usage::TurnKind,
};
use serde_json::Value;
use tokio::time::Instant;

impl Connection {
    pub(super) fn take_sent(&self, id: u64, line: &str) {
        let Some(effect) = number::effect(id) else {
            let name = ask_name(number::asked_at(id));
            let mut state = self.state();
            state.asks.remove(&name);
            state.refusals.remove(&name);
            return;
        };
        let mut state = self.state();
        if state.broken.is_some() {
            return;
        }
        let method = match Incoming::parse(line) {
            Ok(Incoming::Request { method, params, .. }) => {
                if state.opened_by.is_some_and(|it| number::set_model(it) == id) {
                    let model = [&params["value"], &params["modelId"]];
                    state.model = model.into_iter().find_map(Value::as_str).map(str::to_owned);
                }
                method
            }
            Ok(Incoming::Notification { method, params }) => {
                let Some(mut turn) = state.turn.take_if(|it| it.effect == effect) else { return };
                if let Some(stop) = given_up(&params) {
                    let usage = state.usage.end_turn(&Value::Null, TurnKind::Failed);
                    state.end_turn(turn, stop, usage);
                } else {
                    turn.is_cancelled |= method == "session/cancel";
                    state.turn = Some(turn);
                }
                return;
            }
            Ok(Incoming::Answer { .. } | Incoming::Stray) | Err(_) => return,
        };
        if method == "session/prompt" {
            state.garbage_count = 0;
            state.heard_at = Some(Instant::now());
            self.activity.notify_one();
            match &mut state.turn {
                Some(turn) if turn.effect == effect => turn.begin(),
                Some(_) | None => state.turn = Some(Turn::new(effect)),
            }
        } else {
            if method == "initialize" {
                state.opened_by = Some(effect);
            }
            state.requests.entry(id).or_insert(Request::Sent);
        }
    }
}
