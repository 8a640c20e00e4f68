//! Serves file reads and writes of an agent, within its zone.
//!
//! Blocking, so it needs a thread that may wait. Every path is resolved beneath the checkout before
//! it is checked, and the checked file is the one that is opened. Refusals for the zone are
//! returned separately, so that the caller can record them; nothing here records anything.

mod lines;

use crate::frame;
use lines::{TextError, text_of};
use pitcrew_model::{Access, CheckoutRole, RepoPath, Standing, Zone, text};
use pitcrew_process::{Beneath, BeneathError};
use serde_json::{Value, json};
use std::{fmt, path::Path, pin::Pin, sync::Arc};

/// The error code for a path outside the zone.
const OUTSIDE_ZONE: i64 = -32001;
const NOT_FOUND: i64 = -32002;
const INVALID_PARAMS: i64 = -32602;
const INTERNAL: i64 = -32603;

/// The largest outline in an answer.
const OUTLINE_BYTES_MAX: usize = 32 * 1_024;
const PATH_BYTES_MAX: usize = 1_024;

/// Returns the outline of a file of the checkout, if there is one.
pub type Outline = Arc<dyn Fn(RepoPath) -> Outlined + Send + Sync>;
pub type Outlined = Pin<Box<dyn Future<Output = Option<String>> + Send>>;

/// The files that an agent may reach through us.
#[derive(Clone)]
pub struct FileScope {
    /// What it may read, and change unless it is read-only.
    pub zone: Zone,
    /// What it may read in addition.
    pub sees: Vec<RepoPath>,
    pub stay: CheckoutRole,
    pub outline: Outline,
}

impl fmt::Debug for FileScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { zone, sees, stay, outline: _ } = self;
        let mut out = f.debug_struct("FileScope");
        out.field("zone", zone).field("sees", sees).field("stay", stay).finish_non_exhaustive()
    }
}

/// A file request of an agent.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FileCall {
    Read { path: String, line: Option<u64>, limit: Option<u64> },
    Write { path: String, content: String },
}

/// The outcome of a file request.
#[derive(Debug)]
pub(crate) enum FileOutcome {
    Done(Value),
    Failed(FileError),
    Blocked(BlockedFile),
}

#[derive(Debug)]
pub(crate) struct FileError {
    pub code: i64,
    pub message: String,
    pub data: Value,
}

impl FileError {
    pub fn frame(&self, id: &Value) -> String {
        frame::refusal_with(id, self.code, &self.message, &self.data)
    }
}

/// A request for a file outside the zone.
#[derive(Debug)]
pub(crate) struct BlockedFile {
    pub access: Access,
    /// The path as shown to the agent and to people.
    pub path: String,
    /// Its location, if it is a file of the checkout.
    place: Option<RepoPath>,
    size: u64,
    rule: String,
    remedy: String,
}

impl BlockedFile {
    /// The answer to the agent, and how many bytes it saves the agent.
    pub async fn answer(&self, outline: &Outline) -> (FileError, u64) {
        let outline = match (&self.place, self.access) {
            (Some(place), Access::Read) => outline(place.clone()).await,
            (Some(_) | None, _) => None,
        };
        let outline = outline.map(|it| text::cut(&it, OUTLINE_BYTES_MAX).to_owned());
        let Self { path, rule, remedy, .. } = self;
        let hint = if outline.is_some() { "; its outline is in `data`" } else { "" };
        let message = format!("`{path}` is {rule}; {remedy}{hint}");
        let saved = self.size.saturating_sub(outline.as_ref().map_or(0, |it| it.len() as u64));
        let mut data = json!({ "path": path, "rule": rule });
        if let Some(outline) = outline {
            data["outline"] = outline.into();
        }
        (FileError { code: OUTSIDE_ZONE, message, data }, saved)
    }
}

