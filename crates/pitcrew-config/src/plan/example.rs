//! A plan to start from.

/// A commented plan file that parses as it is: what `pitcrew init` writes.
pub fn example_plan() -> &'static str {
    include_str!("example.toml")
}
