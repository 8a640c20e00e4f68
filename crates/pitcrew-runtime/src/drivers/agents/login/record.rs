//! The copies made for an attempt, recorded on disk so that a later orchestrator can continue.

use super::files;
use pitcrew_config::LoginFormat;
use serde_json::{Value, json};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// The logins of one attempt. Contains paths and digests of credentials, but no credential.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub backend: String,
    /// The private home.
    pub home: PathBuf,
    /// How much earlier the token expires for this agent. Different for each agent.
    pub sooner_ms: u64,
    pub format: LoginFormat,
    pub copies: Vec<Copied>,
}

/// One credential file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copied {
    pub user: PathBuf,
    pub copy: PathBuf,
    /// The digest of the credential that was copied. Empty if there was none.
    pub from: String,
}

impl Record {
    pub fn save(&self, path: &Path) -> io::Result<()> {
        let copies = self.copies.iter().map(
            |it| json!({ "user": it.user.to_str(), "copy": it.copy.to_str(), "from": it.from }),
        );
        let record = json!({
            "backend": self.backend,
            "home": self.home.to_str(),
            "sooner_ms": self.sooner_ms,
            "expires": self.format.expires,
            "account": self.format.account,
            "copies": copies.collect::<Vec<_>>(),
        });
        files::write_private(path, record.to_string().as_bytes())
    }

    /// Loads a record, or returns `None` if it is invalid.
    pub fn load(path: &Path) -> Option<Self> {
        let record: Value = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
        let text = |it: &Value| Some(it.as_str()?.to_owned());
        let path = |it: &Value| Some(PathBuf::from(it.as_str()?));
        let copied = |it: &Value| {
            let (user, copy) = (path(&it["user"])?, path(&it["copy"])?);
            Some(Copied { user, copy, from: text(&it["from"])? })
        };
        let places = |it: &Value| it.as_array()?.iter().map(text).collect::<Option<Vec<_>>>();
        // Earlier versions did not record the account.
        let account = places(&record["account"]).unwrap_or_default();
        Some(Self {
            backend: text(&record["backend"])?,
            home: path(&record["home"])?,
            sooner_ms: record["sooner_ms"].as_u64()?,
            format: LoginFormat { expires: places(&record["expires"])?, account },
            copies: record["copies"].as_array()?.iter().map(copied).collect::<Option<_>>()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_round_trips() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("logins/attempt-1.json");
        let copied = Copied { user: "/u".into(), copy: "/c".into(), from: "00ff".into() };
        let record = Record {
            backend: "claude".into(),
            home: "/home".into(),
            sooner_ms: 3,
            format: LoginFormat { expires: vec!["a.b".into()], account: vec!["a.c".into()] },
            copies: vec![copied],
        };
        record.save(&path).unwrap();
        assert_eq!(Record::load(&path), Some(record));
        fs::write(&path, "{}").unwrap();
        assert_eq!(Record::load(&path), None);
    }
}
