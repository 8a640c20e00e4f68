//! Finds questions in a message: lines of the form `NEED: SYMBOL [from PATH]`.
//!
//! A message arrives in arbitrary chunks, so a line is parsed when it is complete. Lines in a code
//! block are examples, not questions.

use pitcrew_model::{limits, text};

const MARK: &str = "NEED:";
/// A longer line is not a question.
const LINE_BYTES_MAX: usize = 600;

/// What an agent asked for, as it wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    pub symbol: String,
    /// Where the agent expects it.
    pub from: Option<String>,
}

/// The questions of one turn.
#[derive(Debug, Default)]
pub(crate) struct Needs {
    /// The start of a line that is not complete yet.
    line: String,
    is_long: bool,
    fence: Option<Fence>,
    found: Vec<Need>,
}

/// The opening fence of a code block.
#[derive(Clone, Copy, Debug)]
struct Fence {
    mark: char,
    count: usize,
}

impl Needs {
    pub fn say(&mut self, chunk: &str) {
        for piece in chunk.split_inclusive('\n') {
            let (part, is_whole) = match piece.strip_suffix('\n') {
                Some(part) => (part, true),
                None => (piece, false),
            };
            if self.line.len() + part.len() > LINE_BYTES_MAX {
                self.is_long = true;
            }
            self.line.push_str(text::cut(part, LINE_BYTES_MAX - self.line.len()));
            if is_whole {
                self.end_line();
            }
        }
    }

    /// Ends the message, at a tool call or at the end of the turn.
    pub fn end_message(&mut self) {
        self.end_line();
        self.fence = None;
    }

    pub fn take(mut self) -> Vec<Need> {
        self.end_message();
        self.found
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        let is_long = std::mem::take(&mut self.is_long);
        let line = line.strip_suffix('\r').unwrap_or(&line);
        match (self.fence, fence(line)) {
            (None, Some((open, _))) => self.fence = Some(open),
            (Some(open), Some((close, is_bare))) => {
                if is_bare && close.mark == open.mark && close.count >= open.count {
                    self.fence = None;
                }
            }
            (Some(_), None) => {}
            (None, None) if is_long || self.found.len() == limits::NEEDS_PER_TURN_MAX => {}
            (None, None) => {
                let need = need(line).filter(|it| !self.found.contains(it));
                self.found.extend(need);
            }
        }
    }
}

/// The fence in a line, and whether the line contains nothing else.
fn fence(line: &str) -> Option<(Fence, bool)> {
    let inner = line.trim_start_matches(' ');
    let mark = inner.chars().next().filter(|it| matches!(it, '`' | '~'))?;
    let rest = inner.trim_start_matches(mark);
    let count = inner.len() - rest.len();
    let is_fence = count >= 3 && line.len() - inner.len() <= 3;
    // Three backticks and a fourth later in the line are inline code.
    let is_code = mark == '`' && rest.contains('`');
    (is_fence && !is_code).then(|| (Fence { mark, count }, rest.trim().is_empty()))
}

fn need(line: &str) -> Option<Need> {
    let words = line.strip_prefix(MARK)?.trim();
    let (symbol, from) = match words.rsplit_once(" from ") {
        Some((symbol, from)) => (bare(symbol), Some(bare(from))),
        None => (bare(words), None),
    };
    let fits = |it: &str| !it.is_empty() && it.len() <= limits::NAME_BYTES_MAX;
    let from = from.filter(|it| fits(it));
    // The placeholder from the instructions.
    let is_lesson = symbol == "NAME" && from == Some("PATH");
    (fits(symbol) && !is_lesson)
        .then(|| Need { symbol: symbol.to_owned(), from: from.map(str::to_owned) })
}

