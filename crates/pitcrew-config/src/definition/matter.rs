//! Parses the part of front matter that definitions need: scalars, lists and blocks of text.
//!
//! Anything nested deeper belongs to another vendor and is skipped.

use crate::{diagnostic::Problems, document::Span};

/// A key with its values.
pub(super) struct Entry<'t> {
    pub key: &'t str,
    pub span: Span,
    pub values: Vec<String>,
    /// Whether the value was written as a list.
    pub is_list: bool,
}

/// The entries and the offset of the body. `None` if front matter is missing or not closed.
pub(super) fn split<'t>(
    text: &'t str,
    problems: &mut Problems,
) -> Option<(Vec<Entry<'t>>, &'t str)> {
    let bom = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut lines = Lines { text, at: bom };
    let opens = lines.next().is_some_and(|it| it.1.trim_end() == "---");
    if !opens {
        let help = "begin the file with `---`, `description: ...`, `---`";
        problems.error(&(bom..bom), "the file has no front matter", Some(help.into()));
        return None;
    }
    let mut entries: Vec<Entry<'t>> = Vec::new();
    while let Some((start, line)) = lines.next() {
        if line.trim_end() == "---" {
            return Some((entries, &text[lines.at..]));
        }
        take_line(start, line, &mut entries, problems);
    }
    let help = "close it with a line `---`";
    problems.error(&(bom..bom + 3), "the front matter is not closed", Some(help.into()));
    None
}

struct Lines<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Iterator for Lines<'t> {
    /// The offset of a line, and its text.
    type Item = (usize, &'t str);

    fn next(&mut self) -> Option<Self::Item> {
        let line = self.text[self.at..].split_inclusive('\n').next()?;
        let start = self.at;
        self.at += line.len();
        Some((start, line.trim_end_matches(['\n', '\r'])))
    }
}

fn take_line<'t>(
    start: usize,
    line: &'t str,
    entries: &mut Vec<Entry<'t>>,
    problems: &mut Problems,
) {
    let words = line.trim();
    if words.is_empty() || words.starts_with('#') {
        return;
    }
    let indent = line.len() - line.trim_start().len();
    if let (Some(item), Some(last)) = (words.strip_prefix("- "), entries.last_mut()) {
        last.is_list = true;
        last.values.push(scalar(item));
        return;
    }
    if indent > 0 {
        // The lines of a block, or another vendor's map.
        if let Some(last) = entries.last_mut().filter(|it| !it.is_list) {
            match last.values.last_mut() {
                Some(text) => {
                    let separator = if text.is_empty() { "" } else { " " };
                    text.push_str(separator);
                    text.push_str(words);
                }
                None => last.values.push(words.to_owned()),
            }
        }
        return;
    }
    let Some((key, value)) = words.split_once(':') else {
        let help = "write `key: value`";
        let span = start..start + line.len();
        problems.error(&span, format!("`{words}` is no entry"), Some(help.into()));
        return;
    };
    let span = start..start + key.len();
    let (values, is_list) = values(value.trim());
    entries.push(Entry { key: key.trim(), span, values, is_list });
}

fn values(text: &str) -> (Vec<String>, bool) {
    if let Some(inside) = text.strip_prefix('[').and_then(|it| it.strip_suffix(']')) {
        let items = inside.split(',').map(scalar).filter(|it| !it.is_empty());
        return (items.collect(), true);
    }
    match text {
        "" => (Vec::new(), false),
        "|" | ">" | "|-" | ">-" | "|+" | ">+" => (vec![String::new()], false),
        text => (vec![scalar(text)], false),
    }
}

/// The value without quotes and trailing comment.
fn scalar(text: &str) -> String {
    let text = text.trim();
    for quote in ['"', '\''] {
        if let Some(inside) = text.strip_prefix(quote)
            && let Some(end) = inside.find(quote)
        {
            return inside[..end].to_owned();
        }
    }
    let end = text.find(" #").unwrap_or(text.len());
    text[..end].trim_end().to_owned()
}
