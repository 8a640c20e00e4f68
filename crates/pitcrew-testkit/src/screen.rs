//! A minimal terminal emulator: shows what a person sees of our commands' output.

/// The lines on a screen of unlimited height, without colours.
pub(crate) fn lines(written: &str) -> Vec<String> {
    let mut screen = Screen { lines: vec![Vec::new()], row: 0, column: 0 };
    let mut rest = written.chars();
    while let Some(character) = rest.next() {
        match character {
            '\r' => screen.column = 0,
            '\n' => screen.down(),
            '\u{1b}' => {
                let mut sequence = String::new();
                for part in rest.by_ref().skip(1) {
                    sequence.push(part);
                    if part.is_ascii_alphabetic() {
                        break;
                    }
                }
                screen.obey(&sequence);
            }
            other => screen.put(other),
        }
    }
    screen.lines.into_iter().map(|it| it.into_iter().collect()).collect()
}

struct Screen {
    lines: Vec<Vec<char>>,
    row: usize,
    column: usize,
}

impl Screen {
    fn down(&mut self) {
        self.row += 1;
        self.lines.resize(self.lines.len().max(self.row + 1), Vec::new());
    }

    fn put(&mut self, character: char) {
        let line = &mut self.lines[self.row];
        line.resize(line.len().max(self.column + 1), ' ');
        line[self.column] = character;
        self.column += 1;
    }

    /// Cursor up, and clearing from here to the end. Colours are ignored.
    fn obey(&mut self, sequence: &str) {
        if let Some(count) = sequence.strip_suffix('A') {
            self.row = self.row.saturating_sub(count.parse().unwrap_or(1));
        } else if sequence == "0J" {
            self.lines.truncate(self.row + 1);
            self.lines[self.row].truncate(self.column);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_redrawn_from_the_cursor() {
        assert_eq!(lines("a\r\nbb\r\n\r\u{1b}[1A\u{1b}[0Jc\r\n"), ["a", "c", ""]);
        assert_eq!(lines("bb\r\n^C\u{1b}[1A\u{1b}[0J\rc"), ["cb"], "the column is kept");
    }
}
