//! An index of a real folder that changes, and questions to it.

mod follow;
mod keep;
mod ask;

use pitcrew_symbols::{Answer, InProcess, Index, Pool, Question};
use std::{fs, path::Path, sync::Arc};
use tempfile::TempDir;

/// A checkout and the folder of its symbol cache.
struct Tree {
    root: TempDir,
    kept: TempDir,
}

impl Tree {
    fn new(files: &[(&str, &str)]) -> Self {
        let tree = Self {
            root: TempDir::new().expect("the file system works"),
            kept: TempDir::new().expect("the file system works"),
        };
        for (path, text) in files {
            tree.write(path, text);
        }
        tree
    }

    fn write(&self, path: &str, text: &str) {
        write(self.root.path(), path, text);
    }

    fn remove(&self, path: &str) {
        fs::remove_file(self.root.path().join(path)).expect("the file system works");
    }

    fn pool(&self) -> Arc<Pool> {
        Arc::new(Pool::open(self.kept.path(), Arc::new(InProcess)))
    }

    fn index(&self) -> Index {
        Index::open(self.root.path(), &self.pool())
    }
}

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().expect("the file system works"))
        .expect("the file system works");
    fs::write(path, text).expect("the file system works");
}

fn asked(index: &Index, symbol: &str) -> Answer {
    index.query(&Question { symbol, ..Question::default() })
}

/// The locations of the matches in an answer.
fn places(answer: &Answer) -> Vec<String> {
    let place = |path: &str, line: u32| format!("{path}:{line}");
    answer.matches.iter().map(|it| place(&it.path, it.symbol.lines.0)).collect()
}
