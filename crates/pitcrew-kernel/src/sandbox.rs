//! Checks whether the available sandbox is sufficient.

use crate::State;
use alloc::string::ToString;
use pitcrew_model::{Failure, Rejection, Sandbox, Tier};

/// Returns the failure of an attempt that may not start in the available sandbox. A person can fix
/// the cause and retry.
pub fn check(state: &State) -> Result<(), Failure> {
    admit(state).map_err(|it| Failure::Sandbox { message: it.to_string() })
}

/// Rejects a plan whose tasks could not start in the available sandbox.
pub fn admit(state: &State) -> Result<(), Rejection> {
    state.sandbox.as_ref().map_or(Ok(()), |it| suffices(state, it))
}

/// Checks a sandbox against the required tier and the consent that a person has given.
pub fn suffices(state: &State, sandbox: &Sandbox) -> Result<(), Rejection> {
    let (available, obstacle) = (sandbox.available, sandbox.obstacle.clone());
    if let Some(min_tier) = sandbox.min_tier.filter(|it| *it > available) {
        return Err(Rejection::TierTooLow { available, min_tier, obstacle });
    }
    let is_accepted = state.accepted_tier.is_some_and(|it| it <= available);
    match available {
        _ if is_accepted || !sandbox.needs_consent() => Ok(()),
        Tier::T1 => Err(Rejection::NeedsConsent { obstacle }),
        Tier::T2 | Tier::T3 => Err(Rejection::RootNeedsConsent { obstacle }),
    }
}
