//! The dependency graph: cycles, levels and ancestors.
//!
//! A graph is a list with the indices of each task's dependencies.

/// Tasks that depend on each other in a cycle.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the tasks depend on each other in a cycle: {}", keys.join(" -> "))]
pub struct CycleError {
    /// Each depends on the next one. The first is repeated at the end.
    pub keys: Vec<String>,
}

/// Disjoint cycles, each starting with its first task in the file.
///
/// Of two cycles that share a task only one is reported: breaking it may break both.
pub(super) fn cycles(graph: &[Vec<usize>]) -> Vec<Vec<usize>> {
    #[derive(Clone, Copy)]
    enum Visit {
        New,
        OnPath(usize),
        Done,
    }
    let mut visits = vec![Visit::New; graph.len()];
    let mut reported = vec![false; graph.len()];
    let mut found = Vec::new();
    for start in 0..graph.len() {
        if !matches!(visits[start], Visit::New) {
            continue;
        }
        let mut path: Vec<(usize, usize)> = vec![(start, 0)];
        visits[start] = Visit::OnPath(0);
        while let Some((node, edge)) = path.last_mut() {
            let Some(next) = graph[*node].get(*edge).copied() else {
                visits[*node] = Visit::Done;
                path.pop();
                continue;
            };
            *edge += 1;
            match visits[next] {
                Visit::New => {
                    visits[next] = Visit::OnPath(path.len());
                    path.push((next, 0));
                }
                Visit::OnPath(depth) => {
                    let cycle: Vec<usize> = path[depth..].iter().map(|(node, _)| *node).collect();
                    if cycle.iter().all(|it| !reported[*it]) {
                        for task in &cycle {
                            reported[*task] = true;
                        }
                        found.push(from_first(cycle));
                    }
                }
                Visit::Done => {}
            }
        }
    }
    found
}

fn from_first(mut cycle: Vec<usize>) -> Vec<usize> {
    let first = (0..cycle.len()).min_by_key(|it| cycle[*it]).unwrap_or_default();
    cycle.rotate_left(first);
    cycle
}

/// The tasks in topological order. Tasks that depend on a cycle are left out.
pub(super) fn ordered(graph: &[Vec<usize>]) -> Vec<usize> {
    let mut dependents: Vec<Vec<usize>> = vec![Vec::new(); graph.len()];
    let mut open: Vec<usize> = graph.iter().map(Vec::len).collect();
    for (task, dependencies) in graph.iter().enumerate() {
        for dependency in dependencies {
            dependents[*dependency].push(task);
        }
    }
    let mut order: Vec<usize> = (0..graph.len()).filter(|it| open[*it] == 0).collect();
    let mut at = 0;
    while let Some(task) = order.get(at).copied() {
        at += 1;
        for dependent in &dependents[task] {
            open[*dependent] -= 1;
            if open[*dependent] == 0 {
                order.push(*dependent);
            }
        }
    }
    order
}

/// Tasks grouped by the length of the longest chain before them. Tasks of one level are
/// independent.
pub(super) fn levels(graph: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut level_of = vec![0; graph.len()];
    let mut levels: Vec<Vec<usize>> = Vec::new();
    for task in ordered(graph) {
        let level = graph[task].iter().map(|it| level_of[*it] + 1).max().unwrap_or(0);
        level_of[task] = level;
        if levels.len() <= level {
            levels.resize(level + 1, Vec::new());
        }
        levels[level].push(task);
    }
    for level in &mut levels {
        level.sort_unstable();
    }
    levels
}

/// The transitive dependencies of each task as a bit set.
pub(super) struct Ancestors {
    words_per_task: usize,
    bits: Vec<u64>,
}

impl Ancestors {
    pub fn of(graph: &[Vec<usize>]) -> Self {
        let words = graph.len().div_ceil(64);
        let mut bits = vec![0u64; words * graph.len()];
        for task in ordered(graph) {
            for dependency in &graph[task] {
                for word in 0..words {
                    let inherited = bits[dependency * words + word];
                    bits[task * words + word] |= inherited;
                }
                bits[task * words + dependency / 64] |= 1 << (dependency % 64);
            }
        }
        Self { words_per_task: words, bits }
    }

    /// Whether neither has to wait for the other.
    pub fn independent(&self, left: usize, right: usize) -> bool {
        !self.has(left, right) && !self.has(right, left)
    }

    fn has(&self, task: usize, ancestor: usize) -> bool {
        self.bits[task * self.words_per_task + ancestor / 64] & (1 << (ancestor % 64)) != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_every_disjoint_cycle_once() {
        let graph = [vec![1], vec![2], vec![0], vec![4], vec![3], vec![0], vec![]];
        assert_eq!(cycles(&graph), [vec![0, 1, 2], vec![3, 4]]);
        assert_eq!(cycles(&[vec![], vec![0], vec![0, 1]]), Vec::<Vec<usize>>::new());
    }

    #[test]
    fn a_long_chain_does_not_overflow_the_stack() {
        let chain: Vec<Vec<usize>> =
            (0..50_000).map(|it: usize| it.checked_sub(1).into_iter().collect()).collect();
        assert!(cycles(&chain).is_empty());
        assert_eq!(levels(&chain).len(), 50_000);
    }

    #[test]
    fn ancestors_are_transitive() {
        let ancestors = Ancestors::of(&[vec![], vec![0], vec![1], vec![]]);
        assert!(!ancestors.independent(0, 2) && !ancestors.independent(2, 0));
        assert!(ancestors.independent(2, 3));
    }
}
