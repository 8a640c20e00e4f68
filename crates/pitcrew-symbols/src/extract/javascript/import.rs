//! Imports and exports of JavaScript's modules, and `require`.

use super::super::node::{Field, Node};
use super::super::walk::{Imported, Walk, each};
use super::unquoted;

fn source(walk: &Walk<'_>, node: Node<'_>) -> Option<String> {
    walk.field(node, Field::Source).map(|it| unquoted(it).into_owned())
}

/// `import a, { b as c } from "d"`
pub fn import(walk: &mut Walk<'_>, node: Node<'_>) {
    let mut module = Imported::default();
    let mut parts = Vec::new();
    each(Some(node), |it| parts.push(it));
    for part in parts {
        match part.kind() {
            "import_clause" => clause(walk, part, &mut module),
            // `import a = require("b")`
            "import_require_clause" => {
                module.module = source(walk, part).unwrap_or_default();
                module.names.extend(part.named_child(0).map(|it| walk.text(it).into_owned()));
            }
            _ => {}
        }
    }
    if let Some(source) = source(walk, node) {
        module.module = source;
    }
    if !module.module.is_empty() {
        walk.import(node, vec![module]);
    }
}

fn clause(walk: &Walk<'_>, clause: Node<'_>, module: &mut Imported) {
    each(Some(clause), |it| match it.kind() {
        "identifier" => module.names.push(walk.text(it).into_owned()),
        "namespace_import" => {
            let local = it.named_child(0).map(|it| walk.text(it).into_owned());
            module.names.push("*".to_owned());
            module.aliases.extend(local.map(|it| ("*".to_owned(), it)));
        }
        "named_imports" => specifiers(walk, it, module),
        _ => {}
    });
}

fn specifiers(walk: &Walk<'_>, list: Node<'_>, module: &mut Imported) {
    each(Some(list), |it| {
        let Some(name) = walk.field(it, Field::Name).map(|it| unquoted(it).into_owned()) else {
            return;
        };
        let alias = walk.field(it, Field::Alias).map(|it| (name.clone(), it.into_owned()));
        module.aliases.extend(alias);
        module.names.push(name);
    });
}

/// `export { a, b as c }`. With `from`, this is also an import.
pub fn export(walk: &mut Walk<'_>, node: Node<'_>) {
    let mut module = Imported::default();
    let mut parts = Vec::new();
    each(Some(node), |it| parts.push(it));
    for part in parts {
        match part.kind() {
            "export_clause" => specifiers(walk, part, &mut module),
            "namespace_export" => module.names.push("*".to_owned()),
            _ => {}
        }
    }
    match source(walk, node) {
        Some(source) => {
            if module.names.is_empty() {
                module.names.push("*".to_owned());
            }
            module.module = source;
            walk.import(node, vec![module]);
        }
        None => {
            for name in &module.names {
                walk.publish(name);
            }
        }
    }
}

/// `const { a, b: c } = require("d")`; returns whether the statement has this form.
pub fn require(walk: &mut Walk<'_>, declarator: Node<'_>, outer: Node<'_>) -> bool {
    let value = declarator.field(Field::Value);
    let Some(call) = value.filter(|it| it.kind() == "call_expression") else { return false };
    if walk.field(call, Field::Function).as_deref() != Some("require") {
        return false;
    }
    let argument = call.field(Field::Arguments).and_then(|it| it.named_child(0));
    let Some(argument) = argument.filter(|it| it.kind() == "string") else { return false };
    let mut module =
        Imported { module: unquoted(walk.text(argument)).into_owned(), ..Imported::default() };
    match declarator.field(Field::Name) {
        Some(name) if name.kind() == "identifier" => {
            module.names.push(walk.text(name).into_owned());
        }
        name => each(name, |it| match it.kind() {
            "pair_pattern" => {
                let (Some(key), Some(local)) =
                    (walk.field(it, Field::Key), walk.field(it, Field::Value))
                else {
                    return;
                };
                module.names.push(key.to_string());
                module.aliases.push((key.into_owned(), local.into_owned()));
            }
            _ => module.names.push(walk.text(it).into_owned()),
        }),
    }
    walk.import(outer, vec![module]);
    true
}
