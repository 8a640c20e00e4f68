//! What a program may do. The one object that every layer of confinement is derived from.

use crate::marker::OWNER_MARKER;

/// Which confinement is in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// The import gate only: nothing of the operating system holds the program.
    T1,
}

/// What a program that is started for an agent, or on an agent's tree, may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    pub tier: Tier,
    /// Variables that are given on top of the allow-list.
    pub env: Vec<(String, String)>,
}

impl Policy {
    /// No confinement by the operating system.
    pub fn unconfined() -> Self {
        Self { tier: Tier::T1, env: Vec::new() }
    }

    /// Programs say whose they are, so that `end_left_behind` finds them after their starter died.
    #[must_use]
    pub fn owned_by(mut self, owner: &str) -> Self {
        self.env.push((OWNER_MARKER.into(), owner.into()));
        self
    }
}
