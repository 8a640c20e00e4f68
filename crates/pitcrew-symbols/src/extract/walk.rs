//! Walks declarations and packs them, in all languages.
//!
//! It recurses at most `DEPTH_MAX` levels; deeper declarations are left out.

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

/// Looks at one node on the level of declarations.
pub type Visit = fn(&mut Walk<'_>, &Scope, Node<'_>);

/// Where a declaration stands.
#[derive(Clone)]
pub struct Scope {
    pub container: Option<Arc<str>>,
    /// What the container is.
    pub kind: Option<Kind>,
    /// That of declarations that do not say it themselves.
    pub visibility: Visibility,
}

impl Scope {
    pub fn is_type(&self) -> bool {
        self.kind.is_some_and(Kind::is_type)
    }

    /// A function here is one of these.
    pub fn callable(&self) -> Kind {
        if self.is_type() { Kind::Method } else { Kind::Function }
    }

    pub fn with(&self, visibility: Visibility) -> Self {
        Self { visibility, ..self.clone() }
    }
}

/// A definition as a language found it.
pub struct Definition<'a, 't> {
    pub kind: Kind,
    pub name: Cow<'a, str>,
    pub visibility: Visibility,
    pub signature: String,
    pub members: Vec<Member>,
    /// Where it begins and ends.
    pub node: Node<'t>,
    /// The documentation, where it does not stand in a comment above.
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
    /// The comments right above the node that is looked at.
    comments: Option<Span>,
    /// The attributes right above it, where these are nodes of their own.
    attributes: Option<Span>,
    /// What the last `public:` or `private` in the type that is looked at has said.
    pub access: Option<Visibility>,
    /// What is exported by its name, anywhere in the file.
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

    /// Looks at all declarations of a file.
    pub fn file(&mut self, root: Node<'_>, visibility: Visibility, visit: Visit) {
        let package = self.package(root).map(Into::into);
        let kind = package.as_ref().map(|_| Kind::Module);
        self.children(&Scope { container: package, kind, visibility }, root, visit);
    }

    /// The package that the file says it belongs to.
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

    /// What was found, and what the next file can be packed with.
    pub fn finish(mut self, has_error: bool) -> (Parsed, Packing) {
        self.found.publish(&self.published);
        let packed = self.found.finish(has_error || self.broken);
        (Parsed { language: self.language, packed }, self.found)
    }

    /// Looks at all children of a node, and knows for each the comments above it.
    pub fn children(&mut self, scope: &Scope, parent: Node<'_>, visit: Visit) {
        if self.depth == DEPTH_MAX {
            self.broken = true;
            return;
        }
        self.depth += 1;
        // A declaration that is wrapped in another node is documented above that one.
        let (mut comments, mut attributes) = (self.comments.take(), self.attributes.take());
        let mut before: Option<Node<'_>> = None;
        for node in parent.children() {
            if node.is_comment() {
                // A remark behind a declaration is not about the next one.
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

    /// The comments with one more, or that one alone where a gap is between them.
    fn extended(&self, comments: Option<Span>, node: Node<'_>) -> Span {
        let start = comments.filter(|it| self.touches(*it, node)).map(|it| it.start);
        Span { start: start.unwrap_or(node.start_byte()), end: node.end_byte() }
    }

    /// Whether nothing but the end of one line is between the span and the node.
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

    /// What stands in attributes above the node that is looked at.
    pub fn attributes(&self) -> &'a [u8] {
        self.attributes.map_or(&[], |it| &self.source[it.start..it.end])
    }

    /// The source from one place to another in one line, without what only leads to a body.
    pub fn header(&self, start: usize, end: usize) -> String {
        let source = self.source.get(start..end).unwrap_or_default();
        let mut line = text::one_line(self.language, source, SIGNATURE_BYTES_MAX);
        line.truncate(without_opening(&line).len());
        line
    }

    /// The source of a node up to its body, or the whole of it.
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

    /// The first line of what is said above the node that is looked at.
    pub fn doc(&self) -> Option<String> {
        self.doc_in(self.comments)
    }

    fn doc_in(&self, comments: Option<Span>) -> Option<String> {
        let source = &self.source[comments?.start..comments?.end];
        text::doc_line(self.language, source, DOC_BYTES_MAX)
    }

    /// Writes a definition down.
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

    /// The inside of something that has a name.
    pub fn inside(&self, scope: &Scope, kind: Kind, name: &str, visibility: Visibility) -> Scope {
        let container = match &scope.container {
            Some(outer) if outer.len() + name.len() > CONTAINER_BYTES_MAX => Arc::clone(outer),
            Some(outer) => [outer, self.language.separator(), name].concat().into(),
            None => name.into(),
        };
        Scope { container: Some(container), kind: Some(kind), visibility }
    }

    /// Writes an import down for each module that the statement names.
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

    /// Exports what has this name in the file, also when it is defined later.
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

/// The named children of a node that say something; not more than are kept as members.
pub fn each<'t>(list: Option<Node<'t>>, take: impl FnMut(Node<'t>)) {
    let Some(list) = list else { return };
    let says = |it: &Node<'_>| it.is_named() && !it.is_extra() && !it.is_error();
    list.children().filter(says).take(MEMBERS_MAX).for_each(take);
}

/// A line without what only leads to a body or a value, or ends a statement.
fn without_opening(line: &str) -> &str {
    let line = line.trim_end_matches([' ', '{', ';', ',']);
    let line = line.strip_suffix("=>").or(line.strip_suffix('=')).unwrap_or(line);
    line.trim_end()
}

/// Whether a file can say which package it belongs to.
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
