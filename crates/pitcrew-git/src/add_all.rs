//! Adds a tree to an index while an agent may be writing to it.

use crate::{
    error::{GitError, GitErrorKind, VaultError},
    files,
    snapshot::Snapshot,
    steps::Step,
};

/// How many times a tree is read if files change while git reads it.
const LOOKS_MAX: usize = 8;

/// The signal that ends git if a file is truncated while git has it mapped.
const SIGBUS: i32 = 7;

impl Snapshot<'_> {
    /// Runs the steps, the first of which adds everything but the given paths to the index.
    ///
    /// A file that disappears while git reads it is excluded, because git stops at the first such
    /// file.
    pub(crate) fn add_all(
        &mut self,
        without: &[Vec<u8>],
        steps: &[Step],
    ) -> Result<(), VaultError> {
        let mut without = without.to_vec();
        for _ in 1..LOOKS_MAX {
            self.name_paths(&without)?;
            match self.take(steps) {
                Err(VaultError::Git(error)) => match moved_under(&error) {
                    Some(Moved::Path(path)) => without.push(path),
                    Some(Moved::Something) => {}
                    None => return Err(error.into()),
                },
                taken => return taken,
            }
        }
        self.name_paths(&without)?;
        self.take(steps)
    }

    fn name_paths(&self, without: &[Vec<u8>]) -> Result<(), VaultError> {
        let mut paths = b":/\0".to_vec();
        for path in without {
            paths.extend_from_slice(b":(top,exclude,literal)");
            paths.extend_from_slice(path);
            paths.push(0);
        }
        Ok(files::write_below(self.folder.path(), "paths", paths)?)
    }
}

/// A change of the tree while git read it.
#[derive(Debug, PartialEq, Eq)]
enum Moved {
    Path(Vec<u8>),
    Something,
}

fn moved_under(error: &GitError) -> Option<Moved> {
    if error.command != "add" {
        return None;
    }
    if let GitErrorKind::Exit { signal: Some(SIGBUS), .. } = &error.kind {
        return Some(Moved::Something);
    }
    let GitErrorKind::Exit { code: Some(128), stderr, .. } = &error.kind else { return None };
    stderr.lines().find_map(|line| {
        let words = line.strip_prefix("fatal: ")?;
        let gone = words.strip_prefix("unable to stat '").and_then(|it| {
            it.strip_suffix("': No such file or directory")
                .or_else(|| it.strip_suffix("': Not a directory"))
        });
        match gone {
            Some(path) => Some(Moved::Path(path.as_bytes().to_vec())),
            None => (words.contains("unstable object source data")
                || words.contains("No such file or directory")
                || words.contains("short read"))
            .then_some(Moved::Something),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moved(stderr: &str) -> Option<Moved> {
        let kind = GitErrorKind::Exit { code: Some(128), signal: None, stderr: stderr.into() };
        moved_under(&GitError { command: "add", place: "/".into(), kind })
    }

    #[test]
    fn only_concurrent_changes_are_retried() {
        let gone = "warning: x\nfatal: unable to stat 'a/b c': No such file or directory\n";
        assert_eq!(moved(gone), Some(Moved::Path(b"a/b c".to_vec())));
        let unstable = "fatal: confused by unstable object source data for 1234\n";
        assert_eq!(moved(unstable), Some(Moved::Something));
        assert_eq!(moved("fatal: not a git repository: '/x'\n"), None);
        assert_eq!(moved("fatal: unable to write new index file\n"), None);
    }
}
