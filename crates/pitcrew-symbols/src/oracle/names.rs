//! Parses names in questions: `a::b`, `Type.method`, `path:name`.

use crate::Language;
use std::{borrow::Cow, path::Path};

/// A name to look up, with its qualifiers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QualifiedName {
    pub name: String,
    /// The qualifiers before the name, outermost first.
    pub qualifiers: Vec<String>,
    /// The file or folder that must contain it, or the end of its path. Empty if there is no
    /// constraint.
    pub path: String,
}

/// Words for the current scope, which are not module names.
const HERE: &[&str] = &["crate", "self", "super", "this", "Self"];

/// Returns `None` if the text contains no name.
pub fn parse(text: &str) -> Option<QualifiedName> {
    let text = unescaped(without_punctuation(text));
    let (path, rest) = with_path(&text);
    let mut qualifiers = parts(rest);
    let name =
        qualifiers.pop().filter(|it| it.contains(|it: char| it.is_alphanumeric() || it == '_'))?;
    qualifiers.retain(|it| !HERE.contains(&it.as_str()));
    Some(QualifiedName { name, qualifiers, path: segments(path.unwrap_or_default()).join("/") })
}

/// Removes punctuation and quotes around a name.
fn without_punctuation(text: &str) -> &str {
    let text = text.trim_matches(|it: char| it.is_whitespace() || "`'\"&*@,;?".contains(it));
    let end = text.char_indices().find(|(at, it)| *at > 0 && "(<[{!".contains(*it));
    let text = &text[..end.map_or(text.len(), |it| it.0)];
    text.trim_end_matches(['.', ':', '`', '\'', '"'])
}

/// Removes the `r#` of Rust's raw identifiers.
fn unescaped(text: &str) -> Cow<'_, str> {
    let is_name = |it: char| it.is_alphanumeric() || it == '_';
    let escape = text.match_indices("r#").find(|(at, _)| !text[..*at].ends_with(is_name));
    match escape {
        Some((at, escape)) => {
            let rest = unescaped(&text[at + escape.len()..]);
            Cow::Owned(format!("{}{rest}", &text[..at]))
        }
        None => Cow::Borrowed(text),
    }
}

/// Splits `path:name` if the first part is a path.
fn with_path(text: &str) -> (Option<&str>, &str) {
    let last = text.rfind('/').map_or(0, |it| it + 1);
    let separator =
        ["::", ":", "#"].iter().filter_map(|it| Some((text[last..].find(it)?, it.len())));
    if let Some((at, length)) = separator.min() {
        let (path, name) = (&text[..last + at], &text[last + at + length..]);
        let is_path = last > 0 || Language::of(Path::new(path)).is_some();
        if is_path && !name.is_empty() {
            return (Some(path), name);
        }
    }
    (None, text)
}

/// The names between `::`, `.`, `#`, `->` and `/`.
pub fn parts(text: &str) -> Vec<String> {
    pieces(text).map(str::to_owned).collect()
}

pub fn pieces(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    let is_part = |it: &&str| !it.is_empty() && *it != ".." && *it != "-";
    let between = ['.', ':', '#', '/', '>', '\\'];
    text.split(between).map(|it| it.trim_end_matches('-')).filter(is_part)
}

/// The components of a path, without empty, relative and wildcard components.
pub fn segments(path: &str) -> Vec<String> {
    let parts = path.split('/').filter(|it| !matches!(*it, "" | "." | ".." | "**" | "*"));
    parts.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        parse(text).map_or("nothing".into(), |it| {
            format!("{} {} {}", it.path, it.qualifiers.join(","), it.name)
        })
    }

    #[test]
    fn names_are_parsed_as_people_write_them() {
        for (text, meant) in [
            ("Gate", "  Gate"),
            ("`Gate::open()`", " Gate open"),
            ("crate::core::Gate", " core Gate"),
            ("Gate.open", " Gate open"),
            ("Gate#open", " Gate open"),
            ("gate->open", " gate open"),
            ("r#ref", "  ref"),
            ("door#r#type.r#fn", " door,type fn"),
            ("Vec<Gate>", "  Vec"),
            ("&Gate", "  Gate"),
            ("println!", "  println"),
            ("src/core/gate.rs:Gate", "src/core/gate.rs  Gate"),
            ("./gate.rs::Gate::open", "gate.rs Gate open"),
            ("src/gate#Gate.open", "src/gate Gate open"),
            ("example.com/pkg/auth.Check", " example,com,pkg,auth Check"),
            ("gate.rs:Gate", "gate.rs  Gate"),
            ("Gate.", "  Gate"),
            ("größe", "  größe"),
            ("", "nothing"),
            ("::", "nothing"),
            ("...", "nothing"),
        ] {
            assert_eq!(shown(text), meant, "{text}");
        }
    }
}
