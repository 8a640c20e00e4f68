//! Text helpers: widths, lists and short phrases.

use pitcrew_model::RepoPath;
pub use pitcrew_views::words::{counted as plural, duration};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The region of a task.
pub fn region(paths: &[RepoPath]) -> String {
    if paths.is_empty() { "the whole repository".to_owned() } else { joined(paths) }
}

pub fn joined<T: ToString>(items: &[T]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// The width of a text in terminal columns; escape sequences have none.
pub fn width(text: &str) -> usize {
    if !text.contains('\u{1b}') {
        return text.width();
    }
    let mut rest = text;
    let mut columns = 0;
    while let Some(at) = rest.find('\u{1b}') {
        columns += rest[..at].width();
        let end = rest[at..].find('m').map_or(rest.len(), |it| at + it + 1);
        rest = &rest[end..];
    }
    columns + rest.width()
}

/// Cuts a text to the given width, keeping its escape sequences.
pub fn cut_to_width(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let room = columns.saturating_sub(1);
    let (mut cut, mut used, mut in_escape) = (String::new(), 0, false);
    for character in text.chars() {
        in_escape |= character == '\u{1b}';
        if in_escape {
            in_escape = character != 'm';
            cut.push(character);
            continue;
        }
        let columns = character.width().unwrap_or(0);
        if used + columns > room {
            break;
        }
        used += columns;
        cut.push(character);
    }
    if text.contains('\u{1b}') {
        cut.push_str("\u{1b}[0m");
    }
    cut.push('…');
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_by_columns() {
        assert_eq!(cut_to_width("grün", 4), "grün");
        assert_eq!(cut_to_width("日本語", 5), "日本…");
        assert_eq!(cut_to_width("日本語", 4), "日…");
        assert_eq!(width("\u{1b}[1;31mred\u{1b}[0m"), 3);
        assert_eq!(cut_to_width("\u{1b}[1mabcdef\u{1b}[0m", 4), "\u{1b}[1mabc\u{1b}[0m…");
    }
}
