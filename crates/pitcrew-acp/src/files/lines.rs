//! Reads the text of a file, or some of its lines, up to the size of an answer.

use pitcrew_model::limits::FILE_READ_BYTES_MAX;
use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read},
};

/// How much of a file is searched for lines.
const LOOKED_AT_BYTES_MAX: u64 = 64 * 1_024 * 1_024;

#[derive(Debug, thiserror::Error)]
pub enum TextError {
    #[error(
        "it has more than {FILE_READ_BYTES_MAX} bytes; request a part of it with `line` and `limit`"
    )]
    TooLarge,
    #[error("these lines have more than {FILE_READ_BYTES_MAX} bytes; request fewer lines")]
    TooLong,
    #[error("it is not UTF-8 text")]
    NotText,
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// The text from `line` on, at most `limit` lines. The first line is 1.
pub fn text_of(file: File, line: Option<u64>, limit: Option<u64>) -> Result<String, TextError> {
    let is_part = line.is_some_and(|it| it > 1) || limit.is_some();
    let mut file = BufReader::new(file.take(LOOKED_AT_BYTES_MAX));
    for _ in 1..line.unwrap_or(1) {
        if file.skip_until(b'\n')? == 0 {
            return Ok(String::new());
        }
    }
    let mut rest = file.take(FILE_READ_BYTES_MAX as u64 + 1);
    let mut bytes = Vec::new();
    match limit {
        None => drop(rest.read_to_end(&mut bytes)?),
        Some(limit) => {
            for _ in 0..limit {
                if rest.read_until(b'\n', &mut bytes)? == 0 {
                    break;
                }
            }
        }
    }
    if bytes.len() > FILE_READ_BYTES_MAX {
        return Err(if is_part { TextError::TooLong } else { TextError::TooLarge });
    }
    String::from_utf8(bytes).map_err(|_| TextError::NotText)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Seek, Write};

    fn text(content: &[u8], line: Option<u64>, limit: Option<u64>) -> Result<String, TextError> {
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(content).expect("room");
        file.rewind().expect("a file");
        text_of(file, line, limit)
    }

    #[test]
    fn returns_the_requested_lines() {
        let lines = b"one\ntwo\nthree";
        for (line, limit, expected) in [
            (None, None, "one\ntwo\nthree"),
            (Some(0), None, "one\ntwo\nthree"),
            (Some(1), Some(1), "one\n"),
            (Some(2), None, "two\nthree"),
            (Some(2), Some(9), "two\nthree"),
            (Some(3), Some(1), "three"),
            (Some(4), None, ""),
            (Some(u64::MAX), Some(u64::MAX), ""),
            (None, Some(0), ""),
        ] {
            let given = text(lines, line, limit).expect("text");
            assert_eq!(given, expected, "{line:?} {limit:?}");
        }
    }

    #[test]
    fn an_oversized_request_suggests_a_fix() {
        let long = vec![b'x'; FILE_READ_BYTES_MAX + 1];
        assert!(matches!(text(&long, None, None), Err(TextError::TooLarge)));
        assert!(matches!(text(&long, None, Some(1)), Err(TextError::TooLong)));
        let fits = vec![b'x'; FILE_READ_BYTES_MAX];
        assert_eq!(text(&fits, None, None).expect("it fits").len(), FILE_READ_BYTES_MAX);
        let many = "line\n".repeat(FILE_READ_BYTES_MAX);
        assert_eq!(text(many.as_bytes(), Some(500_000), Some(2)).expect("two"), "line\nline\n");
        assert!(matches!(text(&[0xff], None, None), Err(TextError::NotText)));
    }
}
