//! Permissions: what may be done without asking, from layers of files.
//!
//! Built in < the workspace's file < the user's own. The workspace's file comes with the repository,
//! so it may only tighten. A file that is broken never makes an empty matrix, and nothing is loosened
//! while one is. Merging is pure; only `read_permissions` touches files.

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
