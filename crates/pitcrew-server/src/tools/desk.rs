//! The interface to facts that only the surrounding program knows.

use pitcrew_model::{Crew, HouseRules, PlanSpec};

/// Reads plans and the crew. Both may access the disk.
pub trait Desk: Send + Sync + 'static {
    /// Reads a plan like a plan file. The error lists every problem with its line.
    fn read_plan(&self, text: &str) -> Result<ReadPlan, String>;

    /// The agent definitions and the backends as they are now.
    fn crew(&self) -> Crew;

    /// The values for a plan without a plan file.
    fn rules(&self) -> HouseRules;
}

/// A valid plan.
pub struct ReadPlan {
    pub spec: PlanSpec,
    /// Warnings for its author.
    pub warnings: Vec<String>,
}
