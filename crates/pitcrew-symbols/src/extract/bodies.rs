//! Removes function bodies from Rust sources before they are parsed.
//!
//! Bodies contain no symbols and are most of a source, while finding the end of a body takes a
//! hundredth of the time of parsing it. Only text that must be a body is removed. A file with an
//! unterminated string or brace is parsed unchanged.

mod tokens;

use tokens::{Token, Tokens};

/// Removing shorter bodies is not worth the effort.
const BODY_BYTES_MIN: usize = 24;

/// How much of the source was removed before a position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Missing {
    pub bytes: usize,
    pub rows: usize,
}

#[derive(Clone, Copy, Debug)]
struct Cut {
    /// The position in the remaining text.
    at: usize,
    /// Everything that was removed up to and including this cut.
    missing: Missing,
}

/// The positions at which text was removed.
#[derive(Debug, Default)]
pub struct Cuts(Vec<Cut>);

impl Cuts {
    /// The text removed before an item that begins at `at`.
    pub fn before_start(&self, at: usize) -> Missing {
        self.first(self.0.partition_point(|it| it.at <= at))
    }

    /// The text removed before an item that ends at `at`.
    pub fn before_end(&self, at: usize) -> Missing {
        self.first(self.0.partition_point(|it| it.at < at))
    }

    fn first(&self, count: usize) -> Missing {
        count.checked_sub(1).map(|last| self.0[last].missing).unwrap_or_default()
    }
}

/// The remaining source. One value is reused for many files to reuse its memory.
#[derive(Debug, Default)]
pub struct Rest {
    text: Vec<u8>,
    pub cuts: Cuts,
}

/// A larger buffer is freed after each file.
const ROOM_BYTES_MAX: usize = 1 << 20;

impl Rest {
    /// Returns the part of a source that has to be parsed.
    pub fn of<'a>(&'a mut self, source: &'a [u8]) -> (&'a [u8], &'a Cuts) {
        self.text.clear();
        self.text.shrink_to(ROOM_BYTES_MAX);
        self.cuts.0.clear();
        if self.leave_out(source).is_some() {
            return (&self.text, &self.cuts);
        }
        self.cuts.0.clear();
        (source, &self.cuts)
    }

    /// Returns `None` if a token or block is not terminated.
    fn leave_out(&mut self, source: &[u8]) -> Option<()> {
        let mut tokens = Tokens::new(source);
        let (mut after_fn, mut header) = (false, None);
        let (mut missing, mut copied) = (Missing::default(), 0);
        loop {
            let token = tokens.next()?;
            // The type `fn(A)` has no name, but a function has.
            if after_fn && matches!(token, Token::Word(_)) {
                header = Some(Header::default());
            }
            after_fn = token == Token::Word(b"fn");
            match header.as_mut().map(|it| it.take(token)) {
                None if token == Token::End => break,
                None | Some(Then::More) => {}
                Some(Then::Over) => header = None,
                Some(Then::Body) => {
                    header = None;
                    let (start, end) = (tokens.at(), tokens.end_of_block()?);
                    if end - start < BODY_BYTES_MIN {
                        continue;
                    }
                    self.text.extend_from_slice(&source[copied..start]);
                    missing.bytes += end - start;
                    missing.rows += memchr::memchr_iter(b'\n', &source[start..end]).count();
                    self.cuts.0.push(Cut { at: self.text.len(), missing });
                    copied = end;
                }
            }
        }
        self.text.extend_from_slice(&source[copied..]);
        Some(())
    }
}

/// The state between the name of a function and its body.
#[derive(Debug, Default)]
struct Header {
    brackets_count: usize,
    /// Counted only outside brackets, because inside they may be shift operators.
    angles_count: usize,
}

enum Then {
    More,
    /// The function has no body.
    Over,
    Body,
}

impl Header {
    fn take(&mut self, token: Token<'_>) -> Then {
        let outside = self.brackets_count == 0;
        match token {
            Token::End => return Then::Over,
            Token::Semicolon | Token::CloseBrace if outside => return Then::Over,
            // Otherwise the brace belongs to a constant among the arguments of a type.
            Token::OpenBrace if outside && self.angles_count == 0 => return Then::Body,
            Token::Open | Token::OpenBrace => self.brackets_count += 1,
            Token::Close | Token::CloseBrace => {
                self.brackets_count = self.brackets_count.saturating_sub(1);
            }
            Token::Less if outside => self.angles_count += 1,
            Token::Greater if outside => self.angles_count = self.angles_count.saturating_sub(1),
            Token::Less | Token::Greater | Token::Semicolon | Token::Word(_) | Token::Other => {}
        }
        Then::More
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(source: &str) -> String {
        let mut rest = Rest::default();
        String::from_utf8(rest.of(source.as_bytes()).0.to_vec()).unwrap()
    }

    const BODY: &str = "{ if x { return \"}\".len() } '}' }";

    #[test]
    fn only_function_bodies_are_removed() {
        for header in [
            "pub fn a()",
            "impl A { fn a<'a, T: Fn(&'a u8) -> Vec<Vec<u8>>>(&'a self) -> &'a [u8; 1 << 3]",
            "const fn a<T>(b: T) -> Option<T> where T: Copy,",
            "fn a() -> Foo<{ N + 1 }, 'x'>",
            "fn r#fn() /* { */ -> r#type // {\n",
            "struct A { f: fn(u8) -> u8 } fn b(c: extern \"C\" fn(u8)) -> !",
            "trait A { fn a(); fn b()",
        ] {
            assert_eq!(left(&format!("{header} {BODY} }}")), format!("{header} {{}} }}"));
        }
        for whole in [
            "struct A { the_first_field: u8, the_second_field: u8 }",
            "type F = fn(u8) -> u8; enum B { Variant { the_field_of_it: u8 } }",
            "macro_rules! a { (fn $name:ident { $($body:tt)* and_more }) => {} }",
            "trait A { fn a(); } impl B { const C: u8 = { let long = 1; long + 1 }; }",
            "fn short() { 1 }",
        ] {
            assert_eq!(left(whole), whole);
        }
    }

    #[test]
    fn an_unterminated_file_is_parsed_unchanged() {
        for end in ["fn b() { {", "\"", "r#\"\"", "/* /* */", "fn b() { \""] {
            let source = format!("fn a() {BODY} {end}");
            assert_eq!(left(&source), source);
        }
    }

    #[test]
    fn positions_refer_to_the_whole_source() {
        let source =
            b"fn a() {\n    let long = 1;\n    long\n}\nfn b() { /* ................ */ }\n";
        let mut rest = Rest::default();
        let (text, cuts) = rest.of(source);
        assert_eq!(text, b"fn a() {}\nfn b() {}\n");
        let (open, close) = (7, 8);
        assert_eq!(open + 1 + cuts.before_end(open + 1).bytes, 8);
        let missing = cuts.before_start(close);
        assert_eq!((source[close + missing.bytes], missing.rows), (b'}', 3));
        assert_eq!(&source[10 + cuts.before_start(10).bytes..][..4], b"fn b");
        assert_eq!(text.len() + cuts.before_end(text.len()).bytes, source.len());
    }
}
