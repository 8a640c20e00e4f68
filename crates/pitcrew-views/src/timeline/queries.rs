//! Queries about code outside a worker's region.

use pitcrew_model::{QueryId, QueryOutcome};
use std::fmt::Write;

/// Describes the end of a query, its cost and its savings.
pub fn ended(query: QueryId, outcome: QueryOutcome, spent: u64, saved: u64) -> String {
    let mut text = format!("{query} {outcome}");
    if spent > 0 {
        let _ = write!(text, ", about {spent} tokens spent");
    }
    if saved > 0 {
        let _ = write!(text, ", about {saved} tokens saved");
    }
    text
}
