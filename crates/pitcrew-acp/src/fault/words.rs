//! Errors in the text of a turn that ended well according to the agent.

use super::{ErrorContext, MESSAGE_BYTES_MAX, cause, facts::kind_of_status};
use crate::{plain::one_line, turn::Words};
use pitcrew_model::ErrorCause;

/// The error that a turn really ended with, or `None` if it ended well.
///
/// Only the agent's last text counts, and only if a line of its last paragraph, or the last piece
/// of the message, starts as a rule says. A rule may also name a marker that the agent sets.
pub(crate) fn of_words(
    words: &Words,
    marks: &[String],
    known: &ErrorContext<'_>,
) -> Option<(ErrorCause, String)> {
    let text = words.last_message()?;
    let begins: Vec<&str> =
        [Some(text), words.last_piece()].into_iter().flatten().map(str::trim_start).collect();
    let lines = lines_at_the_end(text);
    let begins = known.rules.iter().filter(|it| !is_word(&it.says)).find_map(|rule| {
        // A short text may be the title of anything.
        let lines = if is_short(&rule.says) { &[][..] } else { &lines };
        let said = begins.iter().chain(lines).find(|it| begins_with(it, &rule.says))?;
        Some((rule.kind, *said))
    });
    let marked = || {
        let rule = known.rules.iter().find(|it| marks.contains(&it.says))?;
        Some((rule.kind, words.last_piece().unwrap_or(text)))
    };
    let (kind, said) = begins.or_else(marked)?;
    let line = said.trim_start().lines().next().unwrap_or_default();
    Some((cause(kind, None, said, known.at), one_line(line, MESSAGE_BYTES_MAX)))
}

/// The lines of the last paragraph, each with everything after it.
fn lines_at_the_end(text: &str) -> Vec<&str> {
    let text = text.trim_end();
    let starts = text.rmatch_indices('\n').map(|it| it.0 + 1).chain([0]);
    let lines = starts.map(|it| &text[it..]);
    let mut lines: Vec<&str> = lines
        .take_while(|it| it.lines().next().is_some_and(|line| !line.trim().is_empty()))
        .map(str::trim_start)
        .collect();
    lines.reverse();
    lines
}

/// Whether a text starts as a rule says, rather than with a sentence that has the same words.
///
/// A rule with a colon or a number is specific enough; after any other rule there must be
/// punctuation or a status.
fn begins_with(text: &str, says: &str) -> bool {
    let Some(rest) = text.strip_prefix(says) else { return false };
    let is_ended = says.trim_end().ends_with(|it: char| !it.is_alphanumeric());
    if is_ended {
        return true;
    }
    let is_cut_off = rest.starts_with(char::is_alphanumeric) && !says.ends_with(' ');
    if says.contains(|it: char| it == ':' || it.is_ascii_digit()) {
        return !is_cut_off;
    }
    let line = rest.lines().next().unwrap_or_default().trim_start();
    let status = line.trim_start_matches(['\'', '"']).get(..3).and_then(|it| it.parse().ok());
    !is_cut_off
        && (line.is_empty()
            || line.starts_with([':', '.', ';', '(', '[', '{', '|', '·'])
            || status.and_then(kind_of_status).is_some())
}

fn is_short(says: &str) -> bool {
    says.split_whitespace().count() <= 2
        && says.chars().all(|it| it.is_alphanumeric() || it.is_whitespace())
}

/// One word or a number, which any line may start with.
fn is_word(says: &str) -> bool {
    says.chars().all(|it| it.is_alphanumeric() || "_-".contains(it))
}

#[cfg(test)]
mod tests;
