//! Encodes numbers and texts as bytes and decodes them. Decoding garbage returns `None`.

/// Appends encoded values to a buffer.
#[derive(Default)]
pub struct Writer {
    pub bytes: Vec<u8>,
}

impl Writer {
    pub fn byte(&mut self, value: u8) {
        self.bytes.push(value);
    }

    /// Small numbers take few bytes.
    pub fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(low_bits(value) | 0x80);
            value >>= 7;
        }
        self.bytes.push(low_bits(value));
    }

    pub fn count(&mut self, value: usize) {
        self.number(value as u64);
    }

    pub fn fixed(&mut self, value: u32) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    pub fn text(&mut self, text: &str) {
        self.count(text.len());
        self.bytes.extend_from_slice(text.as_bytes());
    }
}

fn low_bits(value: u64) -> u8 {
    u8::try_from(value & 0x7f).expect("seven bits fit")
}

/// Decodes values from a byte slice.
#[derive(Clone, Copy)]
pub struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The number of remaining bytes.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    pub fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(count)?;
        self.bytes = rest;
        Some(taken)
    }

    pub fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|it| it[0])
    }

    pub fn number(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    pub fn count(&mut self) -> Option<usize> {
        usize::try_from(self.number()?).ok()
    }

    pub fn small(&mut self) -> Option<u32> {
        u32::try_from(self.number()?).ok()
    }

    pub fn fixed(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    pub fn text(&mut self) -> Option<&'a str> {
        let count = self.count()?;
        std::str::from_utf8(self.take(count)?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_values_are_read_back() {
        let mut writer = Writer::default();
        for value in [0, 127, 128, 300, u64::from(u32::MAX), u64::MAX] {
            writer.number(value);
        }
        writer.text("größe");
        writer.fixed(7);
        let mut reader = Reader::new(&writer.bytes);
        for value in [0, 127, 128, 300, u64::from(u32::MAX), u64::MAX] {
            assert_eq!(reader.number(), Some(value));
        }
        assert_eq!(reader.text(), Some("größe"));
        assert_eq!(reader.fixed(), Some(7));
        assert!(reader.is_empty());
    }

    #[test]
    fn garbage_returns_none() {
        assert_eq!(Reader::new(&[]).byte(), None);
        assert_eq!(Reader::new(&[0xff; 20]).number(), None, "it never ends");
        assert_eq!(Reader::new(&[9, b'a']).text(), None, "it is cut off");
        assert_eq!(Reader::new(&[1, 0xff]).text(), None, "it is not UTF-8");
        let endless = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
        assert_eq!(Reader::new(&endless).text(), None);
    }
}
