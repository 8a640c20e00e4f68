//! The actions that need permission, by name, and the built-in rule of each.

use crate::Rule;
use alloc::string::{String, ToString};
use core::{convert::Infallible, fmt, str::FromStr};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The categories of actions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    FileOperations,
    Spawning,
    ModelChanges,
    GitOperations,
    PrOperations,
    /// Other tools: commands, the network.
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
        /// An action that the matrix knows by name. Any other action asks a person.
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Action {
            $($(#[$doc])* $name,)*
            /// An unknown name.
            Other(String),
        }

        impl Action {
            /// All named actions.
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

            /// Returns the rule of this action if no file sets one.
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
    /// Reads a path outside the checkout, or runs something there.
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
    /// A command that hides the program it runs.
    OpaqueCommand = "opaque_command": ToolUse, AskUser;
    NetworkAccess = "network_access": ToolUse, AskUser;
    /// A tool that does not describe its effect.
    OtherTool = "other_tool": ToolUse, AskUser;
}

/// Aliases of actions that people use.
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
    fn the_built_in_rules_are_the_documented_ones() {
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

    /// S4-062: aliases map to the same action; S4-063: an unknown action asks.
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
