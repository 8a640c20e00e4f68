//! Files what was sent to the agent, as the spool tells it: by us a moment ago, or by whoever was
//! here before us.

use super::{Connection, Request, incoming::ask_name};
use crate::{
    frame::{Incoming, number},
    turn::Turn,
};
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
            Ok(Incoming::Request { method, .. }) => method,
            Ok(Incoming::Notification { method, .. }) => {
                if let Some(turn) = state.turn.as_mut().filter(|it| it.effect == effect) {
                    turn.is_cancelled |= method == "session/cancel";
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
