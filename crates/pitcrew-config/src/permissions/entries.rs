//! What one source says, before anybody asks whether it may.

use super::limit::{LimitKey, LimitValue};
use crate::settings::Origin;
use pitcrew_model::Rule;

/// Rules and limits as one source has them, each with its place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PermissionEntries {
    pub(super) rules: Vec<SaidRule>,
    pub(super) limits: Vec<SaidLimit>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SaidRule {
    pub rule: Rule,
    /// As it is written.
    pub name: String,
    pub origin: Origin,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SaidLimit {
    pub key: LimitKey,
    pub value: LimitValue,
    pub origin: Origin,
}

/// The lists, by the name that each has as a key.
pub(super) const LISTS: &[(&str, Rule)] = &[
    ("auto_approve", Rule::AutoApprove),
    ("ask_user", Rule::AskUser),
    ("auto_deny", Rule::AutoDeny),
];
