//! The allowed dependencies between crates.

use super::{Finding, tree::SourceFile};

/// The allowed dependencies between crates. A new edge is an architectural change: edit this table
/// in the same commit, and the one in ARCHITECTURE.md.
const LAYERS: &[(&str, &[&str])] = &[
    ("pitcrew-model", &[]),
    ("pitcrew-kernel", &["pitcrew-model"]),
    ("pitcrew-views", &["pitcrew-model"]),
    ("pitcrew-store", &["pitcrew-model"]),
    ("pitcrew-config", &["pitcrew-model"]),
    ("pitcrew-process", &["pitcrew-model"]),
    ("pitcrew-git", &["pitcrew-model", "pitcrew-process"]),
    ("pitcrew-symbols", &[]),
    ("pitcrew-acp", &["pitcrew-model", "pitcrew-process"]),
    ("pitcrew-mcp", &["pitcrew-model"]),
    ("pitcrew-writer", &["pitcrew-model", "pitcrew-kernel", "pitcrew-store"]),
    (
        "pitcrew-runtime",
        &[
            "pitcrew-model",
            "pitcrew-kernel",
            "pitcrew-views",
            "pitcrew-store",
            "pitcrew-writer",
            "pitcrew-config",
            "pitcrew-process",
            "pitcrew-git",
            "pitcrew-symbols",
            "pitcrew-acp",
            "pitcrew-mcp",
        ],
    ),
    ("pitcrew-api", &["pitcrew-model"]),
    (
        "pitcrew-server",
        &["pitcrew-model", "pitcrew-runtime", "pitcrew-views", "pitcrew-api", "pitcrew-mcp"],
    ),
    ("pitcrew-agent", &["pitcrew-model", "pitcrew-acp", "pitcrew-process"]),
    (
        "pitcrew",
        &[
            "pitcrew-model",
            "pitcrew-kernel",
            "pitcrew-views",
            "pitcrew-store",
            "pitcrew-config",
            "pitcrew-process",
            "pitcrew-git",
            "pitcrew-symbols",
            "pitcrew-acp",
            "pitcrew-mcp",
            "pitcrew-runtime",
            "pitcrew-api",
            "pitcrew-server",
            "pitcrew-agent",
        ],
    ),
];

/// Additional dependencies of tests that run the whole product in one program.
const TEST_EDGES: &[(&str, &[&str])] = &[
    ("pitcrew-agent", &["pitcrew-mcp"]),
    ("pitcrew-server", &["pitcrew-agent", "pitcrew-config", "pitcrew-git", "pitcrew-process"]),
];

/// Only tests may use it.
const TESTKIT: &str = "pitcrew-testkit";
/// Not part of the product: these may depend on anything.
const FREE: &[&str] = &[TESTKIT, "pitcrew-crash", "pitcrew-sim", "xtask"];

pub fn edges_are_in_the_table(files: &[SourceFile]) -> Vec<Finding> {
    check(LAYERS, files)
}

fn check(layers: &[(&str, &[&str])], files: &[SourceFile]) -> Vec<Finding> {
    let manifests: Vec<(&str, &SourceFile)> =
        files.iter().filter_map(|it| Some((crate_folder(&it.path)?, it))).collect();
    let mut findings = Vec::new();
    for (folder, file) in &manifests {
        let row = layers.iter().find(|row| row.0 == *folder);
        findings.extend(check_manifest(folder, row.map(|it| it.1), file));
    }
    for (name, _) in layers {
        if !manifests.iter().any(|(folder, _)| folder == name) {
            let message =
                format!("the table has a row for {name}, which does not exist: remove it");
            findings.push(Finding::in_file(file!(), message));
        }
    }
    findings
}

