//! Permissions: which actions need approval, merged from layers of files.
//!
//! A user's file overrides the workspace's, which overrides the built-in rules. The workspace's
//! file comes with the repository, so it may only tighten them. A broken file never results in an
//! empty matrix, and while one is broken no rule is loosened. Merging is pure; only
//! `read_permissions` touches files.

mod limit;
mod entries;
mod text;
mod in_settings;
mod merge;
mod read;

pub use entries::PermissionEntries;
pub use limit::LIMIT_KEYS;
pub use merge::{IgnoredPermission, LimitRow, Permissions, RuleRow};
pub use read::{PermissionPaths, PermissionSources, PermissionText, read_permissions};

pub(crate) use in_settings::in_settings;
