//! Reading and changing files.

use super::{Arguments, Outcome, RESULT_BYTES_MAX, border};
use crate::{
    session::Session,
    turn::files::{change, told},
    wire::ToolKind,
};
use pitcrew_model::{limits, text};
use serde_json::json;
use std::{fs, io, path::Path};

/// Larger files are for other tools.
const FILE_BYTES_MAX: u64 = 8 * 1_024 * 1_024;

pub(super) fn read(session: &Session, arguments: Arguments<'_>) -> Result<Outcome, String> {
    let path = border::inside(&session.cwd, arguments.text("path")?)?;
    let first = arguments.number("first_line")?.unwrap_or(1);
    let count = arguments.number("lines_count")?.unwrap_or(u64::MAX);
    let file = session.cwd.join(&path);
    let title = format!("read {path}");
    let input = json!({ "path": file });
    let doing = session.teller.begin(ToolKind::Read, &title, Some(&file), input);
    Ok(match text_of(&file) {
        Ok(whole) => {
            let shown = lines(&whole, first, count);
            session.teller.done(&doing, text::cut(&shown, limits::OUTPUT_TAIL_BYTES));
            Outcome::done(shown)
        }
        Err(reason) => {
            session.teller.failed(&doing, &reason);
            Outcome::failed(&reason)
        }
    })
}

pub(super) fn write(session: &Session, arguments: Arguments<'_>) -> Result<Outcome, String> {
    let path = border::inside(&session.cwd, arguments.text("path")?)?;
    let content = arguments.text("content")?;
    check_changeable(&session.cwd.join(&path))?;
    Ok(changed(change(session, "write", &path, |_| Ok(content.to_owned()))))
}

pub(super) fn edit(session: &Session, arguments: Arguments<'_>) -> Result<Outcome, String> {
    let path = border::inside(&session.cwd, arguments.text("path")?)?;
    let (old, new) = (arguments.text("old_text")?, arguments.text("new_text")?);
    check_changeable(&session.cwd.join(&path))?;
    Ok(changed(change(session, "edit", &path, |before| {
        let before =
            before.ok_or("there is no such file; use `write_file`, or correct the path")?;
        replaced(before, old, new)
    })))
}

fn changed(result: Result<(), String>) -> Outcome {
    match result {
        Ok(()) => Outcome::done("done"),
        Err(reason) => Outcome::failed(&reason),
    }
}

/// A pipe would be waited for, and a huge file be read whole.
fn check_changeable(file: &Path) -> Result<(), String> {
    match fs::metadata(file) {
        Ok(about) if !about.is_file() => Err("the path is there, and is no file".to_owned()),
        Ok(about) if about.len() > FILE_BYTES_MAX => {
            Err(format!("the file has {} bytes; use `run_command`", about.len()))
        }
        Ok(_) | Err(_) => Ok(()),
    }
}

fn text_of(file: &Path) -> Result<String, String> {
    let failed = |error: &io::Error| told(error, "correct the path, or use `list_files`");
    let about = fs::metadata(file).map_err(|it| failed(&it))?;
    if !about.is_file() {
        return Err("it is no file; use `list_files`".to_owned());
    }
    if about.len() > FILE_BYTES_MAX {
        return Err(format!("it has {} bytes; use `search` or `run_command`", about.len()));
    }
    let bytes = fs::read(file).map_err(|it| failed(&it))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The lines that were asked for, as many as there is room for.
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
        return format!("[nothing: the file has {lines_count} lines]");
    }
    if first > 1 || last < lines_count {
        let gap = if shown.ends_with('\n') { "" } else { "\n" };
        shown = format!("{shown}{gap}[these are lines {first} to {last} of {lines_count}]\n");
    }
    shown
}

fn replaced(before: &str, old: &str, new: &str) -> Result<String, String> {
    if old.is_empty() {
        return Err("`old_text` is empty; use `write_file` for a new file".to_owned());
    }
    match before.match_indices(old).count() {
        1 => Ok(before.replacen(old, new, 1)),
        0 => Err("`old_text` does not stand in the file; read it again, and give the text as it \
             is, to the last space"
            .to_owned()),
        count => {
            Err(format!("`old_text` stands in the file {count} times; add the lines around it"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_that_were_asked_for_are_shown() {
        let whole = "one\ntwo\nthree";
        assert_eq!(lines(whole, 1, u64::MAX), whole);
        assert_eq!(lines(whole, 2, 1), "two\n[these are lines 2 to 2 of 3]\n");
        assert_eq!(lines(whole, 3, 9), "three\n[these are lines 3 to 3 of 3]\n");
        assert_eq!(lines(whole, 4, 1), "[nothing: the file has 3 lines]");
        assert_eq!(lines("", 1, u64::MAX), "[nothing: the file has 0 lines]");
        assert_eq!(lines(whole, u64::MAX, u64::MAX), "[nothing: the file has 3 lines]");
        let long = "0123456789\n".repeat(100_000);
        let shown = lines(&long, 1, u64::MAX);
        assert!(shown.len() < RESULT_BYTES_MAX + 100, "{}", shown.len());
        assert!(shown.ends_with("of 100000]\n"), "{}", text::tail(&shown, 100));
        let wide = "x".repeat(1_000_000);
        assert!(lines(&wide, 1, u64::MAX).len() < RESULT_BYTES_MAX + 100);
    }

    #[test]
    fn a_text_is_replaced_only_where_it_stands_once() {
        assert_eq!(replaced("a b\n", "b", "c").as_deref(), Ok("a c\n"));
        assert_eq!(replaced("a\nb\n", "a\n", "").as_deref(), Ok("b\n"));
        assert!(replaced("a a\n", "a", "c").unwrap_err().contains("2 times"));
        assert!(replaced("a\n", "b", "c").unwrap_err().contains("does not stand"));
        assert!(replaced("a\n", "", "c").unwrap_err().contains("empty"));
    }
}
