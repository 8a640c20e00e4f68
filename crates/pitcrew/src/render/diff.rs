//! Diffs and their statistics.

use super::{
    Style,
    table::{Align, Table},
    words::plural,
};
use pitcrew_api::Diff;
use pitcrew_model::is_manifest;
use pitcrew_views::plain;

/// A diff for the terminal: escaped and coloured.
pub fn diff(diff: &Diff, style: Style) -> String {
    let text = plain::block(&diff.text);
    let line = |line: &str| match line.as_bytes() {
        [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] | [b'd', ..] => style.bold(line),
        [b'+', ..] => style.green(line),
        [b'-', ..] => style.red(line),
        [b'@', ..] => style.cyan(line),
        _ => line.to_owned(),
    };
    text.lines().map(|it| line(it) + "\n").collect()
}

/// The changed files with their counts. Files that execute or instruct are marked.
pub fn stat(diff: &Diff, style: Style) -> Vec<String> {
    let mut table = Table::new(&[Align::Left, Align::Left, Align::Right, Align::Right]);
    for file in &diff.files {
        let count = |count: Option<u64>, sign: char| match count {
            Some(count) => format!("{sign}{count}"),
            None => "binary".to_owned(),
        };
        let removed = file.deletions.map(|it| style.red(&count(Some(it), '-')));
        let mark = if is_manifest(&file.path) { "!" } else { "" };
        table.row([
            format!("{}{mark}", file.change),
            plain::line(&file.path),
            style.green(&count(file.insertions, '+')),
            removed.unwrap_or_default(),
        ]);
    }
    let mut lines = table.lines("  ");
    let more = diff.files_count.saturating_sub(diff.files.len() as u64);
    if more > 0 {
        lines.push(format!("  and {more} more"));
    }
    let files = plural(diff.files_count, "file");
    lines.push(format!("  {files}, +{} -{}", diff.insertions, diff.deletions));
    if diff.files.iter().any(|it| is_manifest(&it.path)) {
        lines.push("  ! executed by builds, or read by agents as instructions".to_owned());
    }
    lines
}
