//! JavaScript and TypeScript, with JSX: one grammar is an extension of the other.

mod import;
mod assign;

use super::node::{Field, Node};
use super::walk::{Definition, Scope, Walk, each};
use crate::{Kind, Member, Visibility};
use std::borrow::Cow;

/// Longer values of constants are left out.
const VALUE_BYTES_MAX: usize = 120;

pub fn visit(walk: &mut Walk<'_>, scope: &Scope, node: Node<'_>) {
    match node.kind() {
        "function_declaration" | "generator_function_declaration" | "function_signature" => {
            function(walk, scope, node, node);
        }
        "class_declaration" | "abstract_class_declaration" | "class" => {
            class(walk, scope, node, node);
        }
        "interface_declaration" => interface(walk, scope, node, node),
        "enum_declaration" => enumeration(walk, scope, node, node),
        "type_alias_declaration" => type_alias(walk, scope, node, node),
        "lexical_declaration" | "variable_declaration" => variables(walk, scope, node, node),
        "module" | "internal_module" => namespace(walk, scope, node, node),
        "export_statement" => export(walk, scope, node),
        "ambient_declaration" => {
            if let Some(inner) = node.named_child(0) {
                declared(walk, &scope.with(Visibility::Public), inner, node);
            }
        }
        "import_statement" => import::import(walk, node),
        "expression_statement" => match node.named_child(0) {
            Some(inner) if inner.kind() == "internal_module" => namespace(walk, scope, inner, node),
            Some(inner) => assign::statement(walk, scope, inner, node),
            None => {}
        },
        "method_definition" | "method_signature" | "abstract_method_signature" => {
            method(walk, scope, node);
        }
        "public_field_definition" | "field_definition" => function_field(walk, scope, node),
        _ => {}
    }
}

/// A declaration wrapped in `outer`. The signature begins at `outer`.
fn declared(walk: &mut Walk<'_>, scope: &Scope, node: Node<'_>, outer: Node<'_>) {
    match node.kind() {
        "function_declaration"
        | "generator_function_declaration"
        | "function_signature"
        | "function_expression"
        | "generator_function" => function(walk, scope, node, outer),
        "class_declaration" | "abstract_class_declaration" | "class" => {
            class(walk, scope, node, outer);
        }
        "interface_declaration" => interface(walk, scope, node, outer),
        "enum_declaration" => enumeration(walk, scope, node, outer),
        "type_alias_declaration" => type_alias(walk, scope, node, outer),
        "lexical_declaration" | "variable_declaration" => variables(walk, scope, node, outer),
        "module" | "internal_module" => namespace(walk, scope, node, outer),
        "ambient_declaration" => {
            if let Some(inner) = node.named_child(0) {
                declared(walk, scope, inner, outer);
            }
        }
        // `declare global { ... }`
        "statement_block" => walk.children(scope, node, visit),
        _ => {}
    }
}

fn export(walk: &mut Walk<'_>, scope: &Scope, node: Node<'_>) {
    let scope = scope.with(Visibility::Public);
    if let Some(inner) = node.field(Field::Declaration) {
        return declared(walk, &scope, inner, node);
    }
    if let Some(value) = node.field(Field::Value) {
        return match value.kind() {
            "identifier" => walk.publish(&walk.text(value)),
            "arrow_function" | "function_expression" | "class" => {
                assign::value(walk, &scope, Cow::Borrowed("default"), value, node);
            }
            "object" => assign::exported_object(walk, &scope, value),
            _ => {}
        };
    }
    import::export(walk, node);
}

/// The name of a declaration. An export without a name is the default export.
fn name<'a>(walk: &Walk<'a>, node: Node<'_>) -> Cow<'a, str> {
    let name = walk.field(node, Field::Name).filter(|it| !it.is_empty());
    name.unwrap_or(Cow::Borrowed("default"))
}

