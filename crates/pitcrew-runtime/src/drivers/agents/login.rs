//! Logins of agents: each agent has a private home with a copy of the user's credential.
//!
//! Many vendors issue refresh tokens that work once: using a token that was already used logs
//! everyone out. So copies are made from the newest credential, agents that would have to refresh
//! it start one after the other, each sees a different expiry time, and a refreshed credential is
//! copied to the user and to all other agents immediately.
//!
//! Of the user's files only the credential file is written, and only with a newer, complete one.
//! The contents are not logged, stored or sent anywhere.

mod verdict;
mod files;
mod record;
mod home;
mod refresh_queue;
mod sync;
mod keeper;
mod inner;
mod begin;

pub use begin::LoginPermit;
pub use home::tool_folders;
pub use keeper::Logins;
