//! Nodes of a syntax tree, with the names of each grammar looked up once.
//!
//! Tree-sitter finds a field by comparing its name with all others, and computes the length of a
//! node's kind on every access. A file has thousands of declarations.

use super::bodies::Cuts;
use crate::Language;
use std::{ops::Range, sync::OnceLock};
use tree_sitter::TreeCursor;

/// Parts of nodes, by their field names in the grammars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    Accessors,
    Alias,
    Argument,
    Arguments,
    Body,
    Declaration,
    Declarator,
    Definition,
    Function,
    Key,
    Left,
    List,
    Method,
    ModuleName,
    Name,
    Parameter,
    Parameters,
    Path,
    Pattern,
    Property,
    Receiver,
    Right,
    Source,
    Superclass,
    Superclasses,
    Trait,
    Type,
    Value,
}

/// In declaration order.
const FIELDS: &[(Field, &str)] = &[
    (Field::Accessors, "accessors"),
    (Field::Alias, "alias"),
    (Field::Argument, "argument"),
    (Field::Arguments, "arguments"),
    (Field::Body, "body"),
    (Field::Declaration, "declaration"),
    (Field::Declarator, "declarator"),
    (Field::Definition, "definition"),
    (Field::Function, "function"),
    (Field::Key, "key"),
    (Field::Left, "left"),
    (Field::List, "list"),
    (Field::Method, "method"),
    (Field::ModuleName, "module_name"),
    (Field::Name, "name"),
    (Field::Parameter, "parameter"),
    (Field::Parameters, "parameters"),
    (Field::Path, "path"),
    (Field::Pattern, "pattern"),
    (Field::Property, "property"),
    (Field::Receiver, "receiver"),
    (Field::Right, "right"),
    (Field::Source, "source"),
    (Field::Superclass, "superclass"),
    (Field::Superclasses, "superclasses"),
    (Field::Trait, "trait"),
    (Field::Type, "type"),
    (Field::Value, "value"),
];

/// The known facts about all nodes of a kind.
#[derive(Debug)]
struct Kind {
    name: Box<str>,
    is_named: bool,
    role: Role,
}

/// The purpose of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// Not code.
    Comment,
    /// Describes the next node.
    Attribute,
    /// Any other node.
    Plain,
}

fn role(language: Language, name: &str) -> Role {
    let attribute = match language {
        Language::Rust => Some("attribute_item"),
        Language::TypeScript | Language::Tsx | Language::JavaScript => Some("decorator"),
        Language::Python
        | Language::Go
        | Language::Java
        | Language::C
        | Language::Cpp
        | Language::CSharp
        | Language::Ruby
        | Language::Php
        | Language::Bash
        | Language::Kotlin
        | Language::Lua
        | Language::Zig
        | Language::Swift
        | Language::Scala => None,
    };
    if name.ends_with("comment") {
        Role::Comment
    } else if attribute == Some(name) {
        Role::Attribute
    } else {
        Role::Plain
    }
}

/// The names that a grammar defines.
#[derive(Debug)]
struct Words {
    /// The kinds of nodes.
    kinds: Vec<Kind>,
    error: Kind,
    /// The number of each field, or 0 if the grammar has no field of that name.
    fields: [u16; FIELDS.len()],
}

static WORDS: [OnceLock<Words>; Language::ALL.len()] =
    [const { OnceLock::new() }; Language::ALL.len()];

impl Words {
    fn of(language: Language) -> &'static Self {
        WORDS[language as usize].get_or_init(|| {
            let grammar = language.grammar();
            let kind = |id| {
                let name = grammar.node_kind_for_id(id).unwrap_or_default();
                let is_named = grammar.node_kind_is_named(id);
                Kind { name: name.into(), is_named, role: role(language, name) }
            };
            let kinds_count = u16::try_from(grammar.node_kind_count()).unwrap_or(u16::MAX);
            let mut fields = [0; FIELDS.len()];
            for (field, name) in FIELDS {
                fields[*field as usize] = grammar.field_id_for_name(name).map_or(0, Into::into);
            }
            let error = Kind { name: "ERROR".into(), is_named: true, role: Role::Plain };
            Self { kinds: (0..kinds_count).map(kind).collect(), error, fields }
        })
    }
}

/// A node of the syntax tree of a file.
#[derive(Clone, Copy, Debug)]
pub struct Node<'t> {
    inner: tree_sitter::Node<'t>,
    kind: &'static Kind,
    file: &'t File<'t>,
}

/// The data that all nodes of a tree share.
#[derive(Debug)]
pub struct File<'a> {
    words: &'static Words,
    /// Positions refer to the whole source, even if it was parsed without its bodies.
    cuts: &'a Cuts,
}

