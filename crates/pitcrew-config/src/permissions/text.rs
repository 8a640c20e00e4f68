//! The grammar of a permissions file: front matter, and sections of bullets.
//!
//! ```text
//! file     = front-matter { blank | comment | prose | title } { section }
//! matter   = "---" { key ":" scalar | key ":" list | "limits:" { key ":" scalar } } "---"
//! section  = "##" ( "Auto-Approve" | "Ask User" | "Auto-Deny" | "Limits" | "Notes" ) { bullet }
//! bullet   = ( "-" | "*" | "+" ) ( action [ explanation ] | key ":" scalar )
//! ```
//! Prose is allowed before the first section and under `Notes` only, so that a misspelled rule is
//! never mistaken for prose.

use super::{
    entries::{LISTS, LimitEntry, PermissionEntries, RuleEntry},
    limit::{LIMIT_KEYS, LimitKey},
};
use crate::{
    diagnostic::{Diagnostic, Problems},
    document::Span,
    settings::{Layer, Origin},
    suggest,
};
use pitcrew_model::Rule;

const VERSION_HELP: &str = "begin the file with `---`, `version: 1`, `---`";
const MATTER_KEYS: &[&str] =
    &["version", "auto_approve", "ask_user", "auto_deny", "limits", "name", "description"];
const HEADINGS: &[&str] = &["Auto-Approve", "Ask User", "Auto-Deny", "Limits", "Notes"];

/// Parses a file into entries and warnings, or returns all errors.
pub(super) fn parse(
    layer: Layer,
    file: &str,
    text: &str,
) -> Result<(PermissionEntries, Vec<Diagnostic>), Vec<Diagnostic>> {
    let problems = Problems::new(file, text);
    let entries = PermissionEntries::default();
    let mut reader = Reader { layer, file, problems, entries };
    reader.file(text);
    let Reader { problems, entries, .. } = reader;
    let (errors, warnings) = problems.split();
    if errors.is_empty() { Ok((entries, warnings)) } else { Err(errors) }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Rules(Rule),
    Limits,
    /// Free text for people.
    Prose,
}

/// A line and its offset, without trailing white space.
#[derive(Clone, Copy)]
struct Line<'t> {
    text: &'t str,
    start: usize,
}

impl<'t> Line<'t> {
    /// The location of a part of the line.
    fn span(&self, part: &str) -> Span {
        let offset = part.as_ptr() as usize - self.text.as_ptr() as usize;
        let start = self.start + offset;
        start..start + part.len()
    }

    fn indent(&self) -> usize {
        self.text.len() - self.text.trim_start().len()
    }

    fn trimmed(&self) -> &'t str {
        self.text.trim_start()
    }
}

struct Reader<'a> {
    layer: Layer,
    file: &'a str,
    problems: Problems<'a>,
    entries: PermissionEntries,
}

