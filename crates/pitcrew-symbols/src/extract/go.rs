//! Go. The definitions of a file belong to its package.

use super::node::{Field, Node};
use super::walk::{Definition, Imported, Scope, Walk, each};
use crate::{Kind, Member, Visibility};

/// Longer values are left out.
const VALUE_BYTES_MAX: usize = 120;

pub fn visit(walk: &mut Walk<'_>, scope: &Scope, node: Node<'_>) {
    match node.kind() {
        "function_declaration" => function(walk, scope, node, Kind::Function),
        "method_declaration" => {
            let receiver = node.field(Field::Receiver).and_then(|it| receiver(walk, it));
            let inside = receiver.map(|it| walk.inside(scope, Kind::Struct, &it, scope.visibility));
            function(walk, inside.as_ref().unwrap_or(scope), node, Kind::Method);
        }
        "method_elem" | "method_spec" => function(walk, scope, node, Kind::Method),
        "type_declaration" | "const_declaration" | "var_declaration" | "var_spec_list" => {
            walk.children(scope, node, visit);
        }
        "type_spec" | "type_alias" => type_spec(walk, scope, node),
        "const_spec" => values(walk, scope, node, Kind::Constant),
        "var_spec" => values(walk, scope, node, Kind::Variable),
        "import_declaration" | "import_spec_list" => walk.children(scope, node, visit),
        "import_spec" => import(walk, node),
        _ => {}
    }
}

fn visibility(name: &str) -> Visibility {
    let public = name.starts_with(char::is_uppercase);
    if public { Visibility::Public } else { Visibility::Restricted }
}

/// The name of the type in `(it *Type[T])`.
fn receiver(walk: &Walk<'_>, list: Node<'_>) -> Option<String> {
    let mut of = list.named_child(0)?.field(Field::Type)?;
    while matches!(of.kind(), "pointer_type" | "parenthesized_type" | "generic_type") {
        of = of.field(Field::Type).or_else(|| of.named_child(0))?;
    }
    Some(walk.text(of).into_owned())
}

fn function(walk: &mut Walk<'_>, scope: &Scope, node: Node<'_>, kind: Kind) {
    let Some(name) = walk.field(node, Field::Name) else { return };
    let definition = Definition {
        kind,
        visibility: visibility(&name),
        name,
        signature: walk.header_of(node, node.field(Field::Body)),
        members: walk.members(Kind::Parameter, node.field(Field::Parameters)),
        node,
        doc: None,
    };
    walk.define(scope, definition);
}

fn type_spec(walk: &mut Walk<'_>, scope: &Scope, node: Node<'_>) {
    let Some(name) = walk.field(node, Field::Name) else { return };
    let of = node.field(Field::Type);
    let (kind, body) = match of.map_or("", |it| it.kind()) {
        "struct_type" => (Kind::Struct, of.and_then(|it| it.named_child(0))),
        "interface_type" => (Kind::Interface, of),
        _ => (Kind::TypeAlias, None),
    };
    let end = match (kind, of, body) {
        (Kind::Interface, Some(of), _) => of.start_byte() + "interface".len(),
        (Kind::Struct, Some(of), _) => of.start_byte() + "struct".len(),
        _ => node.end_byte(),
    };
    let inside = walk.inside(scope, kind, &name, scope.visibility);
    let definition = Definition {
        kind,
        visibility: visibility(&name),
        name,
        signature: format!("type {}", walk.header(node.start_byte(), end)),
        members: fields(walk, body),
        node,
        doc: None,
    };
    walk.define(scope, definition);
    if let Some(body) = body.filter(|_| kind == Kind::Interface) {
        walk.children(&inside, body, visit);
    }
}

/// Fields and embedded types. Methods are separate symbols.
fn fields(walk: &Walk<'_>, body: Option<Node<'_>>) -> Vec<Member> {
    let mut members = Vec::new();
    each(body, |it| {
        if !matches!(it.kind(), "method_elem" | "method_spec") {
            members.push(walk.member(Kind::Field, it.start_byte(), it.end_byte()));
        }
    });
    members
}

/// `const A, B = 1, 2`: each name is one definition.
fn values(walk: &mut Walk<'_>, scope: &Scope, node: Node<'_>, kind: Kind) {
    let value = node.field(Field::Value);
    let long = value.filter(|it| it.byte_range().len() > VALUE_BYTES_MAX);
    let header = walk.header_of(node, long);
    let word = if kind == Kind::Constant { "const" } else { "var" };
    let signature = format!("{word} {header}");
    let mut names = Vec::new();
    for it in node.fields(Field::Name) {
        if it.kind() == "identifier" {
            names.push(walk.text(it));
        }
    }
    for name in names {
        if &*name == "_" {
            continue;
        }
        let visibility = visibility(&name);
        let (signature, members) = (signature.clone(), Vec::new());
        walk.define(
            scope,
            Definition { kind, name, visibility, signature, members, node, doc: None },
        );
    }
}

fn import(walk: &mut Walk<'_>, node: Node<'_>) {
    let Some(path) = walk.field(node, Field::Path) else { return };
    let module = path.trim_matches(['"', '`']).to_owned();
    let alias = walk.field(node, Field::Name).map(|it| ("self".to_owned(), it.into_owned()));
    let names = match &alias {
        Some((_, it)) if it == "." => vec!["*".to_owned()],
        Some(_) | None => Vec::new(),
    };
    let aliases = alias.into_iter().filter(|it| !matches!(it.1.as_str(), "." | "_")).collect();
    walk.import(node, vec![Imported { module, names, aliases }]);
}
