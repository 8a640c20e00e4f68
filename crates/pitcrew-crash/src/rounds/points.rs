//! The named points at which the product is killed.

/// A point, and how often an undisturbed scene visits it.
pub struct Point {
    pub name: &'static str,
    pub visits: usize,
}

const fn point(name: &'static str, visits: usize) -> Point {
    Point { name, visits }
}

/// All points, in the order in which a plan visits them.
pub const POINTS: &[Point] = &[
    point("journal-before-append", 100),
    point("journal-appended", 100),
    point("published", 100),
    point("ordered", 100),
    point("effect-before", 70),
    point("effect-done", 70),
    point("publish-packed", 12),
    point("plan-before-record", 3),
    point("checkout-made", 13),
    point("agent-started", 16),
    point("prompt-before", 16),
    point("prompt-sent", 16),
    point("import-before", 12),
    point("import-fetched", 12),
    point("collect-judged", 12),
    point("integrate-before", 12),
    point("integrate-moved", 12),
    point("land-commit-made", 3),
    point("land-before-giving", 3),
    point("land-given", 3),
    point("land-moved", 3),
    point("land-before-answer", 3),
    point("removal-before", 12),
    point("removal-half", 12),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        collections::BTreeSet,
        fs,
        path::{Path, PathBuf},
    };

    fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                sources(&path, found);
            } else if path.extension().is_some_and(|it| it == "rs") {
                found.push(path);
            }
        }
    }

    /// An unlisted point is never tested; an unknown name is never reached.
    #[test]
    fn the_list_contains_every_point_of_the_product() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a folder of crates");
        let mut files = Vec::new();
        sources(crates, &mut files);
        let mut found = BTreeSet::new();
        for file in files {
            let text = fs::read_to_string(file).expect("a source file");
            for (_, rest) in text.match_indices("fail_point!(\"").map(|it| text.split_at(it.0)) {
                found.extend(rest.split('"').nth(1).map(str::to_owned));
            }
        }
        found.remove("");
        let listed: BTreeSet<String> = POINTS.iter().map(|it| it.name.to_owned()).collect();
        assert_eq!(found, listed);
    }
}
