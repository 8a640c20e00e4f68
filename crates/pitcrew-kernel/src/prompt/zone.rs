//! The part of a prompt that says what a worker may change, and how to query the rest.

use super::{join, line};
use alloc::{format, string::String};
use core::fmt::Write;
use pitcrew_model::{RepoPath, Zone};

/// The most paths of a kind that a prompt names. Tokens cost the user money.
const NAMED_MAX: usize = 6;

pub const HOW_TO_ASK: &str = "\
Do not read files outside your region. Look up what you need instead: it is free.
For a type, a function or a constant, call `a2a_query` with its name as `symbol` and the import line or the path as `context`.
You get its signature, its fields and its location.
If you do not have this tool, write a line `NEED: NAME from PATH` outside of code blocks and end your turn. \
The answer is in your next prompt.";

/// Returns the paths that the worker may and may not change.
pub fn rules(zone: &Zone) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "You may change: {}. Changes elsewhere are refused, and the attempt fails.",
        zone.describe()
    );
    if !zone.region.is_empty() && !zone.shared.is_empty() {
        let named = named(&zone.shared, "of this kind");
        line(&mut out, &format!("Change these shared paths only if you must: {named}."));
    }
    if !zone.denied.is_empty() {
        let named = named(&zone.denied, "such paths");
        line(&mut out, &format!("Do not change: {named}."));
    }
    out
}

/// Returns an empty text if the region is the whole repository.
pub fn how_to_ask(zone: &Zone) -> &'static str {
    if zone.region.is_empty() { "" } else { HOW_TO_ASK }
}

fn named(paths: &[RepoPath], more: &str) -> String {
    let named = join(paths.iter().take(NAMED_MAX).map(RepoPath::as_str));
    match paths.len().saturating_sub(NAMED_MAX) {
        0 => named,
        count => format!("{named} and {count} more {more}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::{vec, vec::Vec};

    #[test]
    fn long_lists_of_paths_are_shortened() {
        let paths: Vec<RepoPath> =
            (0..9).map(|it| RepoPath::parse(&format!("p{it}")).expect("a path")).collect();
        let zone = Zone { region: vec![paths[0].clone()], shared: paths, denied: Vec::new() };
        let rules = rules(&zone);
        assert!(rules.contains("p0, p1, p2, p3, p4, p5 and 3 more of this kind."), "{rules}");
        assert!(!rules.contains("Do not"), "{rules}");
    }
}
