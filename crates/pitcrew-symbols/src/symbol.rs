//! Definitions and imports of a file.
//!
//! A large index has a million of them, so texts are boxed, and common ones are shared.

use crate::Language;
use std::sync::Arc;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    Module,
    Class,
    Struct,
    Union,
    Enum,
    Trait,
    Interface,
    Function,
    Method,
    Field,
    Variant,
    Parameter,
    Constant,
    Variable,
    TypeAlias,
    Macro,
}

impl Kind {
    /// Every kind, in declaration order.
    pub const ALL: &[Self] = &[
        Self::Module,
        Self::Class,
        Self::Struct,
        Self::Union,
        Self::Enum,
        Self::Trait,
        Self::Interface,
        Self::Function,
        Self::Method,
        Self::Field,
        Self::Variant,
        Self::Parameter,
        Self::Constant,
        Self::Variable,
        Self::TypeAlias,
        Self::Macro,
    ];

    pub fn word(self) -> &'static str {
        match self {
            Self::Module => "module",
            Self::Class => "class",
            Self::Struct => "struct",
            Self::Union => "union",
            Self::Enum => "enum",
            Self::Trait => "trait",
            Self::Interface => "interface",
            Self::Function => "function",
            Self::Method => "method",
            Self::Field => "field",
            Self::Variant => "variant",
            Self::Parameter => "parameter",
            Self::Constant => "constant",
            Self::Variable => "variable",
            Self::TypeAlias => "type",
            Self::Macro => "macro",
        }
    }

    /// Whether definitions of this kind can contain definitions.
    pub fn is_type(self) -> bool {
        match self {
            Self::Class
            | Self::Struct
            | Self::Union
            | Self::Enum
            | Self::Trait
            | Self::Interface
            | Self::TypeAlias => true,
            Self::Module
            | Self::Function
            | Self::Method
            | Self::Field
            | Self::Variant
            | Self::Parameter
            | Self::Constant
            | Self::Variable
            | Self::Macro => false,
        }
    }
}

/// The visibility of a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Visibility {
    Public,
    /// Visible in a part of the program: `pub(crate)`, `protected`, `internal`, a package.
    Restricted,
    Private,
}

/// One definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    pub language: Language,
    pub kind: Kind,
    pub visibility: Visibility,
    pub name: Box<str>,
    /// The qualified name of the enclosing definition, as far as the file contains it.
    pub container: Option<Arc<str>>,
    /// One line without the body.
    pub signature: Box<str>,
    /// Fields, variants and parameters. The methods of a type are separate symbols.
    pub members: Box<[Member]>,
    /// The first line of its documentation.
    pub doc: Option<Box<str>>,
    /// First and last line, 1-based.
    pub lines: (u32, u32),
}

impl Symbol {
    /// The name with its container, as the language writes it.
    pub fn qualified(&self) -> String {
        match &self.container {
            Some(container) => format!("{container}{}{}", self.language.separator(), self.name),
            None => self.name.to_string(),
        }
    }
}

/// A part of a definition, in source form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    pub kind: Kind,
    pub text: Box<str>,
}

/// An import from one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// 1-based.
    pub line: u32,
    /// The whole statement in one line; it may hold several imports.
    pub text: Arc<str>,
    /// In source form: a path of modules, a package or a file.
    pub module: Box<str>,
    /// The imported names; `*` is everything. Empty if only the module is named.
    pub names: Vec<String>,
    /// Pairs of original and local name, if they differ. The module itself is `self`.
    pub aliases: Vec<(String, String)>,
}

impl Import {
    /// The original name of the import that the file calls `local`.
    pub fn original(&self, local: &str) -> Option<&str> {
        let alias = self.aliases.iter().find(|it| it.1 == local);
        let plain = || self.names.iter().find(|it| *it == local);
        alias.map(|it| it.0.as_str()).or_else(|| plain().map(String::as_str))
    }
}

/// The definitions and imports of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileSymbols {
    pub symbols: Vec<Symbol>,
    pub imports: Vec<Import>,
    /// Whether parts of the file could not be parsed and are missing here.
    pub broken: bool,
    /// Why the file was not parsed.
    pub skipped: Option<Skipped>,
}

/// Why a file is not indexed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Skipped {
    /// The file has more than [`FILE_BYTES_MAX`](crate::FILE_BYTES_MAX) bytes.
    TooLarge,
    /// Parsing took longer than [`FILE_TIME_MAX`](crate::FILE_TIME_MAX).
    TooSlow,
    /// Brackets are nested too deeply or not closed.
    TooDeep,
    /// Parsing needs more memory than a parser process may have.
    TooMuchMemory,
    /// The parser process crashed.
    Crashed,
    /// Something else killed the parser process while it parsed the file.
    Killed,
    /// No parser process could be started. This does not depend on the file.
    NoParser,
}

impl Skipped {
    /// Every reason, in declaration order.
    pub const ALL: &[Self] = &[
        Self::TooLarge,
        Self::TooSlow,
        Self::TooDeep,
        Self::TooMuchMemory,
        Self::Crashed,
        Self::Killed,
        Self::NoParser,
    ];

    /// The reason, as the end of a sentence about the file.
    pub fn reason(self) -> &'static str {
        match self {
            Self::TooLarge => "it is larger than 2 MB",
            Self::TooSlow => "it takes too long to parse",
            Self::TooDeep => "its brackets are nested too deeply",
            Self::TooMuchMemory => "it needs too much memory to parse",
            Self::Crashed => "the parser crashed on it",
            Self::Killed => "the parser was killed while it parsed it",
            Self::NoParser => "the parser could not be started",
        }
    }

    /// A machine-readable word.
    pub fn word(self) -> &'static str {
        match self {
            Self::TooLarge => "too_large",
            Self::TooSlow => "too_slow",
            Self::TooDeep => "too_deep",
            Self::TooMuchMemory => "too_much_memory",
            Self::Crashed => "crashed",
            Self::Killed => "killed",
            Self::NoParser => "no_parser",
        }
    }

    /// Whether the same content would always be skipped for this reason.
    pub(crate) fn is_lasting(self) -> bool {
        match self {
            Self::TooLarge
            | Self::TooSlow
            | Self::TooDeep
            | Self::TooMuchMemory
            | Self::Crashed => true,
            Self::Killed | Self::NoParser => false,
        }
    }
}
