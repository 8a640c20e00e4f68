//! What only the program around the doors knows.

use pitcrew_model::{HouseRules, PlanSpec};

/// How plans are read here, and which agents there are. Both may look at the disk.
pub trait Desk: Send + Sync + 'static {
    /// Reads a plan as a plan file is read. The error names every problem with its line.
    fn read_plan(&self, text: &str) -> Result<ReadPlan, String>;

    fn agents(&self) -> Vec<AgentRow>;

    /// What holds for a plan that nobody has written down.
    fn rules(&self) -> HouseRules;
}

/// A plan that can be handed in.
pub struct ReadPlan {
    pub spec: PlanSpec,
    /// What its author should know.
    pub warnings: Vec<String>,
}

/// Somebody who can be given work.
pub struct AgentRow {
    pub name: String,
    /// `ready`, or what is missing.
    pub status: String,
    /// Why it cannot even be started, and what to do about that.
    pub obstacle: Option<String>,
    /// It has no model: words alone are nothing to it.
    pub needs_script: bool,
    pub description: String,
    /// Present where it is no program but a role that one plays.
    pub role: Option<AgentRole>,
}

/// What a definition says of an agent.
#[derive(Clone, Debug, Default)]
pub struct AgentRole {
    /// Who plays it, unless the caller names another.
    pub backend: Option<String>,
    /// What it is told before its task.
    pub words: String,
    /// Best first.
    pub models: Vec<String>,
    pub tools: Vec<String>,
    pub strengths: Vec<String>,
    pub weaknesses: Vec<String>,
    /// The file that says so.
    pub source: String,
}
