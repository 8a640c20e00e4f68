//! The languages that can be read, and how to tell them apart.

use crate::{Import, extract};
use std::path::Path;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Language {
    Rust,
    TypeScript,
    Tsx,
    JavaScript,
    Python,
    Go,
    Java,
    C,
    Cpp,
}

impl Language {
    pub const ALL: &[Self] = &[
        Self::Rust,
        Self::TypeScript,
        Self::Tsx,
        Self::JavaScript,
        Self::Python,
        Self::Go,
        Self::Java,
        Self::C,
        Self::Cpp,
    ];

    /// The language of a file, by its name.
    pub fn of(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?;
        Self::ALL.iter().copied().find(|it| it.extensions().contains(&extension))
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::TypeScript => "typescript",
            Self::Tsx => "tsx",
            Self::JavaScript => "javascript",
            Self::Python => "python",
            Self::Go => "go",
            Self::Java => "java",
            Self::C => "c",
            Self::Cpp => "c++",
        }
    }

    pub fn extensions(self) -> &'static [&'static str] {
        match self {
            Self::Rust => &["rs"],
            Self::TypeScript => &["ts", "mts", "cts"],
            Self::Tsx => &["tsx"],
            Self::JavaScript => &["js", "jsx", "mjs", "cjs"],
            Self::Python => &["py", "pyi"],
            Self::Go => &["go"],
            Self::Java => &["java"],
            Self::C => &["c", "h"],
            Self::Cpp => {
                &["cpp", "cc", "cxx", "c++", "hpp", "hh", "hxx", "h++", "ipp", "inl", "cu"]
            }
        }
    }

    /// What stands between a container and a name.
    pub fn separator(self) -> &'static str {
        match self {
            // A header that is named as C may be C++.
            Self::Rust | Self::C | Self::Cpp => "::",
            Self::TypeScript
            | Self::Tsx
            | Self::JavaScript
            | Self::Python
            | Self::Go
            | Self::Java => ".",
        }
    }

    /// The grammar that its files are parsed with.
    pub fn grammar(self) -> tree_sitter::Language {
        match self {
            Self::Rust => tree_sitter_rust::LANGUAGE.into(),
            Self::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
            Self::Tsx => tree_sitter_typescript::LANGUAGE_TSX.into(),
            Self::JavaScript => tree_sitter_javascript::LANGUAGE.into(),
            Self::Python => tree_sitter_python::LANGUAGE.into(),
            Self::Go => tree_sitter_go::LANGUAGE.into(),
            Self::Java => tree_sitter_java::LANGUAGE.into(),
            Self::C => tree_sitter_c::LANGUAGE.into(),
            Self::Cpp => tree_sitter_cpp::LANGUAGE.into(),
        }
    }

    /// Understands one import as somebody quotes it.
    ///
    /// Where the line imports from several places, the first counts.
    pub fn import_of(self, line: &str) -> Option<Import> {
        let line = line.trim().trim_end_matches(';');
        let source = |line: String| extract(self, line.as_bytes()).imports.into_iter().next();
        source(format!("{line};\n")).or_else(|| source(format!("{line}\n")))
    }
}
