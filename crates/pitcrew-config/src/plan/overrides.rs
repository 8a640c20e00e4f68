//! Finds agents and regions in a request: `use claude for /ui: restyle the form`.
//!
//! Only unambiguous phrases count: an agent must be a known backend or start with `@`, and a region
//! must look like a path. Everything else stays part of the request.

use pitcrew_model::{AgentRef, PathError, RepoPath};
use std::{collections::BTreeSet, ops::Range};

/// One phrase that pins an agent, regions or both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Override {
    /// The bytes of the phrase. Empty if it is part of a sentence.
    pub span: Range<usize>,
    pub agent: Option<AgentRef>,
    pub regions: Vec<RepoPath>,
    pub reach: Scope,
}

/// What a phrase applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// It ends with a colon and applies to the text after it.
    Following,
    /// The whole request.
    Request,
}

/// A path in a request that cannot be a region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BadRegion {
    pub span: Range<usize>,
    pub text: String,
    pub reason: PathError,
}

pub(super) fn find(
    text: &str,
    backends: &BTreeSet<String>,
) -> Result<Vec<Override>, Vec<BadRegion>> {
    let mut scanner = Scanner { text, words: words(text), backends, bad: Vec::new() };
    let mut found = Vec::new();
    let mut at = 0;
    while at < scanner.words.len() {
        let phrase = scanner.phrase(at, found.last().is_some_and(|(end, _)| *end == at));
        if let Some((end, phrase)) = phrase {
            at = end;
            found.push((end, phrase));
        } else {
            at += 1;
        }
    }
    if scanner.bad.is_empty() {
        Ok(found.into_iter().map(|(_, phrase)| phrase).collect())
    } else {
        Err(scanner.bad)
    }
}

/// A word without the punctuation around it.
struct Word {
    span: Range<usize>,
    /// The word with its punctuation.
    whole: Range<usize>,
    /// The first punctuation character after it.
    mark: Option<char>,
    /// First on its line, or after a semicolon or a full stop.
    opens: bool,
}

fn words(text: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let mut from = 0;
    let mut line_open = true;
    for part in text.split_inclusive(char::is_whitespace) {
        let raw = part.trim_end();
        let start = from;
        from += part.len();
        if !raw.is_empty() {
            let inner = raw.trim_start_matches(['`', '"', '\'', '(']);
            let head = raw.len() - inner.len();
            let inner = inner.trim_end_matches(['`', '"', '\'', ')', ',', ';', ':', '.', '!']);
            let rest = &raw[head + inner.len()..];
            let mark = rest.chars().find(|it| [',', ';', ':', '.', '!'].contains(it));
            let is_bullet = inner.is_empty() || inner == "-" || inner == "*";
            words.push(Word {
                span: start + head..start + head + inner.len(),
                whole: start..start + raw.len(),
                mark,
                opens: line_open,
            });
            line_open = (line_open && is_bullet) || matches!(mark, Some(';' | '.' | '!'));
        }
        line_open |= part.ends_with('\n');
    }
    words
}

struct Scanner<'a> {
    text: &'a str,
    words: Vec<Word>,
    backends: &'a BTreeSet<String>,
    bad: Vec<BadRegion>,
}

impl Scanner<'_> {
    fn word(&self, at: usize) -> &str {
        self.words.get(at).map_or("", |it| &self.text[it.span.clone()])
    }

    fn is_one_of(&self, at: usize, wanted: &[&str]) -> bool {
        wanted.iter().any(|it| self.word(at).eq_ignore_ascii_case(it))
    }

    /// The phrase that starts at a word, and the index after it.
    fn phrase(&mut self, at: usize, follows: bool) -> Option<(usize, Override)> {
        if self.is_one_of(at, &["use", "using"]) && self.words[at].mark.is_none() {
            return self.agent_phrase(at, at + 1);
        }
        if self.words[at].opens && self.is_one_of(at, &["for", "in", "on"]) {
            let (end, regions) = self.regions(at + 1)?;
            let ends_open = self.words[end - 1].mark == Some(':');
            return ends_open.then(|| (end, self.override_of(at, end, None, regions)));
        }
        // `use claude for /ui and codex for /api`
        let agent = if self.is_one_of(at, &["and"]) { at + 1 } else { at };
        if follows && self.agent(agent).is_some() && self.is_one_of(agent + 1, &["for", "in", "on"])
        {
            return self.agent_phrase(at, agent).filter(|(_, it)| !it.regions.is_empty());
        }
        None
    }

    /// `use AGENT`, where `agent` is the index of the agent's word.
    fn agent_phrase(&mut self, first: usize, agent: usize) -> Option<(usize, Override)> {
        let name = self.agent(agent)?;
        let next = agent + 1;
        if self.words[agent].mark.is_some() || next == self.words.len() || self.words[next].opens {
            return Some((next, self.override_of(first, next, Some(name), Vec::new())));
        }
        if self.is_one_of(next, &["to"]) {
            return Some((next + 1, self.override_of(first, next + 1, Some(name), Vec::new())));
        }
        if self.is_one_of(next, &["for", "in", "on"]) {
            if let Some((end, regions)) = self.regions(next + 1) {
                return Some((end, self.override_of(first, end, Some(name), regions)));
            }
            let span = self.words[first].whole.start..self.words[first].whole.start;
            let reach = Scope::Request;
            return Some((next, Override { span, agent: Some(name), regions: Vec::new(), reach }));
        }
        None
    }

    fn override_of(
        &self,
        first: usize,
        end: usize,
        agent: Option<AgentRef>,
        regions: Vec<RepoPath>,
    ) -> Override {
        let last = &self.words[end - 1];
        let reach = if last.mark == Some(':') { Scope::Following } else { Scope::Request };
        Override { span: self.words[first].whole.start..last.whole.end, agent, regions, reach }
    }

    /// The agent that a word names, as spelled in the settings.
    fn agent(&self, at: usize) -> Option<AgentRef> {
        let agent: AgentRef = self.word(at).parse().ok()?;
        match &agent.backend {
            None => Some(agent),
            Some(backend) => {
                let known = self.backends.iter().find(|it| it.eq_ignore_ascii_case(backend))?;
                Some(AgentRef { backend: Some(known.clone()), agent: agent.agent })
            }
        }
    }

    /// Paths separated by commas or `and`, and the index after them.
    fn regions(&mut self, first: usize) -> Option<(usize, Vec<RepoPath>)> {
        let mut regions = Vec::new();
        let mut at = first;
        while looks_like_path(self.word(at)) {
            self.push_region(at, &mut regions);
            let mark = self.words[at].mark;
            at += 1;
            match mark {
                Some(',') | None if looks_like_path(self.word(at)) && mark.is_some() => {}
                Some(',') | None
                    if self.is_one_of(at, &["and"]) && looks_like_path(self.word(at + 1)) =>
                {
                    at += 1;
                }
                Some(_) | None => break,
            }
        }
        (at > first).then_some((at, regions))
    }

    fn push_region(&mut self, at: usize, regions: &mut Vec<RepoPath>) {
        let text = self.word(at);
        match RepoPath::parse_prefix(text.trim_start_matches('/')) {
            Ok(region) if regions.contains(&region) => {}
            Ok(region) => regions.push(region),
            Err(reason) => {
                let (text, span) = (text.to_owned(), self.words[at].span.clone());
                self.bad.push(BadRegion { span, text, reason });
            }
        }
    }
}

fn looks_like_path(word: &str) -> bool {
    word.contains('/') && word != "/" && !word.contains("://") && !word.starts_with("//")
}
