//! The interface to facts that only the surrounding program knows.

use pitcrew_model::{HouseRules, PlanSpec};

/// Reads plans and lists agents. Both may access the disk.
pub trait Desk: Send + Sync + 'static {
    /// Reads a plan like a plan file. The error lists every problem with its line.
    fn read_plan(&self, text: &str) -> Result<ReadPlan, String>;

    fn agents(&self) -> Vec<AgentRow>;

    /// The values for a plan without a plan file.
    fn rules(&self) -> HouseRules;
}

/// A valid plan.
pub struct ReadPlan {
    pub spec: PlanSpec,
    /// Warnings for its author.
    pub warnings: Vec<String>,
}

/// An agent that can be given work.
pub struct AgentRow {
    pub name: String,
    /// `ready`, or a description of what is missing.
    pub status: String,
    /// Why it cannot start, and how to fix that.
    pub obstacle: Option<String>,
    /// Whether it has no model and therefore cannot work from a prompt.
    pub needs_script: bool,
    pub description: String,
    /// Present if it is a role rather than a program.
    pub role: Option<AgentRole>,
}

/// An agent's definition.
#[derive(Clone, Debug, Default)]
pub struct AgentRole {
    /// The default backend of the role.
    pub backend: Option<String>,
    /// The role prompt, which comes before the task.
    pub words: String,
    /// Best first.
    pub models: Vec<String>,
    pub tools: Vec<String>,
    pub strengths: Vec<String>,
    pub weaknesses: Vec<String>,
    /// The file that defines it.
    pub source: String,
}
