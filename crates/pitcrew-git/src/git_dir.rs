//! Creates the `.git` folder of a checkout without running git.
//!
//! `git init` and `git clone` would need one process each and create templates, remotes and copied
//! refs that an agent does not need.

use crate::{error::FileError, files, settings::Settings};
use pitcrew_model::CommitId;
use std::{
    fmt::Write,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

/// The author of commits that are not the user's.
pub(crate) const WORKER: Identity<'static> =
    Identity { name: "Pitcrew worker", email: "worker@pitcrew.invalid" };
pub(crate) const PITCREW: Identity<'static> =
    Identity { name: "Pitcrew", email: "pitcrew@pitcrew.invalid" };

#[derive(Clone, Copy)]
pub(crate) struct Identity<'a> {
    pub(crate) name: &'a str,
    pub(crate) email: &'a str,
}

impl Identity<'_> {
    pub(crate) fn env(self) -> [(&'static str, String); 4] {
        [
            ("GIT_AUTHOR_NAME", self.name.into()),
            ("GIT_AUTHOR_EMAIL", self.email.into()),
            ("GIT_COMMITTER_NAME", self.name.into()),
            ("GIT_COMMITTER_EMAIL", self.email.into()),
        ]
    }
}

/// The contents of a new `.git` folder.
pub(crate) struct GitDir<'a> {
    pub(crate) branch: &'a str,
    /// The commit that the branch points to.
    pub(crate) commit: &'a CommitId,
    /// Objects folders to borrow from.
    pub(crate) objects: &'a [PathBuf],
    pub(crate) settings: &'a Settings,
    pub(crate) exclude: &'a [u8],
}

impl GitDir<'_> {
    pub(crate) fn write(&self, path: &Path) -> Result<(), FileError> {
        let branch = path.join("refs/heads").join(self.branch);
        files::create_folder(branch.parent().expect("a branch is below refs/heads"))?;
        files::create_folder(&path.join("objects/info"))?;
        files::create_folder(&path.join("objects/pack"))?;
        files::create_folder(&path.join("info"))?;
        files::write(&branch, format!("{}\n", self.commit))?;
        files::write(&path.join("HEAD"), format!("ref: refs/heads/{}\n", self.branch))?;
        files::write(&path.join("config"), self.config())?;
        files::write(&path.join("objects/info/alternates"), alternates(self.objects))?;
        files::write(&path.join("info/exclude"), self.exclude)
    }

    fn config(&self) -> String {
        let is_sha256 = self.commit.0.len() == 64;
        let mut text = format!("[core]\n\trepositoryformatversion = {}\n", u8::from(is_sha256));
        text.push_str("\tbare = false\n\tlogAllRefUpdates = true\n\tfilemode = true\n");
        for (name, value) in &self.settings.core {
            writeln!(text, "\t{name} = {value}").expect("a string takes everything");
        }
        text.push_str("\thooksPath = /dev/null\n\tfsmonitor = false\n");
        if is_sha256 {
            text.push_str("[extensions]\n\tobjectFormat = sha256\n");
        }
        let Identity { name, email } = WORKER;
        writeln!(text, "[user]\n\tname = {name}\n\temail = {email}")
            .expect("a string takes everything");
        text.push_str("[commit]\n\tgpgSign = false\n[tag]\n\tgpgSign = false\n");
        text.push_str("[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n");
        text
    }
}

/// The content of the file that names further objects folders.
pub(crate) fn alternates(folders: &[PathBuf]) -> Vec<u8> {
    let mut text = Vec::new();
    for folder in folders {
        let bytes = folder.as_os_str().as_bytes();
        if bytes.contains(&b'\n') {
            text.push(b'"');
            for byte in bytes {
                match byte {
                    b'\n' => text.extend_from_slice(b"\\n"),
                    b'"' | b'\\' => text.extend_from_slice(&[b'\\', *byte]),
                    other => text.push(*other),
                }
            }
            text.push(b'"');
        } else {
            text.extend_from_slice(bytes);
        }
        text.push(b'\n');
    }
    text
}

/// A line for an exclude file that matches exactly this path of the repository.
pub(crate) fn exclude_line(path: &[u8]) -> Vec<u8> {
    let mut line = vec![b'/'];
    for byte in path {
        match byte {
            b'\\' | b'*' | b'?' | b'[' | b' ' | b'!' | b'#' => {
                line.extend_from_slice(&[b'\\', *byte]);
            }
            // A line cannot contain a line feed, and `?` matches any character.
            b'\n' => line.push(b'?'),
            other => line.push(*other),
        }
    }
    line.push(b'\n');
    line
}
