//! C and C++: one grammar is an extension of the other.

mod declarator;
mod exports;
mod types;

pub use exports::without_exports;

use super::node::{Field, Node};
use super::walk::{Definition, Imported, Scope, Walk, each};
use crate::{Kind, Language, Visibility};
use declarator::Declared;

pub fn visit(walk: &mut Walk<'_>, scope: &Scope, node: Node<'_>) {
    declared(walk, scope, node, node);
}

/// A declaration wrapped in `outer`, such as a template. The signature begins at `outer`.
fn declared(walk: &mut Walk<'_>, scope: &Scope, node: Node<'_>, outer: Node<'_>) {
    match node.kind() {
        "function_definition" => function(walk, scope, node, outer),
        "declaration" | "field_declaration" => declaration(walk, scope, node, outer),
        "type_definition" => types::type_definition(walk, scope, node),
        "struct_specifier" | "union_specifier" | "class_specifier" | "enum_specifier" => {
            types::specifier(walk, scope, node, outer, None);
        }
        "alias_declaration" | "concept_definition" => types::alias(walk, scope, node, outer),
        "namespace_definition" => namespace(walk, scope, node),
        "template_declaration" => {
            let mut inner = None;
            each(Some(node), |it| inner = Some(it));
            if let Some(inner) = inner {
                declared(walk, scope, inner, outer);
            }
        }
        "access_specifier" => walk.access = Some(access(walk, node)),
        "preproc_def" | "preproc_function_def" => definition(walk, scope, node),
        "preproc_include" => include(walk, node),
        "using_declaration" => using(walk, node),
        "preproc_if" | "preproc_ifdef" | "preproc_else" | "preproc_elif" | "preproc_elifdef"
        | "declaration_list" => walk.children(scope, node, visit),
        "linkage_specification" => {
            if let Some(body) = node.field(Field::Body) {
                match body.kind() {
                    "declaration_list" => walk.children(scope, body, visit),
                    _ => declared(walk, scope, body, node),
                }
            }
        }
        _ => {}
    }
}

/// `static` hides a name in its file, but not inside a class.
fn visibility(walk: &Walk<'_>, scope: &Scope, node: Node<'_>) -> Visibility {
    let mut hidden = false;
    for it in node.named_children().take(4) {
        hidden |= it.kind() == "storage_class_specifier" && walk.bytes(it) == b"static";
    }
    if hidden && !scope.is_type() {
        return Visibility::Private;
    }
    walk.access.unwrap_or(scope.visibility)
}

/// The visibility after `public:` applies until the next access specifier.
fn access(walk: &Walk<'_>, node: Node<'_>) -> Visibility {
    match walk.bytes(node) {
        b"private" => Visibility::Private,
        b"protected" => Visibility::Restricted,
        _ => Visibility::Public,
    }
}

/// `A::b` is defined in `A`, regardless of the position of the definition.
fn home(walk: &Walk<'_>, scope: &Scope, declared: &Declared) -> Scope {
    match &declared.owner {
        Some(owner) => walk.inside(scope, Kind::Class, owner, scope.visibility),
        None => scope.clone(),
    }
}

fn function(walk: &mut Walk<'_>, scope: &Scope, node: Node<'_>, outer: Node<'_>) {
    let Some(found) = node.field(Field::Declarator).and_then(|it| declarator::read(walk, it))
    else {
        return;
    };
    let scope = home(walk, scope, &found);
    let mut body = node.field(Field::Body);
    each(Some(node), |it| {
        if it.kind() == "field_initializer_list" {
            body = Some(it);
        }
    });
    let end = body.map_or(node.end_byte(), Node::start_byte);
    let definition = Definition {
        kind: scope.callable(),
        name: found.name.into(),
        visibility: visibility(walk, &scope, node),
        signature: walk.header(outer.start_byte(), end),
        members: declarator::parameters(walk, found.parameters),
        node: outer,
        doc: None,
    };
    walk.define(&scope, definition);
}