fn unquoted(name: Cow<'_, str>) -> Cow<'_, str> {
    match name.strip_prefix(['"', '\'']).and_then(|it| it.strip_suffix(['"', '\''])) {
        Some(inner) => Cow::Owned(inner.to_owned()),
        None => name,
    }
}

fn parameters(walk: &Walk<'_>, node: Node<'_>) -> Vec<Member> {
    let list = node.field(Field::Parameters);
    match (list, node.field(Field::Parameter)) {
        (None, Some(it)) => vec![walk.member(Kind::Parameter, it.start_byte(), it.end_byte())],
        (list, _) => walk.members(Kind::Parameter, list),
    }
}

fn function(walk: &mut Walk<'_>, scope: &Scope, node: Node<'_>, outer: Node<'_>) {
    let definition = Definition {
        kind: Kind::Function,
        name: name(walk, node),
        visibility: scope.visibility,
        signature: walk.header_of(outer, node.field(Field::Body)),
        members: parameters(walk, node),
        node: outer,
        doc: None,
    };
    walk.define(scope, definition);
}

fn class(walk: &mut Walk<'_>, scope: &Scope, node: Node<'_>, outer: Node<'_>) {
    let name = name(walk, node);
    class_named(walk, scope, name, node, outer);
}

fn class_named(
    walk: &mut Walk<'_>,
    scope: &Scope,
    name: Cow<'_, str>,
    node: Node<'_>,
    outer: Node<'_>,
) {
    let body = node.field(Field::Body);
    let members = fields(walk, body);
    let inside = walk.inside(scope, Kind::Class, &name, Visibility::Public);
    let mut parts = outer.children();
    let start =
        parts.find(|it| it.kind() != "decorator").map_or(outer.start_byte(), Node::start_byte);
    let definition = Definition {
        kind: Kind::Class,
        name,
        visibility: scope.visibility,
        signature: walk.header(start, body.map_or(node.end_byte(), Node::start_byte)),
        members,
        node: outer,
        doc: None,
    };
    walk.define(scope, definition);
    if let Some(body) = body {
        walk.children(&inside, body, visit);
    }
}

/// The fields of a class, including the parameter properties of its constructor.
fn fields(walk: &Walk<'_>, body: Option<Node<'_>>) -> Vec<Member> {
    let mut members = Vec::new();
    each(body, |it| {
        let value = it.field(Field::Value);
        let field = matches!(it.kind(), "public_field_definition" | "field_definition");
        if it.kind() == "index_signature" || field && !value.is_some_and(is_function) {
            let long = value.filter(|it| it.byte_range().len() > VALUE_BYTES_MAX);
            let end = long.map_or(it.end_byte(), Node::start_byte);
            members.push(walk.member(Kind::Field, it.start_byte(), end));
        }
        if it.kind() == "method_definition"
            && walk.field(it, Field::Name).as_deref() == Some("constructor")
        {
            each(it.field(Field::Parameters), |it| {
                let first = it.children().find(|it| !it.is_attribute());
                if first
                    .is_some_and(|it| matches!(it.kind(), "accessibility_modifier" | "readonly"))
                {
                    members.push(walk.member(Kind::Field, it.start_byte(), it.end_byte()));
                }
            });
        }
    });
    members
}

fn is_function(node: Node<'_>) -> bool {
    matches!(node.kind(), "arrow_function" | "function_expression" | "generator_function")
}

fn interface(walk: &mut Walk<'_>, scope: &Scope, node: Node<'_>, outer: Node<'_>) {
    let name = name(walk, node);
    let body = node.field(Field::Body);
    let inside = walk.inside(scope, Kind::Interface, &name, scope.visibility);
    let definition = Definition {
        kind: Kind::Interface,
        name,
        visibility: scope.visibility,
        signature: walk.header_of(outer, body),
        members: properties(walk, body),
        node: outer,
        doc: None,
    };
    walk.define(scope, definition);
    if let Some(body) = body {
        walk.children(&inside, body, visit);
    }
}

/// The properties of an interface or an object type. Methods are separate symbols.
fn properties(walk: &Walk<'_>, body: Option<Node<'_>>) -> Vec<Member> {
    let mut members = Vec::new();
    each(body, |it| {
        if it.kind() != "method_signature" {
            members.push(walk.member(Kind::Field, it.start_byte(), it.end_byte()));
        }
    });
    members
}

fn enumeration(walk: &mut Walk<'_>, scope: &Scope, node: Node<'_>, outer: Node<'_>) {
    let body = node.field(Field::Body);
    let definition = Definition {
        kind: Kind::Enum,
        name: name(walk, node),
        visibility: scope.visibility,
        signature: walk.header_of(outer, body),
        members: walk.members(Kind::Variant, body),
        node: outer,
        doc: None,
    };
    walk.define(scope, definition);
}

fn type_alias(walk: &mut Walk<'_>, scope: &Scope, node: Node<'_>, outer: Node<'_>) {
    let name = name(walk, node);
    let object = node.field(Field::Value).filter(|it| it.kind() == "object_type");
    let inside = walk.inside(scope, Kind::TypeAlias, &name, scope.visibility);
    let signature = walk.header_of(outer, object);
    let definition = Definition {
        kind: Kind::TypeAlias,
        name,
        visibility: scope.visibility,
        signature,
        members: properties(walk, object),
        node: outer,
        doc: None,
    };
    walk.define(scope, definition);
    if let Some(object) = object {
        walk.children(&inside, object, visit);
    }
}

fn namespace(walk: &mut Walk<'_>, scope: &Scope, node: Node<'_>, outer: Node<'_>) {
    let name = unquoted(name(walk, node));
    let body = node.field(Field::Body);
    // In a `declare` block everything is visible; in a namespace only its exports are.
    let declared = scope.visibility == Visibility::Public && outer.kind() == "ambient_declaration";
    let visibility = if declared { Visibility::Public } else { Visibility::Private };
    let inside = walk.inside(scope, Kind::Module, &name, visibility);
    let definition = Definition {
        kind: Kind::Module,
        name,
        visibility: scope.visibility,
        signature: walk.header_of(outer, body),
        members: Vec::new(),
        node: outer,
        doc: None,
    };
    walk.define(scope, definition);
    if let Some(body) = body {
        walk.children(&inside, body, visit);
    }
}

/// The visibility of a class member.
fn member_visibility(walk: &Walk<'_>, scope: &Scope, node: Node<'_>, name: &str) -> Visibility {
    let modifier = node.named_child(0).filter(|it| it.kind() == "accessibility_modifier");
    match modifier.map(|it| walk.bytes(it)) {
        Some(b"private") => Visibility::Private,
        Some(b"protected") => Visibility::Restricted,
        _ if name.starts_with(['#', '_']) => Visibility::Private,
        _ => scope.visibility,
    }
}

fn method(walk: &mut Walk<'_>, scope: &Scope, node: Node<'_>) {
    let Some(name) = walk.field(node, Field::Name) else { return };
    let definition = Definition {
        kind: Kind::Method,
        visibility: member_visibility(walk, scope, node, &name),
        name: unquoted(name),
        signature: walk.header_of(node, node.field(Field::Body)),
        members: parameters(walk, node),
        node,
        doc: None,
    };
    walk.define(scope, definition);
}

/// A field that holds a function is called like a method.
fn function_field(walk: &mut Walk<'_>, scope: &Scope, node: Node<'_>) {
    let name = walk.field(node, Field::Name).or_else(|| walk.field(node, Field::Property));
    let value = node.field(Field::Value).filter(|it| is_function(*it));
    let (Some(name), Some(value)) = (name, value) else { return };
    let definition = Definition {
        kind: Kind::Method,
        visibility: member_visibility(walk, scope, node, &name),
        name,
        signature: walk.header_of(node, value.field(Field::Body)),
        members: parameters(walk, value),
        node,
        doc: None,
    };
    walk.define(scope, definition);
}

fn variables(walk: &mut Walk<'_>, scope: &Scope, node: Node<'_>, outer: Node<'_>) {
    let constant = node.child(0).is_some_and(|it| it.kind() == "const");
    for it in node.named_children() {
        if it.kind() != "variable_declarator" {
            continue;
        }
        if import::require(walk, it, outer) {
            continue;
        }
        let (Some(name), Some(value)) = (it.field(Field::Name), it.field(Field::Value)) else {
            let kind = if constant { Kind::Constant } else { Kind::Variable };
            bare(walk, scope, it, outer, kind);
            continue;
        };
        if name.kind() != "identifier" {
            assign::parts(walk, scope, it, outer, constant);
            continue;
        }
        let name = walk.text(name);
        assign::variable(
            walk,
            scope,
            assign::Variable { name, declarator: it, value, outer, constant },
        );
    }
}

/// A variable without a value: `let a: A`, `declare const b: B`.
fn bare(walk: &mut Walk<'_>, scope: &Scope, node: Node<'_>, outer: Node<'_>, kind: Kind) {
    let Some(name) = node.field(Field::Name).filter(|it| it.kind() == "identifier") else {
        return;
    };
    let definition = Definition {
        kind,
        name: walk.text(name),
        visibility: scope.visibility,
        signature: assign::leading(walk, outer, node, node.end_byte()),
        members: Vec::new(),
        node,
        doc: None,
    };
    walk.define(scope, definition);
}
