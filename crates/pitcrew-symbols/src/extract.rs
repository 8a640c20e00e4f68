//! From the bytes of a file to what it defines.
//!
//! Each language has a module that knows which nodes of its grammar are declarations and where
//! their names and bodies are; what they have in common is in `walk` and `text`. Bodies of
//! functions are never entered, and those of Rust are not even parsed.

mod bodies;
mod parse;
mod text;
mod node;
mod walk;
mod rust;
mod javascript;
mod python;
mod go;
mod java;
mod c;
mod shape;
mod ruby;
mod bash;
mod lua;
mod zig;

use crate::{
    FileSymbols, Language, Skipped, Visibility,
    pack::{Packed, Packing},
};
use bodies::{Cuts, Rest};
use node::{File, Node};
pub use parse::on_large_stack;
use std::{cell::RefCell, time::Duration};
use walk::{Visit, Walk};

/// A larger file is skipped: a tree takes many times the memory of its text.
pub const FILE_BYTES_MAX: usize = 2 << 20;
/// A file that takes longer on a core is skipped.
pub const FILE_TIME_MAX: Duration = Duration::from_secs(5);

thread_local! {
    static PACKING: RefCell<Packing> = RefCell::default();
    static REST: RefCell<Rest> = RefCell::default();
}

/// What a file defines and imports.
pub struct Extracted {
    /// A header that is named as C may be C++.
    pub language: Language,
    pub packed: Packed,
    pub broken: bool,
    pub skipped: Option<Skipped>,
}

/// Reads the definitions and imports of a file. What is broken in it is left out.
///
/// Never panics, however the bytes look. Whoever reads many files does it inside of
/// [`on_large_stack`], else each large one is parsed on a thread of its own.
pub fn extract(language: Language, source: &[u8]) -> FileSymbols {
    packed(language, source).into()
}

/// The same as it is kept.
pub fn packed(language: Language, source: &[u8]) -> Extracted {
    if source.len() > FILE_BYTES_MAX {
        return Extracted::skipped(language, Skipped::TooLarge);
    }
    let language = if language == Language::C { c::language_of(source) } else { language };
    match language {
        Language::Rust => {
            let mut rest = REST.take();
            let (text, cuts) = rest.of(source);
            let extracted = parsed(language, source, text, cuts);
            REST.set(rest);
            extracted
        }
        Language::C | Language::Cpp => {
            parsed(language, source, &c::without_exports(source), &Cuts::default())
        }
        Language::TypeScript
        | Language::Tsx
        | Language::JavaScript
        | Language::Python
        | Language::Go
        | Language::Java
        | Language::CSharp
        | Language::Ruby
        | Language::Php
        | Language::Bash
        | Language::Kotlin
        | Language::Lua
        | Language::Zig
        | Language::Swift
        | Language::Scala => parsed(language, source, source, &Cuts::default()),
    }
}

/// Parses what was made of a source, and takes all texts from the source itself.
fn parsed(language: Language, source: &[u8], made: &[u8], cuts: &Cuts) -> Extracted {
    let Some(tree) = parse::parse(language, made, FILE_TIME_MAX) else {
        return Extracted::skipped(language, Skipped::TooSlow);
    };
    let mut walk = Walk::new(language, source, PACKING.take());
    let file = File::new(language, cuts);
    let root = Node::new(&file, tree.root_node());
    walk.file(root, visibility(language), visit(language));
    let (extracted, packing) = walk.finish(tree.root_node().has_error());
    PACKING.set(packing);
    extracted
}

impl Extracted {
    fn skipped(language: Language, why: Skipped) -> Self {
        let packed = Packed::empty();
        Self { language, packed, broken: false, skipped: Some(why) }
    }

    /// Of a file that could not be read to its end.
    pub fn broken(language: Language) -> Self {
        let packed = Packed::empty();
        Self { language, packed, broken: true, skipped: None }
    }
}

impl From<Extracted> for FileSymbols {
    fn from(it: Extracted) -> Self {
        let indexes = 0..it.packed.symbols_count();
        let symbols = indexes.filter_map(|index| it.packed.symbol(it.language, index)).collect();
        let imports = it.packed.imports();
        Self { symbols, imports, broken: it.broken, skipped: it.skipped }
    }
}

fn visit(language: Language) -> Visit {
    match language {
        Language::Rust => rust::visit,
        Language::TypeScript | Language::Tsx | Language::JavaScript => javascript::visit,
        Language::Python => python::visit,
        Language::Go => go::visit,
        Language::Java => java::visit,
        Language::C | Language::Cpp => c::visit,
        Language::CSharp | Language::Kotlin | Language::Php | Language::Swift | Language::Scala => {
            shape::visit
        }
        Language::Ruby => ruby::visit,
        Language::Bash => bash::visit,
        Language::Lua => lua::visit,
        Language::Zig => zig::visit,
    }
}

/// Who may name what says nothing about it.
fn visibility(language: Language) -> Visibility {
    match language {
        Language::Rust
        | Language::TypeScript
        | Language::Tsx
        | Language::JavaScript
        | Language::Zig => Visibility::Private,
        Language::Go | Language::Java | Language::CSharp | Language::Swift => {
            Visibility::Restricted
        }
        Language::Python
        | Language::C
        | Language::Cpp
        | Language::Ruby
        | Language::Php
        | Language::Bash
        | Language::Kotlin
        | Language::Lua
        | Language::Scala => Visibility::Public,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, path::Path};

    /// Every source in a folder.
    fn sources(folder: &Path, take: &mut impl FnMut(&Path, &[u8])) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                sources(&path, take);
            } else if Language::of(&path) == Some(Language::Rust) {
                take(&path, &fs::read(&path).unwrap());
            }
        }
    }

    #[test]
    fn what_is_read_without_bodies_is_what_is_read_with_them() {
        let (mut files_count, mut cut_count) = (0, 0);
        sources(Path::new(env!("CARGO_MANIFEST_DIR")), &mut |path, source| {
            let mut rest = Rest::default();
            let (text, cuts) = rest.of(source);
            let whole = parsed(Language::Rust, source, source, &Cuts::default());
            let left = parsed(Language::Rust, source, text, cuts);
            assert_eq!(left.packed.bytes(), whole.packed.bytes(), "{}", path.display());
            files_count += 1;
            cut_count += usize::from(text.len() < source.len());
        });
        assert!(cut_count > 20, "{cut_count} of {files_count}");
    }
}
