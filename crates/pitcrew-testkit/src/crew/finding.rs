//! The findings about an agent.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The aspects of an agent that are tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Aspect {
    /// It reads, edits and writes files in its checkout.
    Edit,
    /// It reports completion in the turn in which it completes.
    Complete,
    /// The next attempt fixes a failed check.
    Retry,
    /// A command runs only after a person has allowed it.
    Permission,
    /// Writes outside its region are refused.
    Gate,
    /// It keeps working while the orchestrator is killed, and is not prompted twice.
    Reattach,
    /// A model error is a failure with that name.
    ModelError,
    /// It is stopped while its model is busy.
    Cancel,
    /// A rejected key is a failure with that name.
    Auth,
    /// It waits for its quota.
    Quota,
    /// It reports all tokens of its model.
    Tokens,
    /// It reports their cost.
    Cost,
}

impl Aspect {
    pub const ALL: &[Self] = &[
        Self::Edit,
        Self::Complete,
        Self::Retry,
        Self::Permission,
        Self::Gate,
        Self::Reattach,
        Self::ModelError,
        Self::Cancel,
        Self::Auth,
        Self::Quota,
        Self::Tokens,
        Self::Cost,
    ];

    pub fn title(self) -> &'static str {
        match self {
            Self::Edit => "edit",
            Self::Complete => "complete",
            Self::Retry => "retry",
            Self::Permission => "permission",
            Self::Gate => "gate",
            Self::Reattach => "kill -9, reattach",
            Self::ModelError => "model error",
            Self::Cancel => "cancel",
            Self::Auth => "auth",
            Self::Quota => "quota",
            Self::Tokens => "tokens",
            Self::Cost => "cost",
        }
    }
}

/// The aspects that work, with a remark, and those that do not, with the reason.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Findings(pub BTreeMap<Aspect, Result<String, String>>);

impl Findings {
    pub(super) fn note(&mut self, aspect: Aspect, found: Result<String, String>) {
        self.0.insert(aspect, found);
    }

    /// Fails the test unless every aspect of `four_tasks` works.
    #[track_caller]
    pub fn hold_all_of_the_plan(&self) {
        for aspect in [
            Aspect::Edit,
            Aspect::Complete,
            Aspect::Retry,
            Aspect::Permission,
            Aspect::Gate,
            Aspect::Reattach,
            Aspect::ModelError,
            Aspect::Cancel,
        ] {
            self.hold(aspect);
        }
    }

    /// Fails the test unless the aspect works; returns the remark.
    #[track_caller]
    pub fn hold(&self, aspect: Aspect) -> &str {
        match self.0.get(&aspect) {
            Some(Ok(remark)) => remark,
            Some(Err(reason)) => panic!("{}: {reason}; {self:#?}", aspect.title()),
            None => panic!("{} was not tested", aspect.title()),
        }
    }
}
