//! Makes an agent's text safe to display.

use pitcrew_model::text;

/// The text without terminal control sequences and bidirectional overrides.
///
/// Whole escape sequences are removed, as are other control characters except line feeds and tabs.
pub fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            '\u{1b}' => skip_escape(&mut rest),
            '\u{9b}' => skip_control_sequence(&mut rest),
            '\n' | '\t' => plain.push(character),
            _ if character.is_control() || text::deceives(character) => {}
            _ => plain.push(character),
        }
    }
    plain
}

/// One line of at most `bytes_max` bytes, for a list.
pub(crate) fn one_line(text: &str, bytes_max: usize) -> String {
    let line = plain(text).split_whitespace().collect::<Vec<_>>().join(" ");
    text::cut(&line, bytes_max).to_owned()
}

/// The text with every such character escaped: hiding one could mislead a person who decides on it.
pub(crate) fn escaped(text: &str) -> String {
    let mut spelled = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\t' => spelled.push(character),
            _ if character.is_control() || text::deceives(character) => {
                spelled.extend(character.escape_unicode());
            }
            _ => spelled.push(character),
        }
    }
    spelled
}

type Rest<'a> = std::iter::Peekable<std::str::Chars<'a>>;

fn skip_escape(rest: &mut Rest<'_>) {
    match rest.next() {
        Some('[') => skip_control_sequence(rest),
        // Strings for the terminal: title, clipboard, device control. They end with BEL or ESC \.
        Some(']' | 'P' | 'X' | '^' | '_') => {
            while let Some(character) = rest.next() {
                if character == '\u{7}' || character == '\u{9c}' {
                    break;
                }
                if character == '\u{1b}' {
                    rest.next_if_eq(&'\\');
                    break;
                }
            }
        }
        // A charset selection has one more character.
        Some('(' | ')' | '*' | '+' | '#' | ' ') => {
            rest.next();
        }
        Some(_) | None => {}
    }
}

fn skip_control_sequence(rest: &mut Rest<'_>) {
    while let Some(character) = rest.next_if(|it| ('\u{20}'..='\u{7e}').contains(it)) {
        if ('\u{40}'..='\u{7e}').contains(&character) {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_and_bidi_controls_are_removed() {
        for (text, shown) in [
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("\u{1b}]0;title\u{7}after", "after"),
            ("\u{1b}]52;c;ZXZpbA==\u{1b}\\after", "after"),
            ("a\u{202e}cba\u{2066}", "acba"),
            ("line\r\nnext\u{8}", "line\nnext"),
            ("\u{1b}(Bx\u{9b}2Jy", "xy"),
            ("unfinished \u{1b}[", "unfinished "),
            ("grün 日本", "grün 日本"),
        ] {
            assert_eq!(plain(text), shown, "{text:?}");
        }
    }

    #[test]
    fn text_for_decisions_is_escaped() {
        assert_eq!(escaped("rm \u{202e}x\u{1b}[8m"), "rm \\u{202e}x\\u{1b}[8m");
        assert_eq!(one_line("a\n  b\u{1b}[1m c", 4), "a b ");
    }
}
