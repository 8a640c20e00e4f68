//! Parses a script line by line.

use super::{Action, Condition, ExpectedResult, Script, ScriptError, Step};
use pitcrew_model::RepoPath;
use serde_json::{Map, Value};
use std::{iter::Enumerate, str::Lines, time::Duration};

const STEPS: &str = "read, write, append, edit, delete, run, ask, permit, tool, refused, expect, keep, save, sleep, pause, say, complete, partial, fail, exit";

pub(super) fn parse(text: &str) -> Result<Script, ScriptError> {
    let mut reader = Reader { lines: text.lines().enumerate() };
    let mut steps = Vec::new();
    while let Some((index, line)) = reader.lines.next() {
        let line = line.trim();
        if !line.is_empty() && !line.starts_with('#') {
            steps.push(reader.step(index + 1, line)?);
        }
    }
    if steps.is_empty() {
        return Err(mistake(1, "the script has no steps", "write at least `complete SUMMARY`"));
    }
    Ok(Script { steps })
}

struct Reader<'a> {
    lines: Enumerate<Lines<'a>>,
}

fn mistake(line: usize, reason: impl Into<String>, remedy: impl Into<String>) -> ScriptError {
    ScriptError { line, reason: reason.into(), remedy: remedy.into() }
}

/// A text and its line number.
type At<'a> = (usize, &'a str);

impl<'a> Reader<'a> {
    fn step(&mut self, line: usize, text: &str) -> Result<Step, ScriptError> {
        let (word, rest) = split_word(text);
        let (condition, word, rest) = match word {
            "when" | "unless" => {
                let remedy = format!("write `{word} \"TEXT\" STEP`");
                let Some((needle, rest)) = quoted(rest).filter(|(it, _)| !it.is_empty()) else {
                    return Err(mistake(line, format!("`{word}` needs a text in quotes"), remedy));
                };
                let make = if word == "when" { Condition::When } else { Condition::Unless };
                let (next, rest) = split_word(rest);
                if next.is_empty() {
                    return Err(mistake(
                        line,
                        format!("`{word}` needs a step after its text"),
                        remedy,
                    ));
                }
                (make(needle.to_owned()), next, rest)
            }
            _ => (Condition::Always, word, rest),
        };
        let action = self.action(line, word, rest)?;
        Ok(Step { line, condition, action })
    }

    fn action(&mut self, line: usize, word: &str, rest: &str) -> Result<Action, ScriptError> {
        Ok(match word {
            "read" => Action::Read { path: only_path(line, word, rest)? },
            "delete" => Action::Delete { path: only_path(line, word, rest)? },
            "write" => {
                let (path, text) = self.path_and_body(line, word, rest)?;
                Action::Write { path, text }
            }
            "append" => {
                let (path, text) = self.path_and_body(line, word, rest)?;
                Action::Append { path, text }
            }
            "edit" => self.edit(line, rest)?,
            "run" => Action::Run { command: self.text(line, word, rest)? },
            "ask" => Action::Ask { question: self.text(line, word, rest)? },
            "tool" => self.tool(line, word, rest, ExpectedResult::Answer)?,
            "refused" => self.tool(line, word, rest, ExpectedResult::Refusal)?,
            "expect" => Action::Expect { text: self.text(line, word, rest)? },
            "keep" => keep(line, rest)?,
            "save" => Action::Save { path: only_path(line, word, rest)? },
            "permit" => Action::Permit { title: self.text(line, word, rest)? },
            "pause" if rest.is_empty() => Action::Pause,
            "say" => Action::Say { text: self.text(line, word, rest)? },
            "complete" => Action::Complete { summary: self.text(line, word, rest)? },
            "partial" => Action::Partial { summary: self.text(line, word, rest)? },
            "fail" => Action::Fail { reason: self.text(line, word, rest)? },
            "sleep" => Action::Sleep { duration: duration(line, rest)? },
            "exit" => Action::Exit { code: exit_code(line, rest)? },
            _ => {
                let reason = format!("there is no step `{word}`");
                return Err(mistake(line, reason, format!("the steps are: {STEPS}")));
            }
        })
    }

