//! Macros between `class` and its name.
//!
//! The grammar does not recognize `class LIB_EXPORT Name : Base { ... }` as a class and loses its
//! members. Such a macro is blanked before parsing; signatures are taken from the original source.

use memchr::memmem;
use std::borrow::Cow;

/// Returns the source with export macros replaced by blanks.
pub fn without_exports(source: &[u8]) -> Cow<'_, [u8]> {
    let mut made = Cow::Borrowed(source);
    for keyword in ["class", "struct", "union"] {
        for at in memmem::find_iter(source, keyword) {
            let before = at.checked_sub(1).map(|it| source[it]);
            let after = at + keyword.len();
            if before.is_some_and(is_word) {
                continue;
            }
            if let Some(end) = export(source, after) {
                let word = &mut made.to_mut()[after..end];
                word.iter_mut().filter(|it| !it.is_ascii_whitespace()).for_each(|it| *it = b' ');
            }
        }
    }
    made
}

/// Returns the end of an export macro that begins at this position.
fn export(source: &[u8], at: usize) -> Option<usize> {
    let rest = &source[at..];
    let macro_at = rest.iter().position(|it| !it.is_ascii_whitespace()).filter(|it| *it > 0)?;
    let mut end = macro_at + word_length(&rest[macro_at..]);
    let is_macro = |it: &u8| it.is_ascii_uppercase() || it.is_ascii_digit() || *it == b'_';
    let word = &rest[macro_at..end];
    if word.len() < 2 || !word.iter().all(is_macro) {
        return None;
    }
    if rest.get(end) == Some(&b'(') {
        end += memchr::memchr(b')', &rest[end..])? + 1;
    }
    let name_at = end + gap_length(&rest[end..]);
    let name_end = name_at + word_length(&rest[name_at..]);
    let behind = &rest[name_end..];
    let opens = match &behind[gap_length(behind)..] {
        [b':', next, ..] => *next != b':',
        [b'{' | b'<', ..] => true,
        other => other.starts_with(b"final"),
    };
    let name = &rest[name_at..name_end];
    let is_name = name_at > end && !name.is_empty() && name != b"final";
    (is_name && opens).then_some(at + end)
}

fn gap_length(source: &[u8]) -> usize {
    source.iter().take_while(|it| it.is_ascii_whitespace()).count()
}

fn word_length(source: &[u8]) -> usize {
    source.iter().take_while(|it| is_word(**it)).count()
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blanked(source: &str) -> String {
        String::from_utf8(without_exports(source.as_bytes()).into_owned()).unwrap()
    }

    #[test]
    fn export_macros_are_blanked() {
        for (source, parsed) in [
            ("class A_B C {", "class     C {"),
            ("class A1 C: D {", "class    C: D {"),
            ("struct AL(16)\nC final {", "struct       \nC final {"),
            ("enum class AB C : int {", "enum class    C : int {"),
            ("class AB C<int> {", "class    C<int> {"),
        ] {
            assert_eq!(blanked(source), parsed);
        }
        for source in [
            "class AB {",
            "class AB : C {",
            "class AB final {",
            "struct AB c;",
            "struct AB c = {",
            "class AB C::D {",
            "class Ab C {",
            "subclass AB C {",
            "class AB(",
            "class",
        ] {
            assert_eq!(blanked(source), source);
        }
    }
}
