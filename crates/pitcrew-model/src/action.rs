//! What somebody may want to do, by name, and what holds for it where nobody says otherwise.

use crate::Rule;
use alloc::string::{String, ToString};
use core::{convert::Infallible, fmt, str::FromStr};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What actions are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    FileOperations,
    Spawning,
    ModelChanges,
    GitOperations,
    PrOperations,
    /// What agents do with other tools: commands, the network.
    ToolUse,
}

impl Category {
    pub fn name(self) -> &'static str {
        match self {
            Self::FileOperations => "file_operations",
            Self::Spawning => "spawning",
            Self::ModelChanges => "model_changes",
            Self::GitOperations => "git_operations",
            Self::PrOperations => "pr_operations",
            Self::ToolUse => "tool_use",
        }
    }
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

macro_rules! actions {
    ($($(#[$doc:meta])* $name:ident = $text:literal: $category:ident, $rule:ident;)*) => {
        /// What the matrix knows by name. Anything else is asked.
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Action {
            $($(#[$doc])* $name,)*
            /// A name that nobody knows.
            Other(String),
        }

        impl Action {
            /// Every action that has a name.
            pub const NAMED: &[Self] = &[$(Self::$name),*];

            pub fn name(&self) -> &str {
                match self {
                    $(Self::$name => $text,)*
                    Self::Other(name) => name,
                }
            }

            pub fn category(&self) -> Option<Category> {
                match self {
                    $(Self::$name => Some(Category::$category),)*
                    Self::Other(_) => None,
                }
            }

            /// What holds where no file says otherwise.
            pub fn builtin_rule(&self) -> Rule {
                match self {
                    $(Self::$name => Rule::$rule,)*
                    Self::Other(_) => Rule::AskUser,
                }
            }
        }
    };
}

actions! {
    FileEditsInWorktree = "file_edits_in_worktree": FileOperations, AutoApprove;
    FileCreationInWorktree = "file_creation_in_worktree": FileOperations, AutoApprove;
    FileDeletionInWorktree = "file_deletion_in_worktree": FileOperations, AutoApprove;
    /// Looking at what is outside the checkout, or running something there.
    AccessOutsideWorktree = "access_outside_worktree": FileOperations, AskUser;
    EditsOutsideWorktree = "edits_outside_worktree": FileOperations, AutoDeny;
    SubtaskSpawning = "subtask_spawning": Spawning, AutoApprove;
    AgentReassignment = "agent_reassignment": Spawning, AutoApprove;
    PlanExecution = "plan_execution": Spawning, AskUser;
    ModelSwitchSameTier = "model_switch_same_tier": ModelChanges, AutoApprove;
    ModelSwitchExpensive = "model_switch_expensive": ModelChanges, AskUser;
    BranchMerge = "branch_merge": GitOperations, AskUser;
    GitPush = "git_push": GitOperations, AskUser;
    WorktreeCleanup = "worktree_cleanup": GitOperations, AskUser;
    DeleteMainBranch = "delete_main_branch": GitOperations, AutoDeny;
    ForcePush = "force_push": GitOperations, AutoDeny;
    PrCreation = "pr_creation": PrOperations, AskUser;
    CommandExecution = "command_execution": ToolUse, AskUser;
    /// A command that hides what it runs.
    OpaqueCommand = "opaque_command": ToolUse, AskUser;
    NetworkAccess = "network_access": ToolUse, AskUser;
    /// A tool that says nothing that could be judged.
    OtherTool = "other_tool": ToolUse, AskUser;
}

/// Other names for the same actions, as people have written them.
const ALIASES: &[(&str, Action)] = &[
    ("expensive_model_switch", Action::ModelSwitchExpensive),
    ("same_tier_model_switch", Action::ModelSwitchSameTier),
    ("delete_files_in_main_workspace", Action::EditsOutsideWorktree),
    ("file_edits_outside_worktree", Action::EditsOutsideWorktree),
    ("file_edits", Action::FileEditsInWorktree),
    ("file_creation", Action::FileCreationInWorktree),
    ("file_deletion", Action::FileDeletionInWorktree),
    ("spawn_subtask", Action::SubtaskSpawning),
    ("spawn_subtasks", Action::SubtaskSpawning),
    ("subtask_spawn", Action::SubtaskSpawning),
    ("reassign_agent", Action::AgentReassignment),
    ("create_pr", Action::PrCreation),
    ("pull_request_creation", Action::PrCreation),
    ("merge_branch", Action::BranchMerge),
    ("push", Action::GitPush),
    ("git_force_push", Action::ForcePush),
    ("main_branch_deletion", Action::DeleteMainBranch),
    ("shell_commands", Action::CommandExecution),
    ("run_command", Action::CommandExecution),
];

impl Action {
    pub fn is_known(&self) -> bool {
        self.category().is_some()
    }
}

impl FromStr for Action {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        let named = Self::NAMED.iter().find(|it| it.name() == text);
        let alias = || ALIASES.iter().find(|(name, _)| *name == text).map(|it| &it.1);
        let known = named.or_else(alias).cloned();
        Ok(known.unwrap_or_else(|| Self::Other(text.to_string())))
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Serialize for Action {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Action {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Ok(action) = String::deserialize(deserializer)?.parse();
        Ok(action)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    fn named(rule: Rule) -> Vec<&'static str> {
        let held = Action::NAMED.iter().filter(|it| it.builtin_rule() == rule);
        held.map(Action::name).collect()
    }

    /// S4-054, S4-055, S4-056: the defaults, by name.
    #[test]
    fn the_defaults_are_these() {
        for name in [
            "file_edits_in_worktree",
            "file_creation_in_worktree",
            "subtask_spawning",
            "agent_reassignment",
            "model_switch_same_tier",
        ] {
            assert!(named(Rule::AutoApprove).contains(&name), "{name}");
        }
        for name in ["pr_creation", "branch_merge", "model_switch_expensive", "worktree_cleanup"] {
            assert!(named(Rule::AskUser).contains(&name), "{name}");
        }
        let denied = ["edits_outside_worktree", "delete_main_branch", "force_push"];
        assert_eq!(named(Rule::AutoDeny), denied);
    }

    /// S4-057: every action belongs to a category.
    #[test]
    fn every_named_action_has_a_category() {
        let of = |category| Action::NAMED.iter().any(|it| it.category() == Some(category));
        for category in [
            Category::FileOperations,
            Category::Spawning,
            Category::ModelChanges,
            Category::GitOperations,
            Category::PrOperations,
            Category::ToolUse,
        ] {
            assert!(of(category), "{category}");
        }
        assert!(Action::NAMED.iter().all(Action::is_known));
    }

    /// S4-062: two names of one action are one action; S4-063: an unknown one is asked.
    #[test]
    fn an_alias_is_the_action_itself() {
        let parse = |text: &str| text.parse::<Action>().expect("any text is an action");
        assert_eq!(parse("expensive_model_switch"), Action::ModelSwitchExpensive);
        assert_eq!(parse("delete_files_in_main_workspace"), Action::EditsOutsideWorktree);
        assert_eq!(parse("levitate"), Action::Other("levitate".into()));
        assert_eq!(parse("levitate").builtin_rule(), Rule::AskUser);
        for action in Action::NAMED {
            assert_eq!(parse(action.name()), *action);
        }
        for (alias, action) in ALIASES {
            assert_eq!(parse(alias), *action);
            assert!(!Action::NAMED.iter().any(|it| it.name() == *alias), "{alias}");
        }
    }
}
