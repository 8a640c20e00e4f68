//! Shortens source text to signatures of one line and the first line of the documentation.

use crate::Language;

/// Marks the end of a shortened text.
const ELLIPSIS: &str = "…";

/// The comment syntax, as far as comments can occur inside a declaration.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Comments {
    Slashes,
    Hash,
    Dashes,
}

fn comments(language: Language) -> Comments {
    match language {
        Language::Rust
        | Language::TypeScript
        | Language::Tsx
        | Language::JavaScript
        | Language::Go
        | Language::Java
        | Language::C
        | Language::Cpp
        | Language::CSharp
        | Language::Kotlin
        | Language::Php
        | Language::Zig
        | Language::Swift
        | Language::Scala => Comments::Slashes,
        Language::Python | Language::Ruby | Language::Bash => Comments::Hash,
        Language::Lua => Comments::Dashes,
    }
}

/// Selects the comments above a declaration that are documentation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Documentation {
    Any,
    /// Only `///` and `/** */`.
    Marked,
}

fn documentation(language: Language) -> Documentation {
    match language {
        Language::Rust
        | Language::TypeScript
        | Language::Tsx
        | Language::JavaScript
        | Language::Java
        | Language::CSharp
        | Language::Kotlin
        | Language::Php
        | Language::Zig
        | Language::Swift
        | Language::Scala => Documentation::Marked,
        Language::Python
        | Language::Go
        | Language::C
        | Language::Cpp
        | Language::Ruby
        | Language::Bash
        | Language::Lua => Documentation::Any,
    }
}

/// Formats source text as one line of at most `bytes_max` bytes, without comments.
///
/// Line breaks and their whitespace are joined as if the text had been written in one line.
pub fn one_line(language: Language, source: &[u8], bytes_max: usize) -> String {
    let comments = comments(language);
    let mut line =
        Line { bytes: Vec::with_capacity(source.len().min(bytes_max + 4)), gap: Gap::No };
    let mut rest = source;
    while let Some(&first) = rest.first()
        && line.bytes.len() <= bytes_max
    {
        let length = comment_length(comments, rest);
        if length > 0 || first.is_ascii_whitespace() {
            line.gap = line.gap.max(if first == b'\n' { Gap::Line } else { Gap::Space });
            rest = &rest[length.max(1)..];
            continue;
        }
        let length = if first == b'"' { string_length(rest) } else { plain_length(rest) };
        // Anything longer is cut anyway.
        let length = length.min(bytes_max + 4);
        line.push(&rest[..length]);
        rest = &rest[length..];
    }
    let text = String::from_utf8(line.bytes);
    let text = text.unwrap_or_else(|it| String::from_utf8_lossy(it.as_bytes()).into_owned());
    cut(text, bytes_max)
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    No,
    Space,
    Line,
}

struct Line {
    bytes: Vec<u8>,
    /// The whitespace between the last byte and the next.
    gap: Gap,
}

impl Line {
    fn push(&mut self, bytes: &[u8]) {
        let next = bytes.first().copied();
        let opened = matches!(self.bytes.last(), None | Some(b'(' | b'['));
        let closes = matches!(next, Some(b')' | b']' | b','));
        let wrapped = self.gap == Gap::Line;
        if wrapped && closes && next != Some(b',') && self.bytes.last() == Some(&b',') {
            self.bytes.pop();
        }
        if self.gap != Gap::No && !(self.bytes.is_empty() || wrapped && (opened || closes)) {
            self.bytes.push(b' ');
        }
        self.gap = Gap::No;
        self.bytes.extend(bytes.iter().map(|it| if *it == b'\n' { b' ' } else { *it }));
    }
}

/// The length of the comment at the start of `source`, without its line break, or 0 if there is
/// none.
fn comment_length(comments: Comments, source: &[u8]) -> usize {
    let line = || source.iter().position(|it| *it == b'\n').unwrap_or(source.len());
    match (comments, source) {
        (Comments::Slashes, [b'/', b'*', rest @ ..]) => {
            let end = rest.windows(2).position(|it| it == b"*/");
            end.map_or(source.len(), |it| it + 4)
        }
        (Comments::Slashes, [b'/', b'/', ..])
        | (Comments::Hash, [b'#', ..])
        | (Comments::Dashes, [b'-', b'-', ..]) => line(),
        (Comments::Slashes | Comments::Hash | Comments::Dashes, _) => 0,
    }
}