    /// The rest of the line, or a body.
    fn text(&mut self, line: usize, word: &str, rest: &str) -> Result<String, ScriptError> {
        let text = match rest.strip_prefix("<<") {
            Some(end) => self.body(line, &body_word(line, end)?)?.trim_end().to_owned(),
            None => rest.to_owned(),
        };
        if text.is_empty() {
            let reason = format!("`{word}` needs a text");
            return Err(mistake(line, reason, format!("write `{word} TEXT` or `{word} <<END`")));
        }
        Ok(text)
    }

    fn tool(
        &mut self,
        line: usize,
        word: &str,
        rest: &str,
        wanted: ExpectedResult,
    ) -> Result<Action, ScriptError> {
        let remedy = format!("write `{word} NAME {{...}}`, such as `{word} a2a_list_agents {{}}`");
        let (name, rest) = split_word(rest);
        if name.is_empty() || name.starts_with(['{', '<']) {
            return Err(mistake(line, format!("`{word}` needs the name of a tool"), remedy));
        }
        let text = if rest.is_empty() { "{}".to_owned() } else { self.text(line, word, rest)? };
        let arguments: Map<String, Value> = serde_json::from_str(&text).map_err(|error| {
            mistake(
                line,
                format!("the arguments of `{name}` are not a JSON object: {error}"),
                remedy,
            )
        })?;
        Ok(Action::Tool { name: name.to_owned(), arguments, wanted })
    }

    fn path_and_body(
        &mut self,
        line: usize,
        word: &str,
        rest: &str,
    ) -> Result<(String, String), ScriptError> {
        let (path, rest) = leading_path(line, word, rest)?;
        let Some(end) = rest.strip_prefix("<<") else {
            let reason = format!("`{word}` needs a body");
            let remedy = format!(
                "write `{word} PATH <<END`, the lines, and then `END` on a line of its own"
            );
            return Err(mistake(line, reason, remedy));
        };
        Ok((path, self.body(line, &body_word(line, end)?)?))
    }

    fn edit(&mut self, line: usize, rest: &str) -> Result<Action, ScriptError> {
        let remedy = "write `edit PATH <<OLD`, the old lines, `OLD`, `<<NEW`, the new lines, `NEW`";
        let (path, rest) = leading_path(line, "edit", rest)?;
        let Some(words) = rest.strip_prefix("<<") else {
            return Err(mistake(line, "`edit` needs the text to replace", remedy));
        };
        // Both words on the first line, as in a shell, or one after the other.
        let (old_word, new_word) = match words.split_once("<<") {
            Some((old, new)) => (body_word(line, old)?, Some(body_word(line, new)?)),
            None => (body_word(line, words)?, None),
        };
        let (old, after) = self.body_and_rest(line, &old_word)?;
        if old.trim().is_empty() {
            return Err(mistake(line, "the text to replace is empty", remedy));
        }
        let new_word = match new_word {
            Some(word) => word,
            None => self.later_word(after, remedy)?,
        };
        let new = self.body(line, &new_word)?;
        Ok(Action::Edit { path, old, new })
    }

    /// The end marker of a second body, which starts on the closing line of the first or on the
    /// next one.
    fn later_word(&mut self, after: At<'a>, remedy: &str) -> Result<String, ScriptError> {
        let (line, text) = match after {
            (line, "") => self.lines.next().map_or((line, ""), |(it, text)| (it + 1, text)),
            after => after,
        };
        match text.trim().strip_prefix("<<") {
            Some(word) => body_word(line, word),
            None => Err(mistake(line, "the new text is missing", remedy)),
        }
    }

    /// The lines up to the end marker, each with its line feed.
    fn body(&mut self, line: usize, word: &str) -> Result<String, ScriptError> {
        match self.body_and_rest(line, word)? {
            (body, (_, "")) => Ok(body),
            (_, (at, rest)) => {
                let reason = format!("`{word}` is followed by `{rest}`");
                Err(mistake(at, reason, format!("write `{word}` on a line of its own")))
            }
        }
    }

