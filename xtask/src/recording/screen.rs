//! A terminal that understands what the demo prints, and refuses everything else.

use crate::program::Failure;

#[derive(Clone, Copy)]
pub struct Size {
    pub columns: usize,
    pub rows: usize,
}

/// How a character is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Style {
    pub bold: bool,
    pub dim: bool,
    /// 1 to 7 as in the escape sequences, red to white.
    pub colour: Option<u8>,
}

pub type Line = Vec<(char, Style)>;

#[derive(Clone)]
pub struct Screen {
    size: Size,
    /// All lines, also those above the visible ones.
    pub lines: Vec<Line>,
    /// How many lines are above the visible ones.
    pub above: usize,
    row: usize,
    column: usize,
    style: Style,
    /// Bytes of a character or a sequence that is not complete.
    held: Vec<u8>,
}

impl Screen {
    pub fn new(size: Size) -> Self {
        let lines = vec![Line::new()];
        Self { size, lines, above: 0, row: 0, column: 0, style: Style::default(), held: Vec::new() }
    }

    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.held.extend(bytes);
        let held = std::mem::take(&mut self.held);
        let complete = match std::str::from_utf8(&held) {
            Ok(text) => text,
            Err(torn) => {
                let (complete, rest) = held.split_at(torn.valid_up_to());
                rest.clone_into(&mut self.held);
                std::str::from_utf8(complete).expect("it is valid up to here")
            }
        };
        let mut rest = complete;
        while let Some(next) = rest.chars().next() {
            let after = &rest[next.len_utf8()..];
            match next {
                '\x1b' => {
                    let end = after.find(|it: char| it.is_ascii_alphabetic());
                    let Some(end) = end else {
                        self.held.splice(0..0, rest.bytes());
                        return Ok(());
                    };
                    self.sequence(&after[..=end])?;
                    rest = &after[end + 1..];
                    continue;
                }
                '\r' => self.column = 0,
                '\n' => self.feed(),
                it if it.is_control() => return Err(unsupported(&format!("{it:?}"))),
                it => self.put(it),
            }
            rest = after;
        }
        Ok(())
    }

    fn put(&mut self, character: char) {
        if self.column == self.size.columns {
            self.column = 0;
            self.feed();
        }
        let line = &mut self.lines[self.row];
        if line.len() <= self.column {
            line.resize(self.column + 1, (' ', Style::default()));
        }
        line[self.column] = (character, self.style);
        self.column += 1;
    }

    fn feed(&mut self) {
        self.row += 1;
        if self.row == self.lines.len() {
            self.lines.push(Line::new());
        }
        self.above = self.above.max((self.row + 1).saturating_sub(self.size.rows));
    }

    /// What follows an escape character.
    fn sequence(&mut self, text: &str) -> Result<(), Failure> {
        let parsed = text.strip_prefix('[').and_then(|it| it.split_at_checked(it.len() - 1));
        let Some((numbers, name)) = parsed else { return Err(unsupported(text)) };
        match (name, numbers) {
            ("m", _) => {
                for number in numbers.split(';') {
                    self.restyle(number).ok_or_else(|| unsupported(text))?;
                }
            }
            ("A", _) => {
                let count: usize = numbers.parse().map_err(|_| unsupported(text))?;
                self.row = self.row.saturating_sub(count).max(self.above);
            }
            ("J", "" | "0") => {
                self.lines.truncate(self.row + 1);
                self.lines[self.row].truncate(self.column);
            }
            ("K", "" | "0") => self.lines[self.row].truncate(self.column),
            _ => return Err(unsupported(text)),
        }
        Ok(())
    }

    fn restyle(&mut self, number: &str) -> Option<()> {
        match number {
            "" | "0" => self.style = Style::default(),
            "1" => self.style.bold = true,
            "2" => self.style.dim = true,
            "22" => (self.style.bold, self.style.dim) = (false, false),
            "39" => self.style.colour = None,
            _ => {
                let colour = number.strip_prefix('3')?.parse().ok()?;
                self.style.colour = (1..=7).contains(&colour).then_some(colour);
                self.style.colour?;
            }
        }
        Some(())
    }

    /// All lines, without their styles.
    #[cfg(test)]
    pub fn text(&self) -> String {
        let line = |it: &Line| it.iter().map(|it| it.0).collect::<String>();
        self.lines.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

fn unsupported(text: &str) -> Failure {
    Failure(format!("the demo printed `{}`, which the recording cannot draw", text.escape_debug()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(size: Size, parts: &[&str]) -> Screen {
        let mut screen = Screen::new(size);
        for part in parts {
            screen.write(part.as_bytes()).expect("it can be drawn");
        }
        screen
    }

    #[test]
    fn a_block_is_drawn_again_over_itself() {
        let size = Size { columns: 20, rows: 5 };
        let screen = shown(size, &["log\r\none\r\ntwo\r\n\x1b[2A\x1b[0J", "three\r\n"]);
        assert_eq!(screen.text(), "log\nthree\n");
    }

    #[test]
    fn sequences_and_characters_may_be_torn() {
        let size = Size { columns: 20, rows: 5 };
        let mut screen = Screen::new(size);
        for byte in "\x1b[1;32m·ok\x1b[0m".as_bytes() {
            screen.write(&[*byte]).expect("it can be drawn");
        }
        assert_eq!(screen.text(), "·ok");
        let green = Style { bold: true, dim: false, colour: Some(2) };
        assert_eq!(screen.lines[0][2], ('k', green));
    }

    #[test]
    fn long_lines_wrap_and_full_screens_scroll() {
        let screen = shown(Size { columns: 3, rows: 2 }, &["abcde\r\nf\r\n"]);
        assert_eq!((screen.text().as_str(), screen.above), ("abc\nde\nf\n", 2));
    }

    #[test]
    fn what_cannot_be_drawn_is_refused() {
        let mut screen = Screen::new(Size { columns: 3, rows: 2 });
        for sequence in ["\x1b[5n", "\x1b[48;5;1m", "\t"] {
            screen.write(sequence.as_bytes()).expect_err("it is not supported");
        }
    }
}
