//! Ruby.

use super::node::{Field, Node};
use super::walk::{Definition, Imported, Scope, Walk, each};
use crate::{Kind, Member, Visibility};

/// Longer values are left out.
const VALUE_BYTES_MAX: usize = 120;

pub fn visit(walk: &mut Walk<'_>, scope: &Scope, node: Node<'_>) {
    match node.kind() {
        "class" => container(walk, scope, node, Kind::Class),
        "module" => container(walk, scope, node, Kind::Module),
        "singleton_class" | "body_statement" => walk.children(scope, node, visit),
        "method" | "singleton_method" => method(walk, scope, node),
        "assignment" => constant(walk, scope, node),
        "call" => call(walk, node),
        // `private` without arguments applies to the following definitions.
        "identifier" => walk.access = access(&walk.text(node)).or(walk.access),
        _ => {}
    }
}

fn access(word: &str) -> Option<Visibility> {
    match word {
        "private" | "private_class_method" | "module_function" => Some(Visibility::Private),
        "protected" => Some(Visibility::Restricted),
        "public" => Some(Visibility::Public),
        _ => None,
    }
}

fn container(walk: &mut Walk<'_>, scope: &Scope, node: Node<'_>, kind: Kind) {
    let Some(name) = walk.field(node, Field::Name) else { return };
    let body = node.field(Field::Body);
    let inside = walk.inside(scope, kind, &name, Visibility::Public);
    let superclass = node.field(Field::Superclass);
    let named = superclass.or_else(|| node.field(Field::Name));
    let definition = Definition {
        kind,
        name,
        visibility: scope.visibility,
        signature: walk.header(node.start_byte(), named.map_or(node.end_byte(), Node::end_byte)),
        members: attributes(walk, body),
        node,
        doc: None,
    };
    walk.define(scope, definition);
    if let Some(body) = body {
        let before = walk.access.take();
        walk.children(&inside, body, visit);
        walk.access = before;
    }
}

/// `attr_reader :a, :b`
fn attributes(walk: &Walk<'_>, body: Option<Node<'_>>) -> Vec<Member> {
    let mut members = Vec::new();
    each(body, |it| {
        let method =
            walk.field(it, Field::Method).filter(|_| it.kind() == "call").unwrap_or_default();
        if method.starts_with("attr_") {
            members.push(walk.member(Kind::Field, it.start_byte(), it.end_byte()));
        }
    });
    members
}

fn method(walk: &mut Walk<'_>, scope: &Scope, node: Node<'_>) {
    let Some(name) = walk.field(node, Field::Name) else { return };
    let list = node.field(Field::Parameters);
    let named = list.or_else(|| node.field(Field::Name));
    let own = node.kind() == "method" && scope.container.is_some();
    let definition = Definition {
        kind: if scope.container.is_some() { Kind::Method } else { Kind::Function },
        name,
        visibility: walk.access.filter(|_| own).unwrap_or(scope.visibility),
        signature: walk.header(node.start_byte(), named.map_or(node.end_byte(), Node::end_byte)),
        members: walk.members(Kind::Parameter, list),
        node,
        doc: None,
    };
    walk.define(scope, definition);
}

fn constant(walk: &mut Walk<'_>, scope: &Scope, node: Node<'_>) {
    let Some(left) = node.field(Field::Left).filter(|it| it.kind() == "constant") else {
        return;
    };
    let value = node.field(Field::Right);
    let definition = Definition {
        kind: Kind::Constant,
        name: walk.text(left),
        visibility: scope.visibility,
        signature: walk.header_of(node, value.filter(|it| it.byte_range().len() > VALUE_BYTES_MAX)),
        members: Vec::new(),
        node,
        doc: None,
    };
    walk.define(scope, definition);
}

/// `require "a"`, `require_relative "b"`, and `private :a, :b` or `private def a`.
fn call(walk: &mut Walk<'_>, node: Node<'_>) {
    let method = walk.field(node, Field::Method).unwrap_or_default();
    let argument = node.field(Field::Arguments).and_then(|it| it.named_child(0));
    let Some(argument) = argument else { return };
    if matches!(&*method, "require" | "require_relative" | "load") && argument.kind() == "string" {
        let module = walk.text(argument).trim_matches(['"', '\'']).to_owned();
        walk.import(node, vec![Imported { module, ..Imported::default() }]);
    }
}
