//! A line that is typed while the terminal does not echo, so that the text around it can be redrawn.
//!
//! Only keeps the text. `display` shows it.

use rustix::{
    process::getpgrp,
    termios::{
        LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp, tcsetattr,
    },
};
use std::{
    io::stdin,
    sync::{Mutex, PoisonError},
};
use unicode_width::UnicodeWidthChar;

/// Bytes of an answer. The rest is ignored.
const ANSWER_BYTES_MAX: usize = 64 * 1_024;

const END_OF_INPUT: char = '\u{4}';
const BACKSPACE: char = '\u{8}';
const ERASE_LINE: char = '\u{15}';
const ERASE_WORD: char = '\u{17}';
const ESCAPE: char = '\u{1b}';
const DELETE: char = '\u{7f}';

/// The modes of the terminal before it was changed.
static SAVED: Mutex<Option<Termios>> = Mutex::new(None);

/// A line in progress. The terminal gets its old modes back when this is dropped.
pub struct LineEditor {
    text: String,
    /// The bytes of an incomplete character.
    partial: Vec<u8>,
    keys: Keys,
}

/// Where a sequence of a special key, such as an arrow, stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keys {
    Text,
    AfterEscape,
    InSequence,
}

/// What a key did.
#[derive(Debug, PartialEq, Eq)]
pub enum Edited {
    Continues,
    Entered(String),
}

impl LineEditor {
    /// Turns the echo off. `None` if the terminal cannot do that, or if it belongs to another
    /// job now.
    pub fn start() -> Option<Self> {
        let is_ours = tcgetpgrp(stdin()).map_or(true, |it| it == getpgrp());
        (is_ours && silence()).then(Self::new)
    }

    fn new() -> Self {
        Self { text: String::new(), partial: Vec::new(), keys: Keys::Text }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Takes what was typed, up to the end of the line.
    pub fn take(&mut self, bytes: &[u8]) -> Edited {
        for byte in bytes {
            self.partial.push(*byte);
            match std::str::from_utf8(&self.partial) {
                Ok(text) => {
                    let character = text.chars().next();
                    self.partial.clear();
                    if let Some(line) = character.and_then(|it| self.press(it)) {
                        return Edited::Entered(line);
                    }
                }
                Err(error) if error.error_len().is_none() => {}
                Err(_) => self.partial.clear(),
            }
        }
        Edited::Continues
    }

    fn press(&mut self, key: char) -> Option<String> {
        match (self.keys, key) {
            (Keys::AfterEscape, '[' | 'O') => self.keys = Keys::InSequence,
            (Keys::AfterEscape, _) | (Keys::InSequence, '@'..='~') => self.keys = Keys::Text,
            (Keys::Text, '\n' | '\r') => return Some(std::mem::take(&mut self.text)),
            (Keys::Text, END_OF_INPUT) if self.text.is_empty() => return Some(String::new()),
            (Keys::Text, ESCAPE) => self.keys = Keys::AfterEscape,
            (Keys::Text, BACKSPACE | DELETE) => self.erase_character(),
            (Keys::Text, ERASE_LINE) => self.text.clear(),
            (Keys::Text, ERASE_WORD) => {
                let kept = self.text.trim_end();
                let end = kept.rfind(char::is_whitespace).map_or(0, |it| it + 1);
                self.text.truncate(end);
            }
            (Keys::Text, other) if other.is_control() => {}
            (Keys::Text, other) if self.text.len() < ANSWER_BYTES_MAX => self.text.push(other),
            (Keys::InSequence | Keys::Text, _) => {}
        }
        None
    }

    /// With the marks that belong to the character.
    fn erase_character(&mut self) {
        while self.text.pop().is_some_and(|it| it.width() == Some(0)) {}
    }
}

impl Drop for LineEditor {
    fn drop(&mut self) {
        restore_terminal();
    }
}

/// Turns the echo and the terminal's own editing off. Ctrl-C and Ctrl-Z keep their meaning.
pub fn silence() -> bool {
    let Ok(mut modes) = tcgetattr(stdin()) else { return false };
    SAVED.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| modes.clone());
    modes.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON);
    modes.special_codes[SpecialCodeIndex::VMIN] = 1;
    modes.special_codes[SpecialCodeIndex::VTIME] = 0;
    tcsetattr(stdin(), OptionalActions::Now, &modes).is_ok()
}

/// Gives the terminal its modes back, if they were changed.
pub fn restore_terminal() {
    if let Some(modes) = SAVED.lock().unwrap_or_else(PoisonError::into_inner).take() {
        tcsetattr(stdin(), OptionalActions::Now, &modes).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_edit_the_line() {
        let mut line = LineEditor::new();
        for (keys, text) in [
            (&b"por"[..], "por"),
            (b"\x7ft 80", "pot 80"),
            (b"\x17", "pot "),
            (b"\x1b[A\x1b[1;5C\x1bOH!", "pot !"),
            (b"\x15gr\xc3", "gr"),
            (b"\xbcn\x07\x00", "gr\u{fc}n"),
            ("e\u{301}\u{7f}".as_bytes(), "gr\u{fc}n"),
            (b"\x04", "gr\u{fc}n"),
        ] {
            assert_eq!(line.take(keys), Edited::Continues);
            assert_eq!(line.text(), text);
        }
        assert_eq!(line.take(b"\nleft over"), Edited::Entered("gr\u{fc}n".to_owned()));
        assert_eq!(line.text(), "");
        assert_eq!(line.take(b"\x04"), Edited::Entered(String::new()), "the end of the input");
    }
}
