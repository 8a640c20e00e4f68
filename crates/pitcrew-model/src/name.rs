//! File names that a file system may treat as equal.

use alloc::string::String;
use icu_normalizer::DecomposingNormalizerBorrowed;

/// Returns the form in which names are compared: names that are one file on some file system fold
/// to the same text. Ignores case, normalises Unicode, and drops ignored characters and endings.
pub fn folded_name(name: &str) -> String {
    let folded = if name.is_ascii() { name.to_ascii_lowercase() } else { fold(name) };
    // A colon starts the name of a stream of the same file. Trailing dots and spaces are dropped.
    let file = folded.split(':').next().unwrap_or_default();
    file.trim_end_matches(['.', ' ']).into()
}

fn fold(name: &str) -> String {
    DecomposingNormalizerBorrowed::new_nfd()
        .normalize(name)
        .chars()
        .filter(|it| !is_ignored(*it))
        // Letters with two lower-case forms, such as the dotless i, become the same.
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase)
        // The rest of a dotted capital i.
        .filter(|it| *it != '\u{307}')
        .collect()
}

/// Characters that some file systems ignore in comparisons.
fn is_ignored(character: char) -> bool {
    matches!(
        character,
        '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_one_file_fold_to_the_same_text() {
        for (left, right) in [
            ("Secrets", "sEcrets"),
            ("caf\u{e9}", "CAFE\u{301}"),
            ("stra\u{df}e", "STRASSE"),
            ("\u{17f}rc", "src"),
            ("key.", "key"),
            ("key::$DATA", "key"),
            ("\u{200d}k\u{feff}ey", "key"),
            (".g\u{130}t", ".git"),
            (".g\u{131}t", ".git"),
        ] {
            assert_eq!(folded_name(left), folded_name(right), "{left} and {right}");
        }
        assert_ne!(folded_name("cafe"), folded_name("caf\u{e9}"));
    }
}
