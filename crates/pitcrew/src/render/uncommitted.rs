//! The uncommitted files that a plan takes along, and those that stay behind.

use super::words::plural;
use pitcrew_git::{Uncommitted, UncommittedFile};
use pitcrew_views::plain;
use std::collections::BTreeMap;

/// Files that are listed one by one. More are listed by folder.
const FILES_SHOWN_MAX: usize = 20;

/// Lists every file with its size; many files by folder.
pub fn uncommitted(found: &Uncommitted) -> Vec<String> {
    let mut lines = Vec::new();
    if !found.files.is_empty() {
        let bytes: u64 = found.files.iter().filter_map(|it| it.bytes).sum();
        let count = plural(found.files.len() as u64, "uncommitted file");
        lines.push(format!("the plan starts with your {count} ({}):", size(bytes)));
        lines.extend(rows(&found.files));
    }
    if !found.left_behind.is_empty() {
        lines.push(
            "these stay behind because they look like secrets; `--include PATH`, or `include` in \
             the plan, takes one along:"
                .to_owned(),
        );
        let named = |it: &UncommittedFile| it.sign.unwrap_or_default().to_owned();
        let rows = found.left_behind.iter().map(|it| (plain::line(&it.path), named(it)));
        lines.extend(table(&rows.collect::<Vec<_>>()));
    }
    lines
}

fn rows(files: &[UncommittedFile]) -> Vec<String> {
    let rows = if files.len() <= FILES_SHOWN_MAX {
        files.iter().map(row).collect()
    } else {
        by_folder(files)
    };
    table(&rows)
}

fn table(rows: &[(String, String)]) -> Vec<String> {
    let width = rows.iter().take(FILES_SHOWN_MAX).map(|it| it.0.chars().count()).max();
    let width = width.unwrap_or(0);
    let shown = rows.iter().take(FILES_SHOWN_MAX);
    let mut lines: Vec<String> =
        shown.map(|(name, what)| format!("  {name:<width$}  {what}")).collect();
    if let Some(more) = rows.len().checked_sub(FILES_SHOWN_MAX).filter(|it| *it > 0) {
        lines.push(format!("  and {more} more; `git status` lists all of them"));
    }
    lines
}

fn row(file: &UncommittedFile) -> (String, String) {
    let what = match file.bytes {
        Some(bytes) => size(bytes),
        None => "deleted".to_owned(),
    };
    let sign = file.sign.map(|it| format!(", looks like a secret: {it}")).unwrap_or_default();
    (plain::line(&file.path), format!("{what}{sign}"))
}

/// The files below each folder of the root. Files that look like secrets are listed first, one by
/// one.
fn by_folder(files: &[UncommittedFile]) -> Vec<(String, String)> {
    let (secrets, others): (Vec<_>, Vec<_>) = files.iter().partition(|it| it.sign.is_some());
    let mut folders: BTreeMap<&str, Vec<&UncommittedFile>> = BTreeMap::new();
    for file in others {
        let folder = file.path.split_once('/').map_or("", |it| it.0);
        folders.entry(folder).or_default().push(file);
    }
    let rest = folders.into_iter().flat_map(|(folder, files)| match (folder, &files[..]) {
        ("", files) => files.iter().map(|it| row(it)).collect(),
        (_, [file]) => vec![row(file)],
        (folder, files) => {
            let bytes: u64 = files.iter().filter_map(|it| it.bytes).sum();
            let count = plural(files.len() as u64, "file");
            vec![(format!("{}/", plain::line(folder)), format!("{count}, {}", size(bytes)))]
        }
    });
    secrets.into_iter().map(row).chain(rest).collect()
}

/// `120 B`, `1.5 KiB`, `20 MiB`.
fn size(bytes: u64) -> String {
    const UNITS: [&str; 3] = ["KiB", "MiB", "GiB"];
    let mut tenths = bytes.saturating_mul(10);
    let mut unit = "B";
    for larger in UNITS {
        if tenths < 10_240 {
            break;
        }
        tenths /= 1_024;
        unit = larger;
    }
    match (unit, tenths) {
        ("B", _) => format!("{bytes} B"),
        (_, 0..100) => format!("{}.{} {unit}", tenths / 10, tenths % 10),
        (_, _) => format!("{} {unit}", tenths / 10),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, bytes: u64) -> UncommittedFile {
        UncommittedFile { path: path.into(), bytes: Some(bytes), sign: None }
    }

    #[test]
    fn sizes_are_short() {
        let shown = [0, 1_023, 1_024, 1_536, 20 * 1_024, 5_000_000, 3 << 30].map(size);
        assert_eq!(shown, ["0 B", "1023 B", "1.0 KiB", "1.5 KiB", "20 KiB", "4.7 MiB", "3.0 GiB"]);
    }

    #[test]
    fn many_files_are_listed_by_folder() {
        let mut files: Vec<UncommittedFile> =
            (0..500).map(|it| file(&format!("data/{it}/x.csv"), 1_024)).collect();
        files.push(file("top.txt", 3));
        files.push(UncommittedFile { sign: Some("its name"), ..file("a/.env", 12) });
        files.push(UncommittedFile { bytes: None, ..file("src/gone.rs", 0) });
        let shown = uncommitted(&Uncommitted { files, ..Uncommitted::default() });
        assert_eq!(
            shown,
            [
                "the plan starts with your 503 uncommitted files (500 KiB):",
                "  a/.env       12 B, looks like a secret: its name",
                "  top.txt      3 B",
                "  data/        500 files, 500 KiB",
                "  src/gone.rs  deleted",
            ]
        );
        let files = (0..90).map(|it| file(&format!("f{it}"), 1)).collect();
        let shown = uncommitted(&Uncommitted { files, ..Uncommitted::default() });
        assert_eq!(shown.len(), FILES_SHOWN_MAX + 2);
        assert_eq!(shown[shown.len() - 1], "  and 70 more; `git status` lists all of them");
    }
}
