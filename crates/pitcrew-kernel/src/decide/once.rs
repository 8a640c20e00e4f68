//! A call whose answer may be lost: a repetition has the nonce of the first call.

use crate::State;
use alloc::{vec, vec::Vec};
use pitcrew_model::{Actor, Command, Event, Input, Rejection, limits, text};

pub fn decide(
    state: &State,
    input: &Input,
    nonce: &str,
    order: &Command,
) -> Result<Vec<Event>, Rejection> {
    let nonce = text::cut(nonce, limits::NAME_BYTES_MAX);
    let (known, taken) = match input.actor {
        Actor::Worker(worker) => {
            let taken = Event::CallTaken { worker, nonce: nonce.into() };
            (&state.worker(worker)?.calls, taken)
        }
        Actor::Client => (&state.client_calls, Event::ClientCallTaken { nonce: nonce.into() }),
        Actor::Person | Actor::Orchestrator => return super::decide_command(state, input, order),
    };
    if known.iter().any(|it| it == nonce) {
        return Ok(Vec::new());
    }
    super::authority::check(state, input.actor, order)?;
    let events = super::decide_family(state, input, order, Some(nonce))?;
    if events.is_empty() {
        return Ok(events);
    }
    let mut all = vec![taken];
    all.extend(events);
    Ok(all)
}