/// Declared functions and variables, and the types that the declaration defines.
fn declaration(walk: &mut Walk<'_>, scope: &Scope, node: Node<'_>, outer: Node<'_>) {
    if let Some(of) = node.field(Field::Type)
        && of.field(Field::Body).is_some()
    {
        types::specifier(walk, scope, of, of, None);
        return;
    }
    let mut declarators = Vec::new();
    declarators.extend(node.fields(Field::Declarator));
    let start = declarators.first().map_or(node.end_byte(), |it| it.start_byte());
    for (index, it) in declarators.iter().enumerate() {
        let Some(found) = declarator::read(walk, *it) else { continue };
        let function = found.parameters.is_some();
        // The fields of a type are its members.
        if !function && scope.is_type() {
            continue;
        }
        let scope = home(walk, scope, &found);
        let words = walk.header(outer.start_byte(), start);
        let signature = match (index, declarators.len()) {
            (0, 1) => walk.header_of(outer, None),
            (0, _) => walk.header(outer.start_byte(), it.end_byte()),
            _ => format!("{words} {}", walk.header_of(*it, None)),
        };
        let constant = walk.bytes(node).starts_with(b"const") || words.contains("constexpr");
        let kind = match () {
            () if function => scope.callable(),
            () if constant => Kind::Constant,
            () => Kind::Variable,
        };
        let definition = Definition {
            kind,
            name: found.name.into(),
            visibility: visibility(walk, &scope, node),
            signature,
            members: declarator::parameters(walk, found.parameters),
            node: outer,
            doc: None,
        };
        walk.define(&scope, definition);
    }
}

fn namespace(walk: &mut Walk<'_>, scope: &Scope, node: Node<'_>) {
    let Some(body) = node.field(Field::Body) else { return };
    let Some(name) = walk.field(node, Field::Name) else {
        // An anonymous namespace is visible only in its file.
        return walk.children(&scope.with(Visibility::Private), body, visit);
    };
    let inside = walk.inside(scope, Kind::Module, &name, scope.visibility);
    let definition = Definition {
        kind: Kind::Module,
        name,
        visibility: scope.visibility,
        signature: walk.header_of(node, Some(body)),
        members: Vec::new(),
        node,
        doc: None,
    };
    walk.define(scope, definition);
    walk.children(&inside, body, visit);
}

/// Values of macros are shown up to this size.
const VALUE_BYTES_MAX: usize = 120;

fn definition(walk: &mut Walk<'_>, scope: &Scope, node: Node<'_>) {
    let Some(name) = walk.field(node, Field::Name) else { return };
    let value = node.field(Field::Value);
    let parameters = node.field(Field::Parameters);
    if value.is_none() && parameters.is_none() {
        // A header guard or a switch.
        return;
    }
    let long = value.filter(|it| it.byte_range().len() > VALUE_BYTES_MAX || parameters.is_some());
    // A macro belongs to no namespace.
    let scope = Scope { container: None, kind: None, visibility: scope.visibility };
    let definition = Definition {
        kind: Kind::Macro,
        name,
        visibility: scope.visibility,
        signature: walk.header_of(node, long),
        members: walk.members(Kind::Parameter, parameters),
        node,
        doc: None,
    };
    walk.define(&scope, definition);
}

fn include(walk: &mut Walk<'_>, node: Node<'_>) {
    let Some(path) = walk.field(node, Field::Path) else { return };
    let module = path.trim_matches(['"', '<', '>']).to_owned();
    walk.import(node, vec![Imported { module, ..Imported::default() }]);
}

/// `using a::b;` and `using namespace a;`
fn using(walk: &mut Walk<'_>, node: Node<'_>) {
    let mut path = None;
    each(Some(node), |it| path = Some(walk.text(it).into_owned()));
    let Some(path) = path else { return };
    let all = walk.bytes(node).windows(10).any(|it| it == b"namespace ");
    let (module, name) = match path.rsplit_once("::") {
        Some((module, name)) if !all => (module.to_owned(), name.to_owned()),
        Some(_) | None => (path, "*".to_owned()),
    };
    walk.import(node, vec![Imported { module, names: vec![name], aliases: Vec::new() }]);
}

/// Detects C++ in a file with a C extension, because headers of both have the same extension.
pub fn language_of(source: &[u8]) -> Language {
    const MARKS: &[&[u8]] =
        &[b"class ", b"namespace ", b"template", b"using ", b"public:", b"private:"];
    let mut lines = source.split(|it| *it == b'\n').map(<[u8]>::trim_ascii_start);
    let plus = lines.any(|line| MARKS.iter().any(|it| line.starts_with(it)));
    if plus { Language::Cpp } else { Language::C }
}
