//! Python.

use super::node::{Field, Node};
use super::walk::{Definition, Imported, Scope, Walk, each};
use crate::{Kind, Member, Visibility};

/// Longer values are left out.
const VALUE_BYTES_MAX: usize = 120;
/// The maximum number of names in one assignment; the rest is left out.
const NAMES_MAX: usize = 200;
/// Longer decorators are left out of a signature.
const DECORATOR_BYTES_MAX: usize = 80;

pub fn visit(walk: &mut Walk<'_>, scope: &Scope, node: Node<'_>) {
    match node.kind() {
        "function_definition" => function(walk, scope, node, node),
        "class_definition" => class(walk, scope, node, node),
        "decorated_definition" => match node.field(Field::Definition) {
            Some(it) if it.kind() == "class_definition" => class(walk, scope, it, node),
            Some(it) => function(walk, scope, it, node),
            None => {}
        },
        "expression_statement" => {
            if let Some(it) = node.named_child(0).filter(|it| it.kind() == "assignment") {
                variable(walk, scope, it);
            }
        }
        "type_alias_statement" => type_alias(walk, scope, node),
        "import_statement" => import(walk, node),
        "import_from_statement" | "future_import_statement" => import_from(walk, node),
        // Definitions under a condition are included.
        "if_statement" | "try_statement" | "with_statement" | "block" | "else_clause"
        | "elif_clause" | "except_clause" | "finally_clause" => walk.children(scope, node, visit),
        _ => {}
    }
}

/// A leading underscore hides a name, except for names that Python itself calls.
fn visibility(scope: &Scope, name: &str) -> Visibility {
    let special = name.starts_with("__") && name.ends_with("__");
    if name.starts_with('_') && !special { Visibility::Private } else { scope.visibility }
}

fn signature(walk: &Walk<'_>, node: Node<'_>, outer: Node<'_>) -> String {
    let mut line = String::new();
    for it in outer.named_children() {
        if it.kind() == "decorator" && it.byte_range().len() <= DECORATOR_BYTES_MAX {
            line.push_str(&walk.header_of(it, None));
            line.push(' ');
        }
    }
    let header = walk.header_of(node, node.field(Field::Body));
    line.push_str(header.trim_end_matches([' ', ':']));
    line
}

fn parameters(walk: &Walk<'_>, scope: &Scope, node: Node<'_>) -> Vec<Member> {
    let mut members = walk.members(Kind::Parameter, node.field(Field::Parameters));
    members.retain(|it| !matches!(&*it.text, "*" | "/"));
    if scope.is_type() && members.first().is_some_and(|it| matches!(&*it.text, "self" | "cls")) {
        members.remove(0);
    }
    members
}

/// The first line of the docstring of a body.
fn docstring(walk: &Walk<'_>, body: Option<Node<'_>>) -> Option<String> {
    let mut found = None;
    let mut first = true;
    each(body, |it| {
        let string = it.named_child(0).filter(|it| it.kind() == "string");
        found = found.or(string.filter(|_| first && it.kind() == "expression_statement"));
        first = false;
    });
    let mut content = None;
    each(found, |it| {
        content = content.or(Some(it).filter(|it| it.kind() == "string_content"));
    });
    let content = String::from_utf8_lossy(walk.bytes(content?));
    content.lines().map(str::trim).find(|it| !it.is_empty()).map(str::to_owned)
}

fn function(walk: &mut Walk<'_>, scope: &Scope, node: Node<'_>, outer: Node<'_>) {
    let Some(name) = walk.field(node, Field::Name) else { return };
    let definition = Definition {
        kind: scope.callable(),
        visibility: visibility(scope, &name),
        name,
        signature: signature(walk, node, outer),
        members: parameters(walk, scope, node),
        node: outer,
        doc: docstring(walk, node.field(Field::Body)),
    };
    walk.define(scope, definition);
}

fn class(walk: &mut Walk<'_>, scope: &Scope, node: Node<'_>, outer: Node<'_>) {
    let Some(name) = walk.field(node, Field::Name) else { return };
    let body = node.field(Field::Body);
    let bases = walk.field(node, Field::Superclasses).unwrap_or_default();
    let of_values = bases.contains("Enum") || bases.contains("Flag");
    let field = if of_values { Kind::Variant } else { Kind::Field };
    let kind = if of_values { Kind::Enum } else { Kind::Class };
    let inside = walk.inside(scope, kind, &name, Visibility::Public);
    let definition = Definition {
        kind,
        visibility: visibility(scope, &name),
        name,
        signature: signature(walk, node, outer),
        members: fields(walk, body, field),
        node: outer,
        doc: docstring(walk, body),
    };
    walk.define(scope, definition);
    if let Some(body) = body {
        walk.children(&inside, body, visit);
    }
}