/// A name without surrounding quotes and backticks.
fn bare(text: &str) -> &str {
    let is_mark = |it: char| matches!(it, '`' | '"' | '\'' | '*');
    text.trim().trim_end_matches(['.', ',', ';']).trim_matches(is_mark).trim()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn needs(chunks: &[&str]) -> Vec<String> {
        let mut needs = Needs::default();
        for chunk in chunks {
            needs.say(chunk);
        }
        shown(needs)
    }

    fn shown(needs: Needs) -> Vec<String> {
        let show = |it: Need| format!("{}@{}", it.symbol, it.from.unwrap_or_default());
        needs.take().into_iter().map(show).collect()
    }

    /// S0-042: questions are found in an agent's text.
    #[test]
    fn a_need_line_is_a_question() {
        assert_eq!(
            needs(&["NEED: AuthValidator from core/auth.rs"]),
            ["AuthValidator@core/auth.rs"]
        );
        assert_eq!(
            needs(&["I look.\nNEED: `a::B` from `x/y.rs`.\r\nNEED: **C**\n"]),
            ["a::B@x/y.rs", "C@"]
        );
        assert_eq!(
            needs(&["NE", "ED: Auth", "Validator fr", "om co", "re\nmore"]),
            ["AuthValidator@core"]
        );
        let nothing = [
            " NEED: a",
            "- NEED: a",
            "I NEED: a",
            "need: a",
            "NEED a",
            "NEED:",
            "NEED: ``",
            "NEED: NAME from PATH",
        ];
        for line in nothing {
            assert!(needs(&[line]).is_empty(), "{line}");
        }
    }

    #[test]
    fn a_code_block_is_not_a_question() {
        assert_eq!(needs(&["```\nNEED: a\n```\nNEED: b"]), ["b@"]);
        assert_eq!(needs(&["~~~~ text\nNEED: a\n~~~\nNEED: b\n```\n~~~~~\nNEED: c"]), ["c@"]);
        assert_eq!(needs(&["```\n```not the end\nNEED: a\n"]), [""; 0]);
        assert_eq!(needs(&["```inline``` code\nNEED: a"]), ["a@"]);
        let mut needs = Needs::default();
        needs.say("```\nNEED: a\nNE");
        needs.end_message();
        needs.say("NEED: b");
        assert_eq!(shown(needs), ["b@"], "the next message starts afresh");
    }

    #[test]
    fn a_tool_call_ends_the_line() {
        let mut needs = Needs::default();
        needs.say("NEED: First");
        needs.end_message();
        needs.say("and more");
        assert_eq!(shown(needs), ["First@"]);
    }

    #[test]
    fn a_turn_has_few_and_distinct_questions() {
        let many: Vec<String> = (0..100).map(|it| format!("NEED: s{}\n", it / 2)).collect();
        assert_eq!(needs(&[&many.concat()]).len(), limits::NEEDS_PER_TURN_MAX);
        assert!(needs(&[&format!("NEED: {}", "x".repeat(10_000))]).is_empty());
        let long = format!("NEED: x from {}\n", "日".repeat(400));
        assert!(needs(&[&long]).is_empty());
    }

    proptest! {
        /// The position of chunk boundaries does not matter.
        #[test]
        fn chunks_and_the_whole_give_the_same_questions(
            lines in prop::collection::vec(
                prop_oneof![
                    Just("NEED: a from b"), Just("NEED: c"), Just("```"), Just("~~~"), Just("日本"),
                    Just(""), Just("````rust"), Just(" NEED: d"), Just("NEED: \u{1b}[0m"),
                ],
                0..12,
            ),
            cuts in prop::collection::vec(0..200_usize, 0..8),
        ) {
            let whole = lines.join("\n");
            let mut at: Vec<usize> =
                cuts.into_iter().filter(|it| whole.is_char_boundary(*it)).collect();
            at.extend([0, whole.len()]);
            at.sort_unstable();
            let pieces: Vec<&str> = at.windows(2).map(|it| &whole[it[0]..it[1]]).collect();
            prop_assert_eq!(needs(&pieces), needs(&[&whole]));
        }

        /// Only questions are kept.
        #[test]
        fn memory_is_bounded_for_any_text(chunks in prop::collection::vec(".{0,300}", 0..40)) {
            let mut needs = Needs::default();
            for chunk in &chunks {
                needs.say(chunk);
                prop_assert!(needs.line.len() <= LINE_BYTES_MAX);
            }
            let found = needs.take();
            prop_assert!(found.len() <= limits::NEEDS_PER_TURN_MAX);
            prop_assert!(found.iter().all(|it| it.symbol.len() <= limits::NAME_BYTES_MAX));
        }
    }
}
