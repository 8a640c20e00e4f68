//! Logins of agents: each agent has a private home with a copy of the user's credential.
//!
//! Many vendors hand out refresh tokens that work once: who uses one that somebody else has used
//! logs everybody out. So copies are made from the newest credential, agents that would have to
//! refresh it begin one after the other, each believes that its token expires at another time, and
//! what one of them has refreshed is handed to the user and to all others at once.
//!
//! Nothing of the user's is written but the credential file, and that only by a newer, whole one.
//! What the files say is not logged, stored or sent anywhere.

mod verdict;
mod files;
mod record;
mod home;
mod turn;
mod sync;
mod keeper;
mod inner;
mod begin;

pub use begin::Turn;
pub use home::tool_folders;
pub use keeper::Logins;