fn check_manifest(folder: &str, row: Option<&[&str]>, file: &SourceFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    let name = format!("name = \"{folder}\"");
    if !file.text.lines().any(|line| line == name) {
        findings.push(Finding::in_file(&file.path, format!("the crate must be named {folder}")));
    }
    if FREE.contains(&folder) {
        return findings;
    }
    let Some(row) = row else {
        let message = format!("{folder} has no row in the table of layers ({}): add it", file!());
        findings.push(Finding::in_file(&file.path, message));
        return findings;
    };
    for edge in edges(&file.text) {
        let for_tests = edge.kind == EdgeKind::Tests && is_for_tests(folder, &edge.to);
        if !for_tests && !row.contains(&edge.to.as_str()) {
            let message = format!(
                "{folder} may not depend on {}: find another way, or edit the table of layers \
                 ({}) in the same commit",
                edge.to,
                file!()
            );
            findings.push(Finding::at_line(&file.path, edge.line_index, message));
        }
    }
    findings
}

fn is_for_tests(folder: &str, to: &str) -> bool {
    let row = TEST_EDGES.iter().find(|it| it.0 == folder);
    to == TESTKIT || row.is_some_and(|it| it.1.contains(&to))
}

/// The folder of our crate, from the path of its manifest.
fn crate_folder(path: &str) -> Option<&str> {
    if path == "xtask/Cargo.toml" {
        return Some("xtask");
    }
    let folder = path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml")?;
    (!folder.contains('/')).then_some(folder)
}

#[derive(Debug, PartialEq, Eq)]
struct Edge {
    to: String,
    kind: EdgeKind,
    line_index: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EdgeKind {
    Product,
    Tests,
}

/// Our crates that a manifest names.
///
/// Parses the forms of dependencies, not all of TOML: a key in a table of dependencies, a separate
/// table, and a renamed package.
fn edges(manifest: &str) -> Vec<Edge> {
    let mut edges = Vec::new();
    let mut table = None;
    for (line_index, line) in manifest.lines().enumerate() {
        let line = line.trim();
        let mut push = |to: &str, kind| {
            if to == "pitcrew" || to == "xtask" || to.starts_with("pitcrew-") {
                edges.push(Edge { to: to.to_owned(), kind, line_index });
            }
        };
        if let Some(header) = line.strip_prefix('[') {
            let header = header.trim_end_matches(']');
            table = dependency_table(header);
            if let (Some(kind), Some((_, last))) = (table, header.rsplit_once('.')) {
                push(last, kind);
            }
        } else if let (Some(kind), Some((key, value))) = (table, line.split_once('=')) {
            let key = key.trim().trim_end_matches(".workspace").trim_matches('"');
            let renamed = value.split_once("package = \"").and_then(|it| it.1.split_once('"'));
            match (key, renamed) {
                ("package", _) => push(value.trim().trim_matches('"'), kind),
                (_, Some((package, _))) => push(package, kind),
                (_, None) => push(key, kind),
            }
        }
    }
    edges
}

fn dependency_table(header: &str) -> Option<EdgeKind> {
    let mut parts = header.split('.');
    if parts.any(|it| it == "dev-dependencies") {
        return Some(EdgeKind::Tests);
    }
    header
        .split('.')
        .any(|it| it == "dependencies" || it == "build-dependencies")
        .then_some(EdgeKind::Product)
}

#[cfg(test)]
mod tests {
    use super::{super::tests::*, *};

    const TABLE: &[(&str, &[&str])] =
        &[("pitcrew-model", &[]), ("pitcrew-git", &["pitcrew-model"])];
    const MODEL: (&str, &str) =
        ("crates/pitcrew-model/Cargo.toml", "[package]\nname = \"pitcrew-model\"\n");

    fn git(dependencies: &str) -> Vec<String> {
        let manifest = format!("[package]\nname = \"pitcrew-git\"\n{dependencies}");
        let files = files(&[MODEL, ("crates/pitcrew-git/Cargo.toml", &manifest)]);
        shown(&check(TABLE, &files))
    }

