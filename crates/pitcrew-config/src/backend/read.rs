//! Reads single keys of a backend together with their origin.

use super::{
    checks::{InvalidValue, variable_name},
    keys::{ERROR_KEYS, KINDS},
    value::{ErrorPattern, ErrorRule},
};
use crate::{
    diagnostic::Problems,
    document::{Section, Span, Spanned, article},
    settings::{Found, Origin, command_problem},
};
use std::collections::BTreeMap;
use toml_edit::{Item, TableLike};

/// Finds the origin of a span.
pub(super) type Place<'a> = &'a dyn Fn(&Span, &Problems) -> Origin;

type Variables = BTreeMap<String, String>;

pub(super) struct Keys<'s, 't, 'p, 'a> {
    section: &'s Section<'t>,
    place: Place<'s>,
    problems: &'p mut Problems<'a>,
}

impl<'s, 't, 'p, 'a> Keys<'s, 't, 'p, 'a> {
    pub fn new(section: &'s Section<'t>, place: Place<'s>, problems: &'p mut Problems<'a>) -> Self {
        Self { section, place, problems }
    }

    fn found<T>(&self, value: T, span: &Span) -> Found<T> {
        Found { value, origin: (self.place)(span, self.problems) }
    }

    pub fn string(&mut self, key: &str) -> Option<Found<String>> {
        let Spanned { value, span } = self.section.string(key, self.problems)?;
        Some(self.found(value, &span))
    }

    /// The name of a variable, or `""` for none.
    pub fn variable_name(&mut self, key: &str) -> Option<Found<String>> {
        let Spanned { value, span } = self.section.string(key, self.problems)?;
        if let (false, Err(InvalidValue { reason, help })) =
            (value.is_empty(), variable_name(&value))
        {
            self.problems.error(&span, format!("`{value}` in `{key}` {reason}"), Some(help));
        }
        Some(self.found(value, &span))
    }

    pub fn strings(
        &mut self,
        key: &str,
        check: fn(&str) -> Result<(), InvalidValue>,
    ) -> Option<Found<Vec<String>>> {
        let span = self.section.key_span(key);
        let words = self.section.strings(key, self.problems)?;
        for word in &words {
            if let Err(InvalidValue { reason, help }) = check(&word.value) {
                let message = format!("`{}` in `{key}` {reason}", word.value);
                self.problems.error(&word.span, message, Some(help));
            }
        }
        Some(self.found(words.into_iter().map(|it| it.value).collect(), &span))
    }

    pub fn choice<T: Copy>(&mut self, key: &str, choices: &[(&str, T)]) -> Option<Found<T>> {
        let span = self.section.key_span(key);
        let value = self.section.choice(key, choices, self.problems)?;
        Some(self.found(value, &span))
    }

    pub fn command(&mut self) -> Option<Found<Vec<String>>> {
        let found = self.strings("command", super::checks::anything)?;
        let (span, _) = self.section.item("command")?;
        if let Some((reason, help)) = command_problem(&found.value) {
            self.problems.error(&span, format!("`command` {reason}"), Some(help));
        }
        Some(found)
    }

    pub fn variables(
        &mut self,
        key: &str,
        check: fn(&str, &str) -> Result<(), InvalidValue>,
    ) -> Option<Found<Variables>> {
        let (span, item) = self.section.item(key)?;
        let Some(table) = item.as_table_like() else {
            let message = format!("`{key}` must be a table, not {}", article(item.type_name()));
            let help = format!("write `{key} = {{ NAME = \"value\" }}`");
            self.problems.error(&span, message, Some(help));
            return None;
        };
        let mut variables = BTreeMap::new();
        for (name, item) in table.iter() {
            let at = item.span().unwrap_or_else(|| span.clone());
            let Some(value) = item.as_str() else {
                let message =
                    format!("`{name}` must be a string, not {}", article(item.type_name()));
                self.problems.error(&at, message, None);
                continue;
            };
            if let Err(InvalidValue { reason, help }) = check(name, value) {
                self.problems.error(&at, format!("`{name}` {reason}"), Some(help));
                continue;
            }
            variables.insert(name.to_owned(), value.to_owned());
        }
        Some(self.found(variables, &self.section.key_span(key)))
    }

    pub fn errors(&mut self, key: &str) -> Option<Found<Vec<ErrorRule>>> {
        let (span, item) = self.section.item(key)?;
        let Some(tables) = tables(item) else {
            let message =
                format!("`{key}` must be a list of tables, not {}", article(item.type_name()));
            let help =
                format!("write `[[{key}]]` and below it `says = \"...\"` and `kind = \"auth\"`");
            self.problems.error(&span, message, Some(help));
            return None;
        };
        let rules = tables.into_iter().filter_map(|(at, table)| {
            let mut section = Section::new(table, at.unwrap_or_else(|| span.clone()));
            section.check_keys("an error of a backend", ERROR_KEYS, &[], self.problems);
            let says = section.string("says", self.problems);
            let kind = section.choice("kind", KINDS, self.problems);
            for key in ERROR_KEYS.iter().filter(|it| section.lacks(it)) {
                let message = format!("an error of a backend needs `{key}`");
                let help = "write `says = \"part of the message\"` and `kind = \"auth\"`, `\"quota\"`, `\"unreachable\"` or `\"model\"`";
                self.problems.error(&section.span, message, Some(help.into()));
            }
            let says = says?;
            if says.value.trim().is_empty() {
                let help = "an empty string would match every error";
                self.problems.error(&says.span, "`says` is empty", Some(help.into()));
            }
            Some(ErrorRule { says: ErrorPattern::parse(says.value), kind: kind? })
        });
        let rules = rules.collect();
        Some(self.found(rules, &span))
    }
}

type Tables<'t> = Vec<(Option<Span>, &'t dyn TableLike)>;

fn tables(item: &Item) -> Option<Tables<'_>> {
    if let Some(tables) = item.as_array_of_tables() {
        return Some(tables.iter().map(|it| (it.span(), it as &dyn TableLike)).collect());
    }
    let mut tables = Tables::new();
    for value in item.as_array()? {
        tables.push((value.span(), value.as_inline_table()?));
    }
    Some(tables)
}
