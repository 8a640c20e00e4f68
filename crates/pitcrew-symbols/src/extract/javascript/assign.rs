//! Definitions by assignment: functions, classes, objects, exports of `CommonJS`.

use super::super::node::{Field, Node};
use super::super::walk::{Definition, Scope, Walk, each};
use super::{VALUE_BYTES_MAX, class_named, is_function, parameters};
use crate::{Kind, Member, Visibility};
use std::borrow::Cow;

pub struct Variable<'a, 't> {
    pub name: Cow<'a, str>,
    pub declarator: Node<'t>,
    pub value: Node<'t>,
    /// The statement.
    pub outer: Node<'t>,
    pub constant: bool,
}

/// The part of a statement that its declarators share, followed by one of them:
/// `export const a = 1`.
pub fn leading(walk: &Walk<'_>, outer: Node<'_>, declarator: Node<'_>, end: usize) -> String {
    let start = outer.start_byte();
    let words = walk.header(start, declarator.start_byte());
    // The second declarator of `let a = 1, b = 2` begins after the first.
    let words = words.split(['=', '(']).next().unwrap_or_default();
    let keyword = ["const", "let", "var"].into_iter().find_map(|it| {
        let at = words.split(' ').position(|word| word == it)?;
        Some(words.split(' ').take(at + 1).collect::<Vec<_>>().join(" "))
    });
    let own = walk.header(declarator.start_byte(), end);
    format!("{} {own}", keyword.as_deref().unwrap_or(words)).trim_start().to_owned()
}

pub fn variable(walk: &mut Walk<'_>, scope: &Scope, it: Variable<'_, '_>) {
    let Variable { name, declarator, value, outer, constant } = it;
    if value.kind() == "class" {
        return class_named(walk, scope, name, value, outer);
    }
    let function = is_function(value);
    let long = value.byte_range().len() > VALUE_BYTES_MAX;
    let wrapped = if long { wrapped_function(value) } else { None };
    let body = wrapped.or(function.then_some(value)).and_then(|it| it.field(Field::Body));
    let object = value.kind() == "object" || long;
    let end = match body {
        Some(body) => body.start_byte(),
        None if object => value.start_byte(),
        None => value.end_byte(),
    };
    let signature = leading(walk, outer, declarator, end);
    let kind = match constant {
        _ if function => Kind::Function,
        true => Kind::Constant,
        false => Kind::Variable,
    };
    let members = match wrapped {
        Some(inner) => parameters(walk, inner),
        None if function => parameters(walk, value),
        None => entries(walk, if long { unwrapped(value) } else { value }),
    };
    let visibility = scope.visibility;
    let node = if outer.named_child_count() == 1 { outer } else { declarator };
    walk.define(scope, Definition { kind, name, visibility, signature, members, node, doc: None });
}

