//! Chooses which files to parse first for a question: those that contain the name.
//!
//! Searching is a thousand times faster than parsing. Most names occur in few files. A common name
//! occurs in so many that only the likeliest files can be parsed in time.

use super::{Shared, WAIT_BYTES_MAX, work::Pace};
use crate::{Question, oracle, source::Root, walk::Found};
use memchr::memmem::Finder;
use std::{
    cmp::Reverse,
    sync::PoisonError,
    time::{Duration, Instant},
};

/// How long files that contain the name are read before answering.
const READ_TIME_MAX: Duration = Duration::from_millis(600);

/// The number of files that are read between two checks of the time.
const STEP: usize = 64;

/// Words that precede the name in a definition.
const DEFINING: &[&str] = &[
    "class",
    "const",
    "def",
    "define",
    "enum",
    "fn",
    "fun",
    "func",
    "function",
    "interface",
    "let",
    "macro_rules!",
    "mod",
    "module",
    "namespace",
    "object",
    "protocol",
    "record",
    "static",
    "struct",
    "trait",
    "type",
    "typedef",
    "union",
    "val",
    "var",
];

impl Shared {
    /// Reads the pending files that may define the symbol in question.
    pub fn read_what_has(&self, question: &Question<'_>) {
        if self.read_lock().pending_bytes() <= WAIT_BYTES_MAX {
            self.catch_up(Pace::Hurry);
            return;
        }
        let pending: Vec<Found> = self.read_lock().pending().values().cloned().collect();
        let names = oracle::names_of(question, self.pool.parser());
        let finders: Vec<Finder<'_>> = names.iter().map(Finder::new).collect();
        let Some(root) = Root::open(&self.root) else { return };
        if finders.is_empty() {
            return;
        }
        let mut having = self.side_by_side(&pending, Pace::Hurry, |buffer, found| {
            let content = root.read(&found.path, buffer)?.content?;
            let likely = finders.iter().filter_map(|it| likelihood(content, it)).max()?;
            Some((likely, found.clone()))
        });
        let from = oracle::segments(question.from.unwrap_or_default());
        having.sort_by_cached_key(|(likely, found)| {
            let near = oracle::shared(&from, &found.path);
            (Reverse(*likely), Reverse(near), found.path.len(), found.path.clone())
        });
        let began = Instant::now();
        let _one = self.working.lock().unwrap_or_else(PoisonError::into_inner);
        for step in having.chunks(STEP) {
            if began.elapsed() > READ_TIME_MAX {
                return;
            }
            self.read_files(step.iter().map(|it| it.1.clone()).collect(), Pace::Hurry);
        }
    }
}

/// How likely a text is to define a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Likely {
    Hardly,
    /// The name follows another word, such as a return type, or nothing.
    Perhaps,
    /// The name follows a keyword of definitions.
    Probably,
}

fn likelihood(content: &[u8], name: &Finder<'_>) -> Option<Likely> {
    let length = name.needle().len();
    let whole = name.find_iter(content).filter(|at| {
        let (before, after) = (&content[..*at], &content[at + length..]);
        !before.last().is_some_and(|it| is_word(*it))
            && !after.first().is_some_and(|it| is_word(*it))
    });
    let mut best = None;
    for at in whole {
        best = best.max(Some(before_name(&content[..at])));
        if best == Some(Likely::Probably) {
            break;
        }
    }
    best
}

fn before_name(before: &[u8]) -> Likely {
    let line = before.rsplit(|it| *it == b'\n').next().unwrap_or_default();
    let trimmed = line.trim_ascii_end();
    if trimmed.is_empty() {
        return Likely::Perhaps;
    }
    if trimmed.len() == line.len() {
        return Likely::Hardly;
    }
    let word = trimmed.rsplit(u8::is_ascii_whitespace).next().unwrap_or_default();
    if DEFINING.iter().any(|it| it.as_bytes() == word) {
        return Likely::Probably;
    }
    let typed = word.last().is_some_and(|it| is_word(*it) || b"*&>])".contains(it));
    if typed && word != b"return" && word != b"new" { Likely::Perhaps } else { Likely::Hardly }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{InProcess, Pool};
    use std::{fs, sync::Arc};

    #[test]
    fn files_with_the_name_are_read_first() {
        let dir = tempfile::tempdir().unwrap();
        let padding = "// something else\n".repeat(4_000);
        for number in 0..40 {
            let text = format!("{padding}pub fn number_{number}() {{ number_7(); }}\n");
            fs::write(dir.path().join(format!("{number}.rs")), text).unwrap();
        }
        let pool = Arc::new(Pool::open(&dir.path().join("pool"), Arc::new(InProcess)));
        let shared = Shared::new(dir.path(), &pool);
        shared.look();
        let question = Question { symbol: "number_7", ..Question::default() };
        shared.read_what_has(&question);
        let answer = shared.answer(&question);
        assert_eq!(answer.matches.len(), 1, "{}", answer.text);
        assert_eq!(answer.matches[0].path, "7.rs");

        let question = Question { symbol: "no_such_name", ..Question::default() };
        let parsed_count = pool.parsed_count();
        shared.read_what_has(&question);
        assert!(shared.answer(&question).matches.is_empty());
        assert_eq!(pool.parsed_count(), parsed_count, "nothing has the name");
    }

    #[test]
    fn a_definition_is_more_likely_than_a_use() {
        let likely = |text: &str| likelihood(text.as_bytes(), &Finder::new("check"));
        for text in ["pub fn check()", "    def check(self)", "x.check()\nstruct check;"] {
            assert_eq!(likely(text), Some(Likely::Probably), "{text}");
        }
        for text in ["static int check(void)", "  check(token) {", "Vec<u8> check()"] {
            assert_eq!(likely(text), Some(Likely::Perhaps), "{text}");
        }
        for text in ["it.check()", "return check(x)", "a = check", "x, check"] {
            assert_eq!(likely(text), Some(Likely::Hardly), "{text}");
        }
        for text in ["", "checked()", "recheck", "fn check_all()"] {
            assert_eq!(likely(text), None, "{text}");
        }
    }
}
