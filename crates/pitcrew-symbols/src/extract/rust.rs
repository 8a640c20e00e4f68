//! Rust.

use super::node::{Field, Node};
use super::walk::{Definition, Imported, Scope, Walk, each};
use crate::{Kind, Member, Visibility};
use std::borrow::Cow;

/// Longer values of constants are left out.
const VALUE_BYTES_MAX: usize = 120;

pub fn visit(walk: &mut Walk<'_>, scope: &Scope, node: Node<'_>) {
    match node.kind() {
        "function_item" | "function_signature_item" => function(walk, scope, node),
        "struct_item" => structure(walk, scope, node, Kind::Struct),
        "union_item" => structure(walk, scope, node, Kind::Union),
        "enum_item" => enumeration(walk, scope, node),
        "trait_item" => container(walk, scope, node, Kind::Trait),
        "mod_item" => container(walk, scope, node, Kind::Module),
        "impl_item" => implementation(walk, scope, node),
        "const_item" => plain(walk, scope, node, Kind::Constant),
        "static_item" => plain(walk, scope, node, Kind::Variable),
        "type_item" | "associated_type" => plain(walk, scope, node, Kind::TypeAlias),
        "macro_definition" => macro_rules(walk, scope, node),
        "use_declaration" => import(walk, node),
        "extern_crate_declaration" => extern_crate(walk, node),
        "foreign_mod_item" => {
            if let Some(body) = node.field(Field::Body) {
                walk.children(scope, body, visit);
            }
        }
        _ => {}
    }
}

fn visibility(walk: &Walk<'_>, scope: &Scope, node: Node<'_>) -> Visibility {
    let modifier = node.named_child(0).filter(|it| it.kind() == "visibility_modifier");
    match modifier.map(|it| walk.bytes(it)) {
        Some(b"pub") => Visibility::Public,
        Some(_) => Visibility::Restricted,
        None => scope.visibility,
    }
}

/// Removes the `r#` from a raw identifier, because it is not part of the name.
fn name<'a>(walk: &Walk<'a>, node: Node<'_>) -> Option<Cow<'a, str>> {
    let name = match walk.field(node, Field::Name)? {
        Cow::Borrowed(name) => Cow::Borrowed(name.strip_prefix("r#").unwrap_or(name)),
        Cow::Owned(name) => Cow::Owned(name),
    };
    Some(name).filter(|it| !it.is_empty())
}

fn function(walk: &mut Walk<'_>, scope: &Scope, node: Node<'_>) {
    let Some(name) = name(walk, node) else { return };
    let mut members = Vec::new();
    each(node.field(Field::Parameters), |it| {
        if it.kind() != "self_parameter" {
            members.push(walk.member(Kind::Parameter, it.start_byte(), it.end_byte()));
        }
    });
    let definition = Definition {
        kind: scope.callable(),
        name,
        visibility: visibility(walk, scope, node),
        signature: walk.header_of(node, node.field(Field::Body)),
        members,
        node,
        doc: None,
    };
    walk.define(scope, definition);
}

fn structure(walk: &mut Walk<'_>, scope: &Scope, node: Node<'_>, kind: Kind) {
    let Some(name) = name(walk, node) else { return };
    let body = node.field(Field::Body);
    let tuple = body.is_some_and(|it| it.kind() == "ordered_field_declaration_list");
    // The signature of a tuple struct already shows its fields.
    let members = if tuple { Vec::new() } else { walk.members(Kind::Field, body) };
    let definition = Definition {
        kind,
        name,
        visibility: visibility(walk, scope, node),
        signature: walk.header_of(node, body.filter(|_| !tuple)),
        members,
        node,
        doc: None,
    };
    walk.define(scope, definition);
}

fn enumeration(walk: &mut Walk<'_>, scope: &Scope, node: Node<'_>) {
    let Some(name) = name(walk, node) else { return };
    let body = node.field(Field::Body);
    let definition = Definition {
        kind: Kind::Enum,
        name,
        visibility: visibility(walk, scope, node),
        signature: walk.header_of(node, body),
        members: walk.members(Kind::Variant, body),
        node,
        doc: None,
    };
    walk.define(scope, definition);
}

/// A trait or a module and its contents.
fn container(walk: &mut Walk<'_>, scope: &Scope, node: Node<'_>, kind: Kind) {
    let Some(name) = name(walk, node) else { return };
    let body = node.field(Field::Body);
    let visibility = visibility(walk, scope, node);
    let inner = if kind == Kind::Trait { visibility } else { Visibility::Private };
    let inside = walk.inside(scope, kind, &name, inner);
    let signature = walk.header_of(node, body);
    let definition =
        Definition { kind, name, visibility, signature, members: Vec::new(), node, doc: None };
    walk.define(scope, definition);
    if let Some(body) = body {
        walk.children(&inside, body, visit);
    }
}

