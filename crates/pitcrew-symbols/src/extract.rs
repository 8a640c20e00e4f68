//! Extracts definitions from the bytes of a file.
//!
//! The module of each language knows which nodes of its grammar are declarations and how to find
//! their names and bodies. Common code is in `walk` and `text`. Function bodies are never entered,
//! and those of Rust are not even parsed.

mod bodies;
mod nesting;
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

use crate::{FileSymbols, Language, Parsed, Skipped, Visibility, pack::Packing};
use bodies::{Cuts, Rest};
use node::{File, Node};
pub use parse::on_large_stack;
use std::{cell::RefCell, time::Duration};
use walk::{Visit, Walk};

/// Larger files are skipped, because a syntax tree takes many times the size of its source.
pub const FILE_BYTES_MAX: usize = 2 << 20;
/// A file is skipped if parsing takes more CPU time than this.
pub const FILE_TIME_MAX: Duration = Duration::from_secs(5);

thread_local! {
    static PACKING: RefCell<Packing> = RefCell::default();
    static REST: RefCell<Rest> = RefCell::default();
}

/// Extracts the definitions and imports of a file, in this process. Broken parts are left out.
///
/// Time, stack and nesting are limited, but memory is not: limiting it takes a separate process,
/// see [`Parser`](crate::Parser). To extract many files, call it inside [`on_large_stack`];
/// otherwise each large file is parsed on a separate thread.
pub fn extract(language: Language, source: &[u8]) -> FileSymbols {
    packed(language, source).into()
}

/// Like `extract`, but returns the packed form.
pub fn packed(language: Language, source: &[u8]) -> Parsed {
    if source.len() > FILE_BYTES_MAX {
        return Parsed::skipped(language, Skipped::TooLarge);
    }
    if nesting::is_too_deep(language, source) {
        return Parsed::skipped(language, Skipped::TooDeep);
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

/// Parses a prepared source. All texts are taken from the original source.
fn parsed(language: Language, source: &[u8], made: &[u8], cuts: &Cuts) -> Parsed {
    let Some(tree) = parse::parse(language, made, FILE_TIME_MAX) else {
        return Parsed::skipped(language, Skipped::TooSlow);
    };
    let mut walk = Walk::new(language, source, PACKING.take());
    let file = File::new(language, cuts);
    let root = Node::new(&file, tree.root_node());
    walk.file(root, visibility(language), visit(language));
    let (parsed, packing) = walk.finish(tree.root_node().has_error());
    PACKING.set(packing);
    parsed
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

/// The visibility of a definition without a modifier.
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

    /// Calls `take` for every source in a folder.
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
    fn removing_bodies_does_not_change_symbols() {
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
