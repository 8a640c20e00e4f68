//! Resolves who does a task, the same way for every caller, and what its agent may use.

use crate::state::{State, Task};
use alloc::sync::Arc;
use pitcrew_model::{
    AgentProfile, AgentRef, Capability, Rejection, SubtaskSpec, TaskSpec, TaskWork, ToolUse,
    WorkspaceMode,
};

/// A sub-task whose agent, model and workspace are known.
pub(crate) struct Subtask {
    pub spec: SubtaskSpec,
    pub workspace: WorkspaceMode,
}

impl State {
    /// Resolves a task of a plan. Without a crew, which old journals do not have, the task must
    /// name its backend.
    pub(crate) fn resolved(
        &self,
        task: &TaskSpec,
        default_agent: Option<&AgentRef>,
    ) -> Result<TaskSpec, Rejection> {
        let mut task = task.clone();
        if let Some(crew) = &self.crew {
            let key = task.key.clone();
            let refused = |problem| Rejection::NoAgentFor { key, problem };
            crew.resolve_task(&mut task, default_agent).map_err(refused)?;
        }
        Ok(task)
    }

    /// Resolves a sub-task. `number` counts the sub-tasks of the call.
    pub(crate) fn resolved_subtask(
        &self,
        subtask: &SubtaskSpec,
        number: usize,
    ) -> Result<Subtask, Rejection> {
        let mut subtask = subtask.clone();
        if let Some(crew) = &self.crew {
            let model = subtask.model.as_deref();
            let found = crew.resolve(&subtask.agent, &subtask.work, model, None);
            let refused = |problem| Rejection::NoAgentForSubtask { number, problem };
            (subtask.agent, subtask.model) = found.map_err(refused)?;
        }
        let of_profile = || self.profile(&subtask.agent)?.workspace;
        let workspace = subtask.workspace.or_else(of_profile);
        let workspace = workspace.unwrap_or_else(|| workspace_of(&subtask));
        Ok(Subtask { spec: subtask, workspace })
    }

    /// Returns the definition of an agent.
    pub(crate) fn profile(&self, agent: &AgentRef) -> Option<&Arc<AgentProfile>> {
        self.crew.as_ref()?.agents.get(agent.agent.as_ref()?)
    }
}

/// A prompt may be only a question; a program is meant to change something.
fn workspace_of(subtask: &SubtaskSpec) -> WorkspaceMode {
    if subtask.target_files.is_empty() && matches!(subtask.work, TaskWork::Prompt { .. }) {
        WorkspaceMode::ReadOnly
    } else {
        WorkspaceMode::Isolated
    }
}

/// Returns the capability that a tool use needs and the definition of the task's agent does not
/// grant.
pub(crate) fn withheld(task: &Task, tool: &ToolUse) -> Option<Capability> {
    let profile = task.profile.as_ref()?;
    let of_kind = match tool.kind.as_str() {
        "read" | "search" => Some(Capability::Read),
        "edit" | "create" | "delete" | "move" => Some(Capability::Edit),
        "execute" => Some(Capability::Execute),
        "fetch" => Some(Capability::Web),
        _ => None,
    };
    // A command may do more than its kind says.
    let of_command = tool.command.as_ref().map(|_| Capability::Execute);
    [of_kind, of_command].into_iter().flatten().find(|it| !profile.has(*it))
}