impl<'a> File<'a> {
    pub fn new(language: Language, cuts: &'a Cuts) -> Self {
        Self { words: Words::of(language), cuts }
    }
}

impl<'t> Node<'t> {
    pub fn new(file: &'t File<'t>, node: tree_sitter::Node<'t>) -> Self {
        let words = file.words;
        let kind = words.kinds.get(usize::from(node.kind_id())).unwrap_or(&words.error);
        Self { inner: node, kind, file }
    }

    fn with(self, node: tree_sitter::Node<'t>) -> Self {
        Self::new(self.file, node)
    }

    pub fn kind(self) -> &'static str {
        &self.kind.name
    }

    pub fn is_comment(self) -> bool {
        self.kind.role == Role::Comment && self.inner.is_extra()
    }

    /// Whether this attribute is a separate node that applies to the next node.
    pub fn is_attribute(self) -> bool {
        self.kind.role == Role::Attribute && self.kind.is_named
    }

    /// The first child with this field name.
    pub fn field(self, field: Field) -> Option<Self> {
        let id = self.file.words.fields[field as usize];
        if id == 0 {
            return None;
        }
        self.inner.child_by_field_id(id).map(|it| self.with(it))
    }

    /// All children with this field name.
    pub fn fields(self, field: Field) -> impl Iterator<Item = Self> {
        let id = self.file.words.fields[field as usize];
        let mut children = self.children();
        std::iter::from_fn(move || {
            loop {
                let is_it = children.field_id() == id && id != 0;
                let child = children.next()?;
                if is_it {
                    return Some(child);
                }
            }
        })
    }

    pub fn children(self) -> Children<'t> {
        let mut cursor = self.inner.walk();
        let more = cursor.goto_first_child();
        Children { cursor, more, file: self.file }
    }

    pub fn named_children(self) -> impl Iterator<Item = Self> {
        self.children().filter(|it| it.is_named())
    }

    pub fn child(self, index: u32) -> Option<Self> {
        self.inner.child(index).map(|it| self.with(it))
    }

    pub fn named_child(self, index: u32) -> Option<Self> {
        self.inner.named_child(index).map(|it| self.with(it))
    }

    pub fn named_child_count(self) -> usize {
        self.inner.named_child_count()
    }

    pub fn is_named(self) -> bool {
        self.kind.is_named
    }

    pub fn is_extra(self) -> bool {
        self.inner.is_extra()
    }

    pub fn is_error(self) -> bool {
        std::ptr::eq(self.kind, &raw const self.file.words.error)
    }

    pub fn start_byte(self) -> usize {
        let at = self.inner.start_byte();
        at + self.file.cuts.before_start(at).bytes
    }

    pub fn end_byte(self) -> usize {
        let at = self.inner.end_byte();
        at + self.file.cuts.before_end(at).bytes
    }

    pub fn byte_range(self) -> Range<usize> {
        let start = self.start_byte();
        // The range may be empty if text was removed.
        start..self.end_byte().max(start)
    }

    /// First and last row, 0-based.
    pub fn rows(self) -> (usize, usize) {
        let (start, end) = (self.inner.start_position(), self.inner.end_position());
        // A node that ends with a line break ends on the line before.
        let last = if end.column == 0 && end.row > start.row { end.row - 1 } else { end.row };
        let cuts = self.file.cuts;
        let (before, inside) = (
            cuts.before_start(self.inner.start_byte()).rows,
            cuts.before_end(self.inner.end_byte()).rows,
        );
        (start.row + before, (last + inside).max(start.row + before))
    }
}

impl PartialEq for Node<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.inner == other.inner
    }
}

/// The children of a node, in order.
pub struct Children<'t> {
    cursor: TreeCursor<'t>,
    more: bool,
    file: &'t File<'t>,
}

impl Children<'_> {
    /// The field of the next child, or 0 if it has none.
    fn field_id(&self) -> u16 {
        self.cursor.field_id().map_or(0, Into::into)
    }
}

impl<'t> Iterator for Children<'t> {
    type Item = Node<'t>;

    fn next(&mut self) -> Option<Self::Item> {
        if !self.more {
            return None;
        }
        let node = Node::new(self.file, self.cursor.node());
        self.more = self.cursor.goto_next_sibling();
        Some(node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_in_declaration_order() {
        for (index, (field, name)) in FIELDS.iter().enumerate() {
            assert_eq!(*field as usize, index, "{name}");
        }
    }

    #[test]
    fn every_field_exists_in_some_grammar() {
        for (field, name) in FIELDS {
            let id = |it: &Language| Words::of(*it).fields[*field as usize];
            assert!(Language::ALL.iter().any(|it| id(it) > 0), "{name}");
        }
    }
}
