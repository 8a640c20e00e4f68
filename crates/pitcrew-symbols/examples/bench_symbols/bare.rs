//! Tree-sitter alone: reads and parses every file, on all cores, and drops the trees.

use super::{Outcome, trees::Tree};
use std::{
    fs,
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};
use tree_sitter::Parser;

pub fn parse_all(tree: &Tree) -> Outcome<Duration> {
    let threads_count = std::thread::available_parallelism()?.get();
    let next = AtomicUsize::new(0);
    let parsed_count = AtomicUsize::new(0);
    let began = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..threads_count {
            scope.spawn(|| {
                let mut parser = Parser::new();
                while let Some((path, language)) =
                    tree.files.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    let content = fs::read(tree.root.join(path)).unwrap_or_default();
                    let ready = parser.set_language(&language.grammar()).is_ok();
                    let parsed = ready.then(|| parser.parse(&content, None)).flatten();
                    parsed_count.fetch_add(usize::from(parsed.is_some()), Ordering::Relaxed);
                }
            });
        }
    });
    let took = began.elapsed();
    let parsed_count = parsed_count.into_inner();
    if parsed_count != tree.files.len() {
        return Err(format!("bare tree-sitter parsed {parsed_count} files").into());
    }
    Ok(took)
}
