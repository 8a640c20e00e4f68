//! How a plan is landed, and where.

use super::Plan;
use alloc::string::String;
use pitcrew_model::{CommitId, History, Hooks, LandedAt, Landing};

/// How a plan is landed, or its landing is undone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LandingPlan {
    pub history: History,
    pub message: Option<String>,
    pub hooks: Hooks,
    /// What the person has signed.
    pub signed: Option<CommitId>,
}

impl Plan {
    /// Returns the base branch and the landing on it.
    pub fn landed_on(&self) -> Option<(&str, &Landing)> {
        match self.landed.as_ref()? {
            it @ Landing { at: LandedAt::Base { branch }, .. } => Some((branch, it)),
            Landing { at: LandedAt::Side { .. }, .. } => None,
        }
    }
}
