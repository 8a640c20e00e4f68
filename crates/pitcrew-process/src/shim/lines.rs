//! Splits a stream of bytes into lines, in bounded memory.

use std::io;

/// A buffer that a long line has grown beyond this is freed.
const IDLE_BYTES_MAX: usize = 1024 * 1024;
/// How much of an invalid line is reported.
const SHOWN_BYTES_MAX: usize = 200;

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line<'a> {
    Text(&'a str),
    Garbage { reason: String },
}

pub(crate) struct Lines {
    begun: Vec<u8>,
    /// The length of the current line, including dropped bytes.
    length: usize,
    /// How much of an endless line was already reported.
    reported: usize,
    bytes_max: usize,
}

impl Lines {
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self { begun: Vec::new(), length: 0, reported: 0, bytes_max }
    }

    /// Takes the next bytes and passes every complete line to `each`, without its line end.
    pub(crate) fn push(
        &mut self,
        mut bytes: &[u8],
        each: &mut impl FnMut(Line<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            self.keep(&bytes[..end]);
            bytes = &bytes[end + 1..];
            let result = if self.reported == 0 { each(self.line()) } else { Ok(()) };
            self.reset();
            result?;
        }
        self.keep(bytes);
        // An endless line is reported repeatedly; otherwise it would go unnoticed.
        if self.length - self.reported > self.bytes_max {
            self.reported = self.length;
            each(self.line())?;
        }
        Ok(())
    }

    /// Handles the end of the stream. An incomplete line is reported as garbage.
    pub(crate) fn finish(&mut self) -> Option<Line<'static>> {
        let (length, is_reported) = (self.length, self.reported > 0);
        let shown = shown(&self.begun);
        self.reset();
        (length > 0 && !is_reported).then(|| Line::Garbage {
            reason: format!("ended in the middle of a line of {length} bytes: {shown}"),
        })
    }

    #[cfg(test)]
    pub(crate) fn held_bytes(&self) -> usize {
        self.begun.len()
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.length += bytes.len();
        if self.length <= self.bytes_max {
            self.begun.extend_from_slice(bytes);
        } else if self.begun.len() > SHOWN_BYTES_MAX {
            self.begun.truncate(SHOWN_BYTES_MAX);
            self.begun.shrink_to_fit();
        }
    }

    fn line(&self) -> Line<'_> {
        if self.length > self.bytes_max {
            let (length, bytes_max) = (self.length, self.bytes_max);
            let shown = shown(&self.begun);
            let reason = format!("a line of {length} bytes, at most {bytes_max}: {shown}");
            return Line::Garbage { reason };
        }
        // Frames never contain control characters, and each would take six bytes in the spool and
        // in every reader.
        if self
            .begun
            .iter()
            .any(|byte| byte.is_ascii_control() && !matches!(byte, b'\t' | b'\r' | 0x7f))
        {
            let shown = shown(&self.begun);
            return Line::Garbage { reason: format!("control characters: {shown}") };
        }
        match str::from_utf8(&self.begun) {
            Ok(text) => Line::Text(text),
            Err(_) => Line::Garbage { reason: format!("not UTF-8: {}", shown(&self.begun)) },
        }
    }

    fn reset(&mut self) {
        self.length = 0;
        self.reported = 0;
        self.begun.clear();
        self.begun.shrink_to(IDLE_BYTES_MAX);
    }
}

fn shown(bytes: &[u8]) -> String {
    let cut = &bytes[..bytes.len().min(SHOWN_BYTES_MAX)];
    String::from_utf8_lossy(cut).escape_debug().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the lines of at most 8 bytes that are found in `chunks`.
    fn cut(chunks: &[&[u8]]) -> Vec<String> {
        let mut lines = Lines::new(8);
        let mut seen = Vec::new();
        for chunk in chunks {
            let mut each = |line: Line<'_>| {
                seen.push(show(&line));
                Ok(())
            };
            lines.push(chunk, &mut each).unwrap();
        }
        seen.extend(lines.finish().map(|it| show(&it)));
        seen
    }

    fn show(line: &Line<'_>) -> String {
        match line {
            Line::Text(text) => format!("text {text}"),
            Line::Garbage { reason } => format!("garbage {reason}"),
        }
    }

    #[test]
    fn lines_are_complete_for_any_chunking() {
        assert_eq!(
            cut(&[b"one\ntwo\n", b"th", b"ree", b"\n\n"]),
            ["text one", "text two", "text three", "text "]
        );
    }

    #[test]
    fn too_long_line_is_reported_and_the_next_one_is_complete() {
        assert_eq!(
            cut(&[b"12345678\n1234567", b"89", b"0\nnext\n"]),
            ["text 12345678", "garbage a line of 9 bytes, at most 8: 1234567", "text next"]
        );
    }

    #[test]
    fn endless_line_is_reported_repeatedly() {
        let lines = cut(&[b"1234567", b"89", b"01234567", b"8", b"9\nnext\n"]);
        assert_eq!(
            lines,
            [
                "garbage a line of 9 bytes, at most 8: 1234567",
                "garbage a line of 18 bytes, at most 8: 1234567",
                "text next"
            ]
        );
    }

    #[test]
    fn bytes_that_are_not_text_are_reported() {
        assert_eq!(cut(&[b"a\xff\nb\n"]), ["garbage not UTF-8: a\u{fffd}", "text b"]);
    }

    #[test]
    fn line_with_control_characters_is_garbage() {
        let lines = cut(&[b"a\x1b[m\n\x00\n\tb\x7f\r\n"]);
        let control = ["garbage control characters: a\\u{1b}[m", "garbage control characters: \\0"];
        assert_eq!(lines, [control[0], control[1], "text \tb\x7f\r"]);
    }

    #[test]
    fn line_without_an_end_is_garbage() {
        assert_eq!(
            cut(&[b"{\"half"]),
            ["garbage ended in the middle of a line of 6 bytes: {\\\"half"]
        );
    }
}
