//! Hints from the context of a question: imports, paths, the language of the caller.
//!
//! Paths are compared by whole components: `ui` does not match `build`.

use super::{Question, names};
use crate::{Import, Language};
use std::path::Path;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// Modules that are imported or named, outermost component first.
    pub modules: Vec<Vec<String>>,
    /// Files to which a relative import resolves, without their extension.
    pub files: Vec<String>,
    /// The paths or regions of the caller.
    pub from: Vec<Vec<String>>,
    /// The language of the caller.
    pub language: Option<Language>,
}

/// Folders and files that are not part of module names.
const UNNAMED: &[&str] = &["src", "lib", "index", "mod", "main", "__init__"];

/// The score of a file to which an import resolves.
const EXACT: usize = 1_000;

impl Hints {
    pub fn new(question: &Question<'_>, imports: &[Import]) -> Self {
        let mut hints = Self::default();
        for import in imports {
            hints.add_import(import, question.from);
        }
        for word in words(question.context) {
            let has_parts = word.contains(['/', ':', '.']);
            let parts = if word.contains('/') { names::segments(word) } else { names::parts(word) };
            if has_parts && !parts.is_empty() {
                hints.modules.push(module_of(&parts, word));
            }
        }
        let regions = question.from.unwrap_or_default().split([',', '\n']);
        hints.language = question.from.and_then(|it| Language::of(Path::new(it)));
        hints.from = regions.map(names::segments).filter(|it| !it.is_empty()).collect();
        hints
    }

    fn add_import(&mut self, import: &Import, from: Option<&str>) {
        let module = import.module.as_ref();
        if module.starts_with('.')
            && module.contains('/')
            && let Some(from) = from.filter(|it| Language::of(Path::new(it)).is_some())
        {
            self.files.extend(resolved(from, module));
        }
        let parts = names::parts(module);
        if !parts.is_empty() {
            self.modules.push(module_of(&parts, module));
        }
    }

    pub fn is_empty(&self) -> bool {
        self.modules.is_empty() && self.files.is_empty() && self.from.is_empty()
    }

    /// How well a file matches; 0 if no hint applies.
    pub fn score(&self, path: &str) -> usize {
        if self.modules.is_empty() && self.files.is_empty() {
            return 0;
        }
        let bare = without_extension(path);
        let leads_here = |it: &String| {
            let rest = bare.strip_prefix(it.as_str());
            let index = |it: &str| it.strip_prefix('/').is_some_and(|it| UNNAMED.contains(&it));
            rest.is_some_and(|it| it.is_empty() || index(it))
        };
        if self.files.iter().any(leads_here) {
            return EXACT;
        }
        self.modules.iter().map(|it| fits(it, bare)).max().unwrap_or_default()
    }

    /// Whether the caller can use a file of this language directly.
    pub fn is_same_family(&self, language: Language) -> bool {
        self.language.is_some_and(|it| family(it) == family(language))
    }

    /// The number of folders that a file shares with the caller.
    pub fn nearness(&self, path: &str) -> usize {
        self.from.iter().map(|it| shared(it, path)).max().unwrap_or_default()
    }
}

/// Languages that can use each other's files share a family.
fn family(language: Language) -> &'static str {
    if matches!(language, Language::TypeScript | Language::Tsx | Language::JavaScript) {
        return Language::JavaScript.name();
    }
    if language == Language::Cpp { Language::C.name() } else { language.name() }
}

pub fn shared(from: &[String], path: &str) -> usize {
    from.iter().zip(path.split('/')).take_while(|(a, b)| a == b).count()
}

/// Twice the number of trailing components of a module that occur together in a path, plus one if
/// they are at its end.
fn fits(module: &[String], bare: &str) -> usize {
    let Some((last, above)) = module.split_last() else { return 0 };
    let (mut best, mut start) = (0, 0);
    for part in bare.split('/') {
        let end = start + part.len();
        if is_same(part, last) {
            let both = named(&bare[..start]).rev().zip(above.iter().rev());
            let count = 1 + both.take_while(|(a, b)| is_same(a, b)).count();
            let is_end = named(&bare[end..]).next().is_none();
            best = best.max(count * 2 + usize::from(is_end));
        }
        start = end + 1;
    }
    best
}

