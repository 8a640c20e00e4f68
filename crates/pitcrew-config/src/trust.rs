//! What a person has trusted of the files that come with repositories, by content.
//!
//! A repository may tighten policy freely. What adds agents counts only after the person has seen
//! exactly this content and trusted it; a changed file asks again.

use crate::{dirs::Dirs, replace::replace_private_file};
use sha2::{Digest, Sha256};
use std::{collections::BTreeMap, fmt::Write as _, fs, io, path::PathBuf};

/// The decisions of one user, for all repositories.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustStore {
    path: PathBuf,
    /// By digest.
    decisions: BTreeMap<String, Decision>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Decision {
    is_trusted: bool,
    /// Where the content was seen. Only for people.
    shown: String,
}

#[derive(Debug, thiserror::Error)]
#[error("failed to {action} the trusted files in `{}`", path.display())]
pub struct TrustError {
    action: &'static str,
    path: PathBuf,
    #[source]
    source: io::Error,
}

const TRUSTED: &str = "trusted";
const DECLINED: &str = "declined";

impl TrustStore {
    /// Lines that are not understood are dropped: what they trusted asks again.
    pub fn read(dirs: &Dirs) -> Result<Self, TrustError> {
        let path = dirs.state.join("trust");
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(source) => return Err(TrustError { action: "read", path, source }),
        };
        let decisions = text.lines().filter_map(parse_line).collect();
        Ok(Self { path, decisions })
    }

    /// Identifies a file of a repository by its path and its content.
    pub fn digest(path: &str, text: &str) -> String {
        let mut hasher = Sha256::new();
        hasher.update((path.len() as u64).to_le_bytes());
        hasher.update(path);
        hasher.update(text);
        hasher.finalize().iter().fold(String::new(), |mut hex, byte| {
            write!(hex, "{byte:02x}").expect("a string takes everything");
            hex
        })
    }

    pub fn is_trusted(&self, digest: &str) -> bool {
        self.decisions.get(digest).is_some_and(|it| it.is_trusted)
    }

    pub fn is_declined(&self, digest: &str) -> bool {
        self.decisions.get(digest).is_some_and(|it| !it.is_trusted)
    }

    pub fn trust(&mut self, digest: &str, shown: &str) {
        self.decide(digest, shown, true);
    }

    pub fn decline(&mut self, digest: &str, shown: &str) {
        self.decide(digest, shown, false);
    }

    fn decide(&mut self, digest: &str, shown: &str, is_trusted: bool) {
        let shown = shown.replace(char::is_control, " ");
        self.decisions.insert(digest.to_owned(), Decision { is_trusted, shown });
    }

    pub fn save(&self) -> Result<(), TrustError> {
        let failed = |source| TrustError { action: "save", path: self.path.clone(), source };
        let mut text = String::new();
        for (digest, Decision { is_trusted, shown }) in &self.decisions {
            let word = if *is_trusted { TRUSTED } else { DECLINED };
            writeln!(text, "{digest} {word} {shown}").expect("a string takes everything");
        }
        let folder = self.path.parent().expect("the file is in the state folder");
        crate::dirs::private_dir(folder).map_err(|it| failed(io::Error::other(it)))?;
        replace_private_file(&self.path, text.as_bytes()).map_err(failed)
    }
}

fn parse_line(line: &str) -> Option<(String, Decision)> {
    let mut words = line.splitn(3, ' ');
    let (digest, word) = (words.next()?, words.next()?);
    let is_trusted = match word {
        TRUSTED => true,
        DECLINED => false,
        _ => return None,
    };
    let shown = words.next().unwrap_or_default().to_owned();
    Some((digest.to_owned(), Decision { is_trusted, shown }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decisions_are_by_content() {
        let home = tempfile::tempdir().expect("a folder");
        let pairs = [("HOME".to_owned(), home.path().display().to_string())];
        let dirs = Dirs::from_env(&pairs.into(), 1000).expect("folders");
        let (one, other) = (TrustStore::digest("a.md", "x"), TrustStore::digest("a.md", "y"));
        let mut store = TrustStore::read(&dirs).expect("no file yet");
        store.trust(&one, "a.md of\nrepository");
        store.decline(&other, "a.md");
        store.save().expect("room");
        let store = TrustStore::read(&dirs).expect("the file");
        assert!(store.is_trusted(&one) && !store.is_declined(&one));
        assert!(store.is_declined(&other) && !store.is_trusted(&other));
        assert!(!store.is_trusted(&TrustStore::digest("b.md", "x")), "another path asks");
    }
}
