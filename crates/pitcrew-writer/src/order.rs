//! What the drivers are told: what to do, and what is of no use any more.

use pitcrew_model::{AttemptId, Effect, EffectId, Event, PlanId, PlanStatus};

/// What the drivers are told, in the order it became durable.
pub enum Order {
    Do(EffectId, Box<Effect>),
    /// Whatever still runs for this may end.
    Over(Scope),
}

/// What work is done for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    Attempt(AttemptId),
    Plan(PlanId),
    /// Of a plan only the look at what it begins from.
    BaseOf(PlanId),
}

impl Scope {
    /// Whether that ends with this one.
    pub fn cuts(self, done_for: Option<Self>) -> bool {
        match (self, done_for) {
            (Self::Plan(plan), Some(Self::BaseOf(of))) => of == plan,
            (over, done_for) => done_for == Some(over),
        }
    }
}

/// What ends with the event.
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
