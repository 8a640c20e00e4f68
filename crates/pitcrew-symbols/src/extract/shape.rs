//! C#, Kotlin, PHP, Scala and Swift: types with bodies in braces and leading modifiers. A table
//! assigns a role to each kind of node; the rest is shared.

mod import;

use super::node::{Field, Node};
use super::walk::{Definition, Scope, Walk, each};
use crate::{Kind, Language, Member, Visibility};
use std::borrow::Cow;

/// The role of a node in a declaration.
#[derive(Clone, Copy)]
enum Role {
    Type(Kind),
    Namespace,
    Callable,
    /// A member of a type, or a variable outside types.
    Field,
    /// A value of an enum.
    Case,
    /// A declaration on one line, without a body.
    Plain(Kind),
    /// A node whose contents belong to the enclosing scope.
    Enter,
    Import,
}

fn role(language: Language, kind: &str) -> Option<Role> {
    Some(match kind {
        "class_declaration" | "record_declaration" | "object_declaration" | "class_definition"
        | "object_definition" | "package_object" => Role::Type(Kind::Class),
        "struct_declaration" => Role::Type(Kind::Struct),
        "interface_declaration" | "protocol_declaration" => Role::Type(Kind::Interface),
        "trait_declaration" | "trait_definition" => Role::Type(Kind::Trait),
        "enum_declaration" | "enum_definition" => Role::Type(Kind::Enum),
        "namespace_declaration" | "namespace_definition" | "package_clause" => Role::Namespace,
        "method_declaration"
        | "constructor_declaration"
        | "secondary_constructor"
        | "function_declaration"
        | "function_definition"
        | "init_declaration"
        | "protocol_function_declaration" => Role::Callable,
        "field_declaration"
        | "event_field_declaration"
        | "property_declaration"
        | "protocol_property_declaration"
        | "val_definition"
        | "var_definition"
        | "val_declaration"
        | "var_declaration" => Role::Field,
        "enum_member_declaration"
        | "enum_case"
        | "enum_entry"
        | "simple_enum_case"
        | "full_enum_case" => Role::Case,
        "delegate_declaration"
        | "type_alias"
        | "typealias_declaration"
        | "associatedtype_declaration"
        | "type_definition" => Role::Plain(Kind::TypeAlias),
        "const_declaration" => Role::Plain(Kind::Constant),
        "companion_object"
        | "extension_definition"
        | "template_body"
        | "declaration_list"
        | "class_body"
        | "preproc_if"
        | "preproc_elif"
        | "preproc_else" => Role::Enter,
        // In PHP the body of a namespace may be a block.
        "compound_statement" if language == Language::Php => Role::Enter,
        "using_directive" | "import" | "namespace_use_declaration" | "import_declaration" => {
            Role::Import
        }
        _ => return None,
    })
}

pub fn visit(walk: &mut Walk<'_>, scope: &Scope, node: Node<'_>) {
    match role(walk.language, node.kind()) {
        Some(Role::Type(kind)) => type_declaration(walk, scope, node, kind),
        Some(Role::Namespace) => namespace(walk, scope, node),
        Some(Role::Callable) => callable(walk, scope, node),
        Some(Role::Field) => field(walk, scope, node),
        Some(Role::Plain(kind)) => plain(walk, scope, node, kind),
        Some(Role::Enter) => walk.children(scope, node, visit),
        Some(Role::Import) => import::import(walk, node),
        Some(Role::Case) | None => {}
    }
}

/// The child of one of these kinds.
fn child<'t>(node: Node<'t>, kinds: &[&str]) -> Option<Node<'t>> {
    node.children().find(|it| kinds.contains(&it.kind()))
}

