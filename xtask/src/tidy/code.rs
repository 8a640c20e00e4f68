//! Rules for Rust files.

use super::{Finding, tree::SourceFile};

/// The crates that must not have side effects.
const NO_STD: &[&str] = &["crates/pitcrew-model/src/lib.rs", "crates/pitcrew-kernel/src/lib.rs"];

const LINES_MAX: usize = 800;
/// Files that exceeded the limit when the rule was introduced. They may shrink, but not grow.
const NAUGHTY: &[(&str, usize)] = &[];

fn rust(files: &[SourceFile]) -> impl Iterator<Item = &SourceFile> {
    files.iter().filter(|it| it.has_extension("rs"))
}

pub fn vocabulary_and_kernel_have_no_std(files: &[SourceFile]) -> Vec<Finding> {
    let lacks = |path: &&&str| {
        let file = files.iter().find(|it| it.path == ***path);
        !file.is_some_and(|it| it.text.lines().any(|line| line == "#![no_std]"))
    };
    let message = "needs a line `#![no_std]`: clocks, files and threads must not be nameable here";
    NO_STD.iter().filter(lacks).map(|path| Finding::in_file(path, message)).collect()
}

pub fn crates_begin_with_a_header(files: &[SourceFile]) -> Vec<Finding> {
    let is_root =
        |it: &&SourceFile| it.path.ends_with("/src/lib.rs") || it.path.ends_with("/src/main.rs");
    let message = "begin with `//!`: what the crate does, and what it never does";
    rust(files)
        .filter(is_root)
        .filter(|it| !it.text.starts_with("//! "))
        .map(|it| Finding::in_file(&it.path, message))
        .collect()
}

pub fn files_are_not_too_long(files: &[SourceFile]) -> Vec<Finding> {
    check_size(NAUGHTY, files)
}

