//! A problem with its location, displayed as a compiler would.

use std::{fmt, ops::Range};

/// Characters of a source line to show around a problem.
const SHOWN_CHARACTERS_MAX: usize = 120;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    Error,
    Warning,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "error",
            Self::Warning => "warning",
        })
    }
}

/// One problem in one text. `Display` prints several lines that are safe for a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    pub severity: Severity,
    /// The name of the text: a path, or `environment` and the like.
    pub file: String,
    /// 1-based.
    pub line: usize,
    /// 1-based, in characters.
    pub column: usize,
    /// The bytes of the text that the problem covers.
    pub span: Range<usize>,
    pub message: String,
    /// How to fix it.
    pub help: Option<String>,
    /// The source line at `line`.
    pub source_line: String,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { severity, file, line, column, message, .. } = self;
        let (file, message) = (printable(file), printable(message));
        write!(f, "{file}:{line}:{column}: {severity}: {message}")?;
        if !self.source_line.trim().is_empty() {
            let excerpt = self.excerpt();
            let number = line.to_string();
            let gutter = " ".repeat(number.len());
            write!(f, "\n {number} | {}", excerpt.line.trim_end())?;
            write!(f, "\n {gutter} | {}{}", excerpt.indent, "^".repeat(excerpt.carets_count))?;
        }
        match &self.help {
            Some(help) => write!(f, "\nhelp: {}", printable(help)),
            None => Ok(()),
        }
    }
}

/// The part of a line to show, and the position of its carets.
struct Excerpt {
    line: String,
    indent: String,
    carets_count: usize,
}

impl Diagnostic {
    fn excerpt(&self) -> Excerpt {
        let characters: Vec<char> = self.source_line.chars().collect();
        let at = (self.column - 1).min(characters.len());
        let first = if characters.len() <= SHOWN_CHARACTERS_MAX {
            0
        } else {
            at.saturating_sub(SHOWN_CHARACTERS_MAX / 2)
        };
        let last = (first + SHOWN_CHARACTERS_MAX).min(characters.len());
        let shown = |from: usize, to: usize| -> String {
            characters[from..to].iter().map(|it| if is_plain(*it) { *it } else { ' ' }).collect()
        };
        let before = if first > 0 { "... " } else { "" };
        let after = if last < characters.len() { " ..." } else { "" };
        let bytes_count: usize = characters[..at].iter().map(|it| it.len_utf8()).sum();
        let rest = self.source_line[bytes_count..].char_indices();
        let covered = rest.take_while(|(offset, _)| *offset < self.span.len()).count();
        Excerpt {
            line: format!("{before}{}{after}", shown(first, last)),
            indent: " ".repeat(before.len() + (at - first)),
            carets_count: covered.min(last - at).max(1),
        }
    }
}

/// Escapes control characters and bidirectional overrides, so that the text is safe on a terminal.
pub fn printable(text: &str) -> String {
    let mut printable = String::with_capacity(text.len());
    for character in text.chars() {
        if is_plain(character) || character == '\n' || character == '\t' {
            printable.push(character);
        } else {
            printable.extend(character.escape_unicode());
        }
    }
    printable
}

/// Whether a terminal shows the character as itself in one column.
fn is_plain(character: char) -> bool {
    let hidden = matches!(
        character,
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{61c}'
    );
    !character.is_control() && !hidden
}

/// Collects the problems of one text.
pub(crate) struct Problems<'a> {
    file: &'a str,
    text: &'a str,
    /// Byte offsets of line starts.
    lines: Vec<usize>,
    found: Vec<Diagnostic>,
}

impl<'a> Problems<'a> {
    pub fn new(file: &'a str, text: &'a str) -> Self {
        let newlines = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let lines = std::iter::once(0).chain(newlines.map(|(at, _)| at + 1)).collect();
        Self { file, text, lines, found: Vec::new() }
    }

    pub fn error(&mut self, span: &Range<usize>, message: impl Into<String>, help: Option<String>) {
        self.add(Severity::Error, span, message.into(), help);
    }

    pub fn warn(&mut self, span: &Range<usize>, message: impl Into<String>, help: Option<String>) {
        self.add(Severity::Warning, span, message.into(), help);
    }

    /// A warning about the whole text.
    pub fn one(mut self, message: String, help: String) -> Diagnostic {
        self.warn(&(0..0), message, Some(help));
        self.found.remove(0)
    }

    /// The 1-based line of a place.
    pub fn line_of(&self, span: &Range<usize>) -> usize {
        self.lines.partition_point(|start| *start <= span.start)
    }

    pub fn has_errors(&self) -> bool {
        self.found.iter().any(|it| it.severity == Severity::Error)
    }

    /// Returns errors and warnings, each in the order of the text.
    pub fn split(mut self) -> (Vec<Diagnostic>, Vec<Diagnostic>) {
        self.found.sort_by_key(|it| it.span.start);
        self.found.into_iter().partition(|it| it.severity == Severity::Error)
    }

    pub fn add(
        &mut self,
        severity: Severity,
        span: &Range<usize>,
        message: String,
        help: Option<String>,
    ) {
        let start = pitcrew_model::text::cut(self.text, span.start).len();
        let span = start..span.end.clamp(start, self.text.len());
        let line = self.line_of(&span);
        let line_start = self.lines[line - 1];
        let source_line = self.text[line_start..].lines().next().unwrap_or_default();
        let column = self.text[line_start..start].chars().count() + 1;
        self.found.push(Diagnostic {
            severity,
            file: self.file.to_owned(),
            line,
            column,
            span,
            message,
            help,
            source_line: source_line.to_owned(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    fn shown(text: &str, span: Range<usize>) -> String {
        let mut problems = Problems::new("plan.toml", text);
        problems.error(&span, "it is wrong", Some("write it right".into()));
        problems.split().0[0].to_string()
    }

    #[test]
    fn a_problem_points_at_its_location() {
        expect![[r#"
            plan.toml:2:8: error: it is wrong
             2 | name = "grün"
               |        ^^^^^^
            help: write it right"#]]
        .assert_eq(&shown("# plan\nname = \"grün\"\nbase = 1\n", 14..21));
    }

    #[test]
    fn a_problem_at_the_end_of_the_text_still_has_a_caret() {
        expect![[r#"
            plan.toml:1:8: error: it is wrong
             1 | name =
               |        ^
            help: write it right"#]]
        .assert_eq(&shown("name = ", 7..7));
        assert!(shown("", 0..0).starts_with("plan.toml:1:1: error"));
    }

    #[test]
    fn a_long_line_is_shown_around_the_place() {
        let text = format!("{}HERE{}", "a".repeat(1_000), "b".repeat(1_000));
        let shown = shown(&text, 1_000..1_004);
        let lines: Vec<&str> = shown.lines().collect();
        assert!(lines[1].len() < 150, "{shown}");
        assert_eq!(lines[1].find("HERE"), lines[2].find('^'));
        assert!(lines[2].ends_with("^^^^") && !lines[2].ends_with("^^^^^"));
    }

    #[test]
    fn nothing_of_the_text_reaches_the_terminal_as_an_escape() {
        let shown = shown("a = \"\u{1b}[2J\u{202e}x\"", 4..6);
        assert!(shown.chars().all(|it| it == '\n' || is_plain(it)), "{shown:?}");
        assert_eq!(printable("a\u{1b}[31m\r"), "a\\u{1b}[31m\\u{d}");
    }
}
