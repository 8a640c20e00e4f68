//! Digests of contents and names.

use crate::Language;
use sha2::{Digest as _, Sha256};
use std::fmt;

/// Identifies the symbols of a file by its content and language.
///
/// A cryptographic digest, because agents write the contents and one file must not pass for
/// another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(pub [u8; 16]);

impl Key {
    pub fn of(language: Language, content: &[u8]) -> Self {
        let mut digest = Sha256::new();
        digest.update(language.name().as_bytes());
        digest.update([0]);
        digest.update(content);
        let digest = digest.finalize();
        Self(digest[..16].try_into().expect("a digest is longer"))
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|it| write!(f, "{it:02x}"))
    }
}

/// Detects torn writes. It does not protect against tampering.
pub fn checksum(bytes: &[u8]) -> u64 {
    let mut words = bytes.chunks_exact(8);
    let mut sum = 0x9e37_79b9_7f4a_7c15 ^ bytes.len() as u64;
    for word in &mut words {
        sum = mix(sum, u64::from_le_bytes(word.try_into().expect("eight bytes")));
    }
    let mut last = [0; 8];
    last[..words.remainder().len()].copy_from_slice(words.remainder());
    mix(sum, u64::from_le_bytes(last))
}

fn mix(sum: u64, word: u64) -> u64 {
    (sum ^ word).wrapping_mul(0xff51_afd7_ed55_8ccd).rotate_left(29)
}

/// The hash of a name in the table. Different names may have the same hash.
pub fn of_name(name: &str) -> u32 {
    let sum = name.bytes().fold(0xcbf2_9ce4_8422_2325, |sum: u64, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    u32::try_from((sum ^ (sum >> 32)) & 0xffff_ffff).expect("32 bits")
}

/// A compact summary of a name that ignores case: its length, its letters and its pairs of adjacent
/// letters. Comparing two shapes takes a few instructions and distinguishes names that differ a
/// lot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shape(u64);

const SETS_BITS: u32 = 29;
const SETS_MASK: u64 = (1 << SETS_BITS) - 1;

impl Shape {
    /// Longer names are treated as having this length.
    pub const LENGTH_MAX: usize = 63;

    pub fn of(name: &str) -> Self {
        let (mut letters, mut pairs, mut before) = (0_u64, 0_u64, None);
        for byte in name.bytes() {
            let letter = letter(byte);
            letters |= 1 << letter;
            if let Some(before) = before {
                pairs |= 1_u64 << ((before * 11 + letter) % SETS_BITS);
            }
            before = Some(letter);
        }
        let length = name.len().min(Self::LENGTH_MAX) as u64;
        Self(length << (2 * SETS_BITS) | pairs << SETS_BITS | letters)
    }

    pub fn length(self) -> usize {
        usize::try_from(self.0 >> (2 * SETS_BITS)).expect("six bits")
    }

    /// The number of letters that are in this name but not in the other.
    pub fn lacks(self, other: Self) -> usize {
        (self.0 & !other.0 & SETS_MASK).count_ones() as usize
    }

    /// Whether the other name has every letter and pair of this one. This holds if it contains this
    /// name.
    pub fn may_be_in(self, other: Self) -> bool {
        self.0 & !other.0 & (SETS_MASK << SETS_BITS | SETS_MASK) == 0
    }
}

/// Maps each letter, all digits, `_` and all other bytes to separate numbers.
fn letter(byte: u8) -> u32 {
    match byte.to_ascii_lowercase() {
        it @ b'a'..=b'z' => u32::from(it - b'a'),
        b'0'..=b'9' => 26,
        b'_' => 27,
        _ => 28,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_changed_byte_changes_the_checksum() {
        let bytes: Vec<u8> = (0..100).collect();
        let sum = checksum(&bytes);
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert_ne!(checksum(&changed), sum, "{at}");
            assert_ne!(checksum(&bytes[..at]), sum, "{at}");
        }
    }

    #[test]
    fn the_language_is_part_of_the_key() {
        let keys: BTreeSet<Key> = Language::ALL.iter().map(|it| Key::of(*it, b"x")).collect();
        assert_eq!(keys.len(), Language::ALL.len());
        assert!(keys.iter().all(|it| it.to_string().len() == 32));
    }

    #[test]
    fn a_shape_shows_missing_letters() {
        let shape = Shape::of;
        assert_eq!(shape("AuthValidator"), shape("authvalidator"));
        assert_ne!(shape("auth"), shape("htua"), "other letters are side by side");
        assert_eq!(
            (shape("auth_2").lacks(shape("auth")), shape("auth").lacks(shape("auth_2"))),
            (2, 0)
        );
        assert!(shape("valid").may_be_in(shape("AuthValidator")));
        assert!(!shape("valid").may_be_in(shape("AuthDilav")));
        assert_eq!((shape("").length(), shape(&"x".repeat(99)).length()), (0, Shape::LENGTH_MAX));
    }
}
