//! The user's own git settings that a checkout must share, so that files mean the same in it.

use crate::{
    Repository,
    error::{FileError, GitError},
    files,
};
use pitcrew_process::Cancel;
use std::path::{Path, PathBuf};

/// The settings that affect the content and kind of files in a tree.
const SHARED: &str = "^core\\.(autocrlf|eol|safecrlf|filemode|symlinks|ignorecase|precomposeunicode|excludesfile)$|^remote\\..*\\.(promisor|partialclonefilter)$|^filter\\..*\\.(smudge|process)$";

#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    /// `core` settings with plain values.
    pub(crate) core: Vec<(String, String)>,
    /// The user's excludes for all repositories.
    excludes_file: Option<PathBuf>,
    /// Whether some objects were never downloaded.
    pub(crate) is_partial: bool,
    /// Whether a program of the user changes files at checkout. Git starts one such program at a
    /// time, so it may rely on running alone. The program of LFS is known not to.
    has_filters: bool,
}

impl Settings {
    pub(crate) fn read(user: &Repository, cancel: &Cancel) -> Result<Self, GitError> {
        let answer = user.call("config").args(["-z", "--get-regexp", SHARED]).finish(cancel)?;
        if !matches!(answer.finished.code, Some(0 | 1)) {
            return Err(answer.error());
        }
        let mut settings = Self::default();
        for entry in answer.finished.stdout.split(|it| *it == 0) {
            let entry = String::from_utf8_lossy(entry);
            let (key, value) = entry.split_once('\n').unwrap_or((&entry, "true"));
            match key.strip_prefix("core.") {
                Some("excludesfile") => settings.excludes_file = Some(expand(user, value)),
                // A later file overrides an earlier one, as in git.
                Some(name) if value.bytes().all(|it| it.is_ascii_alphanumeric()) => {
                    settings.core.push((name.into(), value.into()));
                }
                Some(_) => {}
                None => {
                    settings.is_partial |= key.starts_with("remote.");
                    let is_filter = key.starts_with("filter.") && !key.starts_with("filter.lfs.");
                    settings.has_filters |= is_filter;
                }
            }
        }
        if settings.excludes_file.is_none() {
            settings.excludes_file = user.git().config_home().map(|it| it.join("git/ignore"));
        }
        Ok(settings)
    }

    /// Whether several git processes may fill a folder at the same time.
    pub(crate) fn allows_parts(&self) -> bool {
        // On a file system that ignores case, one process may create a folder and another a link
        // whose name differs only in case.
        let is_folding = self.core.iter().any(|it| it.0 == "ignorecase" && it.1 != "false");
        !is_folding && !self.has_filters
    }

    /// The user's excludes that are outside of the tree: of the repository and of the user.
    pub(crate) fn excludes(&self, user: &Repository) -> Result<Vec<u8>, FileError> {
        let own = user.common_dir().join("info/exclude");
        let mut lines = Vec::new();
        for path in self.excludes_file.iter().chain([&own]) {
            lines.extend(files::read_if_there(path)?.unwrap_or_default());
            if !lines.is_empty() && !lines.ends_with(b"\n") {
                lines.push(b'\n');
            }
        }
        Ok(lines)
    }
}

/// Expands a path like git does in its settings.
fn expand(user: &Repository, value: &str) -> PathBuf {
    match (value.strip_prefix("~/"), user.git().home()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => user.root().join(Path::new(value)),
    }
}

#[cfg(test)]
mod tests {
    use crate::lab::Lab;

    /// A program that changes files is started by one git at a time, unless it is known to be safe.
    #[test]
    fn filtered_files_are_filled_by_one_git() {
        let lab = Lab::new();
        assert!(lab.vault().settings.allows_parts());
        lab.git(&["config", "filter.lfs.process", "git-lfs filter-process"]);
        assert!(lab.vault().settings.allows_parts());
        lab.git(&["config", "filter.own.smudge", "sed s/a/b/"]);
        assert!(!lab.vault().settings.allows_parts());
        lab.git(&["config", "--unset", "filter.own.smudge"]);
        lab.git(&["config", "core.ignorecase", "true"]);
        assert!(!lab.vault().settings.allows_parts());
    }
}