impl FileCall {
    /// Parses a request, or returns `None` if it is not about files.
    pub fn parse(method: &str, params: &mut Value) -> Option<Result<Self, FileError>> {
        let is_write = match method {
            "fs/read_text_file" => false,
            "fs/write_text_file" => true,
            _ => return None,
        };
        let mut text = |key: &str| match params.get_mut(key).map(Value::take) {
            Some(Value::String(text)) => Ok(text),
            Some(_) | None => Err(invalid(format!("`{key}` is missing or is not a string"))),
        };
        let path = text("path");
        let content = is_write.then(|| text("content")).transpose();
        let number = |key: &str| params.get(key).and_then(Value::as_u64);
        let (line, limit) = (number("line"), number("limit"));
        Some(path.and_then(|path| {
            Ok(match content? {
                Some(content) => Self::Write { path, content },
                None => Self::Read { path, line, limit },
            })
        }))
    }

    fn access(&self) -> (Access, &str) {
        match self {
            Self::Read { path, .. } => (Access::Read, path),
            Self::Write { path, .. } => (Access::Write, path),
        }
    }
}

fn invalid(message: impl Into<String>) -> FileError {
    FileError { code: INVALID_PARAMS, message: message.into(), data: Value::Null }
}

impl FileScope {
    /// Serves a request beneath `root`.
    pub(crate) fn serve(&self, root: &Path, call: &FileCall) -> FileOutcome {
        let (access, asked) = call.access();
        let beneath = match Beneath::open(root) {
            Ok(beneath) => beneath,
            Err(error) => return FileOutcome::Failed(failed(asked, &BeneathError::Io(error))),
        };
        let place = match beneath.locate(asked) {
            Ok(place) => place,
            Err(error @ (BeneathError::Outside | BeneathError::Git)) => {
                return FileOutcome::Blocked(self.blocked_elsewhere(access, asked, &error));
            }
            Err(error) => return FileOutcome::Failed(failed(asked, &error)),
        };
        if let Some(rule) = self.refuses(access, &place) {
            return FileOutcome::Blocked(Self::blocked(&beneath, access, place, rule));
        }
        let done = match call {
            FileCall::Read { line, limit, .. } => read(&beneath, &place, *line, *limit),
            FileCall::Write { content, .. } => {
                let written = beneath.write(&place, content.as_bytes());
                written.map(|()| json!({})).map_err(|it| failed(asked, &it))
            }
        };
        done.map_or_else(FileOutcome::Failed, FileOutcome::Done)
    }

    /// The rule that refuses a file, as the end of a sentence about it.
    fn refuses(&self, access: Access, place: &RepoPath) -> Option<String> {
        if (access, self.stay) == (Access::Write, CheckoutRole::Reader) {
            return Some("read-only for your task".into());
        }
        match self.zone.standing(place.as_str()) {
            Standing::Own(_) | Standing::Shared(_) => None,
            Standing::Denied(rule) => Some(format!("in `{rule}`, which is denied to all tasks")),
            Standing::Outside => {
                let is_seen = self.sees.iter().any(|it| it.contains(place.as_str()));
                let may = access == Access::Read && is_seen;
                (!may).then(|| format!("outside your region ({})", self.zone.describe()))
            }
        }
    }

    fn blocked(beneath: &Beneath, access: Access, place: RepoPath, rule: String) -> BlockedFile {
        let path = place.to_string();
        let (remedy, size) = match access {
            Access::Read => {
                let file = beneath.read(&place).ok().and_then(|it| it.metadata().ok());
                let remedy = format!(
                    "call `a2a_query` with this path and the name you need instead of reading it, or write a \
                     line `NEED: NAME from {path}` and end your turn"
                );
                (remedy, file.map_or(0, |it| it.len()))
            }
            Access::Write => (WRITE_REMEDY.to_owned(), 0),
        };
        BlockedFile { access, path, place: Some(place), size, rule, remedy }
    }

    /// A path that is not in the checkout.
    fn blocked_elsewhere(&self, access: Access, asked: &str, error: &BeneathError) -> BlockedFile {
        let path = crate::plain::one_line(asked, PATH_BYTES_MAX);
        let rule = format!("not a usable path: {error}");
        let remedy = format!("use paths in your zone ({})", self.zone.describe());
        BlockedFile { access, path, place: None, size: 0, rule, remedy }
    }
}

