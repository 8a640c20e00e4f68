//! Files that an agent reads and writes through us, as far as its zone goes.
//!
//! Blocking, and therefore for a thread that may wait. Every path is located beneath the checkout
//! before it is judged, and what was judged is what is opened. What is refused for the zone's sake is
//! told as such, so that somebody can note it; nothing here notes anything.

mod lines;

use crate::frame;
use lines::{TextError, text_of};
use pitcrew_model::{Access, CheckoutRole, RepoPath, Standing, Zone, text};
use pitcrew_process::{Beneath, BeneathError};
use serde_json::{Value, json};
use std::{fmt, path::Path, pin::Pin, sync::Arc};

/// Refused, because it lies outside the zone.
const OUTSIDE_ZONE: i64 = -32001;
const NOT_FOUND: i64 = -32002;
const INVALID_PARAMS: i64 = -32602;
const INTERNAL: i64 = -32603;

/// What is told of a file instead of its content.
const OUTLINE_BYTES_MAX: usize = 32 * 1_024;
const PATH_BYTES_MAX: usize = 1_024;

/// The outline of a file of the checkout, where there is one.
pub type Outline = Arc<dyn Fn(RepoPath) -> Outlined + Send + Sync>;
pub type Outlined = Pin<Box<dyn Future<Output = Option<String>> + Send>>;

/// What an agent may reach through us.
#[derive(Clone)]
pub struct Reach {
    /// What it may read, and change unless it only reads.
    pub zone: Zone,
    /// What it may read besides.
    pub sees: Vec<RepoPath>,
    pub stay: CheckoutRole,
    pub outline: Outline,
}

impl fmt::Debug for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { zone, sees, stay, outline: _ } = self;
        let mut out = f.debug_struct("Reach");
        out.field("zone", zone).field("sees", sees).field("stay", stay).finish_non_exhaustive()
    }
}

/// What an agent asks for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FileCall {
    Read { path: String, line: Option<u64>, limit: Option<u64> },
    Write { path: String, content: String },
}

