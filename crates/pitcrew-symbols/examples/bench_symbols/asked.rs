//! Measures how long questions and edits take.

use super::helpers::Helpers;
use super::{Outcome, median, trees::Tree};
use pitcrew_symbols::{Index, Language, Pool, Question, extract};
use std::{
    fs,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

const LOOKUPS: usize = 4_000;
const MISSES: usize = 200;
const UPDATES: usize = 20;

/// Names of symbols from all over the tree. Common names occur more often.
pub fn names(tree: &Tree, count: usize) -> Outcome<Vec<String>> {
    let mut names = Vec::new();
    let step = (tree.files.len() / 1_000).max(1);
    for (path, language) in tree.files.iter().step_by(step) {
        let content = fs::read(tree.root.join(path))?;
        names
            .extend(extract(*language, &content).symbols.into_iter().map(|it| it.name.to_string()));
    }
    let every = (names.len() / count).max(1);
    Ok(names.into_iter().step_by(every).take(count).collect())
}

/// Returns the time of the slowest of several questions to a cold index.
pub fn first_answer(tree: &Tree, kept: &Path) -> Outcome<Duration> {
    let mut slowest = Duration::ZERO;
    for (number, symbol) in names(tree, 5)?.iter().enumerate() {
        let pool = Arc::new(Pool::open(&kept.join(format!("first-{number}")), Helpers::start()?));
        let began = Instant::now();
        let index = Index::open(&tree.root, &pool);
        let answer = index.query(&Question { symbol, ..Question::default() });
        slowest = slowest.max(began.elapsed());
        if answer.matches.is_empty() {
            return Err(format!("`{symbol}` was not found").into());
        }
    }
    Ok(slowest)
}

pub struct Lookups {
    pub hit_p50: Duration,
    pub hit_p99: Duration,
    /// The p99 of questions with a caller and imports as hints.
    pub hinted_p99: Duration,
    pub miss_p99: Duration,
}

pub fn lookups(index: &Index, tree: &Tree) -> Outcome<Lookups> {
    let names = names(tree, LOOKUPS)?;
    let hits = times(names.iter().map(String::as_str), index, |_| None);
    let rust: Vec<&str> = tree.of(Language::Rust).collect();
    let asker = |number: usize| rust.get(number * 7_919 % rust.len()).copied();
    let hinted = times(names.iter().map(String::as_str), index, asker);
    let misspelt: Vec<String> = names.iter().take(MISSES).map(|it| format!("{it}xq")).collect();
    let misses = times(misspelt.iter().map(String::as_str), index, |_| None);
    let part = |times: &[Duration], percent: usize| {
        times[(times.len() * percent / 100).min(times.len() - 1)]
    };
    Ok(Lookups {
        hit_p50: part(&hits, 50),
        hit_p99: part(&hits, 99),
        hinted_p99: part(&hinted, 99),
        miss_p99: part(&misses, 99),
    })
}

/// Times questions whose caller imports the symbol from the file that defines it.
fn times<'a>(
    symbols: impl Iterator<Item = &'a str>,
    index: &Index,
    asker: impl Fn(usize) -> Option<&'a str>,
) -> Vec<Duration> {
    let ask = |(number, symbol): (usize, &str)| {
        // Has no content, but differs from every earlier question.
        let mut context = number.to_string();
        let from = asker(number);
        if let Some(from) = from {
            let module = from.trim_end_matches(".rs").replace(['-', '.'], "_").replace('/', "::");
            context = format!("use {module}::{symbol}; // {number}");
        }
        let began = Instant::now();
        index.lookup(&Question { symbol, context: &context, from });
        began.elapsed()
    };
    let mut times: Vec<Duration> = symbols.enumerate().map(ask).collect();
    times.sort_unstable();
    times
}

/// Returns the time from an edit until the index contains it.
pub fn updates(index: &Index, tree: &Tree) -> Outcome<Duration> {
    let mut times = Vec::new();
    let rust = tree.of(Language::Rust);
    for (number, path) in
        rust.step_by((tree.files.len() / UPDATES / 2).max(1)).take(UPDATES).enumerate()
    {
        let place = tree.root.join(path);
        let mut content = fs::read(&place)?;
        content.extend_from_slice(format!("\npub fn edited_{number}() {{}}\n").as_bytes());
        fs::write(&place, content)?;
        let began = Instant::now();
        index.refresh_paths([path]);
        let symbol = format!("edited_{number}");
        let answer = index.lookup(&Question { symbol: &symbol, ..Question::default() });
        times.push(began.elapsed());
        if answer.matches.is_empty() {
            return Err(format!("the edit of {path} was not seen").into());
        }
    }
    Ok(median(times))
}
