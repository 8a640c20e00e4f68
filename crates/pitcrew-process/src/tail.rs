//! The end of a stream, in bounded memory.

use std::collections::VecDeque;

/// Keeps the last bytes of a stream, and whether any bytes were dropped.
pub(crate) struct Tail {
    bytes: VecDeque<u8>,
    bytes_max: usize,
    truncated: bool,
}

impl Tail {
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self { bytes: VecDeque::new(), bytes_max, truncated: false }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let kept = &bytes[bytes.len().saturating_sub(self.bytes_max)..];
        let excess = (self.bytes.len() + kept.len()).saturating_sub(self.bytes_max);
        self.truncated |= excess > 0 || kept.len() < bytes.len();
        self.bytes.drain(..excess);
        self.bytes.extend(kept);
    }

    pub(crate) fn is_truncated(&self) -> bool {
        self.truncated
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes.into()
    }

    /// Returns the kept bytes as text. Leaves out a character that was cut off at the beginning.
    pub(crate) fn text(&mut self) -> String {
        let bytes = self.bytes.make_contiguous();
        let continuation = |byte: &&u8| (**byte & 0b1100_0000) == 0b1000_0000;
        let cut =
            if self.truncated { bytes.iter().take(3).take_while(continuation).count() } else { 0 };
        String::from_utf8_lossy(&bytes[cut..]).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_is_kept_and_the_loss_is_reported() {
        let mut tail = Tail::new(4);
        tail.push(b"ab");
        tail.push(b"cd");
        assert!(!tail.is_truncated());
        tail.push(b"e");
        assert!(tail.is_truncated());
        tail.push(b"0123456789");
        assert_eq!(tail.into_bytes(), b"6789");
    }

    #[test]
    fn incomplete_character_is_left_out() {
        let mut tail = Tail::new(3);
        tail.push("aün".as_bytes());
        tail.push(b"!");
        assert_eq!(tail.text(), "n!".to_owned());
    }
}
