//! Who decides what: the matrix of actions and rules, and the limits that stand beside it.

use crate::{Action, Verdict, limits};
use alloc::{
    collections::{BTreeMap, BTreeSet},
    string::{String, ToString},
};
use core::fmt;
use serde::{Deserialize, Serialize};

/// What is done with an action. The stricter one is the greater one.
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

/// Where a rule is written down.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleSource {
    /// In the program itself.
    #[default]
    BuiltIn,
    /// At a line of a file of the repository or of the user: `permissions.md:5`.
    File(String),
}

impl RuleSource {
    /// Why an action is denied, and who could change that.
    pub fn denies(&self, action: &Action) -> String {
        match self {
            Self::BuiltIn => alloc::format!(
                "{action} is denied by a rule that is built in, and no file can allow it"
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
            Self::File(place) => f.pad(place),
        }
    }
}

/// The rules that hold. An action in several lists has the strictest of them; one in none is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Matrix {
    pub auto_approve: BTreeSet<Action>,
    pub ask_user: BTreeSet<Action>,
    pub auto_deny: BTreeSet<Action>,
    pub limits: MatrixLimits,
    /// Which file says so; what is not here is built in.
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

    /// The action has this rule and no other.
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

/// How far sub-tasks may go, and how long a request waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MatrixLimits {
    /// Levels of sub-tasks below the worker of a plan.
    pub subtask_depth: u32,
    /// Levels below an agent that works for nobody's plan.
    pub subtask_depth_standalone: u32,
    /// Sub-tasks of one worker, in all, at once and in a minute.
    pub subtasks_total: u32,
    pub subtasks_parallel: u32,
    pub subtasks_per_minute: u32,
    /// How long a request for permission waits for a person. Absent: for as long as it takes.
    pub permission_timeout_ms: Option<u64>,
    /// What becomes of it then.
    pub permission_default: Verdict,
    /// What a worker holds itself its sub-tasks get without asking it.
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
