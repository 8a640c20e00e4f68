//! Paths inside the repository, regions and zones.

use crate::folded_name;
use alloc::{
    borrow::ToOwned,
    string::{String, ToString},
    vec::Vec,
};
use core::fmt;
use serde::{Deserialize, Serialize};

/// A normalised path relative to the root of the repository. The root itself is the empty path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RepoPath(String);

/// Why a text is not a path of the repository.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    #[error("it is empty; write `.` for the whole repository")]
    Empty,
    #[error("it is absolute; write it relative to the root of the repository")]
    Absolute,
    #[error("it leaves the repository")]
    Outside,
    #[error("it is a glob; only a path prefix is possible, such as `src` or `src/**`")]
    Glob,
    #[error("it is inside `.git`")]
    GitDir,
    #[error("it has a control character or a backslash")]
    Character,
}

/// Paths from the wire may not be normalised.
impl TryFrom<String> for RepoPath {
    type Error = PathError;

    fn try_from(text: String) -> Result<Self, PathError> {
        if text.is_empty() { Ok(Self::root()) } else { Self::parse(&text) }
    }
}

impl From<RepoPath> for String {
    fn from(path: RepoPath) -> Self {
        path.0
    }
}

impl RepoPath {
    pub fn root() -> Self {
        Self(String::new())
    }

    /// Parses a path prefix as people write it: `src`, `./src/`, `src/**`, or `.` for everything.
    pub fn parse_prefix(text: &str) -> Result<Self, PathError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(PathError::Empty);
        }
        let text = if text == "**" { "." } else { text.strip_suffix("/**").unwrap_or(text) };
        if text.contains(['*', '?', '[']) {
            return Err(PathError::Glob);
        }
        Self::parse(text)
    }

    /// Parses the path of a file or folder. Characters that a shell would expand are literal.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        if text.is_empty() {
            return Err(PathError::Empty);
        }
        if text.starts_with('/') {
            return Err(PathError::Absolute);
        }
        if text.chars().any(|it| it.is_control() || it == '\\') {
            return Err(PathError::Character);
        }
        let mut parts: Vec<&str> = Vec::new();
        for part in text.split('/') {
            match part {
                "" | "." => {}
                ".." => return Err(PathError::Outside),
                _ if part.eq_ignore_ascii_case(".git") => return Err(PathError::GitDir),
                _ => parts.push(part),
            }
        }
        Ok(Self(parts.join("/")))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether `path` is this path or below it: by whole components, never by substring.
    pub fn contains(&self, path: &str) -> bool {
        self.is_root()
            || path
                .strip_prefix(self.0.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// Returns whether some file system, such as one that ignores case, treats `path` as this path
    /// or one below it.
    pub fn may_contain(&self, path: &str) -> bool {
        let mut parts = path.split('/').map(folded_name);
        let mut own = self.0.split('/').map(folded_name);
        self.contains(path) || own.all(|it| parts.next() == Some(it))
    }
}

impl fmt::Display for RepoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_root() { "." } else { &self.0 })
    }
}

/// Returns whether two regions have a path in common. An empty region is not exclusive.
pub fn overlap(left: &[RepoPath], right: &[RepoPath]) -> bool {
    left.iter().any(|a| right.iter().any(|b| a.contains(b.as_str()) || b.contains(a.as_str())))
}

/// Returns the paths of a region that are not shared by all tasks of the plan. Only these decide
/// which tasks wait for each other.
pub fn exclusive<'a>(
    region: &'a [RepoPath],
    shared: &'a [RepoPath],
) -> impl Iterator<Item = &'a RepoPath> {
    let is_shared = |it: &RepoPath| shared.iter().any(|shared| shared.contains(it.as_str()));
    region.iter().filter(move |it| !is_shared(it))
}

/// The paths that a worker may change: region + shared paths − denied paths.
///
/// A denied path always wins. Among the others, the most specific path decides.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Zone {
    /// Empty: the whole repository.
    pub region: Vec<RepoPath>,
    pub shared: Vec<RepoPath>,
    pub denied: Vec<RepoPath>,
}

/// How a path relates to a zone, and the rule that decides it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing<'a> {
    /// No task of the plan may change it.
    Denied(&'a RepoPath),
    /// In the region. Without a rule if the region is the whole repository.
    Own(Option<&'a RepoPath>),
    /// Every task of the plan may change it.
    Shared(&'a RepoPath),
    Outside,
}

impl Zone {
    pub fn standing(&self, path: &str) -> Standing<'_> {
        if let Some(rule) = most_specific(&self.denied, |it| it.may_contain(path)) {
            return Standing::Denied(rule);
        }
        let own = most_specific(&self.region, |it| it.contains(path));
        match (own, most_specific(&self.shared, |it| it.contains(path))) {
            (Some(own), Some(shared)) if shared.as_str().len() > own.as_str().len() => {
                Standing::Shared(shared)
            }
            (Some(own), _) => Standing::Own(Some(own)),
            (None, Some(shared)) => Standing::Shared(shared),
            (None, None) if self.region.is_empty() => Standing::Own(None),
            (None, None) => Standing::Outside,
        }
    }

    pub fn allows(&self, path: &str) -> bool {
        match self.standing(path) {
            Standing::Own(_) | Standing::Shared(_) => true,
            Standing::Denied(_) | Standing::Outside => false,
        }
    }

    /// Returns whether the worker may change every path.
    pub fn is_everything(&self) -> bool {
        self.region.is_empty() && self.denied.is_empty()
    }

    /// Returns whether nothing is set.
    pub fn is_unset(&self) -> bool {
        self.is_everything() && self.shared.is_empty()
    }

    /// Describes the zone, for a prompt or a message.
    pub fn describe(&self) -> String {
        if self.region.is_empty() {
            return "the whole repository".to_owned();
        }
        let names: Vec<String> = self.region.iter().map(ToString::to_string).collect();
        names.join(", ")
    }
}

fn most_specific(rules: &[RepoPath], holds: impl Fn(&RepoPath) -> bool) -> Option<&RepoPath> {
    rules.iter().filter(|it| holds(it)).max_by_key(|it| it.as_str().len())
}

/// How reads outside the zone are prevented.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reads {
    /// By the prompt, and by the answers to reads through us.
    #[default]
    Guided,
    /// Also by the box, which hides other files.
    Zone,
}

