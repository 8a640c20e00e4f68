//! Reads and changes files.

use super::{Arguments, Outcome, RESULT_BYTES_MAX, store::Stored};
use crate::{
    session::Session,
    wire::{Change, ToolKind},
};
use pitcrew_model::{limits, text};
use serde_json::json;

pub(super) async fn read(session: &Session, arguments: Arguments<'_>) -> Result<Outcome, String> {
    let stored = Stored::at(session, arguments.text("path")?)?;
    let first = arguments.number("first_line")?.unwrap_or(1);
    let count = arguments.number("lines_count")?;
    let (title, input) = (format!("read {}", stored.shown), json!({ "path": stored.file }));
    let doing = session.reporter.begin(ToolKind::Read, &title, Some(&stored.file), input);
    let found = stored.lines(first, count).await;
    let missing = || "there is no such file; correct the path, or use `list_files`".to_owned();
    Ok(match found.and_then(|it| it.ok_or_else(missing)) {
        Ok(text) => {
            let is_part = stored.gives_parts();
            let shown = if is_part {
                lines(&text, 1, u64::MAX)
            } else {
                lines(&text, first, count.unwrap_or(u64::MAX))
            };
            session.reporter.done(&doing, text::cut(&shown, limits::OUTPUT_TAIL_BYTES));
            Outcome::done(shown)
        }
        Err(reason) => {
            session.reporter.failed(&doing, &reason);
            Outcome::failed(&reason)
        }
    })
}

pub(super) async fn write(session: &Session, arguments: Arguments<'_>) -> Result<Outcome, String> {
    let stored = Stored::at(session, arguments.text("path")?)?;
    let content = arguments.text("content")?;
    stored.check_changeable()?;
    Ok(change(session, "write", &stored, |_| Ok(content.to_owned())).await)
}

pub(super) async fn edit(session: &Session, arguments: Arguments<'_>) -> Result<Outcome, String> {
    let stored = Stored::at(session, arguments.text("path")?)?;
    let (old, new) = (arguments.text("old_text")?, arguments.text("new_text")?);
    stored.check_changeable()?;
    let make = |before: Option<&str>| {
        let before =
            before.ok_or("there is no such file; use `write_file`, or correct the path")?;
        replaced(before, old, new)
    };
    Ok(change(session, "edit", &stored, make).await)
}

/// Computes a file's new text from the old one and writes it.
async fn change(
    session: &Session,
    word: &str,
    stored: &Stored<'_>,
    make: impl FnOnce(Option<&str>) -> Result<String, String>,
) -> Outcome {
    let (title, input) = (format!("{word} {}", stored.shown), json!({ "path": stored.file }));
    let doing = session.reporter.begin(ToolKind::Edit, &title, Some(&stored.file), input);
    let changed = async {
        let old = stored.text().await?;
        let new = make(old.as_deref())?;
        stored.put(&new).await?;
        Ok(Change { path: stored.file.clone(), old, new })
    };
    match changed.await {
        Ok(change) => {
            session.reporter.changed(&doing, change);
            Outcome::done("done")
        }
        Err(reason) => {
            let reason: String = reason;
            session.reporter.failed(&doing, &reason);
            Outcome::failed(&format!("`{title}`: {reason}"))
        }
    }
}

/// The requested lines, up to the size limit.
fn lines(whole: &str, first: u64, count: u64) -> String {
    let (mut shown, mut last) = (String::new(), first.saturating_sub(1));
    let skip = usize::try_from(first - 1).unwrap_or(usize::MAX);
    let take = usize::try_from(count).unwrap_or(usize::MAX);
    for line in whole.split_inclusive('\n').skip(skip).take(take) {
        if !shown.is_empty() && shown.len() + line.len() > RESULT_BYTES_MAX {
            break;
        }
        shown.push_str(text::cut(line, RESULT_BYTES_MAX));
        last += 1;
    }
    let lines_count = whole.lines().count() as u64;
    if shown.is_empty() {
        return format!("[the file has only {lines_count} lines]");
    }
    if first > 1 || last < lines_count {
        let gap = if shown.ends_with('\n') { "" } else { "\n" };
        shown = format!("{shown}{gap}[lines {first} to {last} of {lines_count}]\n");
    }
    shown
}

fn replaced(before: &str, old: &str, new: &str) -> Result<String, String> {
    if old.is_empty() {
        return Err("`old_text` is empty; use `write_file` for a new file".to_owned());
    }
    match before.match_indices(old).count() {
        1 => Ok(before.replacen(old, new, 1)),
        0 => Err("`old_text` is not in the file; read the file again and copy the text \
             exactly"
            .to_owned()),
        count => Err(format!("`old_text` occurs {count} times in the file; add surrounding lines")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_the_requested_lines() {
        let whole = "one\ntwo\nthree";
        assert_eq!(lines(whole, 1, u64::MAX), whole);
        assert_eq!(lines(whole, 2, 1), "two\n[lines 2 to 2 of 3]\n");
        assert_eq!(lines(whole, 3, 9), "three\n[lines 3 to 3 of 3]\n");
        assert_eq!(lines(whole, 4, 1), "[the file has only 3 lines]");
        assert_eq!(lines("", 1, u64::MAX), "[the file has only 0 lines]");
        assert_eq!(lines(whole, u64::MAX, u64::MAX), "[the file has only 3 lines]");
        let long = "0123456789\n".repeat(100_000);
        let shown = lines(&long, 1, u64::MAX);
        assert!(shown.len() < RESULT_BYTES_MAX + 100, "{}", shown.len());
        assert!(shown.ends_with("of 100000]\n"), "{}", text::tail(&shown, 100));
        let wide = "x".repeat(1_000_000);
        assert!(lines(&wide, 1, u64::MAX).len() < RESULT_BYTES_MAX + 100);
    }

    #[test]
    fn a_text_is_replaced_only_if_it_occurs_once() {
        assert_eq!(replaced("a b\n", "b", "c").as_deref(), Ok("a c\n"));
        assert_eq!(replaced("a\nb\n", "a\n", "").as_deref(), Ok("b\n"));
        assert!(replaced("a a\n", "a", "c").unwrap_err().contains("2 times"));
        assert!(replaced("a\n", "b", "c").unwrap_err().contains("is not in the file"));
        assert!(replaced("a\n", "", "c").unwrap_err().contains("empty"));
    }
}
