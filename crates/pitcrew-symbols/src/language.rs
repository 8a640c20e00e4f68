//! The supported languages, and how to recognize them.

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
    CSharp,
    Ruby,
    Php,
    Bash,
    Kotlin,
    Lua,
    Zig,
    Swift,
    Scala,
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
        Self::CSharp,
        Self::Ruby,
        Self::Php,
        Self::Bash,
        Self::Kotlin,
        Self::Lua,
        Self::Zig,
        Self::Swift,
        Self::Scala,
    ];

    /// The language of a file, according to its name.
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
            Self::CSharp => "c#",
            Self::Ruby => "ruby",
            Self::Php => "php",
            Self::Bash => "bash",
            Self::Kotlin => "kotlin",
            Self::Lua => "lua",
            Self::Zig => "zig",
            Self::Swift => "swift",
            Self::Scala => "scala",
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
            Self::CSharp => &["cs"],
            Self::Ruby => &["rb", "rake"],
            Self::Php => &["php"],
            Self::Bash => &["sh", "bash"],
            Self::Kotlin => &["kt", "kts"],
            Self::Lua => &["lua"],
            Self::Zig => &["zig"],
            Self::Swift => &["swift"],
            Self::Scala => &["scala", "sc"],
        }
    }

    /// The separator between a container and a name.
    pub fn separator(self) -> &'static str {
        match self {
            // A header with the extension of C may be C++.
            Self::Rust | Self::C | Self::Cpp | Self::Ruby | Self::Php => "::",
            Self::TypeScript
            | Self::Tsx
            | Self::JavaScript
            | Self::Python
            | Self::Go
            | Self::Java
            | Self::CSharp
            | Self::Bash
            | Self::Kotlin
            | Self::Lua
            | Self::Zig
            | Self::Swift
            | Self::Scala => ".",
        }
    }

    /// The grammar for parsing this language.
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
            Self::CSharp => tree_sitter_c_sharp::LANGUAGE.into(),
            Self::Ruby => tree_sitter_ruby::LANGUAGE.into(),
            Self::Php => tree_sitter_php::LANGUAGE_PHP.into(),
            Self::Bash => tree_sitter_bash::LANGUAGE.into(),
            Self::Kotlin => tree_sitter_kotlin_ng::LANGUAGE.into(),
            Self::Lua => tree_sitter_lua::LANGUAGE.into(),
            Self::Zig => tree_sitter_zig::LANGUAGE.into(),
            Self::Swift => tree_sitter_swift::LANGUAGE.into(),
            Self::Scala => tree_sitter_scala::LANGUAGE.into(),
        }
    }

    /// Parses one quoted import, in this process.
    ///
    /// If the line imports from several modules, the first one is returned.
    pub fn import_of(self, line: &str) -> Option<Import> {
        let line = line.trim().trim_end_matches(';');
        let opening = if self == Self::Php { "<?php " } else { "" };
        let read = |end: &str| {
            let source = [opening, line, end].concat();
            extract(self, source.as_bytes()).imports.into_iter().next()
        };
        read(";\n").or_else(|| read("\n"))
    }
}
