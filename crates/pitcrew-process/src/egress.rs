//! The only way from a box to the network: a process of its own, outside the box.
//!
//! It takes the requests of programs that were told to use a proxy, compares each place with an
//! allow-list, resolves its name once, looks at the addresses, and dials one of those that it
//! looked at. Where this machine has a proxy of its own, that one is dialled instead. Each decision is written down before anything is dialled. It never looks into what
//! passes, and it never starts anything.
//!
//! ```text
//! program ── CONNECT, http:// ──► port ──► allow-list ──► resolver ──► address ──► dial
//!                                                        └──────────── egress.ndjson ◄─────────┘
//! ```
//!
//! What it listens on is its standard input, opened by whoever starts it: so a box can be made while
//! it begins. It lives as long as somebody holds the other end of its standard output, and so ends
//! with its starter, also when that is killed.

mod spec;
mod body;
mod request;
mod reach;
mod decide;
mod network;
mod upstream;
mod ledger;
mod tunnel;
mod visit;
mod ports;
mod serve;
mod outlet;

pub use ledger::{EgressLine, ledger_path};
pub(crate) use outlet::Outlet;
pub use ports::{WayOut, lead_out};
pub(crate) use serve::egress_main;
pub(crate) use spec::Socket;
pub use spec::{EgressSpec, Listen};
pub use upstream::Upstream;
