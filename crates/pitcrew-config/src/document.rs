//! Reads typed values from a TOML document and collects its problems.
//!
//! A reader never stops at a problem: it records it and returns `None`, so that one run reports all
//! of them. Nothing here knows what a key means.

use crate::{
    diagnostic::Problems,
    duration::{DURATION_HELP, format_duration, parse_duration},
    money::{DOLLARS_HELP, parse_dollars},
    suggest,
};
use pitcrew_model::Caps;
use std::ops::{Range, RangeInclusive};
use toml_edit::{Document, Item, TableLike, Value};

pub(crate) type Span = Range<usize>;

/// A value and its location.
#[derive(Clone, Debug)]
pub(crate) struct Spanned<T> {
    pub value: T,
    pub span: Span,
}

/// Parses TOML. A syntax error is recorded with its location.
pub(crate) fn parse_document<'a>(
    text: &'a str,
    problems: &mut Problems,
) -> Option<Document<&'a str>> {
    match Document::parse(text) {
        Ok(document) => Some(document),
        Err(error) => {
            let span = error.span().unwrap_or(text.len()..text.len());
            problems.error(&span, format!("this is not TOML: {}", error.message()), None);
            None
        }
    }
}

/// One table of a document.
pub(crate) struct Section<'t> {
    pub table: &'t dyn TableLike,
    /// Where the table starts.
    pub span: Span,
    /// Keys whose misspelling was probably reported already.
    meant: Vec<String>,
}

impl<'t> Section<'t> {
    pub fn root(document: &'t Document<&str>) -> Self {
        Self::new(document.as_table(), 0..0)
    }

    pub fn new(table: &'t dyn TableLike, span: Span) -> Self {
        Self { table, span, meant: Vec::new() }
    }

    /// Records every unknown key. `what` names the table in the message; `aliases` are common
    /// synonyms for known keys.
    pub fn check_keys(
        &mut self,
        what: &str,
        known: &[&str],
        aliases: &[(&str, &str)],
        problems: &mut Problems,
    ) {
        for (name, item) in self.table.iter() {
            if known.contains(&name) || item.is_none() {
                continue;
            }
            let alias = aliases.iter().find(|(word, _)| word.eq_ignore_ascii_case(name));
            let near = alias.map(|(_, key)| *key);
            let near = near.or_else(|| suggest::nearest(name, known.iter().copied()));
            self.meant.extend(near.map(str::to_owned));
            let help = near.map_or_else(|| suggest::help(name, known), suggest::did_you_mean);
            let message = format!("unknown key `{name}` in {what}");
            problems.error(&self.key_span(name), message, Some(help));
        }
    }

    /// Whether the key is missing and no reported problem explains that.
    pub fn lacks(&self, key: &str) -> bool {
        self.item(key).is_none() && !self.meant.iter().any(|it| it == key)
    }

    /// The location of a key, or of the table if the key is missing.
    pub fn key_span(&self, key: &str) -> Span {
        let found = self.table.get_key_value(key).and_then(|(key, _)| key.span());
        found.unwrap_or_else(|| self.span.clone())
    }

    pub fn item(&self, key: &str) -> Option<(Span, &'t Item)> {
        let item = self.table.get(key).filter(|it| !it.is_none())?;
        Some((item.span().unwrap_or_else(|| self.key_span(key)), item))
    }

    pub fn string(&self, key: &str, problems: &mut Problems) -> Option<Spanned<String>> {
        let (span, item) = self.item(key)?;
        if let Some(value) = item.as_str() {
            return Some(Spanned { value: value.to_owned(), span });
        }
        wrong_type(key, "a string", item.type_name(), &span, problems);
        None
    }

    /// A list of strings. A single string counts as a list of one.
    pub fn strings(&self, key: &str, problems: &mut Problems) -> Option<Vec<Spanned<String>>> {
        let (span, item) = self.item(key)?;
        match item {
            Item::Value(Value::String(text)) => {
                Some(vec![Spanned { value: text.value().clone(), span }])
            }
            Item::Value(Value::Array(array)) => {
                let mut strings = Vec::new();
                for value in array {
                    let span = value.span().unwrap_or_else(|| span.clone());
                    if let Some(text) = value.as_str() {
                        strings.push(Spanned { value: text.to_owned(), span });
                    } else {
                        let found = article(value.type_name());
                        let message =
                            format!("an element of `{key}` must be a string, not {found}");
                        problems.error(&span, message, None);
                    }
                }
                Some(strings)
            }
            Item::None | Item::Value(_) | Item::Table(_) | Item::ArrayOfTables(_) => {
                wrong_type(key, "a string or a list of strings", item.type_name(), &span, problems);
                None
            }
        }
    }

