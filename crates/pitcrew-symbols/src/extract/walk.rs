//! Walks the declarations of all languages and packs them.
//!
//! The recursion is limited to `DEPTH_MAX` levels; deeper declarations are left out.

use super::{
    Parsed,
    node::{Field, Node},
    text,
};
use crate::{
    Import, Kind, Language, Member, Visibility,
    pack::{Entry, Head, Packing},
};
use std::{borrow::Cow, collections::HashSet, sync::Arc};

const DEPTH_MAX: u32 = 48;
const SYMBOLS_MAX: usize = 50_000;
const MEMBERS_MAX: usize = 200;
const SIGNATURE_BYTES_MAX: usize = 800;
const MEMBER_BYTES_MAX: usize = 160;
const DOC_BYTES_MAX: usize = 200;
const NAME_BYTES_MAX: usize = 200;
const CONTAINER_BYTES_MAX: usize = 600;
const IMPORT_BYTES_MAX: usize = 400;

/// Visits one node at the level of declarations.
pub type Visit = fn(&mut Walk<'_>, &Scope, Node<'_>);

/// The context of a declaration.
#[derive(Clone)]
pub struct Scope {
    pub container: Option<Arc<str>>,
    /// The kind of the container.
    pub kind: Option<Kind>,
    /// The visibility of declarations without a modifier.
    pub visibility: Visibility,
}

impl Scope {
    pub fn is_type(&self) -> bool {
        self.kind.is_some_and(Kind::is_type)
    }

    /// The kind of a function in this scope.
    pub fn callable(&self) -> Kind {
        if self.is_type() { Kind::Method } else { Kind::Function }
    }

    pub fn with(&self, visibility: Visibility) -> Self {
        Self { visibility, ..self.clone() }
    }
}

/// A definition as found by the module of a language.
pub struct Definition<'a, 't> {
    pub kind: Kind,
    pub name: Cow<'a, str>,
    pub visibility: Visibility,
    pub signature: String,
    pub members: Vec<Member>,
    /// The node that spans the definition.
    pub node: Node<'t>,
    /// The documentation, if it is not in a comment above the definition.
    pub doc: Option<String>,
}

#[derive(Clone, Copy)]
struct Span {
    start: usize,
    end: usize,
}

pub struct Walk<'a> {
    pub language: Language,
    source: &'a [u8],
    depth: u32,
    /// The comments directly above the current node.
    comments: Option<Span>,
    /// The attributes directly above the current node, if they are separate nodes.
    attributes: Option<Span>,
    /// The visibility set by the last `public:` or `private` in the current type.
    pub access: Option<Visibility>,
    /// Names that are exported anywhere in the file.
    published: HashSet<String>,
    broken: bool,
    found: Packing,
}

impl<'a> Walk<'a> {
    pub fn new(language: Language, source: &'a [u8], found: Packing) -> Self {
        Self {
            language,
            source,
            depth: 0,
            comments: None,
            attributes: None,
            access: None,
            published: HashSet::new(),
            broken: false,
            found,
        }
    }

    /// Visits all declarations of a file.
    pub fn file(&mut self, root: Node<'_>, visibility: Visibility, visit: Visit) {
        let package = self.package(root).map(Into::into);
        let kind = package.as_ref().map(|_| Kind::Module);
        self.children(&Scope { container: package, kind, visibility }, root, visit);
    }

    /// The package that the file declares.
    fn package(&self, root: Node<'_>) -> Option<String> {
        if !has_packages(self.language) {
            return None;
        }
        let mut found = None;
        each(Some(root), |it| {
            if found.is_none() && is_package(it) && it.field(Field::Body).is_none() {
                let name = it.field(Field::Name);
                let last = || (0..4).rev().find_map(|at| it.named_child(at));
                found = name.or_else(last).map(|it| self.header_of(it, None));
            }
        });
        found
    }

    /// Returns the symbols, and the buffers to reuse for the next file.
    pub fn finish(mut self, has_error: bool) -> (Parsed, Packing) {
        self.found.publish(&self.published);
        let packed = self.found.finish(has_error || self.broken);
        (Parsed { language: self.language, packed }, self.found)
    }