fn body(node: Node<'_>) -> Option<Node<'_>> {
    let kinds =
        ["class_body", "enum_class_body", "function_body", "block", "constructor_initializer"];
    // A constructor may call another one before its body.
    let early = child(node, &["constructor_initializer"]);
    early.or_else(|| node.field(Field::Body)).or_else(|| child(node, &kinds))
}

/// The start of the declaration, without its attributes.
fn start(node: Node<'_>) -> usize {
    let mut parts = node.children();
    let first =
        parts.find(|it| !matches!(it.kind(), "attribute_list" | "annotation" | "attribute"));
    match first.filter(|it| it.kind() == "modifiers") {
        Some(modifiers) => {
            let mut words = modifiers.children();
            let word = words.find(|it| !matches!(it.kind(), "annotation" | "attribute"));
            word.map_or(modifiers.end_byte(), Node::start_byte)
        }
        None => first.map_or(node.start_byte(), Node::start_byte),
    }
}

/// The visibility according to the modifiers before the name.
fn visibility(header: &str, scope: &Scope) -> Visibility {
    let before = header.split(['(', '=', ':', '<']).next().unwrap_or_default();
    for word in before.split(' ').take(6) {
        match word {
            "public" => return Visibility::Public,
            "open" if scope.visibility == Visibility::Restricted => return Visibility::Public,
            "private" | "fileprivate" => return Visibility::Private,
            "protected" | "internal" => return Visibility::Restricted,
            _ if word.starts_with("private[") => return Visibility::Restricted,
            _ => {}
        }
    }
    scope.visibility
}

fn name<'a>(walk: &Walk<'a>, node: Node<'_>) -> Option<Cow<'a, str>> {
    let inner = child(node, &["variable_declaration", "const_element", "property_element"]);
    let own = walk.field(node, Field::Name).or_else(|| match inner {
        Some(inner) => name(walk, inner),
        None => child(node, &["identifier", "name", "variable_declarator"])
            .and_then(|it| walk.field(it, Field::Name).or_else(|| Some(walk.text(it)))),
    });
    own.or_else(|| walk.field(node, Field::Pattern))
        .or_else(|| walk.field(node, Field::Type))
        .filter(|it| !it.is_empty())
}

fn parameters(node: Node<'_>) -> Option<Node<'_>> {
    let kinds = ["parameter_list", "function_value_parameters", "class_parameters"];
    let constructor = child(node, &["primary_constructor"]);
    // In Scala, type parameters are in a list of the same name.
    let plain = child(node, &["parameters"]).or_else(|| node.field(Field::Parameters));
    let own = plain.or_else(|| child(node, &kinds));
    own.or_else(|| constructor.and_then(|it| child(it, &kinds)))
}

/// The default visibility of a declaration inside a type.
fn inner_visibility(walk: &Walk<'_>, kind: Kind, visibility: Visibility) -> Visibility {
    if kind == Kind::Interface {
        return visibility;
    }
    if walk.language == Language::Swift {
        return Visibility::Restricted;
    }
    if walk.language == Language::CSharp { Visibility::Private } else { Visibility::Public }
}

fn type_declaration(walk: &mut Walk<'_>, scope: &Scope, node: Node<'_>, kind: Kind) {
    let Some(name) = walk.field(node, Field::Name) else { return };
    let body = body(node);
    // In Kotlin and Swift a keyword distinguishes the kinds.
    let kind = match body {
        Some(it) if it.kind() == "enum_class_body" => Kind::Enum,
        _ if child(node, &["interface"]).is_some() => Kind::Interface,
        _ if child(node, &["struct"]).is_some() => Kind::Struct,
        Some(body) if child(node, &["extension"]).is_some() => {
            let inside = walk.inside(scope, Kind::Class, &name, scope.visibility);
            return walk.children(&inside, body, visit);
        }
        _ => kind,
    };
    let signature = walk.header(start(node), body.map_or(node.end_byte(), Node::start_byte));
    let visibility = visibility(&signature, scope);
    let inside = walk.inside(scope, kind, &name, inner_visibility(walk, kind, visibility));
    let mut members = walk.members(Kind::Field, parameters(node));
    collect(walk, body, &mut members);
    walk.define(scope, Definition { kind, name, visibility, signature, members, node, doc: None });
    if let Some(body) = body {
        walk.children(&inside, body, visit);
    }
}

/// Fields and cases in a body.
fn collect(walk: &Walk<'_>, body: Option<Node<'_>>, members: &mut Vec<Member>) {
    each(body, |it| match role(walk.language, it.kind()) {
        Some(Role::Case) => {
            let end = body_or_end(it);
            members.push(walk.member(Kind::Variant, start(it), end));
        }
        // In Scala one `case` may define several values.
        None if it.kind() == "enum_case_definitions" => collect(walk, Some(it), members),
        Some(Role::Field) if !is_constant(walk, it) => {
            members.push(walk.member(Kind::Field, start(it), end_of_field(it)));
        }
        _ => {}
    });
}

fn body_or_end(node: Node<'_>) -> usize {
    body(node).map_or(node.end_byte(), Node::start_byte)
}

/// The end of the type of a field, without its value or accessors.
fn end_of_field(node: Node<'_>) -> usize {
    let accessors = node.field(Field::Accessors).or_else(|| {
        child(
            node,
            &[
                "property_hook_list",
                "getter",
                "setter",
                "property_delegate",
                "willset_didset_block",
                "computed_property",
            ],
        )
    });
    let value = node.field(Field::Value).or_else(|| child(node, &["="]));
    let declared = child(node, &["variable_declaration", "property_element"]);
    let declarator = declared.and_then(|it| child(it, &["variable_declarator"])).or(declared);
    let inner = declarator.and_then(|it| child(it, &["="]));
    let ends = [accessors, value, inner];
    ends.iter().flatten().map(|it| it.start_byte()).min().unwrap_or(node.end_byte())
}

fn is_constant(walk: &Walk<'_>, node: Node<'_>) -> bool {
    let line = walk.header(start(node), end_of_field(node));
    line.split(' ').take(5).any(|it| it == "const")
}

fn namespace(walk: &mut Walk<'_>, scope: &Scope, node: Node<'_>) {
    // A namespace without a body applies to the whole file.
    let (Some(name), Some(body)) = (walk.field(node, Field::Name), body(node)) else { return };
    let inside = walk.inside(scope, Kind::Module, &name, scope.visibility);
    walk.children(&inside, body, visit);
}

fn callable(walk: &mut Walk<'_>, scope: &Scope, node: Node<'_>) {
    let name = walk.field(node, Field::Name).unwrap_or(Cow::Borrowed("constructor"));
    let signature = walk.header(start(node), body_or_end(node));
    let definition = Definition {
        kind: scope.callable(),
        name,
        visibility: visibility(&signature, scope),
        signature,
        members: taken(walk, node),
        node,
        doc: None,
    };
    walk.define(scope, definition);
}

fn taken(walk: &Walk<'_>, node: Node<'_>) -> Vec<Member> {
    let mut members = Vec::new();
    // Swift has no parameter list node.
    let list = if walk.language == Language::Swift { Some(node) } else { parameters(node) };
    let mixed = matches!(walk.language, Language::Kotlin | Language::Swift);
    each(list, |it| {
        // In Kotlin, modifiers and defaults are siblings of the parameter.
        if !mixed || it.kind() == "parameter" {
            members.push(walk.member(Kind::Parameter, it.start_byte(), it.end_byte()));
        }
    });
    members
}

/// A constant of a type, or a variable outside types. Fields are members.
fn field(walk: &mut Walk<'_>, scope: &Scope, node: Node<'_>) {
    let constant = is_constant(walk, node);
    if scope.is_type() && !constant {
        return;
    }
    let header = walk.header(start(node), end_of_field(node));
    let read_only = header.split(' ').take(5).any(|it| matches!(it, "val" | "let"));
    let kind = if constant || read_only { Kind::Constant } else { Kind::Variable };
    plain(walk, scope, node, kind);
}

/// Longer values are left out.
const LINE_BYTES_MAX: usize = 160;

fn plain(walk: &mut Walk<'_>, scope: &Scope, node: Node<'_>, kind: Kind) {
    let Some(name) = name(walk, node) else { return };
    let long = node.end_byte() - start(node) > LINE_BYTES_MAX && kind != Kind::TypeAlias;
    let end = if long { end_of_field(node) } else { node.end_byte() };
    let signature = walk.header(start(node), end);
    let visibility = visibility(&signature, scope);
    let list = parameters(node).filter(|_| kind == Kind::TypeAlias);
    let members = walk.members(Kind::Parameter, list);
    walk.define(scope, Definition { kind, name, visibility, signature, members, node, doc: None });
}
