//! Whether anything may be started with the confinement that there is.

use crate::State;
use pitcrew_model::{Rejection, Tier};

/// Why nothing may be started here.
pub fn check(state: &State) -> Result<(), Rejection> {
    let Some(sandbox) = &state.sandbox else { return Ok(()) };
    let (available, obstacle) = (sandbox.available, sandbox.obstacle.clone());
    if let Some(min_tier) = sandbox.min_tier.filter(|it| *it > available) {
        return Err(Rejection::TierTooLow { available, min_tier, obstacle });
    }
    let agreed = sandbox.consent || state.accepted_tier.is_some_and(|it| it <= available);
    if available == Tier::T1 && !agreed {
        return Err(Rejection::NeedsConsent { obstacle });
    }
    Ok(())
}