fn check_size(naughty: &[(&str, usize)], files: &[SourceFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in rust(files) {
        let lines_count = file.text.lines().count();
        let known = naughty.iter().find(|it| it.0 == file.path);
        let limit = known.map_or(LINES_MAX, |it| it.1);
        if lines_count > limit {
            let message = format!("{lines_count} lines, at most {limit}: split it");
            findings.push(Finding::in_file(&file.path, message));
        }
    }
    findings
}

/// Markers of postponed work. Written in parts, so that the rule does not find itself.
const PUT_OFF: &[&str] = &[
    concat!("FIX", "ME"),
    concat!("TO", "DO"),
    concat!("#[", "ignore"),
    concat!("should_", "panic"),
    concat!("dbg", "!("),
    concat!("todo", "!("),
    concat!("unimplemented", "!("),
];

pub fn no_work_is_postponed(files: &[SourceFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in rust(files) {
        for (index, line) in file.text.lines().enumerate() {
            for word in PUT_OFF.iter().filter(|it| has_word(line, it)) {
                let message = format!("`{word}` marks postponed work: do it now, or remove it");
                findings.push(Finding::at_line(&file.path, index, message));
            }
        }
    }
    findings
}

/// Whether the word occurs in the line and is not part of a longer name.
fn has_word(line: &str, word: &str) -> bool {
    let in_name = |it: char| it.is_alphanumeric() || it == '_';
    line.match_indices(word).any(|(at, _)| {
        let after = &line[at + word.len()..];
        let open_end = word.ends_with(in_name) && after.starts_with(in_name);
        let open_start = word.starts_with(in_name) && line[..at].ends_with(in_name);
        !open_start && !open_end
    })
}

const SLEEPS: &[&str] = &[concat!("thread::", "sleep"), concat!("time::", "sleep")];

pub fn tests_do_not_sleep(files: &[SourceFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in rust(files) {
        for (index, line) in test_lines(file) {
            if SLEEPS.iter().any(|it| line.contains(it)) {
                let message = "do not sleep in tests: wait for a condition with a deadline";
                findings.push(Finding::at_line(&file.path, index, message));
            }
        }
    }
    findings
}

/// The standard library's remover is recursive, and an agent may create folders of any depth.
const REMOVER: &str = concat!("remove_dir", "_all");

pub fn trees_have_one_remover(files: &[SourceFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in rust(files).filter(|it| it.path.starts_with("crates/")) {
        let product = file.text.lines().take(first_test_line(file)).enumerate();
        for (index, _) in product.filter(|it| it.1.contains(REMOVER)) {
            let message = "use `pitcrew_process::remove_tree`: it removes a tree of any depth";
            findings.push(Finding::at_line(&file.path, index, message));
        }
    }
    findings
}

/// The lines of a file that are tests: all of a test file, else those after `#[cfg(test)] mod`.
fn test_lines(file: &SourceFile) -> impl Iterator<Item = (usize, &str)> {
    file.text.lines().enumerate().skip(first_test_line(file))
}

/// The index of the first test line; the number of lines if there is none.
pub fn first_test_line(file: &SourceFile) -> usize {
    let lines: Vec<&str> = file.text.lines().collect();
    let whole = file.path.split('/').any(|it| it == "tests") || file.name() == "tests.rs";
    let opens_tests =
        |pair: &[&str]| pair[0].trim() == "#[cfg(test)]" && pair[1].trim().starts_with("mod ");
    let module = lines.windows(2).position(opens_tests);
    if whole { 0 } else { module.unwrap_or(lines.len()) }
}

#[cfg(test)]
mod tests {
    use super::{super::tests::*, *};

    /// S2-002: the kernel cannot name a socket.
    #[test]
    fn a_kernel_with_std_fails() {
        let model = ("crates/pitcrew-model/src/lib.rs", "//! Words.\n#![no_std]\n");
        let kernel = ("crates/pitcrew-kernel/src/lib.rs", "//! Decides.\n// #![no_std]\n");
        let findings = vocabulary_and_kernel_have_no_std(&files(&[model, kernel]));
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].path, kernel.0);
        assert_eq!(vocabulary_and_kernel_have_no_std(&files(&[model])).len(), 1, "it is missing");
    }

    #[test]
    fn a_crate_without_a_header_fails() {
        let findings = crates_begin_with_a_header(&files(&[
            ("crates/a/src/lib.rs", "//! Does a.\n"),
            ("crates/b/src/main.rs", "fn main() {}\n"),
            ("crates/b/src/other.rs", "fn other() {}\n"),
        ]));
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].path, "crates/b/src/main.rs");
    }

    #[test]
    fn a_file_that_exceeds_the_limit_fails() {
        let fits = "x\n".repeat(LINES_MAX);
        let long = "x\n".repeat(LINES_MAX + 1);
        let files = files(&[("fits.rs", &fits), ("long.rs", &long), ("long.md", &long)]);
        let findings = check_size(&[], &files);
        assert_eq!(shown(&findings), ["long.rs: 801 lines, at most 800: split it"]);
        assert!(check_size(&[("long.rs", 801)], &files).is_empty(), "it was too long before");
        assert_eq!(check_size(&[("long.rs", 850), ("fits.rs", 799)], &files).len(), 1, "it grew");
    }

    #[test]
    fn every_marker_of_postponed_work_fails() {
        for word in PUT_OFF {
            let line = format!("    {word} x\n");
            let findings = no_work_is_postponed(&files(&[("a.rs", &line)]));
            assert_eq!(findings.len(), 1, "{word}");
            assert_eq!(findings[0].line_number, Some(1));
        }
    }

    #[test]
    fn a_longer_name_is_another_word() {
        let text = format!("{}S\nmy_{}\n", PUT_OFF[1], PUT_OFF[4]);
        assert!(no_work_is_postponed(&files(&[("a.rs", &text)])).is_empty());
    }

    #[test]
    fn another_remover_fails_in_the_product_only() {
        let line = format!("fs::{REMOVER}(path)\n");
        let module = format!("#[cfg(test)]\nmod tests {{\n{line}}}\n");
        let cases = [
            ("crates/a/src/gc.rs", &line, 1),
            ("crates/a/src/gc.rs", &module, 0),
            ("crates/a/tests/gc.rs", &line, 0),
            ("xtask/src/gc.rs", &line, 0),
        ];
        for (path, text, count) in cases {
            assert_eq!(trees_have_one_remover(&files(&[(path, text)])).len(), count, "{path}");
        }
    }

    #[test]
    fn sleeping_fails_in_tests_only() {
        for sleep in SLEEPS {
            let body = format!("fn wait() {{ {sleep}(x); }}\n");
            let module = format!("fn product() {{}}\n#[cfg(test)]\nmod tests {{\n{body}}}\n");
            let cases = [
                ("crates/a/src/wait.rs", &body, 0),
                ("crates/a/tests/wait.rs", &body, 1),
                ("crates/a/src/wait/tests.rs", &body, 1),
                ("crates/a/src/wait.rs", &module, 1),
            ];
            for (path, text, count) in cases {
                assert_eq!(tests_do_not_sleep(&files(&[(path, text)])).len(), count, "{path}");
            }
        }
    }
}
