//! Structs, unions, classes, enums and typedefs.

use super::super::node::{Field, Node};
use super::super::walk::{Definition, Scope, Walk, each};
use super::{declarator, visit};
use crate::{Kind, Member, Visibility};

/// A type with a body. A type without a body is only a reference.
pub fn specifier(
    walk: &mut Walk<'_>,
    scope: &Scope,
    node: Node<'_>,
    outer: Node<'_>,
    named: Option<&str>,
) {
    let Some(body) = node.field(Field::Body) else { return };
    let own = node.field(Field::Name).map(|it| walk.header_of(it, None));
    let own = own.map(|it| it.split('<').next().unwrap_or_default().to_owned());
    let Some(name) = named.map(str::to_owned).or(own) else {
        // The constants of an anonymous enum are used without a qualifier.
        return anonymous(walk, scope, node, body);
    };
    let (kind, inner) = match node.kind() {
        "class_specifier" => (Kind::Class, Visibility::Private),
        "union_specifier" => (Kind::Union, Visibility::Public),
        "enum_specifier" => (Kind::Enum, Visibility::Public),
        _ => (Kind::Struct, Visibility::Public),
    };
    let inside = walk.inside(scope, kind, &name, inner);
    let members = if kind == Kind::Enum {
        walk.members(Kind::Variant, Some(body))
    } else {
        fields(walk, body)
    };
    let visibility = walk.access.unwrap_or(scope.visibility);
    let mut signature = walk.header(outer.start_byte(), body.start_byte());
    if let Some(name) = named {
        signature = format!("{signature} {name}");
    }
    let definition = Definition {
        kind,
        name: name.into(),
        visibility,
        signature,
        members,
        node: outer,
        doc: None,
    };
    walk.define(scope, definition);
    if kind != Kind::Enum {
        let before = walk.access.replace(inner);
        walk.children(&inside, body, visit);
        walk.access = before;
    }
}

fn anonymous(walk: &mut Walk<'_>, scope: &Scope, node: Node<'_>, body: Node<'_>) {
    if node.kind() != "enum_specifier" {
        return;
    }
    let mut variants = Vec::new();
    each(Some(body), |it| variants.push(it));
    for it in variants {
        let Some(name) = walk.field(it, Field::Name) else { continue };
        let definition = Definition {
            kind: Kind::Constant,
            name,
            visibility: scope.visibility,
            signature: format!("enum {}", walk.header_of(it, None)),
            members: Vec::new(),
            node: it,
            doc: None,
        };
        walk.define(scope, definition);
    }
}

/// The fields of a type. Member functions are separate symbols.
fn fields(walk: &Walk<'_>, body: Node<'_>) -> Vec<Member> {
    let mut members = Vec::new();
    each(Some(body), |it| {
        let declares = it.field(Field::Declarator).is_some() || holds_fields(it);
        if it.kind() == "field_declaration" && declares && !declares_function(walk, it) {
            members.push(walk.member(Kind::Field, it.start_byte(), it.end_byte()));
        }
    });
    members
}

/// Whether this is an anonymous `union { int a; float b; };`, whose fields belong to the outer
/// type.
fn holds_fields(node: Node<'_>) -> bool {
    let of = node.field(Field::Type);
    of.is_some_and(|it| {
        let holds = matches!(it.kind(), "struct_specifier" | "union_specifier");
        holds && it.field(Field::Name).is_none() && it.field(Field::Body).is_some()
    })
}

fn declares_function(walk: &Walk<'_>, node: Node<'_>) -> bool {
    let declarator = node.field(Field::Declarator);
    declarator.and_then(|it| declarator::read(walk, it)).is_some_and(|it| it.parameters.is_some())
}

/// `typedef struct { ... } A;` defines `A`. Any other typedef is an alias.
pub fn type_definition(walk: &mut Walk<'_>, scope: &Scope, node: Node<'_>) {
    let Some(of) = node.field(Field::Type) else { return };
    let mut names = Vec::new();
    for it in node.fields(Field::Declarator) {
        let plain = it.kind() == "type_identifier";
        names.extend(declarator::read(walk, it).map(|found| (found.name, plain)));
    }
    let body = of.field(Field::Body);
    let doc = walk.doc();
    match walk.field(of, Field::Name) {
        _ if body.is_none() => {}
        Some(tag) => {
            names.retain(|it| *it.0 != *tag);
            specifier(walk, scope, of, node, None);
        }
        None => {
            if let Some(at) = names.iter().position(|it| it.1) {
                let (name, _) = names.remove(at);
                specifier(walk, scope, of, node, Some(&name));
            }
        }
    }
    for (name, _) in names {
        let signature = match body {
            Some(body) => format!("{} {name}", walk.header_of(node, Some(body))),
            None => walk.header_of(node, None),
        };
        let definition = Definition {
            kind: Kind::TypeAlias,
            name: name.into(),
            visibility: walk.access.unwrap_or(scope.visibility),
            signature,
            members: Vec::new(),
            node,
            doc: doc.clone(),
        };
        walk.define(scope, definition);
    }
}

/// `using A = B;` and `concept A = ...;`
pub fn alias(walk: &mut Walk<'_>, scope: &Scope, node: Node<'_>, outer: Node<'_>) {
    let Some(name) = walk.field(node, Field::Name) else { return };
    let definition = Definition {
        kind: Kind::TypeAlias,
        name,
        visibility: walk.access.unwrap_or(scope.visibility),
        signature: walk.header_of(outer, None),
        members: Vec::new(),
        node: outer,
        doc: None,
    };
    walk.define(scope, definition);
}
