//! What a worker may change, and how it learns of the rest without reading it.

use super::{join, line};
use alloc::{format, string::String};
use core::fmt::Write;
use pitcrew_model::{RepoPath, Zone};

/// Paths of a kind that a prompt names: tokens are the user's money.
const NAMED_MAX: usize = 6;

/// How it asks for what lies outside.
pub const HOW_TO_ASK: &str = "\
Do not read files outside of that: ask for what you need of them, which costs nothing. For a type, a function or a constant \
call `a2a_query` with its name as `symbol`, and the import line or the path as `context`. \
Without the tool, write a line `NEED: NAME from PATH`, outside of code blocks, and end your turn: the answer is in your next message. \
You get its signature, its fields and its place.";

/// What it may change.
pub fn rules(zone: &Zone) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "You may change: {}. What you change elsewhere is refused, and the attempt fails.",
        zone.describe()
    );
    if !zone.region.is_empty() && !zone.shared.is_empty() {
        let named = named(&zone.shared, "of this kind");
        line(&mut out, &format!("Shared with other tasks, where you must: {named}."));
    }
    if !zone.denied.is_empty() {
        let named = named(&zone.denied, "such paths");
        line(&mut out, &format!("Nobody may change: {named}."));
    }
    out
}

/// Nothing where nothing lies outside.
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
    fn few_paths_are_named_and_the_others_counted() {
        let paths: Vec<RepoPath> =
            (0..9).map(|it| RepoPath::parse(&format!("p{it}")).expect("a path")).collect();
        let zone = Zone { region: vec![paths[0].clone()], shared: paths, denied: Vec::new() };
        let rules = rules(&zone);
        assert!(rules.contains("p0, p1, p2, p3, p4, p5 and 3 more of this kind."), "{rules}");
        assert!(!rules.contains("Nobody"), "{rules}");
    }
}
