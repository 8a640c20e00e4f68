//! Answers agents' questions from the index of their checkouts. Does not decide who is asked next.

mod place;

use super::{SymbolQuestion, Symbols};
use pitcrew_model::{OracleAnswer, RepoPath};
use pitcrew_symbols::not_indexed;
use std::{fs, path::Path};

/// A question about the code in a checkout.
pub struct Consult {
    pub checkout: String,
    pub symbol: String,
    pub context: String,
    pub region: Vec<RepoPath>,
}

/// The answer of the index; if it has none, the place where the answer would be.
pub async fn consult(symbols: &Symbols, order: Consult) -> OracleAnswer {
    let Consult { checkout, symbol, context, region } = order;
    let checkout = Path::new(&checkout);
    let regions: Vec<&str> = region.iter().map(RepoPath::as_str).collect();
    let from = (!regions.is_empty()).then(|| regions.join(","));
    let question = |symbol: &str, context: &str| SymbolQuestion {
        symbol: symbol.to_owned(),
        context: context.to_owned(),
        from: from.clone(),
    };
    if let Some(outlined) = outline(symbols, checkout, &symbol).await {
        return outlined;
    }
    let answer = symbols.answer(checkout, question(&symbol, &context)).await;
    let best = answer.matches.first();
    if let Some(best) = best {
        return OracleAnswer {
            found: true,
            text: answer.text.clone(),
            bytes_saved: answer.bytes_saved,
            digest: Some(best.digest.clone()),
            nearest: Vec::new(),
            owner_hint_path: Some(best.path.clone()),
        };
    }
    let exists = |it: &str| checkout.join(it).exists();
    let mut place = place::of(&symbol, &context, exists);
    if let (None, Some(name)) = (&place, answer.nearest.first()) {
        let nearest = symbols.answer(checkout, question(name, &context)).await;
        place = nearest.matches.into_iter().next().map(|it| it.path);
    }
    let (nearest, text) = (answer.nearest, not_indexed(&answer.skipped));
    OracleAnswer { nearest, text, owner_hint_path: place, ..OracleAnswer::default() }
}

/// A question with a file but no symbol asks for the outline of the file.
async fn outline(symbols: &Symbols, checkout: &Path, path: &str) -> Option<OracleAnswer> {
    let path = RepoPath::parse(path).ok()?;
    let file_bytes =
        fs::metadata(checkout.join(path.as_str())).ok().filter(fs::Metadata::is_file)?;
    let text = symbols.outline(checkout, path.as_str()).await?;
    Some(OracleAnswer {
        found: true,
        bytes_saved: file_bytes.len().saturating_sub(text.len() as u64),
        text,
        digest: None,
        nearest: Vec::new(),
        owner_hint_path: Some(path.as_str().to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pitcrew_symbols::InProcess;
    use std::sync::Arc;

    fn consulted(checkout: &Path, symbol: &str, context: &str) -> Consult {
        Consult {
            checkout: checkout.display().to_string(),
            symbol: symbol.into(),
            context: context.into(),
            region: vec![RepoPath::parse("ui").unwrap()],
        }
    }

    #[tokio::test]
    async fn known_symbols_are_described_and_unknown_ones_located() {
        let dir = tempfile::tempdir().unwrap();
        let checkout = dir.path().join("checkout");
        fs::create_dir_all(checkout.join("core")).unwrap();
        let text = "/// Checks tokens.\npub struct AuthValidator {\n    pub key: String,\n}\n";
        fs::write(checkout.join("core/auth.rs"), text).unwrap();
        let symbols = Symbols::new(&dir.path().join("symbols"), Arc::new(InProcess));

        let found = consult(&symbols, consulted(&checkout, "AuthValidator", "")).await;
        assert!(found.found && found.digest.is_some(), "{found:?}");
        assert!(found.text.starts_with("struct AuthValidator (core/auth.rs:2-4)"), "{found:?}");
        assert!(found.text.contains("pub key: String"), "{found:?}");

        let outlined = consult(&symbols, consulted(&checkout, "core/auth.rs", "")).await;
        assert!(
            outlined.found && outlined.text.contains("pub struct AuthValidator"),
            "{outlined:?}"
        );

        let order = consulted(&checkout, "TokenStore", "use core::tokens::TokenStore;");
        let placed = consult(&symbols, order).await;
        assert!(!placed.found, "{placed:?}");
        assert_eq!(placed.owner_hint_path.as_deref(), Some("core/tokens/TokenStore"));

        let near = consult(&symbols, consulted(&checkout, "AuthValidatr", "")).await;
        assert_eq!(near.nearest, ["AuthValidator"]);
        assert_eq!(near.owner_hint_path.as_deref(), Some("core/auth.rs"));
    }
}
