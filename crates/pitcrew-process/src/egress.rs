//! The only way from a box to the network: a separate process outside the box.
//!
//! It handles the requests of programs that are configured to use a proxy. It compares each
//! destination with an allow-list, resolves the name once, checks the addresses, and dials one that
//! passed. If this machine uses a proxy, it dials that proxy instead. Each decision is recorded
//! before dialling. It never inspects the forwarded data and never starts a process.
//!
//! ```text
//! program ── CONNECT, http:// ──► port ──► allow-list ──► resolver ──► address ──► dial
//!                                                        └──────────── egress.ndjson ◄─────────┘
//! ```
//!
//! It listens on its standard input, which its parent opens, so a box can be created while it
//! starts. It runs as long as the other end of its standard output is open, so it ends with its
//! parent, even if the parent is killed.

mod spec;
mod body;
mod request;
mod reach;
mod decide;
mod network;
mod upstream;
mod ledger;
mod reached;
mod tunnel;
mod gateway;
mod ports;
mod serve;
mod outlet;

pub use ledger::{EgressLine, ledger_path};
pub(crate) use outlet::Outlet;
pub use ports::{WayOut, lead_out};
pub use reached::{ReachedLine, reached_lines};
pub(crate) use serve::egress_main;
pub(crate) use spec::Socket;
pub use spec::{EgressSpec, Listen};
pub use upstream::Upstream;