/// Whether names are equal after replacing `-`, which module names do not allow.
pub fn is_same(a: &str, b: &str) -> bool {
    let bar = |it: u8| if it == b'-' { b'_' } else { it };
    a.len() == b.len() && a.bytes().zip(b.bytes()).all(|(a, b)| bar(a) == bar(b))
}

/// The components of a module in a form that can be compared.
fn module_of(parts: &[String], text: &str) -> Vec<String> {
    let mut parts: Vec<String> = parts.iter().map(|it| it.replace('-', "_")).collect();
    if text.contains('/')
        && let Some(last) = parts.last_mut()
        && Language::of(Path::new(&*last)).is_some()
    {
        *last = without_extension(last).to_owned();
    }
    let named = |it: &String| {
        !UNNAMED.contains(&it.as_str()) && !matches!(&**it, "crate" | "self" | "super")
    };
    parts.retain(named);
    parts
}

/// The components of a path that are also part of its module name.
pub fn module_parts(path: &str) -> impl DoubleEndedIterator<Item = &str> {
    named(without_extension(path))
}

fn named(path: &str) -> impl DoubleEndedIterator<Item = &str> {
    path.split('/').filter(|it| !it.is_empty() && !UNNAMED.contains(it))
}

pub fn without_extension(path: &str) -> &str {
    let name = path.rfind('/').map_or(0, |it| it + 1);
    path[name..].find('.').filter(|it| *it > 0).map_or(path, |it| &path[..name + it])
}

/// Resolves a relative import to a path.
fn resolved(from: &str, module: &str) -> Option<String> {
    let mut parts: Vec<&str> = from.split('/').filter(|it| !it.is_empty()).collect();
    parts.pop();
    for part in module.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    let path = parts.join("/");
    let known = Language::of(Path::new(&path)).is_some();
    Some(if known { without_extension(&path).to_owned() } else { path })
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let around = |it: char| it.is_whitespace() || "`'\"(){}<>,;".contains(it);
    text.split(around).map(|it| it.trim_end_matches(['.', ':'])).filter(|it| !it.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hints(context: &str, from: Option<&str>) -> Hints {
        Hints::new(&Question { symbol: "x", context, from }, &[])
    }

    /// S0-127: regions are compared by whole path components.
    #[test]
    fn a_partial_word_is_not_a_hint() {
        let hints = hints("it is in ui/ and must require nothing", None);
        assert!(hints.score("ui/gate.rs") > 0);
        assert_eq!(hints.score("build/gate.rs"), 0);
        assert_eq!(hints.score("require_gate.rs"), 0);
    }

    #[test]
    fn more_matching_module_components_score_higher() {
        let hints = hints("see core::auth::token", None);
        let (best, less, least, none) = (
            hints.score("src/core/auth/token.rs"),
            hints.score("other/auth/token.rs"),
            hints.score("token/x.rs"),
            hints.score("core/other.rs"),
        );
        assert!(best > less && less > least && least > none, "{best} {less} {least} {none}");
        assert_eq!(none, 0);
    }

    #[test]
    fn crates_and_index_files_match_their_module_names() {
        let parts = |path| module_parts(path).collect::<Vec<_>>();
        assert_eq!(parts("crates/pitcrew-model/src/lib.rs"), ["crates", "pitcrew-model"]);
        assert!(is_same("pitcrew-model", "pitcrew_model") && !is_same("model", "models"));
        assert_eq!(parts("ui/button/index.test.tsx"), ["ui", "button"]);
    }

    #[test]
    fn a_relative_import_resolves_to_a_file() {
        assert_eq!(resolved("ui/pages/home.ts", "../../core/auth").as_deref(), Some("core/auth"));
        assert_eq!(resolved("ui/home.ts", "./auth.js").as_deref(), Some("ui/auth"));
        assert_eq!(resolved("home.ts", "../../x"), None, "it leads out");
    }

    #[test]
    fn shared_folders_are_counted_from_the_root() {
        let hints = hints("", Some("core/auth,ui"));
        assert_eq!(hints.nearness("core/auth/token.rs"), 2);
        assert_eq!(hints.nearness("ui/core/auth.rs"), 1);
        assert_eq!(hints.nearness("auth/core.rs"), 0);
    }
}
