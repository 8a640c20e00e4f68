//! Parses questions.

use super::{
    Question,
    hints::Hints,
    names::{self, QualifiedName},
};
use crate::{Import, Language, Parser, parser};
use std::path::Path;

/// A parsed question.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParsedQuestion {
    /// The alternatives, likeliest first. All names of an alternative are looked up together.
    pub wanted: Vec<Vec<QualifiedName>>,
    pub hints: Hints,
}

/// The rest of a longer question or context is ignored.
const TEXT_BYTES_MAX: usize = 16 << 10;
/// The maximum number of imports that are parsed from one context.
const IMPORTS_MAX: usize = 64;
/// The maximum number of names that are taken from one question.
const NAMES_MAX: usize = 8;
/// Words of a sentence that are not names.
const FILLERS: &[&str] = &[
    "about",
    "and",
    "are",
    "argument",
    "arguments",
    "called",
    "class",
    "code",
    "define",
    "defined",
    "definition",
    "does",
    "enum",
    "fields",
    "find",
    "for",
    "from",
    "function",
    "have",
    "how",
    "interface",
    "method",
    "methods",
    "need",
    "parameters",
    "return",
    "returns",
    "show",
    "signature",
    "struct",
    "symbol",
    "take",
    "takes",
    "the",
    "this",
    "trait",
    "type",
    "use",
    "used",
    "what",
    "where",
    "which",
    "with",
];

impl ParsedQuestion {
    /// `of_asker` contains the imports of the caller's file.
    pub fn new(question: &Question<'_>, of_asker: Vec<Import>, parser: &dyn Parser) -> Self {
        let symbol = cut(question.symbol);
        let context = cut(question.context);
        let question = Question { symbol, context, from: question.from };
        let languages = languages(question.from);
        let import_of = |line| import_of(parser, &languages, line);
        let quoted = context.lines().filter(|it| looks_like_import(it)).take(IMPORTS_MAX);
        let mut imports: Vec<Import> = quoted.filter_map(import_of).collect();
        let quoted_count = imports.len();
        imports.extend(of_asker);
        let wanted = match import_of(symbol) {
            Some(import) => {
                let wanted = imported(&import);
                imports.insert(quoted_count, import);
                vec![wanted]
            }
            None => named(symbol),
        };
        let asked: Vec<&QualifiedName> = wanted.iter().flatten().collect();
        let relevant: Vec<Import> =
            imports.iter().filter(|it| brings(it, &asked)).cloned().collect();
        let originals = originals(&relevant, &wanted);
        let quoted = &imports[..quoted_count];
        let hints = Hints::new(&question, if relevant.is_empty() { quoted } else { &relevant });
        let all = originals.into_iter().chain(wanted);
        Self { wanted: all.filter(|it| !it.is_empty()).collect(), hints }
    }
}

fn cut(text: &str) -> &str {
    let mut end = text.len().min(TEXT_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].trim()
}

/// All languages, starting with the language of the caller.
fn languages(from: Option<&str>) -> Vec<Language> {
    let own = from.and_then(|it| Language::of(Path::new(it)));
    let others = Language::ALL.iter().copied().filter(|it| Some(*it) != own);
    own.into_iter().chain(others).collect()
}

/// Whether to try to parse a line as an import. A sentence may begin in the same way.
fn looks_like_import(line: &str) -> bool {
    let line = unquoted(line);
    let begins = |it: &str| {
        line.strip_prefix(it).is_some_and(|it| it.starts_with([' ', '\t', '{', '"', '<', '*']))
    };
    (begins("use") || begins("pub use")) && line.contains([':', ';', '\\'])
        || begins("from") && line.contains(" import ")
        || begins("import")
        || begins("export") && line.contains(" from ")
        || begins("#include")
        || begins("using") && line.ends_with(';')
        || line.contains("require(")
}

fn import_of(parser: &dyn Parser, languages: &[Language], line: &str) -> Option<Import> {
    looks_like_import(line).then(|| parser::import_of(parser, languages, unquoted(line)))?
}

fn unquoted(line: &str) -> &str {
    line.trim().trim_matches('`')
}

/// The names that an import lists, or the last component of the module if it lists none.
fn imported(import: &Import) -> Vec<QualifiedName> {
    let is_name = |it: &&String| !matches!(it.as_str(), "*" | "self" | "default");
    let named: Vec<QualifiedName> =
        import.names.iter().filter(is_name).filter_map(|it| names::parse(it)).collect();
    let module = || names::parse(&import.module.replace('/', "."));
    if named.is_empty() { module().into_iter().collect() } else { named }
}

