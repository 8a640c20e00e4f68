//! Tokens of Rust, as far as needed to find matching braces.

use memchr::{memchr, memchr2};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token<'a> {
    /// A name, a keyword or a number.
    Word(&'a [u8]),
    /// `(` or `[`.
    Open,
    Close,
    OpenBrace,
    CloseBrace,
    Less,
    Greater,
    Semicolon,
    Other,
    /// The end of the source.
    End,
}

pub struct Tokens<'a> {
    source: &'a [u8],
    at: usize,
}

impl<'a> Tokens<'a> {
    pub fn new(source: &'a [u8]) -> Self {
        Self { source, at: 0 }
    }

    /// The position after the last token.
    pub fn at(&self) -> usize {
        self.at
    }

    fn rest(&self) -> &'a [u8] {
        &self.source[self.at..]
    }

    /// Returns the next token that is neither a comment nor a quoted literal, or `None` if a
    /// comment or literal is not terminated.
    pub fn next(&mut self) -> Option<Token<'a>> {
        loop {
            let token = match self.rest() {
                [] => return Some(Token::End),
                [b'/', b'/', ..] => {
                    self.at += memchr(b'\n', self.rest()).unwrap_or(self.rest().len());
                    continue;
                }
                [b'/', b'*', ..] => {
                    self.comment()?;
                    continue;
                }
                [b'"', ..] => {
                    self.string()?;
                    continue;
                }
                [b'\'', ..] => {
                    self.quote();
                    continue;
                }
                [byte, ..] if byte.is_ascii_whitespace() => {
                    self.at += 1;
                    continue;
                }
                [byte, ..] if is_word(*byte) => {
                    let word = self.word();
                    if self.raw_string(word)? {
                        continue;
                    }
                    return Some(Token::Word(word));
                }
                [b'-' | b'=', b'>', ..] => {
                    self.at += 2;
                    return Some(Token::Other);
                }
                [b'(' | b'[', ..] => Token::Open,
                [b')' | b']', ..] => Token::Close,
                [b'{', ..] => Token::OpenBrace,
                [b'}', ..] => Token::CloseBrace,
                [b'<', ..] => Token::Less,
                [b'>', ..] => Token::Greater,
                [b';', ..] => Token::Semicolon,
                [_, ..] => Token::Other,
            };
            self.at += 1;
            return Some(token);
        }
    }

    /// Skips past the brace that closes a block and returns the position of that brace.
    pub fn end_of_block(&mut self) -> Option<usize> {
        let mut open_count = 1_usize;
        loop {
            match self.next()? {
                Token::End => return None,
                Token::OpenBrace => open_count += 1,
                Token::CloseBrace => open_count -= 1,
                Token::Word(_)
                | Token::Open
                | Token::Close
                | Token::Less
                | Token::Greater
                | Token::Semicolon
                | Token::Other => continue,
            }
            if open_count == 0 {
                return Some(self.at - 1);
            }
        }
    }

    /// Block comments can be nested.
    fn comment(&mut self) -> Option<()> {
        let mut open_count = 0_usize;
        loop {
            self.at += memchr2(b'/', b'*', self.rest())?;
            match self.rest() {
                [b'/', b'*', ..] => open_count += 1,
                [b'*', b'/', ..] => open_count -= 1,
                _ => {
                    self.at += 1;
                    continue;
                }
            }
            self.at += 2;
            if open_count == 0 {
                return Some(());
            }
        }
    }

    fn string(&mut self) -> Option<()> {
        self.at += 1;
        loop {
            self.at += memchr2(b'"', b'\\', self.rest())?;
            let is_end = self.rest()[0] == b'"';
            self.at += if is_end { 1 } else { 2 };
            if is_end {
                return Some(());
            }
            if self.at > self.source.len() {
                return None;
            }
        }
    }

    /// Skips a character literal, or a lifetime, which has no closing quote.
    fn quote(&mut self) {
        let length = match self.rest() {
            // The character after the backslash may be a quote.
            [_, b'\\', _, rest @ ..] => {
                let rest = &rest[..rest.len().min(ESCAPE_BYTES_MAX)];
                memchr(b'\'', rest).map(|it| it + 4)
            }
            [_, first, rest @ ..] => {
                let following = first.leading_ones().saturating_sub(1) as usize;
                (rest.get(following) == Some(&b'\'')).then_some(following + 3)
            }
            _ => None,
        };
        self.at += length.unwrap_or(1);
    }

    /// `r#fn` is one word and differs from `fn`.
    fn word(&mut self) -> &'a [u8] {
        let start = self.at;
        self.pass_word();
        if &self.source[start..self.at] == b"r"
            && let [b'#', byte, ..] = self.rest()
            && is_word(*byte)
        {
            self.at += 1;
            self.pass_word();
        }
        &self.source[start..self.at]
    }

    fn pass_word(&mut self) {
        self.at += self.rest().iter().take_while(|it| is_word(**it)).count();
    }

    /// Skips the raw string that starts with `word`. Returns whether there is one.
    fn raw_string(&mut self, word: &[u8]) -> Option<bool> {
        if !matches!(word, b"r" | b"br" | b"cr") {
            return Some(false);
        }
        let hashes = |rest: &[u8]| rest.iter().take_while(|it| **it == b'#').count();
        let hashes_count = hashes(self.rest());
        if self.rest().get(hashes_count) != Some(&b'"') {
            return Some(false);
        }
        self.at += hashes_count + 1;
        loop {
            self.at += memchr(b'"', self.rest())? + 1;
            if hashes(self.rest()) >= hashes_count {
                self.at += hashes_count;
                return Some(true);
            }
        }
    }
}

/// The longest escape is `\u{10FFFF}`, without its first two characters.
const ESCAPE_BYTES_MAX: usize = 16;

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

#[cfg(test)]
mod tests {
    use super::*;

    fn braces(source: &str) -> Option<usize> {
        let mut tokens = Tokens::new(source.as_bytes());
        let mut count = 0;
        loop {
            let token = tokens.next()?;
            if token == Token::End {
                return Some(count);
            }
            count += usize::from(matches!(token, Token::OpenBrace | Token::CloseBrace));
        }
    }

    #[test]
    fn braces_in_strings_and_comments_do_not_count() {
        for source in [
            r#""{" b"{\"{" c"\\""#,
            "r\"{\\\" r#\"{\"{\"# br##\"{\"#\"##",
            r"'{' b'{' '\'' '\\' '\u{7d}' 'ä'",
            "// {\n/* { /* } */ { */",
            "'a 'static <'a,'b> 'x: r#loop",
        ] {
            assert_eq!(braces(source), Some(0), "{source}");
            assert_eq!(braces(&format!("{source} {{}}")), Some(2), "{source}");
        }
    }

    #[test]
    fn an_unclosed_token_is_none() {
        for source in ["\"", "\"\\", "\"\\\"", "r#\"\"", "/*", "/* /* */", "/*/"] {
            assert_eq!(braces(source), None, "{source}");
        }
        for source in ["'", "'\\", "'a", "r#", "r", "-", "/"] {
            assert_eq!(braces(source), Some(0), "{source}");
        }
    }
}
