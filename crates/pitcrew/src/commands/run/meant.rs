//! What was probably meant by a `run` that names no plan file.
//!
//! The only place that guesses: other doors to a plan use these hints too.

use crate::{exit::Exit, report::Report};
use std::{fs, path::Path};

/// Plan files that are named in a hint.
const FILES_SHOWN_MAX: usize = 3;
/// Files that are looked at.
const FILES_READ_MAX: usize = 100;
/// A larger file is no plan.
const FILE_BYTES_MAX: u64 = 1_024 * 1_024;
const FOLDERS: [&str; 2] = [".", ".pitcrew"];

/// Neither a file nor `--task` was given.
pub fn nothing() -> Report {
    Report::new(Exit::Usage, "no plan is given: pass a plan file, or `--task TEXT`")
        .help(files().unwrap_or_else(|| {
        "`pitcrew run --task \"WORDS\"` runs a single task; `pitcrew init` creates an example plan"
            .to_owned()
    }))
}

/// The file could not be read, as `report` says.
pub fn no_file(path: &Path, report: Report) -> Report {
    let text = path.to_string_lossy();
    let is_words = text.contains(' ') || !text.contains(['.', '/']);
    if path.exists() || !is_words {
        return report;
    }
    let task = format!("`pitcrew run --task {}` runs these words as a task", quoted(&text));
    match files() {
        Some(files) => report.help(format!("{task}; {files}")),
        None => report.help(task),
    }
}

/// The plan files of this folder.
fn files() -> Option<String> {
    let found = plan_files();
    let commands = found.iter().take(FILES_SHOWN_MAX);
    let commands: Vec<String> =
        commands.map(|it| format!("`pitcrew run {}`", quoted(it))).collect();
    match (&commands[..], found.len().saturating_sub(FILES_SHOWN_MAX)) {
        ([], _) => None,
        ([one], _) => Some(format!("{one} runs the plan of this folder")),
        (_, 0) => Some(format!("the plans of this folder: {}", commands.join(", "))),
        (_, more) => {
            Some(format!("the plans of this folder: {} and {more} more", commands.join(", ")))
        }
    }
}

fn plan_files() -> Vec<String> {
    let entries = FOLDERS.iter().filter_map(|it| fs::read_dir(it).ok()).flatten().flatten();
    let paths = entries.map(|it| it.path());
    let paths = paths.filter(|it| it.extension().is_some_and(|it| it == "toml"));
    let mut plans: Vec<String> = paths
        .take(FILES_READ_MAX)
        .filter(|it| is_plan(it))
        .map(|it| it.strip_prefix(".").unwrap_or(&it).display().to_string())
        .collect();
    plans.sort();
    plans
}

fn is_plan(path: &Path) -> bool {
    let is_small = fs::metadata(path).is_ok_and(|it| it.is_file() && it.len() <= FILE_BYTES_MAX);
    is_small
        && fs::read_to_string(path)
            .is_ok_and(|it| it.lines().any(|it| it.trim_start().starts_with("[[task]]")))
}

/// As a word of a shell command.
fn quoted(text: &str) -> String {
    let is_plain = |it: char| it.is_alphanumeric() || "-_./".contains(it);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.to_owned()
    } else if text.contains(['"', '$', '`', '\\', '!']) {
        format!("'{}'", text.replace('\'', "'\\''"))
    } else {
        format!("\"{text}\"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_a_shell() {
        assert_eq!(quoted("plan.toml"), "plan.toml");
        assert_eq!(quoted("add a parser"), "\"add a parser\"");
        assert_eq!(quoted("it's $5"), "'it'\\''s $5'");
    }
}
