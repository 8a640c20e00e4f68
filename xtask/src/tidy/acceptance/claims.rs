//! Finds the ids that tests name.
//!
//! An id counts in the comment above a test or in a comment within it. In any other comment of a
//! Rust file it proves nothing, and is a finding.

use super::{
    super::{Finding, tree::SourceFile},
    id::{self, Id},
};

/// An id that a test names.
#[derive(Debug, PartialEq, Eq)]
pub struct Claim {
    pub id: Id,
    pub path: String,
    pub test: String,
    pub line_index: usize,
}

#[derive(Default)]
pub struct Claims {
    pub all: Vec<Claim>,
    /// Ids outside of tests, and invalid ranges.
    pub loose: Vec<Finding>,
}

/// Reads every Rust file.
pub fn read(files: &[SourceFile]) -> Claims {
    let mut claims = Claims::default();
    for file in files.iter().filter(|it| it.has_extension("rs")) {
        let mut reader = Reader::new(file, &mut claims);
        for (line_index, line) in file.text.lines().enumerate() {
            reader.read(line_index, line);
        }
        reader.drop_pending();
    }
    claims
}

struct Reader<'a> {
    file: &'a SourceFile,
    claims: &'a mut Claims,
    /// Ids in the comment above the next item.
    pending: Vec<(usize, Id)>,
    next_item: Item,
    in_attribute: bool,
    /// The current test, and its closing line.
    test: Option<(String, String)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Item {
    Test,
    Other,
}

impl<'a> Reader<'a> {
    fn new(file: &'a SourceFile, claims: &'a mut Claims) -> Self {
        let (pending, next_item) = (Vec::new(), Item::Other);
        Self { file, claims, pending, next_item, in_attribute: false, test: None }
    }

    fn read(&mut self, line_index: usize, line: &str) {
        let text = line.trim_start();
        if self.test.as_ref().is_some_and(|(_, end)| end == line) {
            self.test = None;
        } else if text.starts_with("//") {
            self.read_comment(line_index, text);
        } else if self.in_attribute || text.starts_with("#[") {
            self.in_attribute = !line.ends_with(']');
            if is_test_attribute(text) {
                self.next_item = Item::Test;
            }
        } else if !text.is_empty() {
            self.read_code(line, text);
        }
    }

    fn read_comment(&mut self, line_index: usize, text: &str) {
        for range in id::named(text) {
            let Some(ids) = range.ids() else {
                self.reject(line_index, format!("{range} is not a range of one series"));
                continue;
            };
            for id in ids {
                match &self.test {
                    Some((test, _)) => {
                        let test = test.clone();
                        self.claim(line_index, id, &test);
                    }
                    None => self.pending.push((line_index, id)),
                }
            }
        }
    }

    fn read_code(&mut self, line: &str, text: &str) {
        let name = function_name(text).filter(|_| self.next_item == Item::Test);
        self.next_item = Item::Other;
        let Some(name) = name else { return self.drop_pending() };
        for (line_index, id) in std::mem::take(&mut self.pending) {
            self.claim(line_index, id, name);
        }
        if !line.ends_with('}') {
            let indent = &line[..line.len() - text.len()];
            self.test = Some((name.to_owned(), format!("{indent}}}")));
        }
    }

    fn claim(&mut self, line_index: usize, id: Id, test: &str) {
        let (path, test) = (self.file.path.clone(), test.to_owned());
        self.claims.all.push(Claim { id, path, test, line_index });
    }

    fn drop_pending(&mut self) {
        for (line_index, id) in std::mem::take(&mut self.pending) {
            self.reject(
                line_index,
                format!("{id} is not at a test: move it to a test that proves it"),
            );
        }
    }

    fn reject(&mut self, line_index: usize, message: String) {
        self.claims.loose.push(Finding::at_line(&self.file.path, line_index, message));
    }
}

/// `#[test]`, `#[tokio::test]`, and the latter with arguments; not `#[cfg(test)]`.
fn is_test_attribute(text: &str) -> bool {
    text.starts_with("#[test]") || text.contains("::test]") || text.contains("::test(")
}

fn function_name(text: &str) -> Option<&str> {
    let text = text.strip_prefix("pub ").unwrap_or(text);
    let text = text.strip_prefix("async ").unwrap_or(text);
    text.strip_prefix("fn ")?.split(['(', '<']).next()
}
