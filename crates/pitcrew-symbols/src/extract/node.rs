//! The nodes of a tree, with the words of its grammar looked up once.
//!
//! Tree-sitter finds a field by comparing its name with every other, and measures the name of a
//! node's kind each time it is asked for. A file has thousands of declarations.

use crate::Language;
use std::{ops::Range, sync::OnceLock};
use tree_sitter::{Point, TreeCursor};

/// Parts of nodes, by the names that grammars give them.
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

/// In the order of their declaration.
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

/// The words of a grammar.
#[derive(Debug)]
struct Words {
    /// The name of each kind of nodes.
    kinds: Vec<Box<str>>,
    /// The number of each field; 0 where the grammar has none of that name.
    fields: [u16; FIELDS.len()],
}

static WORDS: [OnceLock<Words>; Language::ALL.len()] =
    [const { OnceLock::new() }; Language::ALL.len()];

impl Words {
    fn of(language: Language) -> &'static Self {
        WORDS[language as usize].get_or_init(|| {
            let grammar = language.grammar();
            let kind = |id| grammar.node_kind_for_id(id).unwrap_or_default().into();
            let kinds_count = u16::try_from(grammar.node_kind_count()).unwrap_or(u16::MAX);
            let mut fields = [0; FIELDS.len()];
            for (field, name) in FIELDS {
                fields[*field as usize] = grammar.field_id_for_name(name).map_or(0, Into::into);
            }
            Self { kinds: (0..kinds_count).map(kind).collect(), fields }
        })
    }
}

/// A node of the tree of a file.
#[derive(Clone, Copy, Debug)]
pub struct Node<'t> {
    node: tree_sitter::Node<'t>,
    words: &'static Words,
}

impl<'t> Node<'t> {
    pub fn new(language: Language, node: tree_sitter::Node<'t>) -> Self {
        Self { node, words: Words::of(language) }
    }

    fn with(self, node: tree_sitter::Node<'t>) -> Self {
        Self { node, words: self.words }
    }

    pub fn kind(self) -> &'static str {
        self.words.kinds.get(usize::from(self.node.kind_id())).map_or("ERROR", |it| it)
    }

    /// The first child that is this part of it.
    pub fn field(self, field: Field) -> Option<Self> {
        let id = self.words.fields[field as usize];
        if id == 0 {
            return None;
        }
        self.node.child_by_field_id(id).map(|it| self.with(it))
    }

    /// Every child that is this part of it.
    pub fn fields(self, field: Field) -> impl Iterator<Item = Self> {
        let id = self.words.fields[field as usize];
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
        let mut cursor = self.node.walk();
        let more = cursor.goto_first_child();
        Children { cursor, more, words: self.words }
    }

    pub fn named_children(self) -> impl Iterator<Item = Self> {
        self.children().filter(|it| it.is_named())
    }

    pub fn child(self, index: u32) -> Option<Self> {
        self.node.child(index).map(|it| self.with(it))
    }

    pub fn named_child(self, index: u32) -> Option<Self> {
        self.node.named_child(index).map(|it| self.with(it))
    }

    pub fn named_child_count(self) -> usize {
        self.node.named_child_count()
    }

    pub fn is_named(self) -> bool {
        self.node.is_named()
    }

    pub fn is_extra(self) -> bool {
        self.node.is_extra()
    }

    pub fn is_error(self) -> bool {
        self.node.is_error()
    }

    pub fn start_byte(self) -> usize {
        self.node.start_byte()
    }

    pub fn end_byte(self) -> usize {
        self.node.end_byte()
    }

    pub fn byte_range(self) -> Range<usize> {
        self.node.byte_range()
    }

    pub fn start_position(self) -> Point {
        self.node.start_position()
    }

    pub fn end_position(self) -> Point {
        self.node.end_position()
    }
}

impl PartialEq for Node<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.node == other.node
    }
}

/// The children of a node, in their order.
pub struct Children<'t> {
    cursor: TreeCursor<'t>,
    more: bool,
    words: &'static Words,
}

impl Children<'_> {
    /// Which part of its parent the next one is; 0 where it has no name.
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
        let node = Node { node: self.cursor.node(), words: self.words };
        self.more = self.cursor.goto_next_sibling();
        Some(node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_in_the_order_of_their_declaration() {
        for (index, (field, name)) in FIELDS.iter().enumerate() {
            assert_eq!(*field as usize, index, "{name}");
        }
    }

    #[test]
    fn every_field_is_one_of_some_grammar() {
        for (field, name) in FIELDS {
            let id = |it: &Language| Words::of(*it).fields[*field as usize];
            assert!(Language::ALL.iter().any(|it| id(it) > 0), "{name}");
        }
    }
}