/// The inner value of `... as const`, `... satisfies A` and `Object.freeze(...)`.
fn unwrapped(value: Node<'_>) -> Node<'_> {
    let inner = match value.kind() {
        "as_expression" | "satisfies_expression" | "parenthesized_expression" => Some(value),
        "call_expression" => value.field(Field::Arguments),
        _ => None,
    };
    inner.and_then(|it| it.named_child(0)).filter(|it| it.kind() == "object").unwrap_or(value)
}

/// The function in `memo(function ...)` and `forwardRef((props, ref) => ...)`.
fn wrapped_function(value: Node<'_>) -> Option<Node<'_>> {
    let arguments = Some(value).filter(|it| it.kind() == "call_expression")?;
    let first = arguments.field(Field::Arguments)?.named_child(0)?;
    Some(first).filter(|it| is_function(*it))
}

/// The maximum number of names in one pattern; the rest is left out.
const PARTS_MAX: usize = 200;

/// `const { a, b: c, ...d } = e` and `const [a, b] = c`: each name is one definition.
pub fn parts(
    walk: &mut Walk<'_>,
    scope: &Scope,
    declarator: Node<'_>,
    outer: Node<'_>,
    constant: bool,
) {
    let mut waiting: Vec<Node<'_>> = declarator.field(Field::Name).into_iter().collect();
    let mut names = Vec::new();
    while let Some(it) = waiting.pop()
        && names.len() < PARTS_MAX
    {
        match it.kind() {
            "identifier" | "shorthand_property_identifier_pattern" => names.push(it),
            "pair_pattern" => waiting.extend(it.field(Field::Value)),
            "object_assignment_pattern" | "assignment_pattern" => {
                waiting.extend(it.field(Field::Left));
            }
            "object_pattern" | "array_pattern" | "rest_pattern" => {
                each(Some(it), |it| waiting.push(it));
            }
            _ => {}
        }
    }
    names.sort_by_key(|it| it.start_byte());
    let value = declarator.field(Field::Value);
    let long = value.filter(|it| it.byte_range().len() > VALUE_BYTES_MAX);
    let end = long.map_or(declarator.end_byte(), Node::start_byte);
    let signature = leading(walk, outer, declarator, end);
    let kind = if constant { Kind::Constant } else { Kind::Variable };
    let doc = walk.doc();
    for name in names {
        let definition = Definition {
            kind,
            name: walk.text(name),
            visibility: scope.visibility,
            signature: signature.clone(),
            members: Vec::new(),
            node: outer,
            doc: doc.clone(),
        };
        walk.define(scope, definition);
    }
}

/// The keys of an object and the signatures of its functions.
fn entries(walk: &Walk<'_>, value: Node<'_>) -> Vec<Member> {
    let mut members = Vec::new();
    let value = Some(value).filter(|it| it.kind() == "object");
    each(value, |it| {
        let value = it.field(Field::Value);
        let body = value.filter(|it| is_function(*it)).map_or(it, |it| it);
        let end = match (body.field(Field::Body), value) {
            (Some(body), _) => body.start_byte(),
            (None, Some(value)) if value.byte_range().len() > VALUE_BYTES_MAX => {
                it.field(Field::Key).map_or(value.start_byte(), Node::end_byte)
            }
            (None, _) => it.end_byte(),
        };
        members.push(walk.member(Kind::Field, it.start_byte(), end));
    });
    members
}

/// A statement that may define something: `exports.a = ...`, `A.prototype.b = function ...`.
pub fn statement(walk: &mut Walk<'_>, scope: &Scope, node: Node<'_>, outer: Node<'_>) {
    if node.kind() != "assignment_expression" {
        return;
    }
    let (Some(left), Some(right)) = (node.field(Field::Left), node.field(Field::Right)) else {
        return;
    };
    if left.kind() != "member_expression" {
        return;
    }
    let target = walk.text(left);
    let public = scope.with(Visibility::Public);
    match target.rsplit_once('.') {
        Some(("module", "exports")) => match right.kind() {
            "object" => exported_object(walk, &public, right),
            "identifier" => walk.publish(&walk.text(right)),
            _ => value(walk, &public, Cow::Borrowed("default"), right, outer),
        },
        Some(("exports" | "module.exports", name)) => {
            if right.kind() == "identifier" {
                walk.publish(&walk.text(right));
            } else {
                value(walk, &public, Cow::Borrowed(name), right, outer);
            }
        }
        Some((owner, name)) if is_function(right) && !owner.contains(['(', '[', ' ']) => {
            let owner = owner.trim_end_matches(".prototype");
            let inside = walk.inside(scope, Kind::Class, owner, Visibility::Public);
            value(walk, &inside, Cow::Borrowed(name), right, outer);
        }
        Some(_) | None => {}
    }
}

/// A name to which a function, a class or another value is assigned.
pub fn value(
    walk: &mut Walk<'_>,
    scope: &Scope,
    name: Cow<'_, str>,
    value: Node<'_>,
    outer: Node<'_>,
) {
    if value.kind() == "class" {
        return class_named(walk, scope, name, value, outer);
    }
    let function = is_function(value) || value.kind() == "method_definition";
    let body = value.field(Field::Body).filter(|_| function);
    let long = value.byte_range().len() > VALUE_BYTES_MAX;
    let signature = walk.header_of(outer, body.or((!function && long).then_some(value)));
    let members = if function { parameters(walk, value) } else { entries(walk, value) };
    let kind = if function { scope.callable() } else { Kind::Constant };
    let visibility = scope.visibility;
    let definition =
        Definition { kind, name, visibility, signature, members, node: outer, doc: None };
    walk.define(scope, definition);
}

/// `module.exports = { a, b: c, d() {} }`
pub fn exported_object(walk: &mut Walk<'_>, scope: &Scope, object: Node<'_>) {
    let mut entries = Vec::new();
    each(Some(object), |it| entries.push(it));
    for it in entries {
        match it.kind() {
            "shorthand_property_identifier" => walk.publish(&walk.text(it)),
            "method_definition" => {
                if let Some(name) = walk.field(it, Field::Name) {
                    value(walk, scope, name, it, it);
                }
            }
            "pair" => {
                let (Some(key), Some(right)) = (walk.field(it, Field::Key), it.field(Field::Value))
                else {
                    continue;
                };
                match right.kind() {
                    "identifier" => walk.publish(&walk.text(right)),
                    _ if is_function(right) => value(walk, scope, key, right, it),
                    _ => {}
                }
            }
            _ => {}
        }
    }
}
