//! Imports of C#, Kotlin, PHP, Scala and Swift. The last part of the path is the imported name.

use super::super::node::Node;
use super::super::walk::{Imported, Walk};
use crate::Language;

pub fn import(walk: &mut Walk<'_>, node: Node<'_>) {
    let text = walk.header_of(node, None);
    let modules = match node.kind() {
        "namespace_use_declaration" => php(&text),
        "using_directive" => vec![using(&text)],
        "import_declaration" if walk.language == Language::Swift => vec![swift(&text)],
        "import_declaration" => scala(&text),
        _ => vec![kotlin(&text)],
    };
    walk.import(node, modules);
}

/// `using System.Text;` imports everything; `using A = B.C;` imports one name.
fn using(text: &str) -> Imported {
    let path = words_after(text, &["global", "using", "static", "unsafe"]);
    match path.split_once('=') {
        Some((alias, path)) => one(path.trim(), '.', Some(alias.trim())),
        None => {
            Imported { module: path.to_owned(), names: vec!["*".to_owned()], ..Imported::default() }
        }
    }
}

fn kotlin(text: &str) -> Imported {
    let path = words_after(text, &["import"]);
    match path.split_once(" as ") {
        Some((path, alias)) => one(path.trim(), '.', Some(alias.trim())),
        None => one(path, '.', None),
    }
}

/// `use A\B\{C, D as E};` and `use function A\b;`
fn php(text: &str) -> Vec<Imported> {
    let path = words_after(text, &["use", "function", "const"]);
    let (prefix, list) = match path.split_once('{') {
        Some((prefix, list)) => (prefix, list.trim_end_matches('}')),
        None => ("", path),
    };
    listed(prefix, list, '\\')
}

/// `import Foundation` imports everything; `import struct Core.Token` imports one name.
fn swift(text: &str) -> Imported {
    let path = text.rsplit(' ').next().unwrap_or_default();
    if path.contains('.') {
        return one(path, '.', None);
    }
    Imported { module: path.to_owned(), names: vec!["*".to_owned()], ..Imported::default() }
}

/// `import a.b.{C, D => E}`, `import a.b.*`
fn scala(text: &str) -> Vec<Imported> {
    let path = words_after(text, &["import"]).replace(" => ", " as ").replace("._", ".*");
    let (prefix, list) = match path.split_once('{') {
        Some((prefix, list)) => (prefix, list.trim_end_matches('}')),
        None => ("", path.as_str()),
    };
    listed(prefix, list, '.')
}

/// The entries of `C, D as E`, each with the prefix before the list.
fn listed(prefix: &str, list: &str, separator: char) -> Vec<Imported> {
    let parts = list.split(',').map(str::trim).filter(|it| !it.is_empty());
    parts
        .map(|part| {
            let (path, alias) =
                part.split_once(" as ").map_or((part, None), |it| (it.0, Some(it.1)));
            one(&[prefix, path.trim()].concat(), separator, alias.map(str::trim))
        })
        .collect()
}

fn words_after<'t>(text: &'t str, words: &[&str]) -> &'t str {
    let mut rest = text.trim();
    while let Some((word, after)) = rest.split_once(' ')
        && words.contains(&word)
    {
        rest = after.trim_start();
    }
    rest
}

fn one(path: &str, separator: char, alias: Option<&str>) -> Imported {
    let path = path.split('<').next().unwrap_or_default();
    let (module, name) = path.rsplit_once(separator).unwrap_or((path, ""));
    let names: Vec<String> =
        Some(name.to_owned()).filter(|it| !it.is_empty()).into_iter().collect();
    let original = if name.is_empty() { "self" } else { name };
    let aliases = alias.map(|it| (original.to_owned(), it.to_owned())).into_iter().collect();
    Imported { module: module.to_owned(), names, aliases }
}