const WRITE_REMEDY: &str = "changes there are discarded: do your task without it, or report it as \
    failed and name this path";

fn read(
    beneath: &Beneath,
    place: &RepoPath,
    line: Option<u64>,
    limit: Option<u64>,
) -> Result<Value, FileError> {
    let file = beneath.read(place).map_err(|it| failed(place.as_str(), &it))?;
    match text_of(file, line, limit) {
        Ok(content) => Ok(json!({ "content": content })),
        Err(error @ TextError::Io(_)) => {
            Err(FileError { code: INTERNAL, ..invalid(format!("`{place}`: {error}")) })
        }
        Err(error) => Err(invalid(format!("`{place}` cannot be read: {error}"))),
    }
}

fn failed(path: &str, error: &BeneathError) -> FileError {
    let path = crate::plain::one_line(path, PATH_BYTES_MAX);
    let code = match error {
        BeneathError::Missing => NOT_FOUND,
        BeneathError::Io(_) => INTERNAL,
        BeneathError::Outside
        | BeneathError::Git
        | BeneathError::Path(_)
        | BeneathError::NotAFile
        | BeneathError::Links
        | BeneathError::OtherName => INVALID_PARAMS,
    };
    FileError { code, ..invalid(format!("`{path}` cannot be used: {error}")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn path(text: &str) -> RepoPath {
        RepoPath::parse(text).expect("a path")
    }

    fn reach() -> FileScope {
        let zone = Zone {
            region: vec![path("ui")],
            shared: vec![path("Cargo.lock")],
            denied: vec![path("ui/secret")],
        };
        let outline: Outline =
            Arc::new(|it| Box::pin(async move { Some(format!("outline of {it}")) }));
        FileScope { zone, sees: vec![path("lib"), path("ui")], stay: CheckoutRole::Owner, outline }
    }

    fn checkout() -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("a folder");
        for (file, text) in [
            ("ui/a.txt", "one\ntwo\nthree\n"),
            ("ui/secret/key", "key"),
            ("core/auth.rs", &"x".repeat(1_000)),
            ("lib/b", "b"),
            ("Cargo.lock", "lock"),
            (".git/config", "git"),
        ] {
            let file = root.path().join(file);
            fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
            fs::write(file, text).expect("a file");
        }
        root
    }

    fn read(root: &Path, path: &str) -> FileCall {
        FileCall::Read { path: root.join(path).display().to_string(), line: None, limit: None }
    }

    fn write(root: &Path, path: &str) -> FileCall {
        let path = root.join(path).display().to_string();
        FileCall::Write { path, content: "new".into() }
    }

    /// S0-098: a method and its parameters give a result.
    #[test]
    fn files_in_the_zone_can_be_read_and_written() {
        let root = checkout();
        let root = root.path();
        for (file, content) in
            [("ui/a.txt", "one\ntwo\nthree\n"), ("Cargo.lock", "lock"), ("lib/b", "b")]
        {
            let served = reach().serve(root, &read(root, file));
            let FileOutcome::Done(answer) = served else { panic!("{file}: {served:?}") };
            assert_eq!(answer, json!({ "content": content }));
        }
        for file in ["ui/a.txt", "ui/new/b.txt", "Cargo.lock"] {
            let served = reach().serve(root, &write(root, file));
            assert!(matches!(served, FileOutcome::Done(_)), "{file}: {served:?}");
            assert_eq!(fs::read_to_string(root.join(file)).expect("it"), "new");
        }
        let lines = FileCall::Read { path: "ui/a.txt".into(), line: Some(2), limit: Some(1) };
        fs::write(root.join("ui/a.txt"), "one\ntwo\nthree\n").expect("a file");
        let served = reach().serve(root, &lines);
        assert!(
            matches!(&served, FileOutcome::Done(it) if *it == json!({"content": "two\n"})),
            "{served:?}"
        );
    }

    /// S0-045: a file outside is refused, with its outline.
    #[tokio::test]
    async fn a_file_outside_is_blocked_with_its_outline() {
        let root = checkout();
        let root = root.path();
        let FileOutcome::Blocked(blocked) = reach().serve(root, &read(root, "core/auth.rs")) else {
            panic!("it should be blocked")
        };
        assert_eq!((blocked.access, blocked.path.as_str()), (Access::Read, "core/auth.rs"));
        let (error, bytes_saved) = blocked.answer(&reach().outline).await;
        assert_eq!((error.code, bytes_saved), (-32001, 1_000 - 23));
        assert_eq!(error.data["outline"], "outline of core/auth.rs");
        for part in ["outside your region (ui)", "a2a_query", "NEED: NAME from core/auth.rs"] {
            assert!(error.message.contains(part), "{}", error.message);
        }
        for (file, part) in [
            ("core/auth.rs", "outside your region"),
            ("lib/b", "outside your region"),
            ("ui/secret/key", "denied"),
            (".git/config", ".git"),
            ("../x", "outside"),
        ] {
            let served = reach().serve(root, &write(root, file));
            let FileOutcome::Blocked(blocked) = served else { panic!("{file}: {served:?}") };
            let (error, bytes_saved) = blocked.answer(&reach().outline).await;
            assert_eq!((blocked.access, error.code, bytes_saved), (Access::Write, -32001, 0));
            assert!(error.message.contains(part), "{}", error.message);
            assert!(error.data.get("outline").is_none());
        }
        assert_eq!(fs::read_to_string(root.join("lib/b")).expect("it"), "b");
        let served = reach().serve(root, &read(root, "ui/secret/key"));
        assert!(matches!(served, FileOutcome::Blocked(_)), "{served:?}");
    }

    /// The target of a link is checked, not its location.
    #[test]
    fn a_link_is_checked_by_its_target() {
        let root = checkout();
        let root = root.path();
        std::os::unix::fs::symlink("../core/auth.rs", root.join("ui/auth")).expect("a link");
        std::os::unix::fs::symlink("../ui/a.txt", root.join("core/mine")).expect("a link");
        let served = reach().serve(root, &read(root, "ui/auth"));
        assert!(
            matches!(&served, FileOutcome::Blocked(it) if it.path == "core/auth.rs"),
            "{served:?}"
        );
        let served = reach().serve(root, &read(root, "core/mine"));
        assert!(matches!(served, FileOutcome::Done(_)), "{served:?}");
    }

    #[test]
    fn a_failed_request_gives_the_reason() {
        let root = checkout();
        let root = root.path();
        fs::write(root.join("ui/binary"), [0xff, 0xfe]).expect("a file");
        for (file, code, part) in [
            ("ui/none", -32002, "no such file"),
            ("ui", -32602, "not a file"),
            ("ui/binary", -32602, "UTF-8"),
        ] {
            let served = reach().serve(root, &read(root, file));
            let FileOutcome::Failed(error) = served else { panic!("{file}: {served:?}") };
            assert_eq!(error.code, code, "{error:?}");
            assert!(error.message.contains(part), "{error:?}");
        }
    }

    #[test]
    fn requests_are_parsed_leniently() {
        let parse = |method: &str, mut params: Value| FileCall::parse(method, &mut params);
        assert!(parse("session/update", json!({})).is_none());
        let read = parse("fs/read_text_file", json!({"path": "/a", "line": 3, "limit": null}));
        let expected = FileCall::Read { path: "/a".into(), line: Some(3), limit: None };
        assert_eq!(read.expect("a request").expect("a call"), expected);
        for wrong in [json!(null), json!({"path": 3}), json!([])] {
            assert!(parse("fs/read_text_file", wrong).expect("a request").is_err());
        }
        assert!(parse("fs/write_text_file", json!({"path": "/a"})).expect("a request").is_err());
    }
}
