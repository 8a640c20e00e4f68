//! Parses the script in a prompt: lines that start with `@`.

use serde_json::Value;
use std::time::Duration;

/// A script: the steps before the first `@when`, and those after each one.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Script {
    pub blocks: Vec<Block>,
    /// The prompt without the lines of the script.
    pub prose: String,
}

#[derive(Debug, Default, PartialEq)]
pub(super) struct Block {
    /// The block runs only if the prompt contains this text; `None` for steps that always run.
    pub when: Option<String>,
    pub steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    /// Part of the next response.
    Aside(Aside),
    /// Ends a response with a tool call.
    Act(Act),
    /// A response that is an error.
    Fail(Failure),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Aside {
    Say(String),
    Think(String),
    Sleep(Duration),
    /// The response waits until the test releases the name.
    Hold(String),
    Usage(Tokens),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Act {
    Read {
        path: String,
    },
    Write {
        path: String,
        text: String,
    },
    Edit {
        path: String,
        old: String,
        new: String,
    },
    Bash {
        command: String,
    },
    /// A command for which the model requests permission, if the shell tool supports that.
    Escalate {
        command: String,
    },
    Tool {
        name: String,
        input: Value,
    },
    Complete {
        summary: String,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    pub status: u16,
    /// For a quota: the time until it is available again.
    pub reset_s: Option<u64>,
    /// Occurs once; the next call of the same conversation continues after it.
    pub once: bool,
    pub message: String,
}

/// The usage that a response reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tokens {
    pub input: u64,
    pub output: u64,
    /// The part of the input that was cached.
    pub cached: u64,
}

/// Parses the script of a prompt; `None` if no line is a step.
pub(super) fn parse(prompt: &str) -> Option<Result<Script, String>> {
    let is_step = |line: &str| keyword(line).is_some_and(|(word, _)| KEYWORDS.contains(&word));
    prompt.lines().any(is_step).then(|| Reader { lines: prompt.lines() }.script())
}

const KEYWORDS: &[&str] = &[
    "say", "think", "sleep", "hold", "usage", "read", "write", "edit", "bash", "escalate", "tool",
    "complete", "fail", "when", "end",
];

/// The word after the `@`, and the rest of the line.
fn keyword(line: &str) -> Option<(&str, &str)> {
    let line = line.strip_prefix('@')?;
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    (!word.is_empty()).then(|| (word.trim_end(), rest.trim()))
}

struct Reader<'a> {
    lines: std::str::Lines<'a>,
}

impl Reader<'_> {
    fn script(mut self) -> Result<Script, String> {
        let mut script = Script { blocks: vec![Block::default()], prose: String::new() };
        while let Some(line) = self.lines.next() {
            let Some((word, rest)) = keyword(line) else {
                script.prose.push_str(line);
                script.prose.push('\n');
                continue;
            };
            let located = |reason| format!("{reason}, in the step `{line}`");
            match word {
                "when" if rest.is_empty() => {
                    return Err(located("`@when` needs a text".to_owned()));
                }
                "when" => script
                    .blocks
                    .push(Block { when: Some(unquoted(rest).to_owned()), steps: Vec::new() }),
                "end" => script.blocks.push(Block::default()),
                _ => {
                    let step = self.step(word, rest).map_err(located)?;
                    let block = script.blocks.last_mut().expect("there is one from the start");
                    block.steps.push(step);
                }
            }
        }
        Ok(script)
    }

    fn step(&mut self, word: &str, rest: &str) -> Result<Step, String> {
        Ok(match word {
            "say" => Step::Aside(Aside::Say(self.text(rest)?)),
            "think" => Step::Aside(Aside::Think(self.text(rest)?)),
            "sleep" => Step::Aside(Aside::Sleep(duration(rest)?)),
            "hold" => Step::Aside(Aside::Hold(named(rest)?.0.to_owned())),
            "usage" => Step::Aside(Aside::Usage(tokens(rest)?)),
            "read" => Step::Act(Act::Read { path: named(rest)?.0.to_owned() }),
            "write" => {
                let (path, text) = named(rest)?;
                let text = self.text(text)?;
                Step::Act(Act::Write { path: path.to_owned(), text: with_line_end(text) })
            }
            "edit" => self.edit(rest)?,
            "bash" => Step::Act(Act::Bash { command: self.text(rest)? }),
            "escalate" => Step::Act(Act::Escalate { command: self.text(rest)? }),
            "tool" => self.tool(rest)?,
            "complete" => Step::Act(Act::Complete { summary: self.text(rest)? }),
            "fail" => Step::Fail(failure(rest)?),
            _ => return Err(format!("there is no step `@{word}`")),
        })
    }