impl Reads {
    pub fn is_guided(&self) -> bool {
        *self == Self::Guided
    }
}

impl fmt::Display for Reads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Guided => "guided",
            Self::Zone => "zone",
        })
    }
}

/// What an agent wanted to do with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    Read,
    Write,
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> RepoPath {
        RepoPath::parse_prefix(text).expect("a path")
    }

    #[test]
    fn a_prefix_is_normalised() {
        for text in ["src/api", "./src/api/", "src/api/**", "src//api", " src/api "] {
            assert_eq!(path(text).as_str(), "src/api");
        }
        assert!(path(".").is_root() && path("**").is_root());
    }

    #[test]
    fn invalid_prefixes_are_refused_with_the_reason() {
        let cases = [
            ("", PathError::Empty),
            ("/etc", PathError::Absolute),
            ("../x", PathError::Outside),
            ("a/../../x", PathError::Outside),
            ("src/*.rs", PathError::Glob),
            ("a/.git/hooks", PathError::GitDir),
            (".GIT", PathError::GitDir),
            ("a\\b", PathError::Character),
        ];
        for (text, reason) in cases {
            assert_eq!(RepoPath::parse_prefix(text), Err(reason), "{text}");
        }
    }

    #[test]
    fn a_prefix_holds_whole_components() {
        assert!(path("src/api").contains("src/api"));
        assert!(path("src/api").contains("src/api/x.rs"));
        assert!(!path("src/api").contains("src/api2/x.rs"));
        assert!(path(".").contains("anything"));
    }

    #[test]
    fn regions_overlap_in_both_directions() {
        let (src, api, ui) = (path("src"), path("src/api"), path("ui"));
        assert!(overlap(core::slice::from_ref(&src), core::slice::from_ref(&api)));
        assert!(overlap(core::slice::from_ref(&api), core::slice::from_ref(&src)));
        assert!(!overlap(core::slice::from_ref(&api), core::slice::from_ref(&ui)));
        assert!(!overlap(&[], &[src]), "no region is not exclusive");
    }

    #[test]
    fn a_denied_path_wins() {
        let zone = Zone {
            region: alloc::vec![path("src"), path("src/secret/mine")],
            shared: alloc::vec![path("Cargo.lock"), path("src/secret/shared")],
            denied: alloc::vec![path("src/secret")],
        };
        assert!(zone.allows("src/a.rs") && zone.allows("Cargo.lock"));
        assert!(!zone.allows("src/secret/key") && !zone.allows("README.md"));
        let denied = Standing::Denied(&zone.denied[0]);
        for below in ["src/secret", "src/secret/mine/x", "src/secret/shared"] {
            assert_eq!(zone.standing(below), denied, "{below}");
        }
        assert_eq!(zone.standing("src/secrets"), Standing::Own(Some(&zone.region[0])));
    }

    /// On such a file system, a checkout would change the denied file.
    #[test]
    fn denied_paths_ignore_case() {
        let zone = Zone { denied: alloc::vec![path("src/Caf\u{e9}")], ..Zone::default() };
        let denied = Standing::Denied(&zone.denied[0]);
        for other in ["SRC/caf\u{e9}/x", "src/CAFE\u{301}", "src/caf\u{e9}./x", "src./Caf\u{e9}"] {
            assert_eq!(zone.standing(other), denied, "{other}");
        }
        for other in ["src", "src/cafe", "src/caf\u{e9}s", "lib/caf\u{e9}"] {
            assert_eq!(zone.standing(other), Standing::Own(None), "{other}");
        }
    }

    #[test]
    fn the_most_specific_path_wins() {
        let zone = Zone {
            region: alloc::vec![path("src"), path("src/gen/mine")],
            shared: alloc::vec![path("src/gen"), path("docs")],
            denied: Vec::new(),
        };
        assert_eq!(zone.standing("src/a"), Standing::Own(Some(&zone.region[0])));
        assert_eq!(zone.standing("src/gen/a"), Standing::Shared(&zone.shared[0]));
        assert_eq!(zone.standing("src/gen/mine/a"), Standing::Own(Some(&zone.region[1])));
        assert_eq!(zone.standing("docs/a"), Standing::Shared(&zone.shared[1]));
        assert_eq!(zone.standing("other"), Standing::Outside);
        assert_eq!(Zone::default().standing("other"), Standing::Own(None));
        assert!(Zone::default().is_everything() && !zone.is_everything());
    }
}
