//! The page: its rows, their problems, and the page with updated tests.

use super::{
    super::Finding,
    PAGE,
    claims::{Claim, Claims},
    id::{Id, ranges},
};
use std::{collections::BTreeSet, fmt::Write as _};

/// Tests that a row shows; it counts the others.
const SHOWN_MAX: usize = 3;
const OPEN: &str = "open";
const SUMS: (&str, &str) = ("<!-- sums -->", "<!-- end sums -->");

pub struct Page<'a> {
    lines: Vec<Line<'a>>,
}

enum Line<'a> {
    Row(Row<'a>),
    /// A heading of level 2 or 3.
    Heading(&'a str),
    Text(&'a str),
}

pub struct Row<'a> {
    pub line_index: usize,
    pub id: Id,
    sentence: &'a str,
    /// Three, else the row is invalid.
    cells_count: usize,
}

impl<'a> Page<'a> {
    pub fn parse(text: &'a str) -> Self {
        let lines = text.lines().enumerate().map(|(index, line)| Line::parse(index, line));
        Self { lines: lines.collect() }
    }

    pub fn rows(&self) -> impl Iterator<Item = &Row<'a>> {
        self.lines.iter().filter_map(|it| match it {
            Line::Row(row) => Some(row),
            Line::Heading(_) | Line::Text(_) => None,
        })
    }

    pub fn has(&self, id: Id) -> bool {
        self.rows().any(|it| it.id == id)
    }

    /// Invalid or duplicate rows.
    pub fn findings(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut seen = BTreeSet::new();
        for row in self.rows() {
            let mut found =
                |message| findings.push(Finding::at_line(PAGE, row.line_index, message));
            if row.cells_count != 3 || row.sentence.is_empty() {
                found("a row is `| id | sentence | tests |`".to_owned());
            }
            if !seen.insert(row.id) {
                found(format!("{} already has a row", row.id));
            }
        }
        findings
    }

    /// The page with the tests in their column and the sums at the top.
    pub fn render(&self, claims: &Claims) -> String {
        let mut text = String::new();
        let mut in_sums = false;
        for line in &self.lines {
            match line {
                Line::Row(row) => row.render(&mut text, claims),
                Line::Text(line) if *line == SUMS.0 => {
                    in_sums = true;
                    let _ = write!(text, "{line}\n{}", self.sums(claims));
                }
                Line::Text(line) if *line == SUMS.1 => {
                    in_sums = false;
                    let _ = writeln!(text, "{line}");
                }
                Line::Text(_) if in_sums => {}
                Line::Heading(line) | Line::Text(line) => {
                    let _ = writeln!(text, "{line}");
                }
            }
        }
        text
    }

    fn sums(&self, claims: &Claims) -> String {
        let proven: BTreeSet<Id> = claims.all.iter().map(|it| it.id).collect();
        let sum = |rows: &[&Row<'_>]| {
            let count = rows.iter().filter(|it| proven.contains(&it.id)).count();
            format!("{count} of {}", rows.len())
        };
        let all: Vec<&Row<'_>> = self.rows().collect();
        let mut text = format!("{} rows have a test.\n\n", sum(&all));
        text += "| topic | ids | rows with a test |\n|---|---|---|\n";
        for (heading, rows) in self.topics() {
            let name = heading.trim_start_matches(['#', ' ']);
            let ids: Vec<Id> = rows.iter().map(|it| it.id).collect();
            let ids: Vec<String> = ranges(&ids).iter().map(ToString::to_string).collect();
            let (ids, sum) = (ids.join(", "), sum(&rows));
            let _ = writeln!(text, "| [{name}](#{}) | {ids} | {sum} |", anchor(name));
        }
        text
    }

    /// Each heading that has rows, with its rows.
    fn topics(&self) -> Vec<(&'a str, Vec<&Row<'a>>)> {
        let mut topics: Vec<(&str, Vec<&Row<'a>>)> = Vec::new();
        for line in &self.lines {
            match line {
                Line::Heading(heading) => topics.push((heading, Vec::new())),
                Line::Row(row) => topics.last_mut().into_iter().for_each(|it| it.1.push(row)),
                Line::Text(_) => {}
            }
        }
        topics.retain(|it| !it.1.is_empty());
        topics
    }
}

impl<'a> Line<'a> {
    fn parse(line_index: usize, line: &'a str) -> Self {
        if line.starts_with("## ") || line.starts_with("### ") {
            return Self::Heading(line);
        }
        let named = line.strip_prefix("| ").and_then(Id::split_from);
        let Some((id, rest)) = named else { return Self::Text(line) };
        let cells: Vec<&str> = rest.trim_end_matches('|').split('|').map(str::trim).collect();
        let sentence = cells.get(1).copied().unwrap_or_default();
        Self::Row(Row { line_index, id, sentence, cells_count: cells.len() })
    }
}

impl Row<'_> {
    fn render(&self, text: &mut String, claims: &Claims) {
        let tests: BTreeSet<(&str, &str)> = claims
            .all
            .iter()
            .filter(|it| it.id == self.id)
            .map(|Claim { path, test, .. }| (path.as_str(), test.as_str()))
            .collect();
        let mut cells: Vec<String> = tests
            .iter()
            .take(SHOWN_MAX)
            .map(|(path, test)| format!("[{test}](../{path})"))
            .collect();
        if tests.is_empty() {
            cells.push(OPEN.to_owned());
        }
        if tests.len() > SHOWN_MAX {
            cells.push(format!("{} more", tests.len() - SHOWN_MAX));
        }
        let _ = writeln!(text, "| {} | {} | {} |", self.id, self.sentence, cells.join(", "));
    }
}

/// The anchor of a heading in rendered Markdown.
fn anchor(heading: &str) -> String {
    let kept = heading.to_lowercase();
    let kept = kept.chars().filter(|it| it.is_alphanumeric() || " -_".contains(*it));
    kept.map(|it| if it == ' ' { '-' } else { it }).collect()
}
