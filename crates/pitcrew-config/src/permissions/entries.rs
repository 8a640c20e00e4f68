//! The entries of one source, before they are checked against the other layers.

use super::limit::{LimitKey, LimitValue};
use crate::settings::Origin;
use pitcrew_model::Rule;

/// The rules and limits of one source, each with its origin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PermissionEntries {
    pub(super) rules: Vec<RuleEntry>,
    pub(super) limits: Vec<LimitEntry>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RuleEntry {
    pub rule: Rule,
    /// As written.
    pub name: String,
    pub origin: Origin,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LimitEntry {
    pub key: LimitKey,
    pub value: LimitValue,
    pub origin: Origin,
}

/// The rule lists by their key.
pub(super) const LISTS: &[(&str, Rule)] = &[
    ("auto_approve", Rule::AutoApprove),
    ("ask_user", Rule::AskUser),
    ("auto_deny", Rule::AutoDeny),
];
