//! A commit of the user's uncommitted work, made without touching their index, tree or HEAD.

use crate::{
    Vault,
    changes::{Change, MODE_NONE},
    error::{GitError, VaultError},
    files::{self, TemporaryFolder},
    git::Call,
    git_dir::{PITCREW, alternates},
    uncommitted::Judge,
};
use pitcrew_model::{CommitId, LeftBehind, RepoPath, SecretFile, limits};
use pitcrew_process::Cancel;
use std::{ffi::OsStr, fs, os::unix::ffi::OsStrExt, path::Path};

/// The user's uncommitted work.
#[derive(Default)]
pub(crate) struct UserSnapshot {
    /// A commit on top of the tip. Its objects are in the vault. `None` if nothing is taken along.
    pub(crate) commit: Option<CommitId>,
    pub(crate) changes: Vec<Change>,
    pub(crate) left_behind: LeftBehind,
    pub(crate) notes: Vec<String>,
}

impl UserSnapshot {
    /// Whether there is no uncommitted work.
    pub(crate) fn is_clean(&self) -> bool {
        self.changes.is_empty() && self.left_behind.is_none()
    }
}

/// The user's tree, read with a separate index and objects folder.
struct View<'a> {
    vault: &'a Vault,
    folder: TemporaryFolder,
    cancel: &'a Cancel,
}

impl Vault {
    /// Commits the user's working tree on top of `tip`, except for files that look like secrets and
    /// that `include` does not name.
    pub(crate) fn snapshot_user(
        &self,
        tip: &CommitId,
        include: &[RepoPath],
        cancel: &Cancel,
    ) -> Result<UserSnapshot, VaultError> {
        let folder = TemporaryFolder::new(&self.layout.scratch, "user")?;
        let view = View { vault: self, folder, cancel };
        view.prepare()?;
        let mut notes = Vec::new();
        let unmerged = view.unmerged()?;
        if !unmerged.is_empty() {
            notes.push(format!(
                "these paths are unmerged and go in with their conflict markers: {}",
                listed(&unmerged)
            ));
        }
        view.add_all(&mut notes)?;
        let changes = view.drop_embedded(tip, &mut notes)?;
        let (changes, left_behind) = view.leave_secrets(changes, tip, include)?;
        let commit = if changes.is_empty() { None } else { Some(view.commit(tip)?) };
        Ok(UserSnapshot { commit, changes, left_behind, notes })
    }
}

