//! Lua: functions, including functions of tables, and the variables of a file.

use super::node::{Field, Node};
use super::walk::{Definition, Imported, Scope, Walk, each};
use crate::{Kind, Visibility};

/// Longer values are left out.
const VALUE_BYTES_MAX: usize = 120;

pub fn visit(walk: &mut Walk<'_>, scope: &Scope, node: Node<'_>) {
    match node.kind() {
        "function_declaration" => {
            if let Some(name) = walk.field(node, Field::Name) {
                function(walk, scope, &name, node, node);
            }
        }
        "variable_declaration" | "assignment_statement" => assignment(walk, scope, node),
        _ => {}
    }
}

fn visibility(walk: &Walk<'_>, scope: &Scope, node: Node<'_>) -> Visibility {
    let local = walk.bytes(node).starts_with(b"local");
    if local { Visibility::Private } else { scope.visibility }
}

/// `a.b.c` and `a.b:c` define `c` in `a.b`.
fn function(walk: &mut Walk<'_>, scope: &Scope, path: &str, node: Node<'_>, outer: Node<'_>) {
    let (owner, name) = path.rsplit_once(['.', ':']).map_or((None, path), |it| (Some(it.0), it.1));
    let inside = owner.map(|it| walk.inside(scope, Kind::Struct, it, scope.visibility));
    let scope = inside.as_ref().unwrap_or(scope);
    let definition = Definition {
        kind: scope.callable(),
        name: name.to_owned().into(),
        visibility: visibility(walk, scope, outer),
        signature: {
            let list = node.field(Field::Parameters);
            walk.header(outer.start_byte(), list.map_or(outer.end_byte(), Node::end_byte))
        },
        members: walk.members(Kind::Parameter, node.field(Field::Parameters)),
        node: outer,
        doc: None,
    };
    walk.define(scope, definition);
}

fn assignment(walk: &mut Walk<'_>, scope: &Scope, node: Node<'_>) {
    let (mut names, mut values) = (None, None);
    let mut take = |it: Node<'_>| match it.kind() {
        "variable_list" => names = it.field(Field::Name).map(|it| walk.text(it)),
        "expression_list" => values = Some((it.start_byte(), it.end_byte())),
        _ => {}
    };
    let mut inner = node;
    each(Some(node), |it| {
        if it.kind() == "assignment_statement" {
            inner = it;
        }
    });
    each(Some(inner), &mut take);
    let Some(name) = names else { return };
    let mut value = None;
    each(Some(inner), |it| {
        if it.kind() == "expression_list" {
            value = it.field(Field::Value).or_else(|| it.named_child(0));
        }
    });
    match value.map_or("", |it| it.kind()) {
        "function_definition" => {
            if let Some(value) = value {
                function(walk, scope, &name, value, node);
            }
        }
        "function_call" if require(walk, node, value, &name) => {}
        _ if name.contains(['.', '[', ':']) => {}
        _ => {
            let end = match values {
                Some((start, end)) if end - start > VALUE_BYTES_MAX => start,
                Some(_) | None => node.end_byte(),
            };
            let definition = Definition {
                kind: Kind::Variable,
                name,
                visibility: visibility(walk, scope, node),
                signature: walk.header(node.start_byte(), end),
                members: Vec::new(),
                node,
                doc: None,
            };
            walk.define(scope, definition);
        }
    }
}

/// `local a = require("b")`; returns whether the statement has this form.
fn require(walk: &mut Walk<'_>, node: Node<'_>, call: Option<Node<'_>>, name: &str) -> bool {
    let Some(call) = call.filter(|it| walk.field(*it, Field::Name).as_deref() == Some("require"))
    else {
        return false;
    };
    let Some(argument) = walk.field(call, Field::Arguments) else { return false };
    let module = argument.trim_matches(['(', ')', '"', '\'', ' ']).to_owned();
    let aliases = vec![("self".to_owned(), name.to_owned())];
    walk.import(node, vec![Imported { module, names: Vec::new(), aliases }]);
    true
}