/// What became of it.
#[derive(Debug)]
pub(crate) enum Served {
    Done(Value),
    Failed(FileError),
    Blocked(Blocked),
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

/// A file outside the zone.
#[derive(Debug)]
pub(crate) struct Blocked {
    pub access: Access,
    /// As the agent and others are told it.
    pub path: String,
    /// Where it is, if it is a file of the checkout.
    place: Option<RepoPath>,
    size: u64,
    rule: String,
    remedy: String,
}

impl Blocked {
    /// What the agent is told, and how many bytes it need not read for that.
    pub async fn told(&self, outline: &Outline) -> (FileError, u64) {
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
    /// Reads a request; nothing where it is about something else than files.
    pub fn parse(method: &str, params: &mut Value) -> Option<Result<Self, FileError>> {
        let is_write = match method {
            "fs/read_text_file" => false,
            "fs/write_text_file" => true,
            _ => return None,
        };
        let mut text = |key: &str| match params.get_mut(key).map(Value::take) {
            Some(Value::String(text)) => Ok(text),
            Some(_) | None => Err(invalid(format!("`{key}` is missing, or is no text"))),
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

impl Reach {
    /// Does what is asked for beneath `root`, or says why not.
    pub(crate) fn serve(&self, root: &Path, call: &FileCall) -> Served {
        let (access, asked) = call.access();
        let beneath = match Beneath::open(root) {
            Ok(beneath) => beneath,
            Err(error) => return Served::Failed(failed(asked, &BeneathError::Io(error))),
        };
        let place = match beneath.locate(asked) {
            Ok(place) => place,
            Err(error @ (BeneathError::Outside | BeneathError::Git)) => {
                return Served::Blocked(self.blocked_elsewhere(access, asked, &error));
            }
            Err(error) => return Served::Failed(failed(asked, &error)),
        };
        if let Some(rule) = self.refuses(access, &place) {
            return Served::Blocked(Self::blocked(&beneath, access, place, rule));
        }
        let done = match call {
            FileCall::Read { line, limit, .. } => read(&beneath, &place, *line, *limit),
            FileCall::Write { content, .. } => {
                let written = beneath.write(&place, content.as_bytes());
                written.map(|()| json!({})).map_err(|it| failed(asked, &it))
            }
        };
        done.map_or_else(Served::Failed, Served::Done)
    }

    /// The rule by which a file is refused, as the end of a sentence about it.
    fn refuses(&self, access: Access, place: &RepoPath) -> Option<String> {
        if (access, self.stay) == (Access::Write, CheckoutRole::Reader) {
            return Some("not for you to change: you only read".into());
        }
        match self.zone.standing(place.as_str()) {
            Standing::Own(_) | Standing::Shared(_) => None,
            Standing::Denied(rule) => Some(format!("in `{rule}`, which is denied to every task")),
            Standing::Outside => {
                let is_seen = self.sees.iter().any(|it| it.contains(place.as_str()));
                let may = access == Access::Read && is_seen;
                (!may).then(|| format!("outside your zone ({})", self.zone.describe()))
            }
        }
    }

    fn blocked(beneath: &Beneath, access: Access, place: RepoPath, rule: String) -> Blocked {
        let path = place.to_string();
        let (remedy, size) = match access {
            Access::Read => {
                let file = beneath.read(&place).ok().and_then(|it| it.metadata().ok());
                let remedy = format!(
                    "do not read it: call `a2a_query` with the name that you need and this path, or write a \
                     line `NEED: NAME from {path}` and end your turn"
                );
                (remedy, file.map_or(0, |it| it.len()))
            }
            Access::Write => (WRITE_REMEDY.to_owned(), 0),
        };
        Blocked { access, path, place: Some(place), size, rule, remedy }
    }

    /// No path of the checkout at all.
    fn blocked_elsewhere(&self, access: Access, asked: &str, error: &BeneathError) -> Blocked {
        let path = crate::plain::one_line(asked, PATH_BYTES_MAX);
        let rule = format!("no path that you can use: {error}");
        let remedy = format!("stay in your zone ({})", self.zone.describe());
        Blocked { access, path, place: None, size: 0, rule, remedy }
    }
}

const WRITE_REMEDY: &str = "what you change there is never taken: do your task without it, or report it as \
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

    fn reach() -> Reach {
        let zone = Zone {
            region: vec![path("ui")],
            shared: vec![path("Cargo.lock")],
            denied: vec![path("ui/secret")],
        };
        let outline: Outline =
            Arc::new(|it| Box::pin(async move { Some(format!("outline of {it}")) }));
        Reach { zone, sees: vec![path("lib"), path("ui")], stay: CheckoutRole::Owner, outline }
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
    fn the_zone_is_read_and_written() {
        let root = checkout();
        let root = root.path();
        for (file, content) in
            [("ui/a.txt", "one\ntwo\nthree\n"), ("Cargo.lock", "lock"), ("lib/b", "b")]
        {
            let served = reach().serve(root, &read(root, file));
            let Served::Done(answer) = served else { panic!("{file}: {served:?}") };
            assert_eq!(answer, json!({ "content": content }));
        }
        for file in ["ui/a.txt", "ui/new/b.txt", "Cargo.lock"] {
            let served = reach().serve(root, &write(root, file));
            assert!(matches!(served, Served::Done(_)), "{file}: {served:?}");
            assert_eq!(fs::read_to_string(root.join(file)).expect("it"), "new");
        }
        let lines = FileCall::Read { path: "ui/a.txt".into(), line: Some(2), limit: Some(1) };
        fs::write(root.join("ui/a.txt"), "one\ntwo\nthree\n").expect("a file");
        let served = reach().serve(root, &lines);
        assert!(
            matches!(&served, Served::Done(it) if *it == json!({"content": "two\n"})),
            "{served:?}"
        );
    }

    /// S0-045: what lies outside is refused, with what the agent needs instead.
    #[tokio::test]
    async fn what_lies_outside_is_blocked_with_its_outline() {
        let root = checkout();
        let root = root.path();
        let Served::Blocked(blocked) = reach().serve(root, &read(root, "core/auth.rs")) else {
            panic!("it is outside")
        };
        assert_eq!((blocked.access, blocked.path.as_str()), (Access::Read, "core/auth.rs"));
        let (error, bytes_saved) = blocked.told(&reach().outline).await;
        assert_eq!((error.code, bytes_saved), (-32001, 1_000 - 23));
        assert_eq!(error.data["outline"], "outline of core/auth.rs");
        for part in ["outside your zone (ui)", "a2a_query", "NEED: NAME from core/auth.rs"] {
            assert!(error.message.contains(part), "{}", error.message);
        }
        for (file, part) in [
            ("core/auth.rs", "outside your zone"),
            ("lib/b", "outside your zone"),
            ("ui/secret/key", "denied"),
            (".git/config", ".git"),
            ("../x", "outside"),
        ] {
            let served = reach().serve(root, &write(root, file));
            let Served::Blocked(blocked) = served else { panic!("{file}: {served:?}") };
            let (error, bytes_saved) = blocked.told(&reach().outline).await;
            assert_eq!((blocked.access, error.code, bytes_saved), (Access::Write, -32001, 0));
            assert!(error.message.contains(part), "{}", error.message);
            assert!(error.data.get("outline").is_none());
        }
        assert_eq!(fs::read_to_string(root.join("lib/b")).expect("it"), "b");
        let served = reach().serve(root, &read(root, "ui/secret/key"));
        assert!(matches!(served, Served::Blocked(_)), "{served:?}");
    }

    /// The zone is asked where a link leads, not where it stands.
    #[test]
    fn a_link_is_judged_by_where_it_leads() {
        let root = checkout();
        let root = root.path();
        std::os::unix::fs::symlink("../core/auth.rs", root.join("ui/auth")).expect("a link");
        std::os::unix::fs::symlink("../ui/a.txt", root.join("core/mine")).expect("a link");
        let served = reach().serve(root, &read(root, "ui/auth"));
        assert!(matches!(&served, Served::Blocked(it) if it.path == "core/auth.rs"), "{served:?}");
        let served = reach().serve(root, &read(root, "core/mine"));
        assert!(matches!(served, Served::Done(_)), "{served:?}");
    }

    #[test]
    fn what_cannot_be_served_says_why() {
        let root = checkout();
        let root = root.path();
        fs::write(root.join("ui/binary"), [0xff, 0xfe]).expect("a file");
        for (file, code, part) in [
            ("ui/none", -32002, "no such file"),
            ("ui", -32602, "no file"),
            ("ui/binary", -32602, "UTF-8"),
        ] {
            let served = reach().serve(root, &read(root, file));
            let Served::Failed(error) = served else { panic!("{file}: {served:?}") };
            assert_eq!(error.code, code, "{error:?}");
            assert!(error.message.contains(part), "{error:?}");
        }
    }

    #[test]
    fn requests_are_read_leniently() {
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
