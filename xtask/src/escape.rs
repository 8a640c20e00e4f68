//! The escape suite: programs that try to escape from each tier, work that the gate must refuse,
//! and requests to the orchestrator's endpoints. Runs their tests and makes one table.
//!
//! The survey: a probe in every kind of box, whose findings are compared with an inventory.

use crate::program::{Failure, root, run_cargo};
use std::{collections::BTreeMap, fs, path::Path};

const DOCUMENT: &str = "docs/sandbox.md";
const OPEN: &str = "<!-- escape -->";
const CLOSE: &str = "<!-- end escape -->";
const USAGE: &str = "escape accepts `--tier T2|T3`, `--user root|nobody` and `--write`, \
                     and with `--survey` also `--kind KIND`";

/// Tests that run in each tier and as each user; sequentially, so that the table has a stable
/// order.
const HELD: &[&str] = &[
    "test",
    "--package",
    "pitcrew-process",
    "--test",
    "escape",
    "nothing_gets_out",
    "--",
    "--test-threads=1",
];
/// Tests that depend on neither.
const JUDGED: &[&[&str]] = &[
    &["test", "--package", "pitcrew-git", "--test", "git", "escape", "--", "--test-threads=1"],
    &["test", "--package", "pitcrew-git", "--test", "git", "traps_in_the_git_folder"],
    &["test", "--package", "pitcrew-server", "--test", "it", "every_endpoint_needs"],
];

/// The test that makes every kind of box.
const SURVEY: &[&str] = &[
    "test",
    "--package",
    "pitcrew",
    "--test",
    "survey",
    "everything_in_reach_is_in_the_inventory",
    "--",
    "--nocapture",
];
/// What makes a box; the names of the inventories begin with them.
const KINDS: &[&str] = &["agent", "nesting", "setup", "check", "command", "git", "git-fill"];

/// The command line options.
#[derive(Default, PartialEq, Eq, Debug)]
struct Options {
    tier: Option<String>,
    user: Option<String>,
    /// The survey is to be taken instead.
    survey: bool,
    kind: Option<String>,
    write: bool,
}

pub fn run(arguments: &[String]) -> Result<(), Failure> {
    let options = parse(arguments)?;
    if options.survey {
        return take_survey(&options);
    }
    let rows = std::env::temp_dir().join(format!("pitcrew-escape-{}", std::process::id()));
    let result = try_all(&options, &rows);
    let found = fs::read_to_string(&rows).unwrap_or_default();
    fs::remove_file(&rows).ok();
    let table = table(&found);
    print!("\n{table}");
    result?;
    match (found.is_empty(), options.write) {
        (true, _) => Err(Failure("no test ran".into())),
        (false, true) => write(&table),
        (false, false) => Ok(()),
    }
}

fn parse(arguments: &[String]) -> Result<Options, Failure> {
    let mut options = Options::default();
    let mut words = arguments.iter().map(String::as_str);
    while let Some(word) = words.next() {
        match (word, words.clone().next()) {
            ("--write", _) => options.write = true,
            ("--survey", _) => options.survey = true,
            ("--kind", Some(kind)) if KINDS.contains(&kind) => {
                options.kind = Some(kind.to_owned());
                words.next();
            }
            ("--tier", Some(tier @ ("T2" | "T3"))) => {
                options.tier = Some(tier.to_owned());
                words.next();
            }
            ("--user", Some(user @ ("root" | "nobody"))) => {
                options.user = Some(user.to_owned());
                words.next();
            }
            _ => return Err(Failure(format!("{USAGE}, but got `{word}`"))),
        }
    }
    match options {
        Options { survey: true, .. } => Ok(options),
        Options { kind: Some(_), .. } => Err(Failure("`--kind` goes with `--survey`".into())),
        Options { write: true, tier: Some(_), .. } | Options { write: true, user: Some(_), .. } => {
            Err(Failure("`--write` updates the whole table and cannot be combined".into()))
        }
        options => Ok(options),
    }
}

/// Compares what a probe finds with the inventories, or writes them.
fn take_survey(options: &Options) -> Result<(), Failure> {
    let mut environment = vec![("PITCREW_SURVEY_ALL", "1")];
    environment.extend(options.tier.as_deref().map(|it| ("PITCREW_SURVEY_TIER", it)));
    environment.extend(options.user.as_deref().map(|it| ("PITCREW_SURVEY_USER", it)));
    environment.extend(options.kind.as_deref().map(|it| ("PITCREW_SURVEY_KIND", it)));
    environment.extend(options.write.then_some(("PITCREW_SURVEY_WRITE", "1")));
    run_cargo(&["build", "--package", "pitcrew", "--examples"], &[])?;
    run_cargo(SURVEY, &environment)
}

