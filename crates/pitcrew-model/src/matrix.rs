//! The permission matrix: the rule of each action, and the limits of delegation.

use crate::{Action, Verdict, limits};
use alloc::{
    collections::{BTreeMap, BTreeSet},
    string::{String, ToString},
};
use core::fmt;
use serde::{Deserialize, Serialize};

/// What happens with an action. A stricter rule compares as greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    AutoApprove,
    AskUser,
    AutoDeny,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::AutoApprove => "auto_approve",
            Self::AskUser => "ask_user",
            Self::AutoDeny => "auto_deny",
        })
    }
}

/// Where a rule is defined.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleSource {
    /// Built into the program.
    #[default]
    BuiltIn,
    /// A line of a file of the repository or of the user: `permissions.md:5`.
    File(String),
    /// The definition of the agent, which does not list such a tool.
    Definition(String),
}

impl RuleSource {
    /// Says why an action is denied, and who can change that.
    pub fn denies(&self, action: &Action) -> String {
        match self {
            Self::BuiltIn => alloc::format!(
                "{action} is denied by a rule that is built in, and no file can allow it"
            ),
            Self::Definition(place) => alloc::format!(
                "{action} is denied: the `tools` of the agent do not include it ({place})"
            ),
            Self::File(place) => alloc::format!(
                "{action} is denied by {place}; who wants to allow it changes that line and runs \
                 `pitcrew stop`, after which the files are read anew"
            ),
        }
    }
}

impl fmt::Display for RuleSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => f.pad("built in"),
            Self::File(place) | Self::Definition(place) => f.pad(place),
        }
    }
}

/// The rules. An action in several lists has the strictest rule; an action in none asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Matrix {
    pub auto_approve: BTreeSet<Action>,
    pub ask_user: BTreeSet<Action>,
    pub auto_deny: BTreeSet<Action>,
    pub limits: MatrixLimits,
    /// The origin of each rule. Absent: built in.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub places: BTreeMap<Action, String>,
}

impl Matrix {
    pub fn builtin() -> Self {
        let of = |rule| Action::NAMED.iter().filter(move |it| it.builtin_rule() == rule).cloned();
        Self {
            auto_approve: of(Rule::AutoApprove).collect(),
            ask_user: of(Rule::AskUser).collect(),
            auto_deny: of(Rule::AutoDeny).collect(),
            limits: MatrixLimits::default(),
            places: BTreeMap::new(),
        }
    }

    pub fn source(&self, action: &Action) -> RuleSource {
        let place = self.places.get(action).map(ToString::to_string);
        place.map_or(RuleSource::BuiltIn, RuleSource::File)
    }

    pub fn rule(&self, action: &Action) -> Rule {
        if self.auto_deny.contains(action) {
            Rule::AutoDeny
        } else if self.auto_approve.contains(action) && !self.ask_user.contains(action) {
            Rule::AutoApprove
        } else {
            Rule::AskUser
        }
    }

    /// Sets the only rule of the action.
    pub fn set(&mut self, action: &Action, rule: Rule) {
        for (list, of) in [
            (&mut self.auto_approve, Rule::AutoApprove),
            (&mut self.ask_user, Rule::AskUser),
            (&mut self.auto_deny, Rule::AutoDeny),
        ] {
            if of == rule {
                list.insert(action.clone());
            } else {
                list.remove(action);
            }
        }
    }
}

impl Default for Matrix {
    fn default() -> Self {
        Self::builtin()
    }
}

/// The limits of sub-tasks, and of the wait for a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MatrixLimits {
    /// Levels of sub-tasks below the worker of a plan.
    pub subtask_depth: u32,
    /// Levels of sub-tasks below an outside client.
    pub subtask_depth_standalone: u32,
    /// Sub-tasks of one worker: in total, at once and in a minute.
    pub subtasks_total: u32,
    pub subtasks_parallel: u32,
    pub subtasks_per_minute: u32,
    /// How long a permission request waits for a person. Absent: forever.
    pub permission_timeout_ms: Option<u64>,
    /// The decision after that time.
    pub permission_default: Verdict,
    /// Whether sub-tasks get the permissions of their parent without asking.
    pub auto_approve_for_subtasks: bool,
}

impl Default for MatrixLimits {
    fn default() -> Self {
        Self {
            subtask_depth: limits::SUBTASK_DEPTH_MAX,
            subtask_depth_standalone: limits::SUBTASK_DEPTH_STANDALONE_MAX,
            subtasks_total: limits::SUBTASKS_PER_WORKER_MAX,
            subtasks_parallel: limits::SUBTASKS_PARALLEL_MAX,
            subtasks_per_minute: limits::SUBTASKS_PER_MINUTE_MAX,
            permission_timeout_ms: None,
            permission_default: Verdict::Deny,
            auto_approve_for_subtasks: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S4-006, S4-053, S4-060: an action has one rule, the strictest it is listed under.
    #[test]
    fn the_strictest_list_wins() {
        let mut matrix = Matrix::builtin();
        for action in Action::NAMED {
            assert_eq!(matrix.rule(action), action.builtin_rule(), "{action}");
        }
        matrix.ask_user.insert(Action::FileEditsInWorktree);
        assert_eq!(matrix.rule(&Action::FileEditsInWorktree), Rule::AskUser);
        matrix.auto_deny.insert(Action::FileEditsInWorktree);
        assert_eq!(matrix.rule(&Action::FileEditsInWorktree), Rule::AutoDeny);
        assert_eq!(matrix.rule(&Action::Other("levitate".into())), Rule::AskUser);
        matrix.set(&Action::FileEditsInWorktree, Rule::AutoApprove);
        assert_eq!(matrix, Matrix::builtin());
    }
}
