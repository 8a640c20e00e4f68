//! The stored form of everything that is stored or sent, a line for every variant.
//!
//! A journal outlives the program that wrote it: once a version has been published, a line may be
//! added here and none may change. Until then `UPDATE_EXPECT=1 cargo test -p pitcrew-model --test
//! golden` writes the lines anew.
mod values;
mod events;
mod effects;
mod results;
mod failures;
mod commands;
mod words;

use expect_test::ExpectFile;
use serde::{Serialize, de::DeserializeOwned};
use std::fmt::Debug;

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
            crate::check(&expect_test::expect_file![$file], &samples);
        }
    };
}
pub(crate) use golden;

fn check<T: Serialize + DeserializeOwned + PartialEq + Debug>(lines: &ExpectFile, samples: &[T]) {
    let encode = |it: &T| serde_json::to_string(it).expect("the value is valid JSON") + "\n";
    let encoded: String = samples.iter().map(encode).collect();
    lines.assert_eq(&encoded);
    for (line, sample) in encoded.lines().zip(samples) {
        let decoded: T = serde_json::from_str(line).expect(line);
        assert_eq!(&decoded, sample);
    }
}