    pub fn integer(
        &self,
        key: &str,
        range: &RangeInclusive<u32>,
        problems: &mut Problems,
    ) -> Option<Spanned<u32>> {
        let (span, item) = self.item(key)?;
        let Some(number) = item.as_integer() else {
            wrong_type(key, "a whole number", item.type_name(), &span, problems);
            return None;
        };
        let value = u32::try_from(number).ok().filter(|it| range.contains(it));
        if value.is_none() {
            problems.error(&span, out_of_range(key, &number.to_string(), range), None);
        }
        value.map(|value| Spanned { value, span })
    }

    /// A duration in milliseconds, from a string with units or whole seconds.
    pub fn duration(
        &self,
        key: &str,
        max_ms: u64,
        problems: &mut Problems,
    ) -> Option<Spanned<u64>> {
        let (span, item) = self.item(key)?;
        let help = || Some(DURATION_HELP.to_owned());
        let parsed = match (item.as_str(), item.as_integer()) {
            (Some(text), _) => check_duration(text, max_ms),
            (None, Some(seconds)) => u64::try_from(seconds)
                .map_err(|_| "it is negative".to_owned())
                .and_then(|it| duration_in_range(it.saturating_mul(1_000), max_ms)),
            (None, None) => {
                let message =
                    format!("`{key}` must be a duration, not {}", article(item.type_name()));
                problems.error(&span, message, help());
                return None;
            }
        };
        match parsed {
            Ok(value) => Some(Spanned { value, span }),
            Err(reason) => {
                problems.error(&span, format!("`{key}` is invalid: {reason}"), help());
                None
            }
        }
    }

    /// A number of tokens: a positive integer.
    pub fn tokens(&self, key: &str, problems: &mut Problems) -> Option<Spanned<u64>> {
        let (span, item) = self.item(key)?;
        let Some(number) = item.as_integer() else {
            wrong_type(key, "a whole number", item.type_name(), &span, problems);
            return None;
        };
        let value = u64::try_from(number).ok().filter(|it| *it > 0);
        if value.is_none() {
            let message = format!("`{key}` is {number}, but must be more than zero");
            problems.error(&span, message, Some("leave it out for no cap".into()));
        }
        value.map(|value| Spanned { value, span })
    }

    /// Millionths of a US dollar, from a number or a string.
    pub fn dollars(&self, key: &str, problems: &mut Problems) -> Option<Spanned<u64>> {
        let (span, item) = self.item(key)?;
        let text = match (item.as_str(), item.as_integer(), item.as_float()) {
            (Some(text), _, _) => text.to_owned(),
            (None, Some(whole), _) => whole.to_string(),
            (None, None, Some(number)) => number.to_string(),
            (None, None, None) => {
                wrong_type(key, "an amount of dollars", item.type_name(), &span, problems);
                return None;
            }
        };
        match parse_dollars(&text) {
            Ok(value) => Some(Spanned { value, span }),
            Err(reason) => {
                let message = format!("`{key}` is invalid: {reason}");
                problems.error(&span, message, Some(DOLLARS_HELP.into()));
                None
            }
        }
    }

    /// Both spending caps, each with its location.
    pub fn caps(&self, problems: &mut Problems) -> Caps {
        let tokens = self.tokens("max_tokens", problems).map(|it| it.value);
        let cost_micros = self.dollars("max_cost", problems).map(|it| it.value);
        Caps { tokens, cost_micros }
    }

    pub fn choice<T: Copy>(
        &self,
        key: &str,
        choices: &[(&str, T)],
        problems: &mut Problems,
    ) -> Option<T> {
        let word = self.string(key, problems)?;
        if let Some((_, value)) = choices.iter().find(|(name, _)| *name == word.value) {
            return Some(*value);
        }
        let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
        let message = format!("`{key}` cannot be `{}`", word.value);
        problems.error(&word.span, message, Some(suggest::help(&word.value, &names)));
        None
    }
}

/// Parses a duration that must be positive and at most `max_ms`.
pub(crate) fn check_duration(text: &str, max_ms: u64) -> Result<u64, String> {
    let milliseconds = parse_duration(text).map_err(|it| it.to_string())?;
    duration_in_range(milliseconds, max_ms)
}

fn duration_in_range(milliseconds: u64, max_ms: u64) -> Result<u64, String> {
    if milliseconds == 0 {
        Err("it is zero".to_owned())
    } else if milliseconds > max_ms {
        Err(format!("it is more than {}", format_duration(max_ms)))
    } else {
        Ok(milliseconds)
    }
}

pub(crate) fn out_of_range(key: &str, number: &str, range: &RangeInclusive<u32>) -> String {
    format!("`{key}` is {number}, but must be between {} and {}", range.start(), range.end())
}

fn wrong_type(key: &str, wanted: &str, found: &str, span: &Span, problems: &mut Problems) {
    problems.error(span, format!("`{key}` must be {wanted}, not {}", article(found)), None);
}

pub(crate) fn article(type_name: &str) -> String {
    let vowel = type_name.starts_with(['a', 'e', 'i', 'o', 'u']);
    format!("{} {type_name}", if vowel { "an" } else { "a" })
}
