//! The token of every request: `Authorization: Bearer <64 hexadecimal digits>`.

use std::{fmt, str::FromStr};

const DIGITS_COUNT: usize = 64;
const SCHEME: &str = "Bearer";

/// 256 bits that identify the caller: the workspace, or one worker. Never printed.
#[derive(Clone)]
pub struct Token([u8; DIGITS_COUNT]);

/// Does not contain the text, because it may be a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a token is {DIGITS_COUNT} hexadecimal digits in lower case")]
pub struct ParseTokenError;

impl Token {
    pub const HEADER: &str = "authorization";

    pub fn from_bytes(secret: [u8; 32]) -> Self {
        let mut digits = [0; DIGITS_COUNT];
        for (pair, byte) in digits.chunks_exact_mut(2).zip(secret) {
            pair[0] = b"0123456789abcdef"[usize::from(byte >> 4)];
            pair[1] = b"0123456789abcdef"[usize::from(byte & 15)];
        }
        Self(digits)
    }

    /// Returns the digits: only for the token file, the agent's environment and the header.
    pub fn reveal(&self) -> &str {
        std::str::from_utf8(&self.0).expect("hexadecimal digits are ASCII")
    }

    /// Returns the value of the header.
    pub fn authorization(&self) -> String {
        format!("{SCHEME} {}", self.reveal())
    }

    /// Parses the value of the header.
    pub fn from_authorization(value: &str) -> Result<Self, ParseTokenError> {
        let (scheme, digits) = value.split_once(' ').ok_or(ParseTokenError)?;
        if !scheme.eq_ignore_ascii_case(SCHEME) {
            return Err(ParseTokenError);
        }
        digits.trim_start_matches(' ').parse()
    }
}

impl FromStr for Token {
    type Err = ParseTokenError;

    fn from_str(text: &str) -> Result<Self, ParseTokenError> {
        let digits: [u8; DIGITS_COUNT] = text.as_bytes().try_into().map_err(|_| ParseTokenError)?;
        let known = |it: &u8| it.is_ascii_digit() || (b'a'..=b'f').contains(it);
        if digits.iter().all(known) { Ok(Self(digits)) } else { Err(ParseTokenError) }
    }
}

/// Compares in constant time, so that a token cannot be guessed digit by digit.
impl PartialEq for Token {
    fn eq(&self, other: &Self) -> bool {
        let different =
            self.0.iter().zip(&other.0).fold(0, |sum, (left, right)| sum | (left ^ right));
        std::hint::black_box(different) == 0
    }
}

impl Eq for Token {}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_travels_in_the_header() {
        let token = Token::from_bytes([0xa5; 32]);
        assert_eq!(token.authorization(), format!("Bearer {}", "a5".repeat(32)));
        assert_eq!(Token::from_authorization(&token.authorization()), Ok(token.clone()));
        assert_eq!(Token::from_authorization(&format!("bearer  {}", token.reveal())), Ok(token));
    }

    #[test]
    fn an_invalid_token_is_refused_without_being_quoted() {
        let digits = "a5".repeat(32);
        for wrong in [
            "",
            "Bearer",
            "Bearer ",
            &digits,
            &format!("Basic {digits}"),
            &format!("Bearer {digits}0"),
        ] {
            assert_eq!(Token::from_authorization(wrong), Err(ParseTokenError), "{wrong}");
        }
        assert!("A5".repeat(32).parse::<Token>().is_err());
        assert!(!format!("{:?}", Token::from_bytes([0xa5; 32])).contains("a5"));
    }

    #[test]
    fn tokens_differ_when_one_digit_does() {
        let mut secret = [7; 32];
        let token = Token::from_bytes(secret);
        assert_eq!(token, Token::from_bytes(secret));
        secret[31] ^= 1;
        assert_ne!(token, Token::from_bytes(secret));
    }
}
