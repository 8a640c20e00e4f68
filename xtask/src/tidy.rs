//! The rules of this repository beyond those of the compiler.
//!
//! Each rule is a pure function from the files to its findings, so that each has a test in which it
//! fails. A rule never changes a file; `--write` updates derived content.

mod tree;
mod layers;
mod code;
mod words;
mod documents;
mod acceptance;

use crate::program::{self, Failure};
use std::{fmt, fs, path::Path};
use tree::SourceFile;

/// A violation of a rule, and how to fix it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    pub path: String,
    /// 1-based; absent if the finding is about the whole file.
    pub line_number: Option<usize>,
    pub message: String,
}

impl Finding {
    fn in_file(path: &str, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line_number: None, message: message.into() }
    }

    fn at_line(path: &str, line_index: usize, message: impl Into<String>) -> Self {
        let line_number = Some(line_index + 1);
        Self { path: path.to_owned(), line_number, message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)?;
        if let Some(number) = self.line_number {
            write!(f, ":{number}")?;
        }
        write!(f, ": {}", self.message)
    }
}

/// A rule gets all files at once, because some rules are about relations between files.
type Rule = fn(&[SourceFile]) -> Vec<Finding>;

const RULES: &[Rule] = &[
    layers::edges_are_in_the_table,
    code::vocabulary_and_kernel_have_no_std,
    code::crates_begin_with_a_header,
    code::files_are_not_too_long,
    code::no_work_is_postponed,
    code::tests_do_not_sleep,
    code::trees_have_one_remover,
    words::no_forbidden_words,
    words::no_trailing_white_space,
    words::sources_are_in_english,
    documents::relative_links_resolve,
    documents::every_document_is_linked,
    acceptance::every_id_has_a_row_and_every_row_its_tests,
];

pub fn run() -> Result<(), Failure> {
    let findings = check(&program::root())?;
    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => Ok(()),
        count => Err(Failure(format!("{count} findings"))),
    }
}

/// Updates the tests of every row in the acceptance table, then checks everything.
pub fn write() -> Result<(), Failure> {
    let root = program::root();
    let path = acceptance::PAGE;
    let text = acceptance::written(&tree::read(&root)?)
        .ok_or_else(|| Failure(format!("`{path}` does not exist")))?;
    fs::write(root.join(path), text)
        .map_err(|error| Failure(format!("cannot write `{path}`: {error}")))?;
    run()
}

/// Applies every rule to the files below `root`.
fn check(root: &Path) -> Result<Vec<Finding>, Failure> {
    let files = tree::read(root)?;
    let mut findings: Vec<Finding> = RULES.iter().flat_map(|rule| rule(&files)).collect();
    findings.sort();
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds the files of a rule's test.
    pub(super) fn files(texts: &[(&str, &str)]) -> Vec<SourceFile> {
        let file = |it: &(&str, &str)| SourceFile { path: it.0.to_owned(), text: it.1.to_owned() };
        texts.iter().map(file).collect()
    }

    /// The findings as displayed.
    pub(super) fn shown(findings: &[Finding]) -> Vec<String> {
        findings.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn this_repository_is_tidy() {
        let findings = check(&program::root()).expect("the repository can be read");
        assert!(findings.is_empty(), "\n{}", shown(&findings).join("\n"));
    }

    #[test]
    fn a_finding_names_file_and_line() {
        let finding = Finding::at_line("a/b.rs", 6, "it is wrong");
        assert_eq!(finding.to_string(), "a/b.rs:7: it is wrong");
    }
}
