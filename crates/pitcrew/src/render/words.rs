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

/// Breaks a text without escape sequences into rows of at most this width.
pub fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let (mut rows, mut used) = (vec![String::new()], 0);
    for character in text.chars() {
        let width = character.width().unwrap_or(0);
        if used + width > columns.max(2) {
            rows.push(String::new());
            used = 0;
        }
        used += width;
        rows.last_mut().expect("there is a row").push(character);
    }
    rows
}

/// Breaks a line between words, below its indentation, if it is wider than this.
pub fn folded(line: &str, columns: usize) -> Vec<String> {
    if width(line) <= columns {
        return vec![line.to_owned()];
    }
    let indent = &line[..line.len() - line.trim_start().len()];
    let below = format!("{indent}  ");
    let mut rows = Vec::new();
    let mut row = indent.to_owned();
    let mut is_empty = true;
    for word in line.trim_start().split(' ') {
        if !is_empty && width(&row) + 1 + width(word) > columns {
            rows.push(std::mem::replace(&mut row, below.clone()));
            is_empty = true;
        }
        if !is_empty {
            row.push(' ');
        }
        row.push_str(word);
        is_empty = false;
    }
    rows.push(row);
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_by_columns() {
        assert_eq!(cut_to_width("grün", 4), "grün");
        assert_eq!(cut_to_width("日本語", 5), "日本…");
        assert_eq!(cut_to_width("日本語", 4), "日…");
        assert_eq!(wrapped("日本語ab", 4), ["日本", "語ab"]);
        assert_eq!(wrapped("", 4), [""]);
        assert_eq!(folded("  one two three", 9), ["  one two", "    three"]);
        assert_eq!(folded("  one two three", 15), ["  one two three"]);
        assert_eq!(width("\u{1b}[1;31mred\u{1b}[0m"), 3);
        assert_eq!(cut_to_width("\u{1b}[1mabcdef\u{1b}[0m", 4), "\u{1b}[1mabc\u{1b}[0m…");
    }
}
