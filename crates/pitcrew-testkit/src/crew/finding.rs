//! What was found out about an agent.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Aspect {
    /// It reads, edits and writes files in its checkout.
    Edit,
    /// It says that it is done, in the turn in which it is.
    Complete,
    /// A failed check is mended by the next attempt.
    Retry,
    /// A command is run when a person has allowed it, and not before.
    Permission,
    /// What it writes outside its region is refused.
    Gate,
    /// It works on while the orchestrator is killed, and is not prompted twice.
    Reattach,
    /// An error of the model is a failure of that name.
    ModelError,
    /// It is stopped while its model thinks.
    Cancel,
    /// A key that the model does not take is a failure of that name.
    Auth,
    /// It waits for its quota.
    Quota,
    /// It tells all tokens that its model has told.
    Tokens,
    /// It tells what they cost.
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

/// What holds, with a remark, and what does not, with the reason.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Findings(pub BTreeMap<Aspect, Result<String, String>>);

impl Findings {
    pub(super) fn note(&mut self, aspect: Aspect, found: Result<String, String>) {
        self.0.insert(aspect, found);
    }

    /// Fails the test unless everything holds that `four_tasks` plays.
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

    /// Fails the test unless this holds; the remark.
    #[track_caller]
    pub fn hold(&self, aspect: Aspect) -> &str {
        match self.0.get(&aspect) {
            Some(Ok(remark)) => remark,
            Some(Err(reason)) => panic!("{}: {reason}; {self:#?}", aspect.title()),
            None => panic!("{} was not looked at", aspect.title()),
        }
    }
}