/// Whether an import provides one of these names, as far as its text shows.
fn brings(import: &Import, wanted: &[&QualifiedName]) -> bool {
    let unnamed = import.names.is_empty() || import.names.iter().any(|it| it == "*");
    let last = names::parts(&import.module).pop().unwrap_or_default();
    wanted.iter().any(|it| {
        let first = it.qualifiers.first().unwrap_or(&it.name);
        import.original(&it.name).is_some()
            || import.original(first).is_some()
            || unnamed && (last == *first || import.names.iter().any(|it| it == "*"))
    })
}

/// Looks up names imported under an alias by their original names.
fn originals(imports: &[Import], wanted: &[Vec<QualifiedName>]) -> Option<Vec<QualifiedName>> {
    let renamed = |it: &QualifiedName| {
        let original = imports.iter().find_map(|import| import.original(&it.name))?;
        (original != it.name && original != "self" && it.qualifiers.is_empty())
            .then(|| QualifiedName { name: original.to_owned(), ..it.clone() })
    };
    let found: Vec<QualifiedName> = wanted.first()?.iter().filter_map(renamed).collect();
    (!found.is_empty()).then_some(found)
}

/// One name, or the names in a sentence: quoted names first, then words that look like names, then
/// any word.
fn named(text: &str) -> Vec<Vec<QualifiedName>> {
    if !text.contains(char::is_whitespace) {
        return vec![names::parse(text).into_iter().collect()];
    }
    let quoted = text.split('`').skip(1).step_by(2).filter(|it| !it.contains(' '));
    let word = |it: &&str| it.chars().any(char::is_alphabetic);
    let bare = |it: &str| it.trim_matches(|it: char| ",;?!\"'".contains(it)).to_owned();
    let words: Vec<String> = text.split_whitespace().filter(word).map(bare).collect();
    let looks = |it: &&String| {
        let inner = it.get(1..).unwrap_or_default();
        it.contains("::")
            || it.contains("()")
            || inner.contains(['_', '.', '/', '#'])
            || inner.contains(char::is_uppercase) && inner.contains(char::is_lowercase)
    };
    let any = |it: &&String| it.len() > 2 && !FILLERS.contains(&it.to_lowercase().as_str());
    [
        all(quoted),
        all(words.iter().filter(looks).map(String::as_str)),
        all(words.iter().filter(any).map(String::as_str)),
    ]
    .into_iter()
    .filter(|it| !it.is_empty())
    .collect()
}

fn all<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<QualifiedName> {
    texts.filter_map(names::parse).take(NAMES_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::InProcess;

    fn first(symbol: &str, context: &str) -> String {
        let asked =
            ParsedQuestion::new(&Question { symbol, context, from: None }, Vec::new(), &InProcess);
        let first = asked.wanted.first().cloned().unwrap_or_default();
        let names: Vec<String> = first
            .iter()
            .map(|it| it.qualifiers.iter().chain([&it.name]).cloned().collect::<Vec<_>>().join("."))
            .collect();
        names.join(" ")
    }

    #[test]
    fn names_in_a_sentence_are_found() {
        for (sentence, names) in [
            ("What is the signature of `Gate::open`?", "Gate.open"),
            ("which fields does AuthValidator have", "AuthValidator"),
            ("How is open_gate() called?", "open_gate"),
            ("where is gate defined", "gate"),
        ] {
            assert_eq!(first(sentence, ""), names, "{sentence}");
        }
    }

    #[test]
    fn a_question_with_an_import_looks_up_the_imported_names() {
        assert_eq!(first("use core::auth::AuthValidator;", ""), "AuthValidator");
        assert_eq!(first("use core::auth::AuthValidator", ""), "AuthValidator");
        let question = Question { symbol: "use core::auth::Gate;", ..Question::default() };
        let asked = ParsedQuestion::new(&question, Vec::new(), &InProcess);
        assert_eq!(asked.hints.modules, [["core", "auth"]]);
    }

    #[test]
    fn a_renamed_import_is_looked_up_by_its_original_name() {
        assert_eq!(first("V", "use core::auth::Validator as V;"), "Validator");
    }

    #[test]
    fn a_sentence_is_not_an_import() {
        assert_eq!(first("use the Gate_One", ""), "Gate_One");
    }

    #[test]
    fn an_empty_question_has_no_names() {
        assert!(
            ParsedQuestion::new(&Question::default(), Vec::new(), &InProcess).wanted.is_empty()
        );
        let question = Question { symbol: "?!", ..Question::default() };
        assert!(ParsedQuestion::new(&question, Vec::new(), &InProcess).wanted.is_empty());
    }
}