    /// Visits all children of a node and records the comments above each.
    pub fn children(&mut self, scope: &Scope, parent: Node<'_>, visit: Visit) {
        if self.depth == DEPTH_MAX {
            self.broken = true;
            return;
        }
        self.depth += 1;
        // The documentation of a wrapped declaration is above the outer node.
        let (mut comments, mut attributes) = (self.comments.take(), self.attributes.take());
        let mut before: Option<Node<'_>> = None;
        for node in parent.children() {
            if node.is_comment() {
                // A comment after a declaration on the same line does not describe the next one.
                let (row, _) = node.rows();
                let beside = before.is_some_and(|it| !it.is_comment() && it.rows().1 == row);
                let span = self.extended(comments, node);
                comments = (!beside).then_some(span);
            } else if node.is_attribute() {
                attributes = Some(Span {
                    start: attributes.map_or(node.start_byte(), |it| it.start),
                    end: node.end_byte(),
                });
                comments = comments.filter(|it| self.touches(*it, node));
                comments = comments.map(|it| Span { start: it.start, end: node.end_byte() });
            } else if node.is_named() {
                self.comments = comments.take().filter(|it| self.touches(*it, node));
                self.attributes = attributes.take();
                if node.is_error() {
                    self.children(scope, node, visit);
                } else {
                    visit(self, scope, node);
                }
                (self.comments, self.attributes) = (None, None);
            }
            before = Some(node);
        }
        self.depth -= 1;
    }

    /// Adds a comment to the span, or starts a new span if there is a gap between them.
    fn extended(&self, comments: Option<Span>, node: Node<'_>) -> Span {
        let start = comments.filter(|it| self.touches(*it, node)).map(|it| it.start);
        Span { start: start.unwrap_or(node.start_byte()), end: node.end_byte() }
    }

    /// Whether the span and the node are separated by at most one line break.
    fn touches(&self, span: Span, node: Node<'_>) -> bool {
        let above = self.source[span.start..span.end].trim_ascii_end().len() + span.start;
        let gap = self.source.get(above..node.start_byte()).unwrap_or_default();
        gap.iter().filter(|it| **it == b'\n').count() <= 1
    }

