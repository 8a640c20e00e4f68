//! Recognizes sources whose brackets are nested too deeply, before they are parsed.
//!
//! If a bracket is never closed, tree-sitter tries to recover once for each open level, so memory
//! and time grow with the square of the depth: 50 kB of `a<a<a<` took 5 GB as Java. Counting
//! brackets takes a hundredth of the time of parsing. This is a cheap first check for known cases.
//! It does not replace the limits of the parser process.

use crate::Language;

/// The maximum number of open brackets. Handwritten sources stay below a tenth of it.
pub const DEPTH_MAX: usize = 500;

/// Whether a source has more open brackets than the limit.
///
/// Brackets in single-line strings are not counted. `<` is also an operator, so every open `<` ends
/// with the statement or block.
pub fn is_too_deep(language: Language, source: &[u8]) -> bool {
    let angles_count = has_angles(language);
    let (mut depth, mut angles, mut at) = (0_usize, 0_usize, 0);
    while let Some(byte) = source.get(at) {
        at += 1;
        match byte {
            b'(' | b'[' | b'{' => {
                depth += 1;
                angles = if *byte == b'{' { 0 } else { angles };
            }
            b')' | b']' | b'}' => (depth, angles) = (depth.saturating_sub(1), 0),
            b';' => angles = 0,
            b'<' if angles_count => match source.get(at) {
                Some(b'<' | b'=' | b'-') => at += 1,
                Some(_) | None => angles += 1,
            },
            b'>' => angles = angles.saturating_sub(1),
            b'"' => at = after_string(source, at),
            _ => {}
        }
        if depth + angles > DEPTH_MAX {
            return true;
        }
    }
    false
}

/// The position after a string that ends on the same line. Otherwise the quote is ignored.
fn after_string(source: &[u8], start: usize) -> usize {
    let mut at = start;
    while let Some(byte) = source.get(at) {
        at += 1;
        match byte {
            b'"' => return at,
            b'\\' => at += 1,
            b'\n' => break,
            _ => {}
        }
    }
    start
}

/// Whether `<` opens a list of types.
fn has_angles(language: Language) -> bool {
    match language {
        Language::TypeScript
        | Language::Tsx
        | Language::Java
        | Language::Cpp
        | Language::C
        | Language::CSharp
        | Language::Kotlin
        | Language::Swift => true,
        Language::Rust
        | Language::JavaScript
        | Language::Python
        | Language::Go
        | Language::Ruby
        | Language::Php
        | Language::Bash
        | Language::Lua
        | Language::Zig
        | Language::Scala => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_deep(language: Language, text: &str) -> bool {
        is_too_deep(language, text.as_bytes())
    }

    #[test]
    fn unclosed_brackets_are_too_deep() {
        for opening in ["(", "a(", "[", "{", "f([", "a<", "a < ", "a<b,", "a<\n"] {
            let text = opening.repeat(DEPTH_MAX + 1);
            assert!(is_deep(Language::Java, &text), "{opening}");
        }
        assert!(is_deep(Language::Python, &"(".repeat(DEPTH_MAX + 1)));
    }

    #[test]
    fn ordinary_sources_are_not_too_deep() {
        for line in [
            "if (a < b && c <= d) { x = y << 2; }\n",
            "let text = \"((([[[<<<\";\n",
            "for (int i = 0; i < n; i++) {}\n",
            "Map<String, List<Integer>> map;\n",
            "assert(a < b)\n",
            "}\n",
        ] {
            assert!(!is_deep(Language::Java, &line.repeat(10 * DEPTH_MAX)), "{line}");
        }
        assert!(!is_deep(Language::Python, &"assert a < b\n".repeat(10 * DEPTH_MAX)));
        let balanced = "(".repeat(DEPTH_MAX) + &")".repeat(DEPTH_MAX);
        assert!(!is_deep(Language::Java, &balanced));
    }

    #[test]
    fn an_unterminated_quote_hides_no_brackets() {
        assert!(is_deep(Language::Java, &"\"(\n".repeat(DEPTH_MAX + 1)));
    }
}