    fn edit(&mut self, rest: &str) -> Result<Step, String> {
        let (path, change) = named(rest)?;
        let path = path.to_owned();
        if let Some((old, new)) = change.split_once(" => ") {
            let (old, new) = (old.trim().to_owned(), new.trim().to_owned());
            return Ok(Step::Act(Act::Edit { path, old, new }));
        }
        let (first, second) = change.split_once(' ').ok_or("`@edit` needs OLD => NEW")?;
        let (old, new) = (self.text(first)?, self.text(second.trim())?);
        Ok(Step::Act(Act::Edit { path, old, new }))
    }

    fn tool(&mut self, rest: &str) -> Result<Step, String> {
        let (name, input) = named(rest)?;
        let input = self.text(input)?;
        let input = if input.is_empty() { "{}" } else { &input };
        let input = serde_json::from_str(input).map_err(|it| format!("no JSON: {it}"))?;
        Ok(Step::Act(Act::Tool { name: name.to_owned(), input }))
    }

    /// The rest of the line, or the lines up to WORD after a `<<WORD`.
    fn text(&mut self, rest: &str) -> Result<String, String> {
        let Some(word) = rest.strip_prefix("<<") else { return Ok(rest.to_owned()) };
        let mut lines = Vec::new();
        for line in self.lines.by_ref() {
            if line == word {
                return Ok(lines.join("\n"));
            }
            lines.push(line);
        }
        Err(format!("no line is `{word}`"))
    }
}

/// A required first word, and the rest.
fn named(rest: &str) -> Result<(&str, &str), String> {
    let (name, rest) = rest.split_once(' ').unwrap_or((rest, ""));
    if name.is_empty() { Err("a word is missing".into()) } else { Ok((name, rest.trim())) }
}

fn unquoted(text: &str) -> &str {
    text.strip_prefix('"').and_then(|it| it.strip_suffix('"')).unwrap_or(text)
}

fn with_line_end(mut text: String) -> String {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.find(|it: char| !it.is_ascii_digit()).unwrap_or(text.len());
    let (count, unit) = text.split_at(digits);
    let count: u64 =
        count.parse().map_err(|_| format!("`{text}` is not a duration: 200ms, 5s or 1m"))?;
    match unit {
        "ms" => Ok(Duration::from_millis(count)),
        "s" => Ok(Duration::from_secs(count)),
        "m" => Ok(Duration::from_secs(count * 60)),
        _ => Err(format!("`{text}` is not a duration: 200ms, 5s or 1m")),
    }
}

fn tokens(text: &str) -> Result<Tokens, String> {
    let counts: Result<Vec<u64>, _> = text.split_whitespace().map(str::parse).collect();
    match counts.as_deref() {
        Ok([input, output]) => Ok(Tokens { input: *input, output: *output, cached: 0 }),
        Ok([input, output, cached]) => {
            Ok(Tokens { input: *input, output: *output, cached: *cached })
        }
        _ => Err("`@usage` needs INPUT OUTPUT, or INPUT OUTPUT CACHED".into()),
    }
}

fn failure(text: &str) -> Result<Failure, String> {
    let (status, mut rest) = named(text)?;
    let status = status.parse().ok().filter(|it| (400..600).contains(it));
    let status = status.ok_or("`@fail` needs a status of 400 to 599")?;
    let mut failure = Failure { status, reset_s: None, once: false, message: String::new() };
    while let Ok((word, behind)) = named(rest) {
        match (word, word.strip_prefix("reset=")) {
            ("once", _) => failure.once = true,
            (_, Some(reset)) => failure.reset_s = Some(duration(reset)?.as_secs()),
            (_, None) => break,
        }
        rest = behind;
    }
    rest.clone_into(&mut failure.message);
    Ok(failure)
}

#[cfg(test)]
mod tests;
