//! The interface between an index and the code that parses for it.
//!
//! Sources come from third parties, and parsing one may take any amount of memory. An index
//! therefore uses a [`Parser`] and never parses itself. The product's parser uses a helper process
//! (see `helper`), which parses with [`InProcess`].

use crate::{
    FileSymbols, Import, Language, Skipped, extract,
    pack::{Packed, Packing},
};
use std::{fmt::Debug, panic::catch_unwind};

/// Longer lines are not parsed as imports.
pub const IMPORT_BYTES_MAX: usize = 512;

/// A request to parse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request<'a> {
    /// Extract what a file defines and imports.
    File { language: Language, content: &'a [u8] },
    /// Extract the import in a line, in the first of these languages that can parse it.
    Import { languages: &'a [Language], line: &'a str },
}

impl Request<'_> {
    /// The language of a result without symbols.
    pub fn language(&self) -> Language {
        match self {
            Self::File { language, .. } => *language,
            Self::Import { languages, .. } => languages.first().copied().unwrap_or(Language::Rust),
        }
    }
}

/// Parses untrusted sources.
pub trait Parser: Debug + Send + Sync {
    fn parse(&self, request: &Request<'_>) -> Parsed;
}

/// The definitions and imports of a source, or why it was not parsed.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// May differ from the request: a header with the extension of C may be C++.
    pub(crate) language: Language,
    pub(crate) packed: Packed,
}

impl Parsed {
    pub fn skipped(language: Language, why: Skipped) -> Self {
        Self { language, packed: Packed::skipped(why) }
    }
}

impl From<Parsed> for FileSymbols {
    fn from(it: Parsed) -> Self {
        let Parsed { language, packed } = it;
        let indexes = 0..packed.symbols_count();
        let symbols = indexes.filter_map(|index| packed.symbol(language, index)).collect();
        let imports = packed.imports();
        Self { symbols, imports, broken: packed.is_broken(), skipped: packed.why_skipped() }
    }
}

/// Parses in this process. For a helper process, tests and benchmarks.
#[derive(Clone, Copy, Debug, Default)]
pub struct InProcess;

impl Parser for InProcess {
    /// Catches panics, so that one source cannot affect the caller.
    fn parse(&self, request: &Request<'_>) -> Parsed {
        let parsed = catch_unwind(|| match request {
            Request::File { language, content } => extract::packed(*language, content),
            Request::Import { languages, line } => import(languages, line),
        });
        let broken = |_| Parsed { language: request.language(), packed: Packed::broken() };
        parsed.unwrap_or_else(broken)
    }
}

fn import(languages: &[Language], line: &str) -> Parsed {
    let understood = |language: &Language| {
        let found = language.import_of(line)?;
        (!found.module.trim().is_empty()).then_some((*language, found))
    };
    let mut packing = Packing::default();
    let language = languages.iter().find_map(understood).map(|(language, found)| {
        packing.import(&found);
        language
    });
    let packed = packing.finish(false);
    Parsed { language: language.unwrap_or(Language::Rust), packed }
}

/// The import in a line, in the first of these languages that can parse it.
pub fn import_of(parser: &dyn Parser, languages: &[Language], line: &str) -> Option<Import> {
    if line.len() > IMPORT_BYTES_MAX {
        return None;
    }
    parser.parse(&Request::Import { languages, line }).packed.imports().into_iter().next()
}
