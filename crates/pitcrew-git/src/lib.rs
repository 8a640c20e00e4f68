//! All of Pitcrew's git operations.
//!
//! The vault is a bare repository beside the user's repository. Agents work in checkouts of the
//! vault, and their work returns through the import gate. There is one file per operation. All
//! functions block. Nothing here decides what to do next, and only a landing, or undoing one,
//! changes the user's index, tree or HEAD.

mod error;
mod git;
mod place;
mod repository;
mod layout;
mod names;
mod files;
mod records;
mod holders;
mod locks;
mod sweep;
mod settings;
mod shared_settings;
mod git_dir;
mod known;
mod vault;
mod base_store;
mod secrets;
mod uncommitted;
mod user_snapshot;
mod prepare_plan;
mod bootstrap;
mod submodules;
mod commands;
mod index_file;
mod fill;
mod working_tree;
mod fill_ahead;
mod prepare_checkout;
mod narrow_checkout;
mod pool;
mod lend_checkout;
mod snapshot;
mod steps;
mod add_all;
mod nested;
mod agent_git;
mod ready;
mod take_pack;
mod import;
mod changes;
mod gate;
mod collect;
mod save;
mod gather_packs;
mod take_snapshot;
mod merge_attributes;
mod merge;
mod pull_work;
mod scratch;
mod verify;
mod check_base;
mod check_programs;
mod integrate;
mod user_branch;
mod history;
mod commits;
mod sign;
mod hooks;
mod land;
mod undo_landing;
mod restore;
mod clean_copy;
mod remove_checkout;
mod diff;

/// Unit tests use the same test repository as the integration tests.
#[cfg(test)]
extern crate self as pitcrew_git;
#[cfg(test)]
#[path = "../tests/git/lab.rs"]
#[expect(dead_code, reason = "other tests need more of it")]
mod lab;

pub use clean_copy::{CleanCopy, Copied};
pub use collect::CollectWork;
pub use diff::{DiffStat, FileStat, LiveCheckout};
pub use error::{FileError, GitError, GitErrorKind, VaultError};
pub use fill_ahead::FillAhead;
pub use git::Git;
pub use land::{LandPlan, Stopped};
pub use layout::Layout;
pub use lend_checkout::LendCheckout;
pub use names::{AttemptName, Kind as CheckoutKind};
pub use place::Place;
pub use prepare_checkout::{Checkout, PrepareCheckout};
pub use prepare_plan::PreparePlan;
pub use pull_work::PullWork;
pub use ready::Ready;
pub use remove_checkout::Removal;
pub use repository::{
    DiscoverError, DiscoverErrorKind, GIT_VERSION_MIN, Repository, is_new_enough,
};
pub use restore::RestoreWork;
pub use save::SaveWork;
pub use scratch::ReadyTrial;
pub use sign::SignError;
pub use take_snapshot::TakeSnapshot;
pub use uncommitted::{Uncommitted, UncommittedFile};
pub use undo_landing::UndoLanding;
pub use vault::Vault;
pub use verify::{Verified, Verify};
