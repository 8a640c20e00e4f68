//! Zig: types are values, so a constant may be a struct.

use super::node::{Field, Node};
use super::walk::{Definition, Imported, Scope, Walk, each};
use crate::{Kind, Member, Visibility};

/// Longer values are left out.
const VALUE_BYTES_MAX: usize = 120;

pub fn visit(walk: &mut Walk<'_>, scope: &Scope, node: Node<'_>) {
    match node.kind() {
        "function_declaration" => function(walk, scope, node),
        "variable_declaration" => variable(walk, scope, node),
        _ => {}
    }
}

fn visibility(walk: &Walk<'_>, node: Node<'_>) -> Visibility {
    let public = walk.bytes(node).starts_with(b"pub ");
    if public { Visibility::Public } else { Visibility::Private }
}

fn function(walk: &mut Walk<'_>, scope: &Scope, node: Node<'_>) {
    let Some(name) = walk.field(node, Field::Name) else { return };
    let mut list = None;
    each(Some(node), |it| list = list.or(Some(it).filter(|it| it.kind() == "parameters")));
    let definition = Definition {
        kind: scope.callable(),
        name,
        visibility: visibility(walk, node),
        signature: walk.header_of(node, node.field(Field::Body)),
        members: walk.members(Kind::Parameter, list),
        node,
        doc: None,
    };
    walk.define(scope, definition);
}

fn variable(walk: &mut Walk<'_>, scope: &Scope, node: Node<'_>) {
    let (mut name, mut value) = (None, None);
    each(Some(node), |it| {
        if name.is_none() && it.kind() == "identifier" {
            name = Some(walk.text(it));
        } else {
            value = Some(it);
        }
    });
    let Some(name) = name else { return };
    let kind = match value.map_or("", |it| it.kind()) {
        "struct_declaration" => Kind::Struct,
        "enum_declaration" | "error_set_declaration" => Kind::Enum,
        "union_declaration" | "opaque_declaration" => Kind::Union,
        "builtin_function" if import(walk, node, value, &name) => return,
        _ => {
            let constant = walk.header_of(node, value).split(' ').any(|it| it == "const");
            if constant { Kind::Constant } else { Kind::Variable }
        }
    };
    let visibility = visibility(walk, node);
    let inside = walk.inside(scope, kind, &name, Visibility::Private);
    let signature = walk.header(node.start_byte(), end_of(walk, node, value, kind));
    let body = value.filter(|_| kind.is_type());
    let members = members(walk, body, kind);
    walk.define(scope, Definition { kind, name, visibility, signature, members, node, doc: None });
    if let Some(body) = body {
        walk.children(&inside, body, visit);
    }
}

/// The end of the signature: after `struct` or `union(enum)`, or before a long value.
fn end_of(walk: &Walk<'_>, node: Node<'_>, value: Option<Node<'_>>, kind: Kind) -> usize {
    let Some(value) = value else { return node.end_byte() };
    if kind.is_type() {
        let brace = walk.bytes(value).iter().position(|it| *it == b'{');
        return value.start_byte() + brace.unwrap_or_default();
    }
    if value.byte_range().len() > VALUE_BYTES_MAX { value.start_byte() } else { node.end_byte() }
}

fn members(walk: &Walk<'_>, body: Option<Node<'_>>, kind: Kind) -> Vec<Member> {
    let member = if kind == Kind::Enum { Kind::Variant } else { Kind::Field };
    let mut members = Vec::new();
    each(body, |it| {
        if matches!(it.kind(), "container_field" | "identifier") {
            members.push(walk.member(member, it.start_byte(), it.end_byte()));
        }
    });
    members
}

/// `const a = @import("b.zig");`; returns whether the statement has this form.
fn import(walk: &mut Walk<'_>, node: Node<'_>, call: Option<Node<'_>>, name: &str) -> bool {
    let text = call.map(|it| walk.text(it)).unwrap_or_default();
    let Some(path) = text.strip_prefix("@import(") else { return false };
    let module = path.trim_matches(['"', ')', ' ']).to_owned();
    let aliases = vec![("self".to_owned(), name.to_owned())];
    walk.import(node, vec![Imported { module, names: Vec::new(), aliases }]);
    true
}
