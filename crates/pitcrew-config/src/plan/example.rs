//! An example plan.

/// A commented plan file that parses; `pitcrew init` writes it.
pub fn example_plan() -> &'static str {
    include_str!("example.toml")
}
