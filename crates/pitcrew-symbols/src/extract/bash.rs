//! Shell scripts: functions, and variables that are set outside functions.

use super::node::{Field, Node};
use super::walk::{Definition, Imported, Scope, Walk, each};
use crate::Kind;

/// Longer values are left out.
const VALUE_BYTES_MAX: usize = 120;

pub fn visit(walk: &mut Walk<'_>, scope: &Scope, node: Node<'_>) {
    match node.kind() {
        "function_definition" => function(walk, scope, node),
        "variable_assignment" => variable(walk, scope, node, node, Kind::Variable),
        "declaration_command" => declaration(walk, scope, node),
        "command" => source(walk, node),
        _ => {}
    }
}

fn function(walk: &mut Walk<'_>, scope: &Scope, node: Node<'_>) {
    let Some(name) = walk.field(node, Field::Name) else { return };
    let definition = Definition {
        kind: Kind::Function,
        name,
        visibility: scope.visibility,
        signature: walk.header_of(node, node.field(Field::Body)),
        members: Vec::new(),
        node,
        doc: None,
    };
    walk.define(scope, definition);
}

/// `readonly A=1`, `export B=2`
fn declaration(walk: &mut Walk<'_>, scope: &Scope, node: Node<'_>) {
    let read_only = walk.bytes(node).starts_with(b"readonly");
    let kind = if read_only { Kind::Constant } else { Kind::Variable };
    let mut assignments = Vec::new();
    each(Some(node), |it| assignments.push(it));
    for it in assignments.into_iter().filter(|it| it.kind() == "variable_assignment") {
        variable(walk, scope, it, node, kind);
    }
}

fn variable(walk: &mut Walk<'_>, scope: &Scope, node: Node<'_>, outer: Node<'_>, kind: Kind) {
    let Some(name) = walk.field(node, Field::Name) else { return };
    let value = node.field(Field::Value);
    let definition = Definition {
        kind,
        name,
        visibility: scope.visibility,
        signature: walk
            .header_of(outer, value.filter(|it| it.byte_range().len() > VALUE_BYTES_MAX)),
        members: Vec::new(),
        node: outer,
        doc: None,
    };
    walk.define(scope, definition);
}

/// `source lib.sh`, `. lib.sh`
fn source(walk: &mut Walk<'_>, node: Node<'_>) {
    let name = walk.field(node, Field::Name).unwrap_or_default();
    if !matches!(&*name, "source" | ".") {
        return;
    }
    if let Some(path) = walk.field(node, Field::Argument) {
        let module = path.trim_matches(['"', '\'']).to_owned();
        walk.import(node, vec![Imported { module, ..Imported::default() }]);
    }
}
