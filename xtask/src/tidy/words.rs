//! Rules against words of one machine or workplace, and against stray white space.
//!
//! The words are written in parts, so that the rule does not find itself.

use super::{Finding, code::first_test_line, tree::SourceFile};

/// Names of the workplace where this was built, which mean nothing elsewhere.
const WORKPLACE: &[&str] = &[
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/"),
    concat!("sha", "red/"),
    concat!("DES", "IGN.md"),
    concat!("REQUIRE", "MENTS.md"),
    concat!(".lib", "rary"),
];

const HOME: &str = concat!("/ho", "me/");

/// Hosts of package registries: the machine's configuration determines where packages come from.
const HOSTS: &[&str] = &[
    concat!("crates", ".io"),
    concat!("npm", "js.org"),
    concat!("npm", "js.com"),
    concat!("pypi", ".org"),
    concat!("python", "hosted.org"),
    concat!("ruby", "gems.org"),
    concat!("proxy.go", "lang.org"),
];

/// Written by cargo, and contains the registry.
const WRITTEN_BY_TOOLS: &[&str] = &["Cargo.lock"];

pub fn no_forbidden_words(files: &[SourceFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in written_by_people(files) {
        for (index, line) in file.text.lines().enumerate() {
            for (word, reason) in forbidden(line) {
                let message = format!("`{word}` is {reason}: remove it");
                findings.push(Finding::at_line(&file.path, index, message));
            }
        }
    }
    findings
}

fn forbidden(line: &str) -> Vec<(&'static str, &'static str)> {
    let mut found = Vec::new();
    for word in WORKPLACE {
        if line.match_indices(word).any(|(at, _)| begins(line, at)) {
            found.push((*word, "a word of one workplace"));
        }
    }
    let named = |(at, _): (usize, &str)| {
        let name = &line[at + HOME.len()..];
        begins(line, at) && name.starts_with(|it: char| it.is_ascii_alphanumeric())
    };
    if line.match_indices(HOME).any(named) {
        found.push((HOME, "the home of one person"));
    }
    for host in HOSTS.iter().filter(|it| line.contains(*it)) {
        found.push((*host, "the host of a package registry"));
    }
    found
}

/// Whether a path or name starts here, rather than continuing the text before it.
fn begins(line: &str, at: usize) -> bool {
    !line[..at].ends_with(|it: char| it.is_alphanumeric() || "_-.~})]".contains(it))
}

/// The product's messages are in English: its sources contain no letters of other scripts.
pub fn sources_are_in_english(files: &[SourceFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let is_source = |it: &&SourceFile| {
        it.has_extension("rs") && it.path.starts_with("crates/") && it.path.contains("/src/")
    };
    for file in files.iter().filter(is_source) {
        let product = file.text.lines().take(first_test_line(file)).enumerate();
        for (index, line) in product {
            if let Some(letter) = line.chars().find(|it| is_of_another_script(*it)) {
                let message = format!("`{letter}` is not a Latin letter: write it as an escape");
                findings.push(Finding::at_line(&file.path, index, message));
            }
        }
    }
    findings
}

/// Latin letters end at U+024F; above are Greek, Cyrillic, Han, Hangul and so on, and symbols.
fn is_of_another_script(letter: char) -> bool {
    letter.is_alphabetic() && letter > '\u{24f}'
}

/// Inputs of tests: any byte of them may matter.
const CORPUS: &str = "/tests/corpus/";

pub fn no_trailing_white_space(files: &[SourceFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in written_by_people(files).filter(|it| !it.path.contains(CORPUS)) {
        for (index, line) in file.text.split('\n').enumerate() {
            if line.ends_with(char::is_whitespace) {
                findings.push(Finding::at_line(&file.path, index, "trailing white space"));
            }
        }
        if !file.text.is_empty() && !file.text.ends_with('\n') {
            findings.push(Finding::in_file(&file.path, "the last line has no line feed"));
        }
    }
    findings
}

fn written_by_people(files: &[SourceFile]) -> impl Iterator<Item = &SourceFile> {
    files.iter().filter(|it| !WRITTEN_BY_TOOLS.contains(&it.path.as_str()))
}

#[cfg(test)]
mod tests {
    use super::{super::tests::*, *};

    fn count(line: &str) -> usize {
        no_forbidden_words(&files(&[("a.md", line)])).len()
    }

    #[test]
    fn every_forbidden_word_fails() {
        for word in WORKPLACE.iter().chain(HOSTS) {
            for line in [format!("see {word}x"), format!("`{word}`"), format!("../{word}x")] {
                assert_eq!(count(&line), 1, "{line}");
            }
        }
        assert_eq!(count(&format!("see {HOME}ann/x")), 1);
        assert_eq!(count(&format!("https://index.{}/x", HOSTS[0])), 1);
    }

    #[test]
    fn a_part_of_a_longer_path_is_something_else() {
        for word in &WORKPLACE[..2] {
            assert_eq!(count(&format!("./crates{word}x")), 0, "{word}");
            assert_eq!(count(&format!("{{parent}}{word}x")), 0, "{word}");
        }
        assert_eq!(count(&format!("index{}", WORKPLACE[5])), 0);
        assert_eq!(count(&format!("{HOME}$USER")), 0);
    }

    #[test]
    fn generated_files_are_not_searched() {
        let text = format!("source = \"registry+https://{}\"", HOSTS[0]);
        assert!(no_forbidden_words(&files(&[("Cargo.lock", &text)])).is_empty());
    }

    /// S2-078: no message of the product is in another language.
    #[test]
    fn letters_of_another_script_fail_in_the_product() {
        let hangul = "say(\"\u{c2e4}\u{d328}\");\n";
        let findings = sources_are_in_english(&files(&[
            (
                "crates/a/src/b.rs",
                &format!(
                    "say(\"fine \u{2192} \u{e9}\");\n{hangul}#[cfg(test)]\nmod tests {{}}\n{hangul}"
                ),
            ),
            ("crates/a/tests/b.rs", hangul),
            ("docs/b.md", hangul),
        ]));
        let message = "`\u{c2e4}` is not a Latin letter: write it as an escape";
        assert_eq!(shown(&findings), [format!("crates/a/src/b.rs:2: {message}")]);
    }

    #[test]
    fn trailing_white_space_fails() {
        let findings = no_trailing_white_space(&files(&[
            ("a.rs", "fine\n\nspace \ntab\t\n"),
            ("b.rs", "carriage\r\n"),
            ("c.rs", "cut off"),
            ("crates/d/tests/corpus/d/cut-off", "cut off "),
        ]));
        assert_eq!(
            shown(&findings),
            [
                "a.rs:3: trailing white space",
                "a.rs:4: trailing white space",
                "b.rs:1: trailing white space",
                "c.rs: the last line has no line feed",
            ]
        );
    }
}
