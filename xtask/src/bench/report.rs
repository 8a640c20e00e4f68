//! Writes tables into the document with the figures.

use crate::program::{self, Failure};
use std::fs;

const DOCUMENT: &str = "docs/benchmarks.md";

/// Replaces the table of one bench in the document.
pub fn write(name: &str, table: &str) -> Result<(), Failure> {
    let path = program::root().join(DOCUMENT);
    let text = fs::read_to_string(&path)
        .map_err(|error| Failure(format!("cannot read `{DOCUMENT}`: {error}")))?;
    let block = format!("Measured on {}.\n\n{table}", machine());
    let text = replace(&text, name, &block).ok_or_else(|| {
        let (open, close) = markers(name);
        Failure(format!("`{DOCUMENT}` has no place for it: add the lines `{open}` and `{close}`"))
    })?;
    fs::write(&path, text)
        .map_err(|error| Failure(format!("cannot write `{DOCUMENT}`: {error}")))?;
    eprintln!("written to {DOCUMENT}");
    Ok(())
}

fn markers(name: &str) -> (String, String) {
    (format!("<!-- bench {name} -->"), format!("<!-- end {name} -->"))
}

/// The document with `block` between the markers of `name`; `None` if it has no such markers.
fn replace(document: &str, name: &str, block: &str) -> Option<String> {
    let (open, close) = markers(name);
    let (before, rest) = document.split_once(&open)?;
    let (_, after) = rest.split_once(&close)?;
    Some(format!("{before}{open}\n{block}{close}{after}"))
}

/// A short description of the machine.
fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
        .map_or("unknown processor", |it| it.1);
    format!("{model}, {cores} cores, {}", std::env::consts::OS)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT_TEXT: &str = "\
# Figures
<!-- bench journal -->
old
<!-- end journal -->
Words.
<!-- bench kernel -->
<!-- end kernel -->
";

    #[test]
    fn replaces_only_the_table_of_the_bench() {
        let text = replace(DOCUMENT_TEXT, "journal", "new\n").expect("there is a place");
        assert_eq!(text, DOCUMENT_TEXT.replace("old", "new"));
        assert_eq!(replace(&text, "journal", "old\n").as_deref(), Some(DOCUMENT_TEXT));
    }

    #[test]
    fn a_document_without_markers_is_rejected() {
        assert_eq!(replace(DOCUMENT_TEXT, "start", "new\n"), None);
    }

    #[test]
    fn the_document_has_markers_for_every_bench() {
        let text = fs::read_to_string(program::root().join(DOCUMENT)).expect("the document");
        for bench in super::super::Bench::ALL {
            assert!(replace(&text, bench.name(), "x").is_some(), "{}", bench.name());
        }
    }
}