fn try_all(options: &Options, rows: &Path) -> Result<(), Failure> {
    let rows = rows.to_str().ok_or_else(|| Failure("TMPDIR is not UTF-8".into()))?;
    let mut environment = vec![("PITCREW_ESCAPE_ROWS", rows)];
    environment.extend(options.tier.as_deref().map(|it| ("PITCREW_ESCAPE_TIER", it)));
    environment.extend(options.user.as_deref().map(|it| ("PITCREW_ESCAPE_USER", it)));
    for package in ["pitcrew-process", "pitcrew-server"] {
        run_cargo(&["build", "--package", package, "--examples"], &[])?;
    }
    let mut result = run_cargo(HELD, &environment);
    if options.tier.is_none() && options.user.is_none() {
        for test in JUDGED {
            result = run_cargo(test, &environment).and(result);
        }
    }
    result
}

/// One line for each attempt, with what stops it.
fn table(rows: &str) -> String {
    // In the order in which they were tried first.
    let mut names: Vec<&str> = Vec::new();
    let mut cells: BTreeMap<(&str, &str), Vec<(&str, &str)>> = BTreeMap::new();
    for row in rows.lines() {
        let fields: Vec<&str> = row.split('\t').collect();
        let [name, at, user, by] = fields[..] else { continue };
        if !names.contains(&name) {
            names.push(name);
        }
        let cell = cells.entry((name, at)).or_default();
        if !cell.contains(&(user, by)) {
            cell.push((user, by));
        }
    }
    let row = |name: &str| {
        let cell = |at: &str| cells.get(&(name, at)).map_or(String::new(), |it| shown(it));
        let judged = [cell("gate"), cell("orchestrator")].concat();
        format!("| {name} | {} | {} | {judged} |\n", cell("T3"), cell("T2"))
    };
    let head = "| Attempt | in T3 | in T2 | gate and orchestrator |\n|---|---|---|---|\n";
    head.to_owned() + &names.into_iter().map(row).collect::<String>()
}

fn shown(cell: &[(&str, &str)]) -> String {
    match cell {
        [("root", by)] => format!("{by} (root)"),
        [("nobody", by)] => format!("{by} (not root)"),
        [(_, by), ..] => (*by).to_owned(),
        [] => String::new(),
    }
}

fn write(table: &str) -> Result<(), Failure> {
    let path = root().join(DOCUMENT);
    let text = fs::read_to_string(&path)
        .map_err(|error| Failure(format!("cannot read `{DOCUMENT}`: {error}")))?;
    let text = replace(&text, table).ok_or_else(|| {
        Failure(format!("`{DOCUMENT}` has no markers for it: add the lines `{OPEN}` and `{CLOSE}`"))
    })?;
    fs::write(&path, text).map_err(|error| Failure(format!("cannot write `{DOCUMENT}`: {error}")))
}

fn replace(document: &str, table: &str) -> Option<String> {
    let (before, rest) = document.split_once(OPEN)?;
    let (_, after) = rest.split_once(CLOSE)?;
    Some(format!("{before}{OPEN}\n{table}{CLOSE}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_shows_what_stops_the_attempt() {
        let rows = "read\tT3\troot\tmasked\nread\tT2\troot\tLandlock\nread\tT3\tnobody\tmasked\n\
                    mount\tT2\troot\tseccomp\nlink\tgate\tany\ta link\nread\tT2\tnobody\tLandlock\n";
        let expected = "| Attempt | in T3 | in T2 | gate and orchestrator |\n|---|---|---|---|\n\
                        | read | masked | Landlock |  |\n| mount |  | seccomp (root) |  |\n\
                        | link |  |  | a link |\n";
        assert_eq!(table(rows), expected);
    }

    #[test]
    fn arguments_are_parsed_strictly() {
        let parsed =
            |words: &str| parse(&words.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        let (tier, user) = (Some("T2".to_owned()), Some("nobody".to_owned()));
        let both = Options { tier: tier.clone(), user, ..Options::default() };
        assert_eq!(parsed("--tier T2 --user nobody"), Ok(both));
        let kind = Some("git".to_owned());
        let some = Options { survey: true, write: true, tier, kind, ..Options::default() };
        assert_eq!(parsed("--survey --kind git --tier T2 --write"), Ok(some));
        for wrong in [
            "--tier T1",
            "--tier",
            "--user me",
            "x",
            "--write --tier T2",
            "--kind git",
            "--survey --kind x",
        ] {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
    }

    /// Cargo succeeds if no test has the name.
    #[test]
    fn every_filter_finds_a_test() {
        for call in JUDGED.iter().copied().chain([HELD, SURVEY]) {
            let word = |after: &str| call[call.iter().position(|it| *it == after).unwrap() + 1];
            let (package, test) = (word("--package"), word("--test"));
            let filter = word(test);
            let folder = root().join("crates").join(package).join("tests").join(test);
            let files = fs::read_dir(folder).unwrap().flatten().map(|it| it.path());
            let files = files.filter(|it| it.extension().is_some_and(|it| it == "rs"));
            let is_in = |it: &Path| {
                let text = fs::read_to_string(it).unwrap();
                text.contains(&format!("fn {filter}")) || it.ends_with(format!("{filter}.rs"))
            };
            assert!(files.into_iter().any(|it| is_in(&it)), "{filter} in {package}");
        }
    }

    #[test]
    fn the_document_has_markers_for_the_table() {
        let text = fs::read_to_string(root().join(DOCUMENT)).expect("the document");
        assert!(replace(&text, "x").is_some());
    }
}