    pub fn bytes(&self, node: Node<'_>) -> &'a [u8] {
        &self.source[node.byte_range()]
    }

    pub fn text(&self, node: Node<'_>) -> Cow<'a, str> {
        let bytes = self.bytes(node);
        let bytes = &bytes[..bytes.len().min(NAME_BYTES_MAX)];
        str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
    }

    pub fn field(&self, node: Node<'_>, field: Field) -> Option<Cow<'a, str>> {
        node.field(field).map(|it| self.text(it))
    }

    /// The text of the attributes above the current node.
    pub fn attributes(&self) -> &'a [u8] {
        self.attributes.map_or(&[], |it| &self.source[it.start..it.end])
    }

    /// The source between two positions in one line, without the tokens that open a body.
    pub fn header(&self, start: usize, end: usize) -> String {
        let source = self.source.get(start..end).unwrap_or_default();
        let mut line = text::one_line(self.language, source, SIGNATURE_BYTES_MAX);
        line.truncate(without_opening(&line).len());
        line
    }

    /// The source of a node up to its body, or all of it if there is no body.
    pub fn header_of(&self, node: Node<'_>, body: Option<Node<'_>>) -> String {
        self.header(node.start_byte(), body.map_or(node.end_byte(), Node::start_byte))
    }

    pub fn member(&self, kind: Kind, start: usize, end: usize) -> Member {
        let source = self.source.get(start..end).unwrap_or_default();
        let line = text::one_line(self.language, source, MEMBER_BYTES_MAX);
        Member { kind, text: without_opening(&line).into() }
    }

    /// The children of a list as members.
    pub fn members(&self, kind: Kind, list: Option<Node<'_>>) -> Vec<Member> {
        let mut members = Vec::new();
        each(list, |it| {
            if !it.is_attribute() {
                members.push(self.member(kind, it.start_byte(), it.end_byte()));
            }
        });
        members
    }

    /// The first line of the documentation above the current node.
    pub fn doc(&self) -> Option<String> {
        self.doc_in(self.comments)
    }

    fn doc_in(&self, comments: Option<Span>) -> Option<String> {
        let source = &self.source[comments?.start..comments?.end];
        text::doc_line(self.language, source, DOC_BYTES_MAX)
    }

    /// Adds a definition.
    pub fn define(&mut self, scope: &Scope, it: Definition<'_, '_>) {
        let comments = self.comments.take();
        self.attributes = None;
        if self.found.symbols_count() == SYMBOLS_MAX {
            self.broken = true;
            return;
        }
        let doc = it.doc.map(|it| text::cut(it, DOC_BYTES_MAX)).or_else(|| self.doc_in(comments));
        let (kind, visibility) = (it.kind, it.visibility);
        let container = scope.container.as_deref();
        self.found.symbol(&Entry {
            head: Head { name: &it.name, container, kind, visibility },
            lines: lines(it.node),
            signature: &it.signature,
            doc: doc.as_deref().unwrap_or_default(),
            members: &it.members,
        });
    }

    /// The scope inside a named definition.
    pub fn inside(&self, scope: &Scope, kind: Kind, name: &str, visibility: Visibility) -> Scope {
        let container = match &scope.container {
            Some(outer) if outer.len() + name.len() > CONTAINER_BYTES_MAX => Arc::clone(outer),
            Some(outer) => [outer, self.language.separator(), name].concat().into(),
            None => name.into(),
        };
        Scope { container: Some(container), kind: Some(kind), visibility }
    }

    /// Adds an import for each module that the statement names.
    pub fn import(&mut self, node: Node<'_>, modules: Vec<Imported>) {
        let text = self.source.get(node.byte_range()).unwrap_or_default();
        let text: Arc<str> = text::one_line(self.language, text, IMPORT_BYTES_MAX).into();
        for it in modules {
            self.found.import(&Import {
                line: lines(node).0,
                text: Arc::clone(&text),
                module: it.module.into(),
                names: it.names,
                aliases: it.aliases,
            });
        }
    }

    /// Exports the definitions of this name in the file, including later ones.
    pub fn publish(&mut self, name: &str) {
        self.published.insert(name.to_owned());
    }
}

/// A module that is imported from.
#[derive(Default)]
pub struct Imported {
    pub module: String,
    pub names: Vec<String>,
    pub aliases: Vec<(String, String)>,
}

/// Calls `take` for each named child except comments, up to the maximum number of members.
pub fn each<'t>(list: Option<Node<'t>>, take: impl FnMut(Node<'t>)) {
    let Some(list) = list else { return };
    let says = |it: &Node<'_>| it.is_named() && !it.is_extra() && !it.is_error();
    list.children().filter(says).take(MEMBERS_MAX).for_each(take);
}

/// A line without the tokens that open a body or a value or end a statement.
fn without_opening(line: &str) -> &str {
    let line = line.trim_end_matches([' ', '{', ';', ',']);
    let line = line.strip_suffix("=>").or(line.strip_suffix('=')).unwrap_or(line);
    line.trim_end()
}

/// Whether a file of this language can declare its package.
fn has_packages(language: Language) -> bool {
    match language {
        Language::Go
        | Language::Java
        | Language::CSharp
        | Language::Php
        | Language::Kotlin
        | Language::Scala => true,
        Language::Rust
        | Language::TypeScript
        | Language::Tsx
        | Language::JavaScript
        | Language::Python
        | Language::C
        | Language::Cpp
        | Language::Ruby
        | Language::Bash
        | Language::Lua
        | Language::Zig
        | Language::Swift => false,
    }
}

fn is_package(node: Node<'_>) -> bool {
    matches!(
        node.kind(),
        "package_clause"
            | "package_declaration"
            | "package_header"
            | "file_scoped_namespace_declaration"
            | "namespace_definition"
    )
}

fn lines(node: Node<'_>) -> (u32, u32) {
    let number = |row: usize| u32::try_from(row).map_or(u32::MAX, |it| it + 1);
    let (first, last) = node.rows();
    (number(first), number(last))
}
