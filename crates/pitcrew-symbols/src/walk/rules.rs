//! The ignore rules of git for a folder.

use super::{Entries, Folder};
use crate::source::Root;
use ignore::{
    Match,
    gitignore::{Gitignore, GitignoreBuilder},
};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

/// The rules of one folder and of its parents.
pub struct Rules {
    outer: Option<Arc<Rules>>,
    /// Rules of the `.gitignore` in this folder.
    shared: Option<Gitignore>,
    /// Rules of `.git/info/exclude`, if the folder is the root of a repository.
    private: Option<Gitignore>,
}

impl Rules {
    /// Returns `None` if the folder defines no rules.
    pub(super) fn read(
        place: &Path,
        root: &Root,
        folder: &Folder,
        entries: &Entries,
    ) -> Option<Self> {
        let mut buffer = Vec::new();
        let mut rules = |path: &str| {
            let content = root.read(path, &mut buffer)?.content?;
            parsed(&folder.path, content)
        };
        let shared = entries.has_rules.then(|| rules(&folder.path_of(".gitignore"))).flatten();
        let private = entries.has_git.then(|| {
            rules(&folder.path_of(".git/info/exclude"))
                .or_else(|| parsed(&folder.path, &of_worktree(&place.join(&folder.path))?))
        });
        let private = private.flatten();
        let outer = folder.rules.clone();
        (shared.is_some() || private.is_some()).then_some(Self { outer, shared, private })
    }

    /// The nearest matching rule decides. Shared rules take precedence over all private ones.
    pub fn ignores(&self, path: &Path, is_folder: bool) -> bool {
        let said = |of: fn(&Self) -> Option<&Gitignore>| {
            let chain = std::iter::successors(Some(self), |it| it.outer.as_deref());
            let mut said = chain.filter_map(of).map(|it| it.matched(path, is_folder));
            said.find(|it| !it.is_none())
        };
        let found = said(|it| it.shared.as_ref()).or_else(|| said(|it| it.private.as_ref()));
        matches!(found, Some(Match::Ignore(_)))
    }
}

fn parsed(folder: &str, content: &[u8]) -> Option<Gitignore> {
    let mut builder = GitignoreBuilder::new(folder);
    let text = String::from_utf8_lossy(content);
    for line in text.trim_start_matches('\u{feff}').lines() {
        // A malformed line is ignored.
        builder.add_line(None, line).ok();
    }
    builder.build().ok().filter(|it| !it.is_empty())
}

/// The private rules of the repository to which a worktree belongs. They are outside the worktree.
fn of_worktree(folder: &Path) -> Option<Vec<u8>> {
    let first_line = |path: PathBuf| {
        let text = String::from_utf8(regular(&path)?).ok()?;
        text.lines().next().map(str::to_owned)
    };
    let line = first_line(folder.join(".git"))?;
    let git = folder.join(line.strip_prefix("gitdir: ")?);
    let common = git.join(first_line(git.join("commondir"))?);
    regular(&common.join("info/exclude"))
}

/// Larger files are ignored.
const FILE_BYTES_MAX: u64 = 1 << 20;

fn regular(path: &Path) -> Option<Vec<u8>> {
    let metadata = fs::metadata(path).ok()?;
    let fits = metadata.is_file() && metadata.len() <= FILE_BYTES_MAX;
    fits.then(|| fs::read(path).ok()).flatten()
}
