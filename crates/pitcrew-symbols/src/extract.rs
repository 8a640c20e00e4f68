//! From the bytes of a file to what it defines.
//!
//! Each language has a module that knows which nodes of its grammar are declarations and where
//! their names and bodies are; what they have in common is in `walk` and `text`. Bodies of
//! functions are never entered, so this costs little beside parsing.

mod text;
mod walk;
mod rust;
mod javascript;
mod python;
mod go;
mod java;
mod c;

use crate::{FileSymbols, Language, Skipped, Visibility};
use std::{
    cell::RefCell,
    ops::ControlFlow,
    time::{Duration, Instant},
};
use tree_sitter::{ParseOptions, ParseState, Parser, Tree};
use walk::{Visit, Walk};

/// A larger file is skipped: a tree takes many times the memory of its text.
pub const FILE_BYTES_MAX: usize = 4 << 20;
/// A file that takes longer is skipped.
pub const FILE_TIME_MAX: Duration = Duration::from_secs(5);

thread_local! {
    static PARSER: RefCell<Parser> = RefCell::new(Parser::new());
}

/// Reads the definitions and imports of a file. What is broken in it is left out.
pub fn extract(language: Language, source: &[u8]) -> FileSymbols {
    if source.len() > FILE_BYTES_MAX {
        return FileSymbols { skipped: Some(Skipped::TooLarge), ..FileSymbols::default() };
    }
    let language = if language == Language::C { c::language_of(source) } else { language };
    let Some(tree) = parse(language, source, FILE_TIME_MAX) else {
        return FileSymbols { skipped: Some(Skipped::TooSlow), ..FileSymbols::default() };
    };
    let mut walk = Walk::new(language, source);
    walk.file(tree.root_node(), visibility(language), visit(language));
    walk.finish(tree.root_node().has_error())
}

/// Parses with the parser of this thread, and gives up when the time is over.
fn parse(language: Language, source: &[u8], time_max: Duration) -> Option<Tree> {
    PARSER.with_borrow_mut(|parser| {
        parser.set_language(&language.grammar()).ok()?;
        let began = Instant::now();
        let mut progress = |_: &ParseState| {
            if began.elapsed() > time_max {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        let options = ParseOptions::new().progress_callback(&mut progress);
        let mut read = |at: usize, _| source.get(at..).unwrap_or_default();
        let tree = parser.parse_with_options(&mut read, None, Some(options));
        if tree.is_none() {
            // Else the next file would be taken for the rest of this one.
            parser.reset();
        }
        tree
    })
}

fn visit(language: Language) -> Visit {
    match language {
        Language::Rust => rust::visit,
        Language::TypeScript | Language::Tsx | Language::JavaScript => javascript::visit,
        Language::Python => python::visit,
        Language::Go => go::visit,
        Language::Java => java::visit,
        Language::C | Language::Cpp => c::visit,
    }
}

/// Who may name what says nothing about it.
fn visibility(language: Language) -> Visibility {
    match language {
        Language::Rust | Language::TypeScript | Language::Tsx | Language::JavaScript => {
            Visibility::Private
        }
        Language::Go | Language::Java => Visibility::Restricted,
        Language::Python | Language::C | Language::Cpp => Visibility::Public,
    }
}
