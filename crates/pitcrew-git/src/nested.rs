//! Includes the files of nested repositories in a snapshot.
//!
//! git records a nested repository only as a commit name. Its files would be lost with the
//! checkout, so each nested repository is read as a separate tree that replaces its entry.

use crate::{
    changes::{Change, parse_raw},
    error::{GitError, VaultError},
    files,
    snapshot::Snapshot,
    steps::{Added, Step, left_out, unread},
};
use std::{
    ffi::OsStr,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

const NESTED_MAX: usize = 1_000;

impl Snapshot<'_> {
    /// Returns whether there were any.
    pub(crate) fn flatten_nested(&mut self) -> Result<bool, VaultError> {
        let listed = self.written(Step::Nested)?;
        let changes = parse_raw(&listed).ok_or_else(|| self.unreadable(Step::Nested))?;
        let mut open: Vec<PathBuf> = changes
            .iter()
            .filter(|it| it.embeds_repository())
            .map(|it: &Change| PathBuf::from(OsStr::from_bytes(&it.path)))
            .chain(self.left_out.drain(..).map(PathBuf::from))
            .collect();
        let mut taken = 0;
        while let Some(path) = open.pop() {
            taken += 1;
            if taken > NESTED_MAX || !files::is_folder(&self.source.path.join(&path)) {
                self.left_out.push(path.to_string_lossy().into_owned());
                continue;
            }
            open.extend(self.flatten(&path)?);
        }
        Ok(taken > 0)
    }

    /// Replaces the entry of one repository with its files. Returns the repositories inside it.
    fn flatten(&mut self, path: &Path) -> Result<Vec<PathBuf>, GitError> {
        let place = self.source.path.join(path);
        let index = self.folder.path().join("nested-index");
        let call = |command| self.call_in(&place, command).env("GIT_INDEX_FILE", &index);
        std::fs::remove_file(&index).ok();
        let added =
            call("add").args(["--all", "--ignore-errors", "--", "."]).finish(self.cancel)?;
        if !matches!(added.finished.code, Some(0 | 1)) {
            return Err(added.error());
        }
        let staged = call("ls-files").args(["-z", "--stage"]).output(self.cancel)?;
        let ended = if added.finished.code == Some(1) { Added::InPart } else { Added::All };
        let stderr = added.stderr();
        let mut inner: Vec<PathBuf> =
            left_out(&stderr, ended).into_iter().map(|it| path.join(it)).collect();
        let unread = unread(&stderr, ended, self.source.agent).into_iter();
        let unread: Vec<String> =
            unread.map(|it| path.join(it).to_string_lossy().into_owned()).collect();
        let mut entries = Vec::new();
        let mut zero = vec![b'0'; self.source.start.0.len()];
        zero.push(b'\t');
        // Removes the entry of the commit, which the files below it replace.
        entries.extend_from_slice(b"0 ");
        entries.extend_from_slice(&zero);
        entries.extend_from_slice(path.as_os_str().as_bytes());
        entries.push(0);
        for entry in staged.split(|it| *it == 0).filter(|it| !it.is_empty()) {
            let Some(tab) = entry.iter().position(|it| *it == b'\t') else { continue };
            let full = path.join(OsStr::from_bytes(&entry[tab + 1..]));
            if entry.starts_with(b"160000") {
                inner.push(full);
                continue;
            }
            entries.extend_from_slice(&entry[..=tab]);
            entries.extend_from_slice(full.as_os_str().as_bytes());
            entries.push(0);
        }
        self.call("update-index").args(["-z", "--index-info"]).stdin(entries).done(self.cancel)?;
        self.unread.extend(unread);
        Ok(inner)
    }
}