fn implementation(walk: &mut Walk<'_>, scope: &Scope, node: Node<'_>) {
    let of_trait = node.field(Field::Trait).is_some();
    let Some(mut of) = node.field(Field::Type) else { return };
    // Questions about `Box<T>` and `&mut T` use the names of the types.
    for field in [Field::Type, Field::Name] {
        while let Some(inner) = of.field(field) {
            of = inner;
        }
    }
    let visibility = if of_trait { Visibility::Public } else { Visibility::Private };
    let inside = walk.inside(scope, Kind::Struct, &walk.text(of), visibility);
    if let Some(body) = node.field(Field::Body) {
        walk.children(&inside, body, visit);
    }
}

fn plain(walk: &mut Walk<'_>, scope: &Scope, node: Node<'_>, kind: Kind) {
    let Some(name) = name(walk, node) else { return };
    // Most values are short and need no further check.
    let is_long = |it: Node<'_>| it.byte_range().len() > VALUE_BYTES_MAX;
    let long = is_long(node).then(|| node.field(Field::Value)).flatten().filter(|it| is_long(*it));
    let signature = walk.header_of(node, long);
    let visibility = visibility(walk, scope, node);
    let definition =
        Definition { kind, name, visibility, signature, members: Vec::new(), node, doc: None };
    walk.define(scope, definition);
}

fn macro_rules(walk: &mut Walk<'_>, scope: &Scope, node: Node<'_>) {
    let Some(name) = name(walk, node) else { return };
    let exported = walk.attributes().windows(12).any(|it| it == b"macro_export");
    let definition = Definition {
        kind: Kind::Macro,
        visibility: if exported { Visibility::Public } else { Visibility::Private },
        signature: format!("macro_rules! {name}"),
        name,
        members: macro_patterns(walk, node),
        node,
        doc: None,
    };
    walk.define(scope, definition);
}

/// The patterns of a macro.
fn macro_patterns(walk: &Walk<'_>, node: Node<'_>) -> Vec<Member> {
    let mut members = Vec::new();
    each(Some(node), |rule| {
        if let Some(it) = rule.field(Field::Left) {
            members.push(walk.member(Kind::Parameter, it.start_byte(), it.end_byte()));
        }
    });
    members
}

fn import(walk: &mut Walk<'_>, node: Node<'_>) {
    let mut modules = Vec::new();
    if let Some(argument) = node.field(Field::Argument) {
        use_tree(walk, "", argument, 0, &mut modules);
    }
    walk.import(node, modules);
}

fn extern_crate(walk: &mut Walk<'_>, node: Node<'_>) {
    let Some(name) = name(walk, node) else { return };
    let alias = walk.field(node, Field::Alias).map(|it| ("self".to_owned(), it.into_owned()));
    let aliases = alias.into_iter().collect();
    walk.import(node, vec![Imported { module: name.into_owned(), names: Vec::new(), aliases }]);
}

/// More deeply nested lists are left out.
const USE_DEPTH_MAX: u32 = 16;
/// The maximum number of modules in one statement; the rest is left out.
const USE_MODULES_MAX: usize = 200;

fn use_tree(
    walk: &Walk<'_>,
    prefix: &str,
    node: Node<'_>,
    depth: u32,
    modules: &mut Vec<Imported>,
) {
    if depth == USE_DEPTH_MAX || modules.len() == USE_MODULES_MAX {
        return;
    }
    match node.kind() {
        "use_list" => each(Some(node), |it| use_tree(walk, prefix, it, depth + 1, modules)),
        "scoped_use_list" => {
            let path = walk.field(node, Field::Path);
            let prefix = path.map_or_else(|| prefix.to_owned(), |it| join(prefix, &it));
            if let Some(list) = node.field(Field::List) {
                use_tree(walk, &prefix, list, depth + 1, modules);
            }
        }
        "use_wildcard" => {
            let path = node.named_child(0).map(|it| walk.text(it)).unwrap_or_default();
            take(modules, join(prefix, &path), "*", None);
        }
        "use_as_clause" => {
            let path = join(prefix, &walk.field(node, Field::Path).unwrap_or_default());
            let (module, name) = split(&path);
            take(modules, module.to_owned(), name, walk.field(node, Field::Alias));
        }
        _ => {
            let path = join(prefix, &walk.text(node));
            let (module, name) = split(&path);
            take(modules, module.to_owned(), name, None);
        }
    }
}

fn join(prefix: &str, path: &str) -> String {
    if prefix.is_empty() || path.is_empty() {
        return [prefix, path].concat();
    }
    [prefix, "::", path].concat()
}

/// Splits a path into module and name: `a::b` is `b` of `a`, and `a` alone is a module.
fn split(path: &str) -> (&str, &str) {
    path.rsplit_once("::").unwrap_or((path, "self"))
}

fn take(modules: &mut Vec<Imported>, module: String, name: &str, alias: Option<Cow<'_, str>>) {
    let known = modules.iter().position(|it| it.module == module);
    let at = known.unwrap_or_else(|| {
        modules.push(Imported { module, ..Imported::default() });
        modules.len() - 1
    });
    let found = &mut modules[at];
    if let Some(alias) = alias {
        found.aliases.push((name.to_owned(), alias.into_owned()));
    }
    if name != "self" {
        found.names.push(name.to_owned());
    }
}
