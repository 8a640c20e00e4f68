//! Cutting, comparing and naming text; error chains.

use alloc::{
    string::{String, ToString},
    vec,
    vec::Vec,
};
use core::{error::Error, iter};

/// Returns the longest prefix of at most `bytes_max` bytes that ends at a character boundary.
pub fn cut(text: &str, bytes_max: usize) -> &str {
    if text.len() <= bytes_max {
        return text;
    }
    let mut end = bytes_max;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Returns the longest suffix of at most `bytes_max` bytes that begins at a character boundary.
pub fn tail(text: &str, bytes_max: usize) -> &str {
    if text.len() <= bytes_max {
        return text;
    }
    let mut start = text.len() - bytes_max;
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}

/// Returns a name that is safe in a path, a branch and a shell: lower-case letters, digits and
/// dashes.
pub fn slug(text: &str) -> String {
    let mut slug = String::new();
    for character in text.chars() {
        if slug.len() >= crate::limits::SLUG_BYTES_MAX {
            break;
        }
        if character.is_ascii_alphanumeric() {
            slug.push(character.to_ascii_lowercase());
        } else if !slug.ends_with('-') && !slug.is_empty() {
            slug.push('-');
        }
    }
    slug.truncate(slug.trim_end_matches('-').len());
    if slug.is_empty() { String::from("x") } else { slug }
}

/// Returns the causes of an error, the nearest first.
pub fn causes(error: &dyn Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    iter::successors(error.source(), |it| (*it).source())
}

/// Formats an error with its causes on one line.
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    for cause in causes(error) {
        text.push_str(": ");
        text.push_str(&cause.to_string());
    }
    text
}

/// Returns whether a character reverses the direction of the text after it.
pub fn is_bidi_control(character: char) -> bool {
    matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns whether a character is invisible but changes how others are displayed: it changes the
/// direction, has no width, separates lines or is a tag.
pub fn deceives(character: char) -> bool {
    is_bidi_control(character)
        || matches!(
            character,
            '\u{ad}'
                | '\u{34f}'
                | '\u{61c}'
                | '\u{115f}'..='\u{1160}'
                | '\u{17b4}'..='\u{17b5}'
                | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'
                | '\u{2029}'
                | '\u{2060}'..='\u{206f}'
                | '\u{2800}'
                | '\u{3164}'
                | '\u{fe00}'..='\u{fe0e}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
                | '\u{e0100}'..='\u{e01ef}'
        )
}

/// Returns the edit distance: insertions, deletions, replacements and swaps of neighbours.
pub fn distance(left: &str, right: &str) -> usize {
    let left: Vec<char> = left.chars().take(crate::limits::NAME_BYTES_MAX).collect();
    let right: Vec<char> = right.chars().collect();
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=right.len()).collect();
    for (row, a) in left.iter().enumerate() {
        let mut current = vec![row + 1];
        for (column, b) in right.iter().enumerate() {
            let replaced = last[column] + usize::from(a != b);
            let mut best = replaced.min(last[column + 1] + 1).min(current[column] + 1);
            let swapped = row > 0 && column > 0 && *a == right[column - 1] && left[row - 1] == *b;
            if swapped {
                best = best.min(before_last[column - 1] + 1);
            }
            current.push(best);
        }
        before_last = core::mem::replace(&mut last, current);
    }
    last[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S2-077: cutting inside a multi-byte character moves to the boundary.
    #[test]
    fn text_is_cut_at_character_boundaries() {
        assert_eq!(cut("grün", 3), "gr");
        assert_eq!(cut("grün", 4), "grü");
        assert_eq!(tail("grün", 2), "n");
        assert_eq!(tail("grün", 3), "ün");
        assert_eq!(cut("abc", 500), "abc");
        for length in 0..12 {
            assert!(cut("日本語テ", length).len() <= length);
            assert!(tail("日本語テ", length).len() <= length);
        }
    }

    #[derive(Debug, thiserror::Error)]
    #[error("{0} failed")]
    struct Failed(&'static str, #[source] Option<alloc::boxed::Box<Failed>>);

    #[test]
    fn an_error_is_formatted_with_its_causes() {
        let cause = |it| Some(alloc::boxed::Box::new(it));
        let error = Failed("a", cause(Failed("b", cause(Failed("c", None)))));
        assert_eq!(chain(&error), "a failed: b failed: c failed");
        assert_eq!(causes(&error).count(), 2);
    }

    #[test]
    fn invisible_characters_deceive() {
        for character in ['\u{ad}', '\u{200b}', '\u{2028}', '\u{202e}', '\u{2069}', '\u{e0041}'] {
            assert!(deceives(character), "{}", character.escape_unicode());
        }
        assert!("grün 日本 \u{1f600}\u{301}".chars().all(|it| !deceives(it)));
        assert!(is_bidi_control('\u{202e}') && !is_bidi_control('\u{200d}'));
    }

    #[test]
    fn a_slug_is_plain() {
        assert_eq!(slug("Add the API (v2)!"), "add-the-api-v2");
        assert_eq!(slug("日本語"), "x");
    }

    #[test]
    fn a_swap_counts_as_one_edit() {
        assert_eq!(distance("form", "from"), 1);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("abc", "abc"), 0);
    }
}