impl View<'_> {
    fn prepare(&self) -> Result<(), VaultError> {
        let info = self.folder.path().join("objects/info");
        files::create_folder(&info)?;
        let folders = [self.vault.user.common_dir().join("objects"), self.vault.objects()];
        files::write(&info.join("alternates"), alternates(&folders))?;
        let index = self.vault.user.git_dir().join("index");
        if files::is_there(&index) {
            // Keeps the times of the index, because git treats a file as unchanged only if it is
            // older than the index.
            files::copy_with_times(&index, &self.index())?;
        }
        Ok(())
    }

    fn index(&self) -> std::path::PathBuf {
        self.folder.path().join("index")
    }

    fn call(&self, command: &'static str) -> Call<'static> {
        self.vault
            .user
            .call(command)
            .config("core.splitIndex=false")
            .config("advice.addEmbeddedRepo=false")
            .config("core.bigFileThreshold=16m")
            .env("GIT_INDEX_FILE", self.index())
            .env("GIT_OBJECT_DIRECTORY", self.folder.path().join("objects"))
    }

    fn unmerged(&self) -> Result<Vec<String>, GitError> {
        let output = self.call("ls-files").args(["-z", "--unmerged"]).output(self.cancel)?;
        let mut paths: Vec<String> = split(&output)
            .filter_map(|it| it.splitn(2, |byte| *byte == b'\t').nth(1))
            .map(|it| String::from_utf8_lossy(it).into_owned())
            .collect();
        paths.dedup();
        Ok(paths)
    }

    /// Adds everything to the index except untracked files that are too large for any attempt.
    fn add_all(&self, notes: &mut Vec<String>) -> Result<(), GitError> {
        let untracked = self
            .call("ls-files")
            .args(["-z", "--others", "--exclude-standard"])
            .output(self.cancel)?;
        let mut paths = b":/\0".to_vec();
        for path in split(&untracked).filter(|it| self.is_large(it)) {
            paths.extend_from_slice(b":(top,exclude,literal)");
            paths.extend_from_slice(path);
            paths.push(0);
            notes.push(format!(
                "left out: {} is untracked and larger than {} MiB",
                String::from_utf8_lossy(path),
                limits::BLOB_BYTES_MAX / (1_024 * 1_024)
            ));
        }
        let answer = self
            .call("add")
            .args(["--all", "--ignore-errors", "--pathspec-from-file=-", "--pathspec-file-nul"])
            .stdin(paths)
            .finish(self.cancel)?;
        match answer.finished.code {
            Some(0) => {}
            // Some files could not be read. Everything else was added.
            Some(1) => notes.extend(
                answer
                    .stderr()
                    .lines()
                    .filter_map(|it| it.strip_prefix("error: "))
                    .map(|it| format!("left out: {it}")),
            ),
            _ => return Err(answer.error()),
        }
        Ok(())
    }

    fn is_large(&self, path: &[u8]) -> bool {
        let path = self.vault.user.root().join(Path::new(OsStr::from_bytes(path)));
        fs::symlink_metadata(path).is_ok_and(|it| it.is_file() && it.len() > limits::BLOB_BYTES_MAX)
    }

    /// The changes relative to `tip`, without nested repositories that are not submodules.
    fn drop_embedded(
        &self,
        tip: &CommitId,
        notes: &mut Vec<String>,
    ) -> Result<Vec<Change>, VaultError> {
        let (embedded, changes): (Vec<Change>, Vec<Change>) = self
            .call("diff-index")
            .args(["--cached", "--raw", "-z", "--no-abbrev", "--no-renames", &tip.0, "--"])
            .changes(self.cancel)?
            .into_iter()
            .partition(Change::embeds_repository);
        if embedded.is_empty() {
            return Ok(changes);
        }
        let mut paths = Vec::new();
        for change in &embedded {
            paths.extend_from_slice(&change.path);
            paths.push(0);
            notes.push(format!("left out: {} is a repository of its own", change.path_text()));
        }
        self.call("update-index")
            .args(["-z", "--force-remove", "--stdin"])
            .stdin(paths)
            .done(self.cancel)?;
        Ok(changes)
    }

    /// Restores the committed state of files that look like secrets. Returns the other changes.
    fn leave_secrets(
        &self,
        changes: Vec<Change>,
        tip: &CommitId,
        include: &[RepoPath],
    ) -> Result<(Vec<Change>, LeftBehind), VaultError> {
        let mut judge = Judge::new(&self.vault.user, include);
        let (mut kept, mut left_behind) = (Vec::new(), LeftBehind::default());
        let mut restored = Vec::new();
        for change in changes {
            let path = change.path_text();
            let base = (change.mode_before != MODE_NONE).then_some(tip.0.as_str());
            let is_judged = change.mode_after != MODE_NONE && !judge.is_named(&path);
            let sign = is_judged.then(|| judge.sign(&change.path, base, self.cancel)).flatten();
            let Some(sign) = sign else {
                kept.push(change);
                continue;
            };
            restored.extend(format!("{} {}\t", change.mode_before, change.object_before).bytes());
            restored.extend_from_slice(&change.path);
            restored.push(0);
            left_behind.count += 1;
            if left_behind.files.len() < limits::FILES_LISTED_MAX {
                left_behind.files.push(SecretFile { path, sign: sign.into() });
            }
        }
        if !restored.is_empty() {
            self.call("update-index")
                .args(["-z", "--index-info"])
                .stdin(restored)
                .done(self.cancel)?;
        }
        Ok((kept, left_behind))
    }

    fn commit(&self, tip: &CommitId) -> Result<CommitId, GitError> {
        let tree = self.call("write-tree").line(self.cancel)?;
        let mut call = self.call("commit-tree").args([tree.as_str(), "-p", &tip.0]);
        for (name, value) in PITCREW.env() {
            call = call.env(name, value);
        }
        let commit = call.stdin("Uncommitted work of the user\n").object(self.cancel)?;
        // One pack has all objects, including those of staged changes, which only the user's
        // repository has.
        self.call("pack-objects")
            .config("core.fsync=all")
            .args(["--quiet", "--revs", "--window=0"])
            .arg(self.vault.objects().join("pack/pack"))
            .stdin(format!("{commit}\n^{tip}\n"))
            .done(self.cancel)?;
        Ok(commit)
    }
}

fn split(output: &[u8]) -> impl Iterator<Item = &[u8]> {
    output.split(|it| *it == 0).filter(|it| !it.is_empty())
}

/// Formats the first few of many names.
pub(crate) fn listed(names: &[String]) -> String {
    const SHOWN_MAX: usize = 10;
    let shown = names.iter().take(SHOWN_MAX).cloned().collect::<Vec<_>>().join(", ");
    match names.len().checked_sub(SHOWN_MAX) {
        None | Some(0) => shown,
        Some(more) => format!("{shown} and {more} more"),
    }
}
