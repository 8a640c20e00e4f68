//! The log of a task: a heading for each attempt, then its lines with time and source.

use super::{
    Style,
    words::{duration, plural},
};
use pitcrew_api::{LogFact, LogLine, LogSource};
use pitcrew_model::{AttemptId, Failure, Outcome, Timestamp};
use pitcrew_views::{plain, words::stamp};
use std::collections::BTreeMap;

/// Lines of one text that are shown before the rest is only counted.
const LINES_SHOWN_MAX: usize = 200;
/// The maximum for the output of a command. Its last lines are shown.
const OUTPUT_LINES_SHOWN_MAX: usize = 20;
/// Characters of one line that are shown.
const COLUMNS_SHOWN_MAX: usize = 2_000;

/// Renders log lines one after the other.
pub struct LogText {
    style: Style,
    prompts: Prompts,
    /// The outcomes of attempts that had ended before the log was read.
    outcomes: BTreeMap<AttemptId, String>,
    /// When the current attempt started.
    started_at: Option<Timestamp>,
}

/// How much of a prompt is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prompts {
    /// The first line.
    Folded,
    Whole,
}

/// Which end of a long text is kept.
#[derive(Clone, Copy)]
enum Keep {
    Beginning,
    End,
}

impl LogText {
    pub fn new(style: Style, prompts: Prompts, outcomes: BTreeMap<AttemptId, String>) -> Self {
        Self { style, prompts, outcomes, started_at: None }
    }

    /// Renders time, source and text; each line of the text has the source in front.
    pub fn show(&mut self, line: &LogLine) -> String {
        if line.source == LogSource::Attempt {
            return self.heading(line);
        }
        let (name, quiet) = name(line.source);
        let when = line.at.zip(self.started_at).map(|(at, start)| offset(at.since(start)));
        let when = format!("{:>9}", when.unwrap_or_default());
        let name = format!("{name:>7} |");
        let name = if quiet { self.style.dim(&name) } else { self.style.cyan(&name) };
        let first = format!("{} {name}", self.style.dim(&when));
        let others = format!("{:>9} {name}", "");
        let place = |(index, it): (usize, String)| {
            let before = if index == 0 { &first } else { &others };
            format!("{before} {it}").trim_end().to_owned()
        };
        let text = self.text(line);
        text.into_iter().enumerate().map(place).collect::<Vec<_>>().join("\n")
    }

    /// `attempt 2 by worker-5 (claude), 2026-11-15 09:49:00 UTC: failed`
    fn heading(&mut self, line: &LogLine) -> String {
        let gap = if self.started_at.is_some() { "\n" } else { "" };
        self.started_at = line.at;
        let mut text = plain::line(&line.text);
        if let Some(at) = line.at {
            text = format!("{text}, {} UTC", stamp(at).replace('T', " "));
        }
        if let Some(outcome) = self.outcomes.get(&line.attempt) {
            text = format!("{text}: {outcome}");
        }
        format!("{gap}{}", self.style.bold(&text))
    }

    fn text(&self, line: &LogLine) -> Vec<String> {
        let output = |max| bounded(&line.text, max, Keep::End);
        match &line.fact {
            Some(LogFact::Command { command, code, took_ms, .. }) => {
                let mut lines = vec![self.command(command, *code, *took_ms)];
                if !line.text.trim().is_empty() {
                    lines.extend(output(OUTPUT_LINES_SHOWN_MAX));
                }
                lines
            }
            // Nothing failed: a pause or a restart stopped it.
            Some(LogFact::Ended { failure: Some(Failure::Interrupted), .. }) => {
                vec![self.style.yellow("interrupted: it starts over")]
            }
            Some(LogFact::Ended { outcome, failure }) => {
                // The lines above show the command and its output.
                let is_said = matches!(failure, Some(Failure::Setup { .. }));
                let text = if is_said { "the setup" } else { &line.text };
                let mut lines = bounded(text, LINES_SHOWN_MAX, Keep::Beginning);
                let word = match outcome {
                    Outcome::Success => self.style.green("success"),
                    Outcome::Partial => self.style.yellow("partial"),
                    Outcome::Failed | Outcome::Timeout | Outcome::Cancelled => {
                        self.style.red(&outcome.to_string())
                    }
                };
                lines[0] = if lines[0].is_empty() { word } else { format!("{word}: {}", lines[0]) };
                lines
            }
            Some(LogFact::Attempt { .. } | LogFact::Unknown) | None => match line.source {
                LogSource::Tool | LogSource::Stderr => output(LINES_SHOWN_MAX),
                LogSource::Prompt if self.prompts == Prompts::Folded => fold(&line.text),
                LogSource::Orchestrator
                | LogSource::Attempt
                | LogSource::Setup
                | LogSource::Check
                | LogSource::Outcome
                | LogSource::Prompt
                | LogSource::Agent
                | LogSource::Thought
                | LogSource::Unknown => bounded(&line.text, LINES_SHOWN_MAX, Keep::Beginning),
            },
        }
    }