impl Reader<'_> {
    fn file(&mut self, text: &str) {
        let mut start = 0;
        let mut lines = Vec::new();
        for line in text.split_inclusive('\n') {
            lines.push(Line { text: line.trim_end(), start });
            start += line.len();
        }
        if let Some(first) = lines.first_mut()
            && let Some(rest) = first.text.strip_prefix('\u{feff}')
        {
            *first = Line { text: rest, start: '\u{feff}'.len_utf8() };
        }
        let blank = lines.iter().take_while(|it| it.text.is_empty()).count();
        let lines = &lines[blank..];
        let opens = lines.first().is_some_and(|it| it.text == "---");
        if !opens {
            let at = lines.first().map_or(0..0, |it| it.span(it.text));
            self.problems.error(&at, "the file has no front matter", Some(VERSION_HELP.into()));
            return;
        }
        let Some(length) = lines[1..].iter().position(|it| it.text == "---") else {
            let help = "close it with a line `---`";
            let at = lines[0].span(lines[0].text);
            self.problems.error(&at, "the front matter is not closed", Some(help.into()));
            return;
        };
        self.front_matter(&lines[0], &lines[1..=length]);
        self.body(&lines[length + 2..]);
    }

    fn error(&mut self, line: &Line, part: &str, message: String, help: impl Into<String>) {
        self.problems.error(&line.span(part), message, Some(help.into()));
    }

    fn origin(&self, span: &Span) -> Origin {
        let line = Some(self.problems.line_of(span));
        Origin { layer: self.layer, place: self.file.to_owned(), line }
    }

    fn front_matter(&mut self, opening: &Line, lines: &[Line]) {
        let mut part = None;
        let mut has_version = false;
        for line in lines {
            let text = line.trimmed();
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            match part {
                Some(Part::Rules(rule)) if text == "-" || text.starts_with("- ") => {
                    self.rule(line, rule, scalar(text[1..].trim_start()));
                }
                Some(Part::Limits) if line.indent() > 0 => self.limit(line, text),
                _ => part = self.key(line, &mut has_version),
            }
        }
        if !has_version {
            let at = opening.span(opening.text);
            self.problems.error(&at, "`version` is missing", Some(VERSION_HELP.into()));
        }
    }

    /// Reads a front matter key and returns the part that the following lines belong to.
    fn key(&mut self, line: &Line, has_version: &mut bool) -> Option<Part> {
        let text = line.trimmed();
        let Some((key, value)) = text.split_once(':') else {
            self.error(line, text, "expected `key: value`".into(), "write `key: value`");
            return None;
        };
        let (key, value) = (key.trim_end(), scalar(value));
        if line.indent() > 0 {
            let help = "only the lines below `limits:` may be indented";
            self.error(line, key, format!("`{key}` is indented"), help);
            return None;
        }
        if let Some((_, rule)) = LISTS.iter().find(|it| it.0 == key) {
            self.flow_list(line, *rule, value);
            return Some(Part::Rules(*rule));
        }
        match key {
            "version" => {
                *has_version = true;
                if value != "1" {
                    let message = format!("version `{value}` is not supported");
                    self.error(line, value, message, "this version of Pitcrew reads `version: 1`");
                }
                None
            }
            "limits" if value.is_empty() => Some(Part::Limits),
            "limits" => {
                let help = "write each limit on an indented line of its own below `limits:`";
                self.error(line, value, "`limits` must be a map".into(), help);
                None
            }
            "name" | "description" => None,
            _ => {
                let help = suggest::help(key, MATTER_KEYS);
                self.error(line, key, format!("unknown key `{key}` in the front matter"), help);
                None
            }
        }
    }

    /// `[a, b]`, or nothing if the list follows on separate lines.
    fn flow_list(&mut self, line: &Line, rule: Rule, value: &str) {
        if value.is_empty() {
            return;
        }
        let Some(items) = value.strip_prefix('[').and_then(|it| it.strip_suffix(']')) else {
            let help = "write `[a, b]`, or each on a line of its own that begins with `- `";
            self.error(line, value, format!("`{value}` is not a list"), help);
            return;
        };
        for item in items.split(',').map(str::trim).filter(|it| !it.is_empty()) {
            self.rule(line, rule, scalar(item));
        }
    }

    fn body(&mut self, lines: &[Line]) {
        let mut part = Part::Prose;
        let mut in_comment = false;
        for line in lines {
            let text = line.trimmed();
            let comments = text.starts_with("<!--") || in_comment;
            if comments {
                in_comment = !text.contains("-->");
                let after = text.split("-->").nth(1).map(str::trim).filter(|it| !it.is_empty());
                if let Some(after) = after.filter(|_| part != Part::Prose) {
                    let help = "move it to its own line";
                    self.error(line, after, "unexpected text after a comment".into(), help);
                }
                continue;
            }
            if text.is_empty() {
                continue;
            }
            if text.starts_with('#') {
                part = self.heading(line, part);
                continue;
            }
            match (part, bullet(text)) {
                (Part::Prose, _) => {}
                (Part::Rules(rule), Some(item)) => self.bullet_rule(line, rule, item),
                (Part::Limits, Some(item)) => self.limit(line, item),
                (Part::Rules(_) | Part::Limits, None) => {
                    let help = "begin it with `- `, or move it before the first section, under `## Notes`, or into a comment `<!-- ... -->`";
                    self.error(line, text, "expected a bullet".into(), help);
                }
            }
        }
        if in_comment {
            let end = lines.last().map_or(0..0, |it| it.span(it.text));
            self.problems.error(
                &end,
                "a comment is not closed",
                Some("close it with `-->`".into()),
            );
        }
    }

    fn heading(&mut self, line: &Line, before: Part) -> Part {
        let text = line.trimmed();
        let level = text.len() - text.trim_start_matches('#').len();
        let title = text[level..].trim().trim_end_matches('#').trim_end();
        let plain = |it: &str| it.to_lowercase().replace(['-', '_'], " ");
        let known = HEADINGS.iter().find(|it| plain(it) == plain(title));
        match known.copied() {
            Some("Auto-Approve") => Part::Rules(Rule::AutoApprove),
            Some("Ask User") => Part::Rules(Rule::AskUser),
            Some("Auto-Deny") => Part::Rules(Rule::AutoDeny),
            Some("Limits") => Part::Limits,
            Some(_) => Part::Prose,
            // The title of the file.
            None if level == 1 && before == Part::Prose => Part::Prose,
            None => {
                let help = suggest::help(title, HEADINGS);
                self.error(line, title, format!("unknown section `{title}`"), help);
                Part::Prose
            }
        }
    }

    /// The name of an action, optionally followed by an explanation.
    fn bullet_rule(&mut self, line: &Line, rule: Rule, item: &str) {
        let ends = [" #", " - ", " – ", " — ", ": ", " ("];
        let end = ends.iter().filter_map(|it| item.find(it)).min().unwrap_or(item.len());
        let name = item[..end].trim().trim_end_matches(':').trim_matches(['`', '*', '"', '\'']);
        self.rule(line, rule, name);
    }

    fn rule(&mut self, line: &Line, rule: Rule, name: &str) {
        if name.is_empty() {
            self.error(line, line.text, "the action name is missing".into(), "write `- action`");
            return;
        }
        let origin = self.origin(&line.span(name));
        let plain = name.to_lowercase().replace([' ', '-'], "_");
        let is_plain = plain.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_');
        if !is_plain || plain.len() > pitcrew_model::limits::NAME_BYTES_MAX {
            let help = "an action is written like `branch_merge`; an explanation may follow ` - `";
            self.error(line, name, format!("`{name}` is not an action name"), help);
            return;
        }
        self.warn_unknown(line, name, &plain);
        self.entries.rules.push(RuleEntry { rule, name: plain, origin });
    }

    fn warn_unknown(&mut self, line: &Line, name: &str, plain: &str) {
        if let Some((message, help)) = super::merge::unknown(plain) {
            self.problems.warn(&line.span(name), message, Some(help));
        }
    }

    fn limit(&mut self, line: &Line, item: &str) {
        let Some((name, value)) = item.split_once(':') else {
            let message = "expected `key: value`".to_owned();
            self.error(line, item, message, "write a limit such as `subtasks_total: 10`");
            return;
        };
        let name = name.trim().trim_matches(['`', '*']);
        let value = scalar(value);
        let Some(key) = LimitKey::named(&name.to_lowercase().replace([' ', '-'], "_")) else {
            let help = suggest::help(name, LIMIT_KEYS);
            self.error(line, name, format!("unknown limit `{name}`"), help);
            return;
        };
        match key.read(value) {
            Ok(value) => {
                let origin = self.origin(&line.span(name));
                self.entries.limits.push(LimitEntry { key, value, origin });
            }
            Err((message, help)) => {
                let part = if value.is_empty() { name } else { value };
                self.error(line, part, message, help);
            }
        }
    }
}

fn bullet(text: &str) -> Option<&str> {
    let rest = text.strip_prefix(['-', '*', '+'])?;
    rest.starts_with(char::is_whitespace).then(|| rest.trim_start())
}

/// A value without its comment and quotes.
fn scalar(text: &str) -> &str {
    let text = text.trim();
    for quote in ['"', '\''] {
        if let Some((inside, _)) = text.strip_prefix(quote).and_then(|it| it.split_once(quote)) {
            return inside;
        }
    }
    let comment = text.find(" #").unwrap_or(text.len());
    if text.starts_with('#') { &text[..0] } else { text[..comment].trim_end() }
}