/// The number of bytes before the next byte with a special meaning; at least one.
fn plain_length(source: &[u8]) -> usize {
    let special = |it: &u8| it.is_ascii_whitespace() || matches!(it, b'"' | b'/' | b'#' | b'-');
    source.iter().skip(1).position(special).map_or(source.len(), |it| it + 1)
}

fn string_length(source: &[u8]) -> usize {
    let mut escaped = false;
    for (index, byte) in source.iter().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return index + 1,
            _ => {}
        }
    }
    source.len()
}

/// Shortens a text to at most `bytes_max` bytes at a character boundary.
pub fn cut(mut text: String, bytes_max: usize) -> String {
    if text.len() > bytes_max {
        text.truncate(text.floor_char_boundary(bytes_max.saturating_sub(ELLIPSIS.len())));
        text.truncate(text.trim_end().len());
        text.push_str(ELLIPSIS);
    }
    text
}

/// The first line of the documentation in the comments above a declaration.
pub fn doc_line(language: Language, source: &[u8], bytes_max: usize) -> Option<String> {
    let source = String::from_utf8_lossy(&source[..source.len().min(16 * bytes_max)]);
    let mut seen = documentation(language) == Documentation::Any;
    for line in source.lines().map(str::trim) {
        seen |= line.starts_with("/**") || line.starts_with("///");
        let is_directive = language == Language::Go && is_directive(line);
        if !seen || is_directive || language == Language::Rust && line.starts_with("//!") {
            continue;
        }
        let text = line.trim_start_matches(['/', '*', '!', '#', '-']).trim_end_matches("*/").trim();
        let text = text.trim_start_matches("<summary>").trim_end_matches("</summary>").trim();
        if text.starts_with('@') {
            return None;
        }
        if !text.is_empty() {
            return Some(cut(text.to_owned(), bytes_max));
        }
    }
    None
}

/// Whether a comment is a Go directive for a tool: `//go:noinline`, `//nolint`.
fn is_directive(line: &str) -> bool {
    let Some(text) = line.strip_prefix("//") else { return false };
    let small = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit();
    let names_tool = |(tool, what): (&str, &str)| {
        !tool.is_empty() && tool.chars().all(small) && what.starts_with(small)
    };
    text.starts_with("nolint") || text.split_once(':').is_some_and(names_tool)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(source: &str) -> String {
        one_line(Language::Rust, source.as_bytes(), 60)
    }

    #[test]
    fn a_multiline_declaration_becomes_one_line() {
        assert_eq!(
            line(
                "fn f<T>(\n    a: A, // the first\n    b: &[\n        u8\n    ],\n) -> T\nwhere\n    T: U"
            ),
            "fn f<T>(a: A, b: &[u8]) -> T where T: U"
        );
        assert_eq!(line("const A: (u8,) /* one */ = (1,)"), "const A: (u8,) = (1,)");
        assert_eq!(
            line("const A: &str = \"a // b\\\" /* c\""),
            "const A: &str = \"a // b\\\" /* c\""
        );
        assert_eq!(line("a /* never closed"), "a");
    }

    #[test]
    fn a_long_text_is_cut_at_a_character_boundary() {
        assert_eq!(cut("ééééé".to_owned(), 8), "éé…");
        assert_eq!(cut("short".to_owned(), 5), "short");
        assert_eq!(one_line(Language::Rust, "äöü ".repeat(1000).as_bytes(), 11), "äöü…");
        for bytes_max in 4..20 {
            let line = one_line(Language::Rust, "äöü".repeat(1000).as_bytes(), bytes_max);
            assert!(line.len() <= bytes_max && line.ends_with('…'), "{line}");
            assert!(!line.contains(char::REPLACEMENT_CHARACTER), "{line}");
        }
    }

    #[test]
    fn the_first_line_of_the_documentation_is_found() {
        let doc = |source: &str| doc_line(Language::Rust, source.as_bytes(), 100);
        assert_eq!(doc("/// Adds.\n/// More.").as_deref(), Some("Adds."));
        assert_eq!(doc("/**\n * Adds.\n */").as_deref(), Some("Adds."));
        assert_eq!(doc("/** Adds. */").as_deref(), Some("Adds."));
        assert_eq!(doc("// a remark\n/// Adds.").as_deref(), Some("Adds."));
        assert_eq!(doc("// a remark"), None);
        assert_eq!(doc("///"), None);
    }
}
