//! The symbols in the agents' checkouts. Reads files on its own threads.

use pitcrew_symbols::{Answer, Index, Parser, Pool, Question};
use std::{
    panic::resume_unwind,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// The number of checkouts whose index is kept open. Others are opened again on demand.
const INDEXES_MAX: usize = 32;

/// The symbol in question, and where it is used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SymbolQuestion {
    pub symbol: String,
    pub context: String,
    /// The path or the region of the asker.
    pub from: Option<String>,
}

/// A checkout and its index.
type Open = (PathBuf, Arc<Index>);

/// The indexes of all checkouts that were queried.
#[derive(Clone, Debug)]
pub struct Symbols {
    pool: Arc<Pool>,
    /// The most recently used one is last.
    open: Arc<Mutex<Vec<Open>>>,
}

impl Symbols {
    /// Nothing is read before the first query.
    pub fn new(folder: &Path, parser: Arc<dyn Parser>) -> Self {
        Self { pool: Arc::new(Pool::open(folder, parser)), open: Arc::default() }
    }

    /// Answers from the current files of a checkout.
    pub async fn answer(&self, checkout: &Path, question: SymbolQuestion) -> Answer {
        let (symbols, checkout) = (self.clone(), checkout.to_owned());
        blocking(move || {
            let SymbolQuestion { symbol, context, from } = &question;
            symbols.index(&checkout).query(&Question { symbol, context, from: from.as_deref() })
        })
        .await
    }

    /// One line for each symbol of a file; `None` if the file does not exist.
    pub async fn outline(&self, checkout: &Path, file: &str) -> Option<String> {
        let (symbols, checkout, file) = (self.clone(), checkout.to_owned(), file.to_owned());
        blocking(move || symbols.index(&checkout).outline(&file)).await
    }

    /// Forgets the index of a checkout that is removed or about to be removed.
    pub async fn forget(&self, checkout: &Path) {
        let (symbols, checkout) = (self.clone(), checkout.to_owned());
        // Closing an index waits for the file that is being read.
        blocking(move || drop(symbols.take(|it| it == checkout))).await;
    }

    fn index(&self, checkout: &Path) -> Arc<Index> {
        drop(self.take(|it| it != checkout && !it.exists()));
        let mut open = self.lock();
        let known = open.iter().position(|it| it.0 == checkout);
        let (path, index) = match known {
            Some(at) => open.remove(at),
            None => (checkout.to_owned(), Arc::new(Index::open(checkout, &self.pool))),
        };
        open.push((path, index.clone()));
        let oldest = (open.len() > INDEXES_MAX).then(|| open.remove(0));
        drop(open);
        drop(oldest);
        index
    }

    fn take(&self, which: impl Fn(&Path) -> bool) -> Vec<(PathBuf, Arc<Index>)> {
        self.lock().extract_if(.., |it| which(&it.0)).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(PathBuf, Arc<Index>)>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        // The panic was already reported where it was first caught.
        Err(ended) => resume_unwind(ended.into_panic()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pitcrew_symbols::InProcess;
    use std::fs;

    fn question(symbol: &str) -> SymbolQuestion {
        SymbolQuestion { symbol: symbol.into(), ..SymbolQuestion::default() }
    }

    #[tokio::test]
    async fn each_checkout_is_answered_from_its_own_files() {
        let dir = tempfile::tempdir().unwrap();
        let symbols = Symbols::new(&dir.path().join("symbols"), Arc::new(InProcess));
        let checkouts = [dir.path().join("a"), dir.path().join("b")];
        for (number, checkout) in checkouts.iter().enumerate() {
            fs::create_dir(checkout).unwrap();
            let text = format!("{}pub fn gate() {{}}\n", "\n".repeat(number));
            fs::write(checkout.join("gate.rs"), text).unwrap();
        }
        for (number, checkout) in checkouts.iter().enumerate() {
            let answer = symbols.answer(checkout, question("gate")).await;
            let line = number + 1;
            let first = answer.text.lines().next().unwrap();
            assert_eq!(first, format!("function gate (gate.rs:{line}-{line})"));
            assert!(symbols.outline(checkout, "gate.rs").await.is_some());
            assert!(symbols.outline(checkout, "none.rs").await.is_none());
        }
        symbols.forget(&checkouts[0]).await;
        assert_eq!(symbols.lock().len(), 1);
        fs::remove_dir_all(&checkouts[1]).unwrap();
        let gone = symbols.answer(&checkouts[0], question("gone")).await;
        assert!(gone.matches.is_empty());
        assert_eq!(symbols.lock().len(), 1, "the index of a removed checkout is closed");
    }
}
