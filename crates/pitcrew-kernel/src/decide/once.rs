//! A worker's call whose answer may be lost on the way: said again it is taken for the first one.

use crate::State;
use alloc::{vec, vec::Vec};
use pitcrew_model::{Actor, Command, Event, Input, Rejection, limits, text};

pub fn decide(
    state: &State,
    input: &Input,
    nonce: &str,
    order: &Command,
) -> Result<Vec<Event>, Rejection> {
    let Actor::Worker(worker) = input.actor else {
        return super::decide_command(state, input, order);
    };
    let nonce = text::cut(nonce, limits::NAME_BYTES_MAX);
    if state.worker(worker)?.calls.iter().any(|it| it == nonce) {
        return Ok(Vec::new());
    }
    let events = super::decide_family(state, input, order, Some(nonce))?;
    if events.is_empty() {
        return Ok(events);
    }
    let mut all = vec![Event::CallTaken { worker, nonce: nonce.into() }];
    all.extend(events);
    Ok(all)
}
