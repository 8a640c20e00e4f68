//! Counts the paths in the trees of an attempt.
//!
//! A tree with a thousand entries for the same tree, three levels deep, is three small objects but
//! 10^9 paths. Git would walk all of them, so they are counted here first, and each tree is read
//! once.

use super::{Verdict, batch::Object, trees};
use pitcrew_model::{RefusalKind, limits};
use std::collections::HashMap;

/// The size of everything below a tree.
#[derive(Clone, Copy, Default)]
struct Size {
    paths: u64,
    depth: u64,
}

/// A tree whose entries are being counted.
struct Open<'a> {
    name: String,
    entries: trees::Entries<'a>,
    size: Size,
}

/// Refuses commits with too many paths, or with folders nested deeper than a path can be.
///
/// Only new trees are expanded. A tree of the base counts as one path: git skips it at its old
/// path, and at other paths git's memory limit stops the walk.
pub(super) fn judge(objects: &[Object<'_>], hash_bytes: usize, verdict: &mut Verdict) {
    let trees = objects.iter().filter(|it| it.is("tree"));
    let trees: HashMap<&str, &[u8]> = trees.map(|it| (it.name(), it.content)).collect();
    let mut sizes = HashMap::new();
    for commit in objects {
        let Some(known) = commit.known() else { continue };
        let size = size_of(&known.tree, &trees, &mut sizes, hash_bytes);
        let shown = || format!("commit {}", commit.name());
        if size.paths > limits::PATHS_PER_COMMIT_MAX {
            let rule = format!("its trees make more than {} paths", limits::PATHS_PER_COMMIT_MAX);
            verdict.refuse_by(&shown(), RefusalKind::TooMany, rule);
        }
        if size.depth > limits::PATH_DEPTH_MAX {
            let rule = format!("it has more than {} folders in each other", limits::PATH_DEPTH_MAX);
            verdict.refuse_by(&shown(), RefusalKind::BadName, rule);
        }
    }
}

/// Counts without recursion, because the agent controls the nesting depth.
fn size_of(
    root: &str,
    trees: &HashMap<&str, &[u8]>,
    sizes: &mut HashMap<String, Size>,
    hash_bytes: usize,
) -> Size {
    let open = |name: &str| {
        let entries = trees::entries(trees.get(name)?, hash_bytes);
        Some(Open { name: name.to_owned(), entries, size: Size::default() })
    };
    let mut stack: Vec<Open<'_>> = open(root).into_iter().collect();
    while let Some(tree) = stack.last_mut() {
        let Some(entry) = tree.entries.next() else {
            let done = stack.pop().expect("it was just there");
            sizes.insert(done.name, done.size);
            if let Some(above) = stack.last_mut() {
                above.size.add(done.size);
            }
            continue;
        };
        if !entry.is_tree() {
            tree.size.add(Size::default());
            continue;
        }
        let name = entry.object_name();
        if let Some(known) = sizes.get(&name) {
            tree.size.add(*known);
        } else if let Some(inner) = open(&name) {
            stack.push(inner);
        } else {
            tree.size.add(Size::default());
        }
    }
    sizes.get(root).copied().unwrap_or_default()
}

impl Size {
    /// Adds an entry and everything below it.
    fn add(&mut self, entry: Self) {
        self.paths = self.paths.saturating_add(entry.paths).saturating_add(1);
        self.depth = self.depth.max(entry.depth + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pitcrew_model::Failure;

    /// Objects with made-up names. The commit comes first.
    struct Made(Vec<(String, Vec<u8>)>);

    impl Made {
        fn name(number: usize) -> String {
            format!("{number:040x}")
        }

        fn tree(&mut self, number: usize, entries: &[(&str, usize)]) {
            let mut content = Vec::new();
            for (mode, object) in entries {
                content.extend_from_slice(format!("{mode} x\0").as_bytes());
                content.extend([0; 12]);
                content.extend((*object as u64).to_be_bytes());
            }
            self.0.push((format!("{} tree {}", Self::name(number), content.len()), content));
        }

        fn refused(&self) -> Vec<RefusalKind> {
            let commit = format!("tree {}\n\nx", Self::name(1));
            let head = format!("{} commit {}", Self::name(0), commit.len());
            let mut objects = vec![Object { head: &head, content: commit.as_bytes() }];
            objects.extend(self.0.iter().map(|(head, content)| Object { head, content }));
            let mut verdict = Verdict::default();
            judge(&objects, 20, &mut verdict);
            match verdict.into_result() {
                Err(Failure::Gate { refusals, .. }) => refusals.iter().map(|it| it.kind).collect(),
                other => {
                    other.expect("no other failure");
                    Vec::new()
                }
            }
        }
    }

    #[test]
    fn few_trees_with_many_paths_are_refused() {
        for (levels, refused) in
            [(1, vec![]), (2, vec![RefusalKind::TooMany]), (60, vec![RefusalKind::TooMany])]
        {
            let mut made = Made(Vec::new());
            for level in 1..=levels {
                let entries = vec![("40000", level + 1); 1_000];
                made.tree(level, &entries);
            }
            made.tree(levels + 1, &[("100644", 9_999)]);
            assert_eq!(made.refused(), refused, "{levels} levels");
        }
    }

    #[test]
    fn tree_nesting_is_limited() {
        for (levels, refused) in [(2_000, vec![]), (100_000, vec![RefusalKind::BadName])] {
            let mut made = Made(Vec::new());
            for level in 1..levels {
                made.tree(level, &[("40000", level + 1)]);
            }
            made.tree(levels, &[("100644", 999_999)]);
            assert_eq!(made.refused(), refused, "{levels} levels");
        }
    }
}
