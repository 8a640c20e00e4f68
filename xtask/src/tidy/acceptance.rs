//! The table in `docs/acceptance.md`: every id has a row, and every row lists its tests.
//!
//! The sentences of the table are written by hand. `tidy --write` generates the column of tests and
//! the sums from the comments of the tests.

mod id;
mod claims;
mod page;

use super::{Finding, tree::SourceFile};
use claims::Claims;
use id::{Id, Series};
use page::Page;

pub const PAGE: &str = "docs/acceptance.md";

/// The number of ids in each series. A new row increments it.
const SERIES: &[Series] = &[
    Series { number: 0, ids_count: 134 },
    Series { number: 1, ids_count: 93 },
    Series { number: 2, ids_count: 86 },
    Series { number: 3, ids_count: 73 },
    Series { number: 4, ids_count: 161 },
];

pub fn every_id_has_a_row_and_every_row_its_tests(files: &[SourceFile]) -> Vec<Finding> {
    check(SERIES, files)
}

/// The page according to the tests of `files`; `None` if there is no page.
pub fn written(files: &[SourceFile]) -> Option<String> {
    let page = Page::parse(text_of(files)?);
    Some(page.render(&claims::read(files)))
}

fn text_of(files: &[SourceFile]) -> Option<&str> {
    files.iter().find(|it| it.path == PAGE).map(|it| it.text.as_str())
}

fn check(series: &[Series], files: &[SourceFile]) -> Vec<Finding> {
    let claims = claims::read(files);
    let page = Page::parse(text_of(files).unwrap_or_default());
    let mut findings = page.findings();
    findings.extend(claims.loose.iter().cloned());
    findings.extend(undefined(&page, &claims));
    findings.extend(missing(series, &page));
    findings.extend(text_of(files).and_then(|text| stale(text, &page.render(&claims))));
    findings
}

/// Ids that a test names and the table does not define.
fn undefined(page: &Page<'_>, claims: &Claims) -> Vec<Finding> {
    let unknown = claims.all.iter().filter(|it| !page.has(it.id));
    unknown
        .map(|it| {
            let message = format!("{} has no row in {PAGE}", it.id);
            Finding::at_line(&it.path, it.line_index, message)
        })
        .collect()
}

/// Missing ids as ranges, and rows beyond the end of their series.
fn missing(series: &[Series], page: &Page<'_>) -> Vec<Finding> {
    let absent = |it: &Id| !page.has(*it);
    let expected: Vec<Id> = series.iter().flat_map(|it| it.ids()).collect();
    let gaps: Vec<Id> = expected.iter().copied().filter(absent).collect();
    let mut findings: Vec<Finding> = id::ranges(&gaps)
        .into_iter()
        .map(|range| Finding::in_file(PAGE, format!("{range} has no row")))
        .collect();
    for row in page.rows().filter(|it| !expected.contains(&it.id)) {
        let message = format!("{} is beyond its series: raise the number in SERIES", row.id);
        findings.push(Finding::at_line(PAGE, row.line_index, message));
    }
    findings
}

fn stale(text: &str, fresh: &str) -> Option<Finding> {
    if text == fresh {
        return None;
    }
    let pairs = text.lines().zip(fresh.lines());
    let line_index = pairs.take_while(|(old, new)| old == new).count();
    let message = "out of date from here: run `cargo xtask tidy --write`";
    Some(Finding::at_line(PAGE, line_index, message))
}

#[cfg(test)]
mod tests;