/// Variables that a class assigns, and attributes that its `__init__` assigns to `self`.
fn fields(walk: &Walk<'_>, body: Option<Node<'_>>, kind: Kind) -> Vec<Member> {
    let mut members = Vec::new();
    let mut init = None;
    each(body, |it| match it.kind() {
        "expression_statement" => {
            let assignment = it.named_child(0).filter(|it| it.kind() == "assignment");
            let name = assignment.and_then(|it| walk.field(it, Field::Left)).unwrap_or_default();
            if let Some(it) = assignment.filter(|_| kind == Kind::Variant || !is_constant(&name)) {
                members.push(walk.member(kind, it.start_byte(), end_of(it)));
            }
        }
        "function_definition" if walk.field(it, Field::Name).as_deref() == Some("__init__") => {
            init = it.field(Field::Body);
        }
        _ => {}
    });
    each(init, |it| {
        let assignment = it.named_child(0).filter(|it| it.kind() == "assignment");
        let left = assignment.and_then(|it| it.field(Field::Left));
        if let (Some(it), Some(left)) = (assignment, left)
            && walk.bytes(left).starts_with(b"self.")
        {
            members.push(walk.member(kind, it.start_byte(), end_of(it)));
        }
    });
    members
}

fn is_constant(name: &str) -> bool {
    !name.contains(char::is_lowercase)
}

/// The end of the displayed part of an assignment: before the value if it is long.
fn end_of(assignment: Node<'_>) -> usize {
    match assignment.field(Field::Right) {
        Some(it) if it.byte_range().len() > VALUE_BYTES_MAX => it.start_byte(),
        Some(_) | None => assignment.end_byte(),
    }
}

/// Variables of a module, including `a, b = 1, 2` and `a = b = 1`. Those of a class are its
/// members.
fn variable(walk: &mut Walk<'_>, scope: &Scope, node: Node<'_>) {
    let mut names = Vec::new();
    let mut next = Some(node);
    while let Some(it) = next.filter(|it| it.kind() == "assignment" && names.len() < NAMES_MAX) {
        match it.field(Field::Left) {
            Some(left) if left.kind() == "identifier" => names.push(left),
            Some(left) if matches!(left.kind(), "pattern_list" | "tuple_pattern") => {
                each(Some(left), |it| {
                    names.extend(Some(it).filter(|it| it.kind() == "identifier"));
                });
            }
            Some(_) | None => {}
        }
        next = it.field(Field::Right);
    }
    let doc = walk.doc();
    for name in names {
        let name = walk.text(name);
        let constant = is_constant(&name);
        let member = scope.is_type() && !(constant && scope.kind == Some(Kind::Class));
        if member || matches!(&*name, "__all__" | "_") {
            continue;
        }
        let definition = Definition {
            kind: if constant { Kind::Constant } else { Kind::Variable },
            visibility: visibility(scope, &name),
            name,
            signature: walk.header(node.start_byte(), end_of(node)),
            members: Vec::new(),
            node,
            doc: doc.clone(),
        };
        walk.define(scope, definition);
    }
}

fn type_alias(walk: &mut Walk<'_>, scope: &Scope, node: Node<'_>) {
    let Some(left) = node.field(Field::Left) else { return };
    let text = walk.text(left);
    let name = text.split(['[', ' ']).next().unwrap_or_default().to_owned();
    let definition = Definition {
        kind: Kind::TypeAlias,
        visibility: visibility(scope, &name),
        name: name.into(),
        signature: walk.header_of(node, None),
        members: Vec::new(),
        node,
        doc: None,
    };
    walk.define(scope, definition);
}

/// `import a.b, c as d`
fn import(walk: &mut Walk<'_>, node: Node<'_>) {
    let mut modules = Vec::new();
    each(Some(node), |it| {
        let (name, alias) = aliased(walk, it);
        let aliases = alias.into_iter().map(|it| ("self".to_owned(), it)).collect();
        modules.push(Imported { module: name, names: Vec::new(), aliases });
    });
    walk.import(node, modules);
}

fn aliased(walk: &Walk<'_>, node: Node<'_>) -> (String, Option<String>) {
    match walk.field(node, Field::Name) {
        Some(name) => (name.into_owned(), walk.field(node, Field::Alias).map(Into::into)),
        None => (walk.text(node).into_owned(), None),
    }
}

/// `from a.b import c as d, e`
fn import_from(walk: &mut Walk<'_>, node: Node<'_>) {
    let from = node.field(Field::ModuleName);
    let name = from.map_or_else(|| "__future__".into(), |it| walk.text(it));
    let mut module = Imported { module: name.into_owned(), ..Imported::default() };
    each(Some(node), |it| {
        if Some(it) == from {
            return;
        }
        if it.kind() == "wildcard_import" {
            module.names.push("*".to_owned());
            return;
        }
        let (name, alias) = aliased(walk, it);
        module.aliases.extend(alias.map(|it| (name.clone(), it)));
        module.names.push(name);
    });
    walk.import(node, vec![module]);
}
