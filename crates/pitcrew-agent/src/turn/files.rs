//! Steps on files. Every failure contains the reason and the fix.

use crate::{
    session::Session,
    wire::{Change, ToolKind},
};
use pitcrew_model::{limits, text};
use pitcrew_process::remove_tree;
use serde_json::json;
use std::{
    fs, io,
    path::{Path, PathBuf},
};

pub(super) fn read(session: &Session, path: &str) -> Result<(), String> {
    let file = session.cwd.join(path);
    let doing = session.reporter.begin(
        ToolKind::Read,
        &format!("read {path}"),
        Some(&file),
        json!({ "path": file }),
    );
    match fs::read(&file) {
        Ok(bytes) => {
            let text = String::from_utf8_lossy(&bytes);
            session.reporter.done(&doing, text::cut(&text, limits::OUTPUT_TAIL_BYTES));
            Ok(())
        }
        Err(error) => {
            let reason = with_help(&error, "write the file first, or correct the path");
            session.reporter.failed(&doing, &reason);
            Err(format!("`read {path}`: {reason}"))
        }
    }
}

pub(super) fn write(session: &Session, path: &str, text: &str) -> Result<(), String> {
    change(session, "write", path, |_| Ok(text.to_owned()))
}

pub(super) fn append(session: &Session, path: &str, text: &str) -> Result<(), String> {
    change(session, "append", path, |old| Ok(old.unwrap_or_default().to_owned() + text))
}

pub(super) fn edit(session: &Session, path: &str, old: &str, new: &str) -> Result<(), String> {
    change(session, "edit", path, |before| {
        let before = before.ok_or("there is no such file; write it first, or correct the path")?;
        replaced(before, old, new)
    })
}

pub(super) fn delete(session: &Session, path: &str) -> Result<(), String> {
    let file = session.cwd.join(path);
    let doing = session.reporter.begin(
        ToolKind::Delete,
        &format!("delete {path}"),
        Some(&file),
        json!({ "path": file }),
    );
    let is_folder = fs::symlink_metadata(&file).is_ok_and(|it| it.is_dir());
    let deleted = if is_folder { remove_tree(&file) } else { fs::remove_file(&file) };
    match deleted {
        Ok(()) => {
            session.reporter.done(&doing, "");
            Ok(())
        }
        Err(error) => {
            let reason = with_help(&error, "correct the path");
            session.reporter.failed(&doing, &reason);
            Err(format!("`delete {path}`: {reason}"))
        }
    }
}

/// Computes a file's new text from the old one and writes it.
fn change(
    session: &Session,
    word: &str,
    path: &str,
    make: impl FnOnce(Option<&str>) -> Result<String, String>,
) -> Result<(), String> {
    let file = session.cwd.join(path);
    let doing = session.reporter.begin(
        ToolKind::Edit,
        &format!("{word} {path}"),
        Some(&file),
        json!({ "path": file }),
    );
    match changed(&file, make) {
        Ok(change) => {
            session.reporter.changed(&doing, change);
            Ok(())
        }
        Err(reason) => {
            session.reporter.failed(&doing, &reason);
            Err(format!("`{word} {path}`: {reason}"))
        }
    }
}

fn changed(
    file: &Path,
    make: impl FnOnce(Option<&str>) -> Result<String, String>,
) -> Result<Change, String> {
    let old = match fs::read_to_string(file) {
        Ok(old) => Some(old),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(with_help(&error, "only a text file can be changed; use `run`")),
    };
    let new = make(old.as_deref())?;
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)
            .map_err(|error| with_help(&error, "a file exists in place of its folder"))?;
    }
    fs::write(file, &new).map_err(|error| with_help(&error, "check what exists at this path"))?;
    Ok(Change { path: PathBuf::from(file), old, new })
}

/// Replaces a text that occurs exactly once: as whole lines if possible, else as a part of a line,
/// ignoring the last line feed of both texts.
fn replaced(before: &str, old: &str, new: &str) -> Result<String, String> {
    let lines = |(at, _): &(usize, &str)| *at == 0 || before.as_bytes()[at - 1] == b'\n';
    let mut found: Vec<(usize, &str)> = before.match_indices(old).filter(lines).collect();
    let mut new = new;
    if found.is_empty() {
        found = before.match_indices(old.strip_suffix('\n').unwrap_or(old)).collect();
        new = new.strip_suffix('\n').unwrap_or(new);
    }
    match found.as_slice() {
        [(at, text)] => Ok(format!("{}{new}{}", &before[..*at], &before[at + text.len()..])),
        [] => Err("the text to replace is not in the file; it must match exactly".to_owned()),
        more => Err(format!(
            "the text to replace occurs {} times in the file; add lines around it",
            more.len()
        )),
    }
}

fn with_help(error: &io::Error, remedy: &str) -> String {
    format!("{error}; {remedy}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_occurs_once_is_replaced() {
        assert_eq!(replaced("a\nb\nc\n", "b\n", "x\ny\n").as_deref(), Ok("a\nx\ny\nc\n"));
        assert_eq!(replaced("a\nb", "b\n", "x\n").as_deref(), Ok("a\nx"));
        assert_eq!(replaced("a\nb\n", "b\n", "").as_deref(), Ok("a\n"));
        assert_eq!(replaced("ab\nb\n", "b\n", "x\n").as_deref(), Ok("ab\nx\n"));
        assert_eq!(replaced("f(1, 2);\n", "1, 2\n", "3\n").as_deref(), Ok("f(3);\n"));
        assert!(replaced("a\na\n", "a\n", "x\n").unwrap_err().contains("2 times"));
        assert!(replaced("f(1, 1)\n", "1\n", "x\n").unwrap_err().contains("2 times"));
        assert!(replaced("a\n", " a\n", "x\n").unwrap_err().contains("is not in the file"));
    }
}
