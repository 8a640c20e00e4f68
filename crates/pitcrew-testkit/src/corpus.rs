//! Fuzzing of parsers: a folder of samples, and random mutations of them.
//!
//! `crates/CRATE/tests/corpus/PARSER` contains one input per file with a descriptive name: valid
//! ones, malicious ones, and all inputs on which the parser ever failed. The parser runs on each of
//! them, and on mutations that keep enough structure to get past its first checks. A failing input
//! is minimized and added to the folder, so that it is tested from then on.

mod change;

use change::{Change, change};
use proptest::{
    prelude::*,
    test_runner::{Config, TestError, TestRunner},
};
use std::{
    fs,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    path::PathBuf,
    time::{Duration, Instant},
};

/// No parser takes this long, for any input on any machine.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(20);
/// Mutations of one sample.
const CHANGES_MAX: usize = 6;
/// The largest mutated sample.
const INPUT_BYTES_MAX: usize = 1_024 * 1_024;

/// The corpus of a parser of this crate, by the name of its folder.
#[macro_export]
macro_rules! corpus {
    ($parser:literal) => {
        $crate::Corpus::open(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus/", $parser))
    };
}

/// The samples of one parser.
pub struct Corpus {
    folder: PathBuf,
    samples: Vec<Sample>,
}

pub struct Sample {
    pub name: String,
    pub bytes: Vec<u8>,
}

/// The number of inputs of a test: `everyday`, or `PROPTEST_CASES` if that is larger.
pub fn cases(everyday: u32) -> u32 {
    let configured = std::env::var("PROPTEST_CASES").ok();
    configured.map_or(everyday, |it| it.parse().expect("PROPTEST_CASES is a number")).max(everyday)
}

impl Corpus {
    pub fn open(folder: &str) -> Self {
        let folder = PathBuf::from(folder);
        let entries =
            fs::read_dir(&folder).unwrap_or_else(|it| panic!("{}: {it}", folder.display()));
        let read = |path: PathBuf| Sample {
            name: path.file_name().expect("a name").to_string_lossy().into_owned(),
            bytes: fs::read(&path).expect("a sample"),
        };
        let mut samples: Vec<Sample> =
            entries.map(|it| read(it.expect("an entry").path())).collect();
        samples.sort_by(|left, right| left.name.cmp(&right.name));
        assert!(!samples.is_empty(), "{} is empty", folder.display());
        Self { folder, samples }
    }

    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// Adds further valid inputs to mutate, for example lines that are stored elsewhere.
    #[must_use]
    pub fn with(mut self, name: &str, inputs: impl IntoIterator<Item = Vec<u8>>) -> Self {
        let name = |index| format!("{name} {}", index + 1);
        let named = inputs.into_iter().enumerate();
        self.samples.extend(named.map(|(index, bytes)| Sample { name: name(index), bytes }));
        self
    }

    /// Passes every sample and `everyday` mutations to `check`, which panics on a bug.
    pub fn check(&self, everyday: u32, check: impl Fn(&[u8])) {
        let check = |bytes: &[u8]| {
            let began = Instant::now();
            check(bytes);
            let took = began.elapsed();
            assert!(took < ANSWER_TIME_MAX, "{} bytes took {took:?}", bytes.len());
        };
        for sample in &self.samples {
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| check(&sample.bytes))) {
                eprintln!("it fails on {}/{}", self.folder.display(), sample.name);
                resume_unwind(panic);
            }
        }
        let config = Config {
            cases: cases(everyday),
            failure_persistence: None,
            max_shrink_iters: 16_384,
            ..Config::default()
        };
        let tried = TestRunner::new(config).run(&self.changed(), |bytes| {
            check(&bytes);
            Ok(())
        });
        match tried {
            Ok(()) => {}
            Err(TestError::Fail(reason, bytes)) => {
                let path = self.keep(&bytes);
                panic!(
                    "{reason}\nit fails on {}, which was added: give it a descriptive name",
                    path.display()
                );
            }
            Err(TestError::Abort(reason)) => panic!("no inputs were made: {reason}"),
        }
    }

    /// Samples after a few mutations.
    pub fn changed(&self) -> impl Strategy<Value = Vec<u8>> + use<> {
        let samples: Vec<Vec<u8>> = self.samples.iter().map(|it| it.bytes.clone()).collect();
        let changes = prop::collection::vec(change(), 1..=CHANGES_MAX);
        (any::<prop::sample::Index>(), changes).prop_map(move |(index, changes)| {
            let mut bytes = index.get(&samples).clone();
            for it in &changes {
                Change::apply(it, &mut bytes, &samples);
                bytes.truncate(INPUT_BYTES_MAX);
            }
            bytes
        })
    }

    fn keep(&self, bytes: &[u8]) -> PathBuf {
        let mut names = (1..).map(|number| self.folder.join(format!("found-{number}")));
        let path = names.find(|it| !it.exists()).expect("numbers do not run out");
        fs::write(&path, bytes).expect("room for a sample");
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    fn panics(check: impl FnOnce()) -> bool {
        catch_unwind(AssertUnwindSafe(check)).is_err()
    }

    #[test]
    fn a_failing_input_is_minimized_and_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("good"), r#"{"a":[1,2,{"b":"text"}]}"#).expect("a sample");
        let open = || Corpus::open(folder.path().to_str().expect("UTF-8"));
        open().check(200, |_| {});
        assert_eq!(open().samples().len(), 1, "nothing failed");
        let is_deep = |bytes: &[u8]| bytes.windows(9).any(|it| it == b"[[[[[[[[[");
        assert!(panics(|| open().check(100_000, |it| assert!(!is_deep(it)))));
        let kept = open();
        let found = kept.samples().iter().find(|it| it.name == "found-1").expect("a file");
        assert!(is_deep(&found.bytes) && found.bytes.len() < 2_000, "{}", found.bytes.len());
        assert!(panics(|| kept.check(1, |it| assert!(!is_deep(it)))), "it is tested again");
    }

    #[test]
    fn mutations_find_typical_parser_bugs() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("good"), "{\"a\":[1,\"x\"],\n\"b\":null}\n")
            .expect("a sample");
        let corpus = Corpus::open(folder.path().to_str().expect("UTF-8"));
        let wanted: [&[u8]; 7] =
            [b"\xff", b"\0", b"\r\n", b"\xef\xbb\xbf", b"\\ud800", b"1e999", b"[[[["];
        let missing = RefCell::new(wanted.to_vec());
        corpus.check(5_000, |bytes| {
            missing.borrow_mut().retain(|it| !bytes.windows(it.len()).any(|part| part == *it));
        });
        assert_eq!(*missing.borrow(), [b""; 0]);
    }
}
