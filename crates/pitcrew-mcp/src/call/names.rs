//! Looks up plans and tasks by the names that their authors gave them.

use super::ToolCallError;
use pitcrew_model::{PlanId, TaskId, limits, text};
use std::fmt::Display;

/// The known names.
pub trait Names {
    /// Returns the tasks with this name.
    fn tasks(&self, name: &str) -> Vec<TaskId>;
    fn plans(&self, name: &str) -> Vec<PlanId>;
}

/// Knows no names.
impl Names for () {
    fn tasks(&self, _: &str) -> Vec<TaskId> {
        Vec::new()
    }

    fn plans(&self, _: &str) -> Vec<PlanId> {
        Vec::new()
    }
}

/// Returns the only match, or an error.
pub fn only<I: Copy + Display>(
    kind: &'static str,
    name: &str,
    found: &[I],
) -> Result<I, ToolCallError> {
    let name = text::cut(name, limits::NAME_BYTES_MAX).to_owned();
    match found {
        [one] => Ok(*one),
        [] => Err(ToolCallError::Unnamed { kind, name }),
        many => {
            let ids: Vec<String> = many.iter().map(ToString::to_string).collect();
            Err(ToolCallError::Ambiguous { kind, name, ids: ids.join(", ") })
        }
    }
}
