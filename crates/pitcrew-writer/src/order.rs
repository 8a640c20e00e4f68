//! Instructions to the drivers: start an effect, or cancel what is no longer needed.

use pitcrew_model::{AttemptId, Effect, EffectId, Event, PlanId, PlanStatus};

/// An instruction to the drivers, in the order in which it became durable.
pub enum Order {
    Do(EffectId, Box<Effect>),
    /// Effects of this scope may be cancelled.
    Over(Scope),
}

/// The scope of an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    Attempt(AttemptId),
    Plan(PlanId),
    /// Only the base check of a plan.
    BaseOf(PlanId),
}

impl Scope {
    /// Returns whether the end of this scope cancels an effect of the other.
    pub fn cuts(self, done_for: Option<Self>) -> bool {
        match (self, done_for) {
            (Self::Plan(plan), Some(Self::BaseOf(of))) => of == plan,
            (over, done_for) => done_for == Some(over),
        }
    }
}

/// Returns the scope that ends with the event.
pub fn over(event: &Event) -> Option<Scope> {
    if let Event::AttemptEnded { attempt, .. } = event {
        Some(Scope::Attempt(*attempt))
    } else if let Event::PlanMoved { plan, to, .. } = event {
        match to {
            PlanStatus::Cancelled => Some(Scope::Plan(*plan)),
            PlanStatus::Paused
            | PlanStatus::Completed
            | PlanStatus::Partial
            | PlanStatus::Failed => Some(Scope::BaseOf(*plan)),
            PlanStatus::Draft
            | PlanStatus::Clarifying
            | PlanStatus::Decomposing
            | PlanStatus::AwaitingApproval
            | PlanStatus::Active => None,
        }
    } else {
        None
    }
}
