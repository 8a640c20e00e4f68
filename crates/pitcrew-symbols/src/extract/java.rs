//! Java. The definitions of a file belong to its package.

use super::node::{Field, Node};
use super::walk::{Definition, Imported, Scope, Walk, each};
use crate::{Kind, Member, Visibility};

pub fn visit(walk: &mut Walk<'_>, scope: &Scope, node: Node<'_>) {
    match node.kind() {
        "class_declaration" | "record_declaration" => container(walk, scope, node, Kind::Class),
        "interface_declaration" | "annotation_type_declaration" => {
            container(walk, scope, node, Kind::Interface);
        }
        "enum_declaration" => container(walk, scope, node, Kind::Enum),
        "enum_body_declarations" => walk.children(scope, node, visit),
        "method_declaration"
        | "constructor_declaration"
        | "compact_constructor_declaration"
        | "annotation_type_element_declaration" => method(walk, scope, node),
        "constant_declaration" => constants(walk, scope, node),
        "field_declaration" if is_constant(walk, node) => constants(walk, scope, node),
        "import_declaration" => import(walk, node),
        _ => {}
    }
}

/// The modifiers as text, without annotations.
fn modifiers(walk: &Walk<'_>, node: Node<'_>) -> Vec<String> {
    let Some(list) = node.child(0).filter(|it| it.kind() == "modifiers") else { return Vec::new() };
    let words = list.children().filter(|it| !it.kind().ends_with("annotation"));
    words.filter(|it| !it.is_extra()).map(|it| walk.text(it).into_owned()).collect()
}

fn visibility(scope: &Scope, modifiers: &[String]) -> Visibility {
    let has = |word: &str| modifiers.iter().any(|it| it == word);
    match () {
        () if has("public") => Visibility::Public,
        () if has("private") => Visibility::Private,
        () if has("protected") => Visibility::Restricted,
        () => scope.visibility,
    }
}

fn is_constant(walk: &Walk<'_>, node: Node<'_>) -> bool {
    let modifiers = modifiers(walk, node);
    ["static", "final"].iter().all(|word| modifiers.iter().any(|it| it == word))
}

/// The declaration without its annotations.
fn signature(walk: &Walk<'_>, node: Node<'_>, modifiers: &[String], end: usize) -> String {
    let list = node.child(0).filter(|it| it.kind() == "modifiers");
    let start = list.map_or(node.start_byte(), Node::end_byte);
    let mut words = modifiers.join(" ");
    if !words.is_empty() {
        words.push(' ');
    }
    words + &walk.header(start, end)
}

fn container(walk: &mut Walk<'_>, scope: &Scope, node: Node<'_>, kind: Kind) {
    let Some(name) = walk.field(node, Field::Name) else { return };
    let body = node.field(Field::Body);
    let modifiers = modifiers(walk, node);
    let visibility = visibility(scope, &modifiers);
    let inner = if kind == Kind::Interface { visibility } else { Visibility::Restricted };
    let inside = walk.inside(scope, kind, &name, inner);
    let end = body.map_or(node.end_byte(), Node::start_byte);
    let definition = Definition {
        kind,
        name,
        visibility,
        signature: signature(walk, node, &modifiers, end),
        members: members(walk, node, body),
        node,
        doc: None,
    };
    walk.define(scope, definition);
    if let Some(body) = body {
        walk.children(&inside, body, visit);
    }
}

/// The constants of an enum, the components of a record, and fields.
fn members(walk: &Walk<'_>, node: Node<'_>, body: Option<Node<'_>>) -> Vec<Member> {
    let mut members = walk.members(Kind::Field, node.field(Field::Parameters));
    each(body, |it| match it.kind() {
        "enum_constant" => {
            let end = it.field(Field::Body).map_or(it.end_byte(), Node::start_byte);
            members.push(walk.member(Kind::Variant, it.start_byte(), end));
        }
        "enum_body_declarations" => each(Some(it), |it| members.extend(field(walk, it))),
        _ => members.extend(field(walk, it)),
    });
    members
}

fn field(walk: &Walk<'_>, node: Node<'_>) -> Option<Member> {
    if node.kind() != "field_declaration" || is_constant(walk, node) {
        return None;
    }
    let declarator = node.field(Field::Declarator);
    let value = declarator.and_then(|it| it.field(Field::Value));
    let end = value.map_or(node.end_byte(), Node::start_byte);
    let text = signature(walk, node, &modifiers(walk, node), end);
    Some(Member { kind: Kind::Field, text: text.into() })
}

fn method(walk: &mut Walk<'_>, scope: &Scope, node: Node<'_>) {
    let Some(name) = walk.field(node, Field::Name) else { return };
    let modifiers = modifiers(walk, node);
    let body = node.field(Field::Body);
    let end = body.map_or(node.end_byte(), Node::start_byte);
    let definition = Definition {
        kind: Kind::Method,
        name,
        visibility: visibility(scope, &modifiers),
        signature: signature(walk, node, &modifiers, end),
        members: walk.members(Kind::Parameter, node.field(Field::Parameters)),
        node,
        doc: None,
    };
    walk.define(scope, definition);
}

fn constants(walk: &mut Walk<'_>, scope: &Scope, node: Node<'_>) {
    let modifiers = modifiers(walk, node);
    let mut names = Vec::new();
    for it in node.fields(Field::Declarator) {
        names.extend(walk.field(it, Field::Name));
    }
    let mut signature = signature(walk, node, &modifiers, node.end_byte());
    if signature.len() > VALUE_BYTES_MAX {
        signature.truncate(signature.find('=').unwrap_or(signature.len()));
        signature.truncate(signature.trim_end().len());
    }
    for name in names {
        let definition = Definition {
            kind: Kind::Constant,
            name,
            visibility: visibility(scope, &modifiers),
            signature: signature.clone(),
            members: Vec::new(),
            node,
            doc: None,
        };
        walk.define(scope, definition);
    }
}

/// Longer values of constants are left out.
const VALUE_BYTES_MAX: usize = 160;

/// `import a.b.C;` and `import static a.b.C.*;`
fn import(walk: &mut Walk<'_>, node: Node<'_>) {
    let (mut path, mut all) = (String::new(), false);
    each(Some(node), |it| match it.kind() {
        "asterisk" => all = true,
        _ => path = walk.header_of(it, None),
    });
    let (module, name) = match path.rsplit_once('.') {
        Some((module, name)) if !all => (module.to_owned(), name.to_owned()),
        Some(_) | None => (path, "*".to_owned()),
    };
    walk.import(node, vec![Imported { module, names: vec![name], aliases: Vec::new() }]);
}