    /// Also returns the text after the end marker: nothing, or the start of another body.
    fn body_and_rest(&mut self, line: usize, word: &str) -> Result<(String, At<'a>), ScriptError> {
        let mut body = String::new();
        for (index, next) in self.lines.by_ref() {
            let rest = next.trim().strip_prefix(word).map(str::trim);
            if let Some(rest) = rest.filter(|it| it.is_empty() || it.starts_with("<<")) {
                return Ok((body, (index + 1, rest)));
            }
            body.push_str(next);
            body.push('\n');
        }
        let reason = format!("the body of `<<{word}` is not closed");
        Err(mistake(line, reason, format!("write `{word}` on a line of its own after it")))
    }
}

fn body_word(line: usize, text: &str) -> Result<String, ScriptError> {
    let word = text.trim();
    let is_word = |it: char| it.is_alphanumeric() || it == '_' || it == '-';
    if word.is_empty() || !word.chars().all(is_word) {
        let reason = format!("`<<{word}` is not a valid end marker");
        return Err(mistake(line, reason, "write one word after `<<`, such as `<<END`"));
    }
    Ok(word.to_owned())
}

fn only_path(line: usize, word: &str, rest: &str) -> Result<String, ScriptError> {
    let (path, rest) = leading_path(line, word, rest)?;
    if rest.is_empty() {
        return Ok(path);
    }
    let reason = format!("`{word} {path}` is followed by `{rest}`");
    Err(mistake(line, reason, "put a path with spaces in double quotes"))
}

fn leading_path<'a>(
    line: usize,
    word: &str,
    rest: &'a str,
) -> Result<(String, &'a str), ScriptError> {
    let (path, rest) = quoted(rest).unwrap_or_else(|| split_word(rest));
    if path.is_empty() || path.starts_with("<<") {
        let reason = format!("`{word}` needs a path");
        return Err(mistake(
            line,
            reason,
            format!("write `{word} PATH`, such as `{word} src/a.txt`"),
        ));
    }
    match RepoPath::parse(path) {
        Ok(parsed) if !parsed.is_root() => Ok((parsed.as_str().to_owned(), rest)),
        Ok(_) => Err(mistake(line, format!("`{path}` is the folder itself"), "name a path in it")),
        Err(error) => {
            let remedy = "write a path inside the session's folder, or use `run` for anything else";
            Err(mistake(line, format!("`{path}` cannot be used: {error}"), remedy))
        }
    }
}

fn split_word(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    match text.split_once(char::is_whitespace) {
        Some((word, rest)) => (word, rest.trim()),
        None => (text, ""),
    }
}

/// A quoted text, and the text after it.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let (inside, rest) = text.trim_start().strip_prefix('"')?.split_once('"')?;
    Some((inside, rest.trim()))
}

fn keep(line: usize, rest: &str) -> Result<Action, ScriptError> {
    let remedy = "write `keep NAME` or `keep NAME /POINTER`, such as `keep id /subtasks/0/id`";
    let (name, pointer) = split_word(rest);
    let is_word = |it: char| it.is_ascii_alphanumeric() || it == '_';
    if name.is_empty() || !name.chars().all(is_word) {
        return Err(mistake(line, "`keep` needs a name of letters, digits and `_`", remedy));
    }
    if !pointer.is_empty() && !pointer.starts_with('/') {
        return Err(mistake(line, format!("`{pointer}` is not a JSON pointer"), remedy));
    }
    Ok(Action::Keep { name: name.to_owned(), pointer: pointer.to_owned() })
}

