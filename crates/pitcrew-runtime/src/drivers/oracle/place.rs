//! Guesses where an unknown symbol would be defined: from an import line or a path in the text.

/// Words that precede a folder or a module.
const BEFORE_PLACES: &[&str] = &["from", "in", "import", "use", "mod", "require"];
/// Parts of module names that are not folders.
const NO_FOLDERS: &[&str] = &["crate", "self", "super", "", ".", ".."];

/// The first path in the text, relative to the root.
pub fn of(symbol: &str, context: &str, exists: impl Fn(&str) -> bool) -> Option<String> {
    let places = named(symbol).into_iter().chain(named(context)).collect::<Vec<_>>();
    let there =
        places.iter().find_map(|it| variants(&it.path).into_iter().find(|it| begins(it, &exists)));
    // A path that does not exist yet may be about to be created.
    there.or_else(|| places.into_iter().find(|it| it.is_path).map(|it| it.path))
}

fn begins(path: &str, exists: impl Fn(&str) -> bool) -> bool {
    // `src` and `crates` are too general: what is below them counts.
    let parts = if path.starts_with("src/") || path.starts_with("crates/") { 2 } else { 1 };
    let first: Vec<&str> = path.split('/').take(parts).collect();
    exists(&first.join("/"))
}

/// Module names may differ from their folders.
fn variants(path: &str) -> Vec<String> {
    let dashed = path.replace('_', "-");
    let mut variants = vec![path.to_owned(), dashed.clone()];
    variants.extend([format!("src/{path}"), format!("crates/{dashed}")]);
    variants
}

struct Candidate {
    path: String,
    /// Whether it is written as a path and not just as a word.
    is_path: bool,
}

/// Every path in a text, in order.
fn named(text: &str) -> Vec<Candidate> {
    let around = |it: char| it.is_whitespace() || "`'\"(){}<>,;[]".contains(it);
    let words: Vec<&str> = text.split(around).filter(|it| !it.is_empty()).collect();
    let alone = words.len() == 1;
    let mut places = Vec::new();
    let mut before = "";
    for word in words {
        let follows = BEFORE_PLACES.contains(&before);
        places.extend(place(word, follows || alone));
        before = word;
    }
    places
}

fn place(word: &str, is_named: bool) -> Option<Candidate> {
    let word = word.trim_end_matches(['.', ':']);
    if word.contains("://") || BEFORE_PLACES.contains(&word) {
        return None;
    }
    let parts: Vec<&str> = if word.contains('/') {
        // A line number follows the colon.
        word.split(':').next().unwrap_or_default().split('/').collect()
    } else if word.contains("::") {
        word.split("::").collect()
    } else if is_named {
        word.split('.').collect()
    } else {
        return None;
    };
    let parts: Vec<&str> = parts.into_iter().filter(|it| !NO_FOLDERS.contains(it)).collect();
    let is_path = word.contains(['/', '.']) || word.contains("::");
    (!parts.is_empty()).then(|| Candidate { path: parts.join("/"), is_path })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_paths_in_prose_and_compiler_output() {
        let exists = |it: &str| ["core", "ui", "src", "crates/my-auth", "src/net"].contains(&it);
        for (context, place) in [
            ("use core::tokens::TokenStore;", Some("core/tokens/TokenStore")),
            ("import { TokenStore } from '../core/tokens';", Some("core/tokens")),
            ("from core.tokens import TokenStore", Some("core/tokens")),
            ("it should be in core/tokens.rs:12, I think", Some("core/tokens.rs")),
            ("use my_auth::Token;", Some("crates/my-auth/Token")),
            ("use crate::net::Peer;", Some("src/net/Peer")),
            ("core", Some("core")),
            ("not/there/yet.rs", Some("not/there/yet.rs")),
            ("we require this for the build", None),
            ("see https://example.org/core/tokens", None),
            ("", None),
        ] {
            let found = of("TokenStore token", context, exists);
            assert_eq!(found.as_deref(), place, "{context}");
        }
        assert_eq!(of("core/auth.rs Key", "", exists).as_deref(), Some("core/auth.rs"));
    }
}
