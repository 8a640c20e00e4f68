//! Makes text of agents safe to display.
//!
//! Control and bidirectional characters could repaint a terminal or disguise a command. They are
//! shown as escapes instead of being dropped, so that a person who approves something sees them.

use pitcrew_model::text;

/// The longest text on a line.
const LINE_BYTES_MAX: usize = 300;

/// Returns one line of at most a few hundred bytes: line breaks become spaces.
pub fn line(text: &str) -> String {
    let text = text.trim();
    let short = text::cut(text, LINE_BYTES_MAX);
    let mut line = String::with_capacity(short.len());
    for character in short.chars() {
        match character {
            '\n' | '\r' | '\t' => push_space(&mut line),
            _ => push(&mut line, character),
        }
    }
    if short.len() < text.len() {
        line.push('…');
    }
    line
}

/// Returns the whole text: line breaks and tabs stay.
pub fn block(text: &str) -> String {
    let mut block = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\t' => block.push(character),
            _ => push(&mut block, character),
        }
    }
    block
}

fn push_space(line: &mut String) {
    if !line.ends_with(' ') {
        line.push(' ');
    }
}

fn push(shown: &mut String, character: char) {
    if character.is_control() || text::deceives(character) {
        shown.extend(character.escape_unicode());
    } else {
        shown.push(character);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_escapes_are_shown_as_text() {
        assert_eq!(line("a\u{1b}[2Jb"), "a\\u{1b}[2Jb");
        assert_eq!(line("rm \u{202e}fr-"), "rm \\u{202e}fr-");
        assert_eq!(block("a\r\nb\tc\u{7}"), "a\\u{d}\nb\tc\\u{7}");
    }

    #[test]
    fn a_line_is_one_line_and_short() {
        assert_eq!(line("  one\n\ntwo\t"), "one two");
        assert_eq!(line(&"ü".repeat(400)).chars().count(), 151);
        assert_eq!(line("grün 日本"), "grün 日本");
    }
}