    #[test]
    fn an_edge_of_the_table_passes() {
        let none: [&str; 0] = [];
        assert_eq!(git("[dependencies]\npitcrew-model = { workspace = true }\n"), none);
        assert_eq!(git("[dependencies]\npitcrew-model.workspace = true\nserde = \"1\"\n"), none);
        assert_eq!(git("[dev-dependencies]\npitcrew-testkit = { workspace = true }\n"), none);
        assert_eq!(git("[features]\npitcrew-store = []\n"), none);
    }

    /// S1-009, S2-002: separated crates stay separate.
    #[test]
    fn a_new_edge_fails_in_every_notation() {
        let forms = [
            "[dependencies]\npitcrew-store = { workspace = true }\n",
            "[dependencies]\npitcrew-store.workspace = true\n",
            "[dependencies]\nstore = { package = \"pitcrew-store\", path = \"x\" }\n",
            "[dependencies.pitcrew-store]\nworkspace = true\n",
            "[dependencies.store]\npackage = \"pitcrew-store\"\n",
            "[build-dependencies]\npitcrew-store = { workspace = true }\n",
            "[dev-dependencies]\npitcrew-store = { workspace = true }\n",
            "[target.'cfg(unix)'.dependencies]\npitcrew-store = { workspace = true }\n",
        ];
        for form in forms {
            let findings = git(form);
            assert_eq!(findings.len(), 1, "{form}: {findings:?}");
            assert!(findings[0].contains("pitcrew-git may not depend on pitcrew-store"), "{form}");
            assert!(findings[0].contains("edit the table of layers"), "{form}");
        }
    }

    #[test]
    fn an_edge_for_tests_is_for_tests_only() {
        let manifest = |table: &str| {
            let edge = "pitcrew-mcp = { workspace = true }";
            format!("[package]\nname = \"pitcrew-agent\"\n[{table}]\n{edge}\n")
        };
        let table: &[(&str, &[&str])] = &[("pitcrew-agent", &[])];
        let check = |manifest: &str| {
            check(table, &files(&[("crates/pitcrew-agent/Cargo.toml", manifest)])).len()
        };
        assert_eq!(check(&manifest("dev-dependencies")), 0);
        assert_eq!(check(&manifest("dependencies")), 1);
    }

    #[test]
    fn the_product_may_not_use_the_testkit() {
        assert_eq!(git("[dependencies]\npitcrew-testkit = { workspace = true }\n").len(), 1);
    }

    #[test]
    fn the_testkit_may_use_what_it_needs() {
        let manifest =
            "[package]\nname = \"pitcrew-testkit\"\n[dependencies]\npitcrew-model = \"0\"\n";
        let files = files(&[MODEL, ("crates/pitcrew-testkit/Cargo.toml", manifest)]);
        assert!(check(&TABLE[..1], &files).is_empty());
    }

    #[test]
    fn a_crate_without_a_row_and_a_row_without_a_crate_fail() {
        let new = ("crates/pitcrew-new/Cargo.toml", "name = \"pitcrew-new\"");
        let findings = shown(&check(TABLE, &files(&[MODEL, new])));
        assert_eq!(findings.len(), 2, "{findings:?}");
        assert!(findings[0].contains("pitcrew-new has no row"), "{findings:?}");
        assert!(findings[1].contains("row for pitcrew-git"), "{findings:?}");
    }

    #[test]
    fn a_folder_is_named_as_its_crate() {
        let file = ("crates/pitcrew-model/Cargo.toml", "[package]\nname = \"model\"\n");
        let findings = shown(&check(&TABLE[..1], &files(&[file])));
        assert_eq!(
            findings,
            ["crates/pitcrew-model/Cargo.toml: the crate must be named pitcrew-model"]
        );
    }

    #[test]
    fn the_table_has_no_cycle() {
        for (index, (name, allowed)) in LAYERS.iter().enumerate() {
            for other in *allowed {
                let earlier = LAYERS[..index].iter().any(|row| row.0 == *other);
                assert!(earlier, "{name} may depend on {other}, whose row comes later");
            }
        }
    }
}
