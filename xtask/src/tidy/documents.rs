//! Rules for documents: links resolve, and every document is linked.

use super::{Finding, tree::SourceFile};
use std::collections::BTreeSet;

/// Where readers start.
const INDEXES: &[&str] = &["README.md", "docs/README.md"];

struct Link {
    line_index: usize,
    target: String,
}

pub fn relative_links_resolve(files: &[SourceFile]) -> Vec<Finding> {
    let known = files_and_folders(files);
    let mut findings = Vec::new();
    for file in files.iter().filter(|it| it.has_extension("md")) {
        for link in relative_links(&file.text) {
            let resolved = resolve(&file.path, &link.target);
            if !resolved.is_some_and(|it| known.contains(&it)) {
                let message = format!("the link `{}` is broken", link.target);
                findings.push(Finding::at_line(&file.path, link.line_index, message));
            }
        }
    }
    findings
}

pub fn every_document_is_linked(files: &[SourceFile]) -> Vec<Finding> {
    let indexes = files.iter().filter(|it| INDEXES.contains(&it.path.as_str()));
    let linked: BTreeSet<String> = indexes
        .flat_map(|index| {
            relative_links(&index.text)
                .into_iter()
                .filter_map(|it| resolve(&index.path, &it.target))
        })
        .collect();
    files
        .iter()
        .filter(|it| it.path.starts_with("docs/") && it.has_extension("md"))
        .filter(|it| !linked.contains(&it.path))
        .map(|it| Finding::in_file(&it.path, format!("link it from {}", INDEXES.join(" or "))))
        .collect()
}

fn files_and_folders(files: &[SourceFile]) -> BTreeSet<String> {
    let mut known = BTreeSet::from([String::new()]);
    for file in files {
        let ends = file.path.match_indices('/').map(|it| it.0);
        known.extend(ends.map(|end| file.path[..end].to_owned()));
        known.insert(file.path.clone());
    }
    known
}

/// The relative links of a Markdown text. Code is skipped.
fn relative_links(text: &str) -> Vec<Link> {
    let mut links = Vec::new();
    let mut in_fence = false;
    for (line_index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_fence = !in_fence;
        }
        if in_fence {
            continue;
        }
        let prose: String = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
        let definition = prose.split_once("]: ").filter(|it| it.0.starts_with('['));
        for rest in prose.split("](").skip(1).chain(definition.map(|it| it.1)) {
            let target = rest.split([')', ' ', '#']).next().unwrap_or_default();
            if !target.is_empty() && !target.contains(':') {
                links.push(Link { line_index, target: target.to_owned() });
            }
        }
    }
    links
}

/// The path of `target` in the file `from`; `None` if it leaves the repository.
fn resolve(from: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            _ => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::{super::tests::*, *};

    #[test]
    fn a_broken_link_fails() {
        let readme = "\
[a](docs/a.md) and [gone](docs/gone.md)
[out](../x.md) ![picture](docs/none.png)
[name]: docs/lost.md
";
        let findings = relative_links_resolve(&files(&[("README.md", readme), ("docs/a.md", "")]));
        assert_eq!(
            shown(&findings),
            [
                "README.md:1: the link `docs/gone.md` is broken",
                "README.md:2: the link `../x.md` is broken",
                "README.md:2: the link `docs/none.png` is broken",
                "README.md:3: the link `docs/lost.md` is broken",
            ]
        );
    }

    #[test]
    fn links_to_files_folders_and_anchors_resolve() {
        let text = "\
[root](../README.md#start) [folder](../crates/) [self](#here) [beside](b.md \"title\")
[out](https://example.org/x) `[code](nowhere.md)` [after](b.md)
```
[fence](nowhere.md)
```
";
        let files = files(&[
            ("README.md", ""),
            ("docs/a.md", text),
            ("docs/b.md", ""),
            ("crates/x/Cargo.toml", ""),
        ]);
        assert_eq!(shown(&relative_links_resolve(&files)), Vec::<String>::new());
    }

    #[test]
    fn a_document_without_a_link_fails() {
        let findings = every_document_is_linked(&files(&[
            ("README.md", "[docs](docs/README.md)"),
            ("docs/README.md", "[a](a.md), [deep](deep/b.md)"),
            ("docs/a.md", "[lonely](lonely.md)"),
            ("docs/deep/b.md", ""),
            ("docs/lonely.md", ""),
        ]));
        assert_eq!(shown(&findings), ["docs/lonely.md: link it from README.md or docs/README.md"]);
    }
}
