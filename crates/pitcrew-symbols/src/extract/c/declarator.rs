//! Finds the name in a declarator. In C, the name is in the middle of its type.

use super::super::node::{Field, Node};
use super::super::walk::Walk;
use crate::{Kind, Member};

/// Deeper declarators are left out.
const DEPTH_MAX: u32 = 64;

pub struct Declared<'t> {
    pub name: String,
    /// The qualifier of the name: `A::b` in `A::b::c`.
    pub owner: Option<String>,
    /// Present if the declarator is a function.
    pub parameters: Option<Node<'t>>,
}

/// Descends from `*(*name[3])(int)` to the name.
pub fn read<'t>(walk: &Walk<'_>, node: Node<'t>) -> Option<Declared<'t>> {
    let (mut node, mut parameters) = (node, None);
    for _ in 0..DEPTH_MAX {
        match node.kind() {
            "identifier" | "field_identifier" | "type_identifier" | "destructor_name"
            | "operator_name" | "operator_cast" | "primitive_type" | "template_function"
            | "template_method" => {
                let cast = node.field(Field::Declarator);
                let cast = cast.and_then(|it| it.field(Field::Parameters));
                let parameters = parameters.or(cast);
                return Some(Declared { name: name(walk, node), owner: None, parameters });
            }
            "qualified_identifier" => return Some(qualified(walk, node, parameters)),
            "function_declarator" => {
                // The name of a pointer to a function is in parentheses and is not a function.
                let inner = node.field(Field::Declarator)?;
                if inner.kind() != "parenthesized_declarator" {
                    parameters = node.field(Field::Parameters);
                }
                node = inner;
            }
            _ => {
                let inner = node.field(Field::Declarator);
                node = inner.or_else(|| last_named(node))?;
            }
        }
    }
    None
}

/// The parameters of a function; `(void)` means none.
pub fn parameters(walk: &Walk<'_>, list: Option<Node<'_>>) -> Vec<Member> {
    let mut members = walk.members(Kind::Parameter, list);
    members.retain(|it| &*it.text != "void");
    members
}

/// The declarator follows attributes and qualifiers.
fn last_named(node: Node<'_>) -> Option<Node<'_>> {
    let count = u32::try_from(node.named_child_count()).ok()?;
    count.checked_sub(1).and_then(|it| node.named_child(it))
}

/// The name without template arguments or the parameters of a conversion.
fn name(walk: &Walk<'_>, node: Node<'_>) -> String {
    match node.kind() {
        "operator_cast" => {
            let text = walk.text(node);
            text.split('(').next().unwrap_or_default().trim().to_owned()
        }
        "template_function" | "template_method" => {
            walk.field(node, Field::Name).unwrap_or_default().into_owned()
        }
        _ => walk.text(node).into_owned(),
    }
}

fn qualified<'t>(walk: &Walk<'_>, node: Node<'t>, parameters: Option<Node<'t>>) -> Declared<'t> {
    let text = walk.header_of(node, None);
    // The owner in `A<B::C>::d` is `A`.
    let (mut depth, mut plain) = (0_u32, String::new());
    let operator = text.find("operator").unwrap_or(text.len());
    for (at, letter) in text.char_indices() {
        match letter {
            '<' if at < operator => depth += 1,
            '>' if at < operator => depth = depth.saturating_sub(1),
            _ if depth == 0 => plain.push(letter),
            _ => {}
        }
    }
    let plain = plain.split('(').next().unwrap_or_default().trim().trim_start_matches("::");
    match plain.rsplit_once("::") {
        Some((owner, name)) => {
            Declared { name: name.to_owned(), owner: Some(owner.to_owned()), parameters }
        }
        None => Declared { name: plain.to_owned(), owner: None, parameters },
    }
}