    fn command(&self, command: &str, code: Option<i32>, took_ms: Option<u64>) -> String {
        let ended = match code {
            Some(0) => self.style.green("passed"),
            Some(code) => self.style.red(&format!("failed with exit code {code}")),
            None => self.style.red("killed at the timeout"),
        };
        let took = took_ms.map(|it| format!(", {}", duration(it))).unwrap_or_default();
        format!("`{}` {ended}{took}", plain::line(command))
    }
}

/// A line of a plan's log, with the time since the plan was created.
pub fn log_event(text: &str, since_ms: u64, style: Style) -> String {
    format!("{} {}", style.dim(&format!("{:>9}", offset(since_ms))), plain::line(text))
}

fn name(source: LogSource) -> (&'static str, bool) {
    match source {
        LogSource::Orchestrator | LogSource::Attempt => ("pitcrew", true),
        LogSource::Setup => ("setup", false),
        LogSource::Check => ("check", false),
        LogSource::Outcome => ("ended", false),
        LogSource::Prompt => ("prompt", true),
        LogSource::Agent => ("agent", false),
        LogSource::Thought => ("thought", true),
        LogSource::Tool => ("tool", false),
        LogSource::Stderr => ("stderr", false),
        LogSource::Unknown => ("other", false),
    }
}

/// `+0:03.5`, `+1:02:03`: the time since the attempt started.
fn offset(milliseconds: u64) -> String {
    let seconds = milliseconds / 1_000;
    let (hours, minutes, rest) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    if hours > 0 {
        format!("+{hours}:{minutes:02}:{rest:02}")
    } else {
        format!("+{minutes}:{rest:02}.{}", milliseconds % 1_000 / 100)
    }
}

/// The first line of a prompt, and the number of the others.
fn fold(prompt: &str) -> Vec<String> {
    let text = plain::block(prompt.trim());
    let mut lines = text.lines();
    let first = cut(lines.next().unwrap_or_default());
    match lines.count() as u64 {
        0 => vec![first],
        more => vec![first, format!("[{}: --prompt shows them]", plural(more, "more line"))],
    }
}

/// Returns at least one line and at most `lines_max`, plus a note about what was left out.
fn bounded(text: &str, lines_max: usize, keep: Keep) -> Vec<String> {
    let text = plain::block(text.trim_end());
    let all: Vec<&str> = text.lines().collect();
    let left_out = all.len().saturating_sub(lines_max);
    let shown = match keep {
        Keep::Beginning => &all[..all.len() - left_out],
        Keep::End => &all[left_out..],
    };
    let mut lines: Vec<String> = shown.iter().map(|it| cut(it)).collect();
    if left_out > 0 {
        let note = format!("[{left_out} more lines: --json shows them]");
        match keep {
            Keep::Beginning => lines.push(note),
            Keep::End => lines.insert(0, note),
        }
    }
    if lines.is_empty() {
        lines.push(String::new());
    }
    lines
}

fn cut(line: &str) -> String {
    match line.char_indices().nth(COLUMNS_SHOWN_MAX) {
        Some((end, _)) => format!("{}… [{} more bytes]", &line[..end], line.len() - end),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_short() {
        let said = [0, 3_540, 62_000, 3_723_000].map(offset);
        assert_eq!(said, ["+0:00.0", "+0:03.5", "+1:02.0", "+1:02:03"]);
    }

    #[test]
    fn prompts_are_folded() {
        assert_eq!(fold("Do it.\n"), ["Do it."]);
        assert_eq!(fold("Do it.\n\nNow.\n"), ["Do it.", "[2 more lines: --prompt shows them]"]);
    }

    #[test]
    fn long_text_is_cut_with_a_note() {
        let text = "1\n2\n3\n4\n5\n".to_owned();
        assert_eq!(
            bounded(&text, 2, Keep::Beginning),
            ["1", "2", "[3 more lines: --json shows them]"]
        );
        assert_eq!(bounded(&text, 2, Keep::End), ["[3 more lines: --json shows them]", "4", "5"]);
        assert_eq!(bounded("", 2, Keep::End), [""]);
        assert!(cut(&"x".repeat(3_000)).ends_with("… [1000 more bytes]"));
    }
}