fn duration(line: usize, text: &str) -> Result<Duration, ScriptError> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let factor = match unit.trim() {
        "ms" => Some(1),
        "s" => Some(1_000),
        "m" => Some(60_000),
        _ => None,
    };
    let milliseconds = number.parse::<u64>().ok().zip(factor).and_then(|(a, b)| a.checked_mul(b));
    milliseconds.map(Duration::from_millis).ok_or_else(|| {
        mistake(line, format!("`{text}` is not a duration"), "write it like `200ms`, `2s` or `1m`")
    })
}

fn exit_code(line: usize, text: &str) -> Result<i32, ScriptError> {
    text.parse::<u8>().map(i32::from).map_err(|_| {
        mistake(line, format!("`{text}` is not an exit code"), "write a number from 0 to 255")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn parses_every_step() {
        let script = Script::parse(
            "# a comment\n\n  read src/a.rs\nwrite \"b c.txt\" <<END\none\n  two\nEND\nappend d <<X\nX\nedit e <<OLD\na\nOLD\n<<NEW\nb\nNEW\nedit f <<OLD <<NEW\na\nOLD\nb\nNEW\nedit h <<OLD\na\nOLD <<NEW\nb\nNEW\ndelete g\nrun make test\nrun <<END\ncd x\nmake\nEND\nask which port?\npermit deploy it\ntool a2a_list_agents\nrefused t {\"a\": 1}\ntool t <<END\n{\"b\":\n2}\nEND\nexpect two words\nkeep id /a/0\nkeep all\nsave out.txt\nsleep 200ms\nsay hello there\nwhen \"the check\" fail no\nunless \"x y\" partial some\ncomplete all of it\nexit 3",
        );
        let steps = script.expect("a script").steps;
        let lines: Vec<String> = steps
            .iter()
            .map(|it| format!("{} {:?} {:?}\n", it.line, it.condition, it.action))
            .collect();
        expect![[r#"
            3 Always Read { path: "src/a.rs" }
            4 Always Write { path: "b c.txt", text: "one\n  two\n" }
            8 Always Append { path: "d", text: "" }
            10 Always Edit { path: "e", old: "a\n", new: "b\n" }
            16 Always Edit { path: "f", old: "a\n", new: "b\n" }
            21 Always Edit { path: "h", old: "a\n", new: "b\n" }
            26 Always Delete { path: "g" }
            27 Always Run { command: "make test" }
            28 Always Run { command: "cd x\nmake" }
            32 Always Ask { question: "which port?" }
            33 Always Permit { title: "deploy it" }
            34 Always Tool { name: "a2a_list_agents", arguments: {}, wanted: Answer }
            35 Always Tool { name: "t", arguments: {"a": Number(1)}, wanted: Refusal }
            36 Always Tool { name: "t", arguments: {"b": Number(2)}, wanted: Answer }
            40 Always Expect { text: "two words" }
            41 Always Keep { name: "id", pointer: "/a/0" }
            42 Always Keep { name: "all", pointer: "" }
            43 Always Save { path: "out.txt" }
            44 Always Sleep { duration: 200ms }
            45 Always Say { text: "hello there" }
            46 When("the check") Fail { reason: "no" }
            47 Unless("x y") Partial { summary: "some" }
            48 Always Complete { summary: "all of it" }
            49 Always Exit { code: 3 }
        "#]]
        .assert_eq(&lines.concat());
    }

    #[test]
    fn a_mistake_has_line_reason_and_fix() {
        let scripts = [
            "",
            "say hi\nfly away",
            "write a.txt",
            "write a.txt <<END\nx",
            "write ../a <<END\nEND",
            "write a <<END\nEND <<MORE",
            "write a << b c",
            "read .git/config",
            "read a b",
            "read",
            "edit a <<OLD\nx\nOLD\nsay hi",
            "edit a <<OLD\nOLD\n<<NEW\nNEW",
            "say",
            "sleep long",
            "exit 300",
            "tool",
            "tool {}",
            "tool t [1]",
            "tool t {",
            "keep",
            "keep a-b",
            "keep a b",
            "save ../x",
            "expect",
            "when x say y",
            "when \"x\"",
        ];
        let mistakes = scripts.map(|it| format!("{}\n", Script::parse(it).expect_err(it)));
        expect![[r#"
            line 1: the script has no steps; write at least `complete SUMMARY`
            line 2: there is no step `fly`; the steps are: read, write, append, edit, delete, run, ask, permit, tool, refused, expect, keep, save, sleep, pause, say, complete, partial, fail, exit
            line 1: `write` needs a body; write `write PATH <<END`, the lines, and then `END` on a line of its own
            line 1: the body of `<<END` is not closed; write `END` on a line of its own after it
            line 1: `../a` cannot be used: it leaves the repository; write a path inside the session's folder, or use `run` for anything else
            line 2: `END` is followed by `<<MORE`; write `END` on a line of its own
            line 1: `<<b c` is not a valid end marker; write one word after `<<`, such as `<<END`
            line 1: `.git/config` cannot be used: it is inside `.git`; write a path inside the session's folder, or use `run` for anything else
            line 1: `read a` is followed by `b`; put a path with spaces in double quotes
            line 1: `read` needs a path; write `read PATH`, such as `read src/a.txt`
            line 4: the new text is missing; write `edit PATH <<OLD`, the old lines, `OLD`, `<<NEW`, the new lines, `NEW`
            line 1: the text to replace is empty; write `edit PATH <<OLD`, the old lines, `OLD`, `<<NEW`, the new lines, `NEW`
            line 1: `say` needs a text; write `say TEXT` or `say <<END`
            line 1: `long` is not a duration; write it like `200ms`, `2s` or `1m`
            line 1: `300` is not an exit code; write a number from 0 to 255
            line 1: `tool` needs the name of a tool; write `tool NAME {...}`, such as `tool a2a_list_agents {}`
            line 1: `tool` needs the name of a tool; write `tool NAME {...}`, such as `tool a2a_list_agents {}`
            line 1: the arguments of `t` are not a JSON object: invalid type: sequence, expected a map at line 1 column 0; write `tool NAME {...}`, such as `tool a2a_list_agents {}`
            line 1: the arguments of `t` are not a JSON object: EOF while parsing an object at line 1 column 1; write `tool NAME {...}`, such as `tool a2a_list_agents {}`
            line 1: `keep` needs a name of letters, digits and `_`; write `keep NAME` or `keep NAME /POINTER`, such as `keep id /subtasks/0/id`
            line 1: `keep` needs a name of letters, digits and `_`; write `keep NAME` or `keep NAME /POINTER`, such as `keep id /subtasks/0/id`
            line 1: `b` is not a JSON pointer; write `keep NAME` or `keep NAME /POINTER`, such as `keep id /subtasks/0/id`
            line 1: `../x` cannot be used: it leaves the repository; write a path inside the session's folder, or use `run` for anything else
            line 1: `expect` needs a text; write `expect TEXT` or `expect <<END`
            line 1: `when` needs a text in quotes; write `when "TEXT" STEP`
            line 1: `when` needs a step after its text; write `when "TEXT" STEP`
        "#]].assert_eq(&mistakes.concat());
    }

    /// In the plan reference and in the README of this crate.
    #[test]
    fn every_step_is_documented() {
        let plans = include_str!("../../../../docs/plan-file.md");
        let readme = include_str!("../../README.md");
        for step in STEPS.split(", ").chain(["when", "unless"]) {
            for (place, text) in [("plan-file.md", plans), ("README.md", readme)] {
                let rows =
                    text.lines().filter(|it| it.starts_with("| `") || it.starts_with("`when"));
                let has =
                    |it: &str| [' ', '`'].iter().any(|end| it.contains(&format!("`{step}{end}")));
                assert!(rows.clone().any(has), "{step} is not in {place}");
            }
        }
    }

    #[test]
    fn conditions_check_the_prompt() {
        assert!(Condition::When("red".into()).holds("it is red"));
        assert!(!Condition::Unless("red".into()).holds("it is red"));
        assert!(Condition::Always.holds(""));
    }
}
