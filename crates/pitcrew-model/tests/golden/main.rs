//! The stored form of everything that is stored or sent: every line that was ever written.
//!
//! A journal outlives the program that wrote it, so a golden file only grows. Each of its lines
//! must decode forever, and each line that is written today must be in it. After an event was
//! changed, `UPDATE_EXPECT=1 cargo test -p pitcrew-model --test golden` adds its new line and seals
//! the file; the old line stays. A line that was removed, changed or moved breaks the seal, and
//! only a person who removes the seal can accept that.
mod values;
mod events;
mod effects;
mod results;
mod failures;
mod commands;
mod subtasks;
mod queries;
mod words;
mod seal;

use seal::Seal;
use serde::{Serialize, de::DeserializeOwned};
use std::{env, fmt::Debug, fs, path::Path};

/// Makes a test of the lines of one enum.
///
/// The match does not compile until a new variant is in the list, and the test fails until the
/// variant has a sample.
macro_rules! golden {
    ($(#[$doc:meta])* $test:ident, $type:ident, $file:literal, $samples:expr, [$($variant:ident),* $(,)?]) => {
        $(#[$doc])*
        #[test]
        fn $test() {
            let name = |it: &$type| match it {
                $($type::$variant { .. } => stringify!($variant)),*
            };
            let samples: Vec<$type> = $samples;
            for variant in [$(stringify!($variant)),*] {
                let has_line = samples.iter().any(|it| name(it) == variant);
                assert!(has_line, "{}::{variant} has no golden line", stringify!($type));
            }
            crate::check($file, &samples);
        }
    };
}
pub(crate) use golden;

fn check<T: Serialize + DeserializeOwned + PartialEq + Debug>(file: &str, samples: &[T]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(file);
    let kept = fs::read_to_string(&path).unwrap_or_default();
    let update = env::var_os("UPDATE_EXPECT").is_some();
    let grown = grow(&kept, Seal::read(&path), samples).unwrap_or_else(|it| panic!("{file}: {it}"));
    if grown != kept {
        assert!(update, "{file} lacks a line of today; UPDATE_EXPECT=1 adds it: {grown}");
        fs::write(&path, &grown).expect("room");
    }
    if update {
        Seal::of(&grown).write(&path);
    } else {
        assert_eq!(Seal::read(&path), Some(Seal::of(&grown)), "{file}: UPDATE_EXPECT=1 seals it");
    }
}

/// Returns the lines together with those of today, or an error.
fn grow<T: Serialize + DeserializeOwned + PartialEq + Debug>(
    kept: &str,
    seal: Option<Seal>,
    samples: &[T],
) -> Result<String, String> {
    if seal.is_some_and(|it| !it.fits(kept)) {
        return Err("a line was removed or changed; put it back, and add a new one".into());
    }
    for line in kept.lines() {
        let decoded: Result<T, _> = serde_json::from_str(line);
        decoded.map_err(|error| format!("a stored line is not understood: {error}: {line}"))?;
    }
    let mut grown = kept.to_owned();
    for sample in samples {
        let line = serde_json::to_string(sample).map_err(|error| error.to_string())?;
        let decoded: T = serde_json::from_str(&line).map_err(|error| error.to_string())?;
        if &decoded != sample {
            return Err(format!("it reads back as something else: {line}"));
        }
        if !grown.lines().any(|it| it == line) {
            grown.push_str(&line);
            grown.push('\n');
        }
    }
    Ok(grown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pitcrew_model::{TaskId, Timestamp};

    #[test]
    fn a_golden_file_only_grows() {
        let first = grow("", None, &[TaskId(1)]).expect("a line");
        assert_eq!(first, "\"task-1\"\n");
        let seal = || Some(Seal::of(&first));
        let second = grow(&first, seal(), &[TaskId(2)]).expect("the old line stays");
        assert_eq!(second, "\"task-1\"\n\"task-2\"\n");
        assert_eq!(grow(&second, seal(), &[TaskId(1)]).expect("both are there"), second);
        for meddled in ["", "\"task-3\"\n", "\"task-2\"\n\"task-1\"\n"] {
            let error = grow(meddled, seal(), &[TaskId(1)]).expect_err(meddled);
            assert!(error.contains("removed or changed"), "{error}");
        }
    }

    /// Includes files whose test was removed.
    #[test]
    fn every_sealed_file_exists() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
        let sealed = fs::read_to_string(folder.join("sealed.txt")).expect("the seals");
        for name in sealed.lines().filter_map(|it| it.split(' ').next()) {
            let path = folder.join(name);
            let lines = fs::read_to_string(&path).unwrap_or_else(|it| panic!("{name}: {it}"));
            assert!(Seal::read(&path).expect("a seal").fits(&lines), "{name}");
        }
    }

    #[test]
    fn a_line_that_no_longer_decodes_is_reported() {
        let error = grow("\"task-1\"\n", None, &[Timestamp(1)]).expect_err("another type");
        assert!(error.contains("not understood") && error.contains("task-1"), "{error}");
    }
}
