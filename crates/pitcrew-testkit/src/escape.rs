//! The rows of the table that `cargo xtask escape` writes.

use std::{
    fs::{self, File},
    io::Write,
};

/// The file that collects them.
const ROWS: &str = "PITCREW_ESCAPE_ROWS";

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/sandbox.md");

/// Records that an escape attempt was stopped: `at` a tier or by a component, `by` a mechanism.
///
/// # Panics
///
/// If the table in the documentation differs.
pub fn escape_stopped(attempt: &str, at: &str, user: &str, by: &str) {
    if let Ok(path) = std::env::var(ROWS) {
        let mut file = File::options().append(true).create(true).open(path).expect("the rows");
        writeln!(file, "{attempt}\t{at}\t{user}\t{by}").expect("a row");
        return;
    }
    let column = match at {
        "T3" => 0,
        "T2" => 1,
        _ => 2,
    };
    let told = documented_escapes().into_iter().find(|it| it.0 == attempt);
    let told = told.map(|it| it.1[column].clone()).unwrap_or_default();
    assert!(
        told.starts_with(by),
        "docs/sandbox.md says `{told}` of `{attempt}` at {at} and not `{by}`: run `cargo xtask escape --write`"
    );
}

/// The rows of the table in the documentation: the attempt, and what stops it in T3, in T2 and at
/// the gate.
///
/// # Panics
///
/// If there is no such table.
pub fn documented_escapes() -> Vec<(String, [String; 3])> {
    let text = fs::read_to_string(DOCUMENT).expect("the documentation");
    let table = text.split("<!-- escape -->").nth(1).expect("a table");
    let table = table.split("<!-- end escape -->").next().expect("a table");
    let cells = |line: &str| -> Vec<String> {
        line.trim_matches('|').split('|').map(|it| it.trim().to_owned()).collect()
    };
    let rows = table.lines().skip(3).map(cells).filter(|it| it.len() == 4);
    rows.map(|it| (it[0].clone(), [it[1].clone(), it[2].clone(), it[3].clone()])).collect()
}
