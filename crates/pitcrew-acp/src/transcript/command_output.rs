//! The output of a running command. Every update of the agent repeats it; each line is returned
//! once.

use pitcrew_model::{limits, text};

#[derive(Default)]
pub(super) struct CommandOutput {
    /// The newest update: the whole output, or its end.
    shown: String,
    /// The bytes of `shown` that were returned.
    returned_bytes: usize,
}

/// What may still follow.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Rest {
    /// More output: an incomplete last line is left for later.
    Follows,
    Nothing,
}

impl CommandOutput {
    /// Takes the output so far and returns what is new. Empty if nothing is.
    pub fn take(&mut self, output: &str, rest: Rest) -> String {
        let mut output = text::tail(output, limits::OUTPUT_TAIL_BYTES);
        let mut before = self.shown.as_str();
        if rest == Rest::Nothing {
            // An end is often trimmed, unlike what came before it.
            (output, before) = (output.trim_end(), before.trim_end());
        }
        let start = repeated_from(before, output);
        let returned_bytes = self.returned_bytes.min(before.len()).saturating_sub(start);
        let end = match rest {
            Rest::Follows => output.rfind('\n').map_or(0, |it| it + 1),
            Rest::Nothing => output.len(),
        };
        let new = output.get(returned_bytes..end).unwrap_or_default();
        let is_torn = !before.is_empty() && start == before.len() && !new.trim().is_empty();
        let new = new.trim_matches('\n');
        let new = if is_torn { format!("[output left out]\n{new}") } else { new.to_owned() };
        self.returned_bytes = returned_bytes.max(end);
        self.shown = output.to_owned();
        new
    }

    /// What was not returned yet, of a command whose end was never reported.
    pub fn rest(&mut self) -> String {
        let output = std::mem::take(&mut self.shown);
        let rest = output.get(self.returned_bytes..).unwrap_or_default().trim().to_owned();
        self.returned_bytes = 0;
        rest
    }
}

/// Where in `before` the text starts that `output` repeats; its end if it repeats nothing.
fn repeated_from(before: &str, output: &str) -> usize {
    let starts = before.char_indices().map(|it| it.0);
    starts.into_iter().find(|it| output.starts_with(&before[*it..])).unwrap_or(before.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn returned(updates: &[&str], last: &str) -> Vec<String> {
        let mut output = CommandOutput::default();
        let mut all: Vec<String> =
            updates.iter().map(|it| output.take(it, Rest::Follows)).collect();
        all.push(output.take(last, Rest::Nothing));
        all
    }

    #[test]
    fn each_line_is_returned_once() {
        assert_eq!(returned(&["a\n", "a\nb\nc", "a\nb\ncd\n"], "a\nb\ncd"), ["a", "b", "cd", ""]);
        assert_eq!(returned(&["a", "a\nb"], "a\nb\nc"), ["", "a", "b\nc"]);
        assert_eq!(returned(&[], "all\nof it\n"), ["all\nof it"]);
        assert_eq!(returned(&["a\n"], "a\n\n\nb"), ["a", "b"]);
    }

    #[test]
    fn a_window_that_moves_repeats_nothing() {
        assert_eq!(
            returned(&["one\ntwo\n", "two\nthree\n"], "ree\nfour"),
            ["one\ntwo", "three", "four"]
        );
        assert_eq!(
            returned(&["one\ntwo\n"], "nine\nten"),
            ["one\ntwo", "[output left out]\nnine\nten"]
        );
    }

    #[test]
    fn a_killed_command_keeps_its_last_line() {
        let mut output = CommandOutput::default();
        assert_eq!(output.take("one\ntw", Rest::Follows), "one");
        assert_eq!(output.rest(), "tw");
        assert_eq!(output.rest(), "");
    }
}
