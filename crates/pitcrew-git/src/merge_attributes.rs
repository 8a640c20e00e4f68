//! The `.gitattributes` files of a commit, as files. A merge in a bare repository reads no others.
//!
//! They choose which of git's built-in drivers merges a file, as in `CHANGES merge=union`. A newer
//! git could read them from the commit (`--attr-source`, 2.41). Every git reads them from the
//! working tree of a merge, so a folder with only these files has the same effect.

use crate::{
    Vault,
    changes::{Change, MODE_LINK, MODE_NONE, MODE_REPOSITORY, PLAIN_DIFF},
    error::{GitError, VaultError},
    files::{self, TemporaryFolder},
    gate::read_objects,
};
use pitcrew_model::CommitId;
use pitcrew_process::Cancel;
use sha1::{Digest, Sha1};
use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fmt::Write,
    os::unix::ffi::OsStrExt,
    path::{Component, Path, PathBuf},
    sync::{Mutex, PoisonError},
};

const EVERYWHERE: &str = ":(glob)**/.gitattributes";

/// The attribute files of the last tree. The next tree is compared with it, because reading all of
/// a large tree takes much longer than most merges.
#[derive(Debug, Default)]
pub(crate) struct MergeAttributes(Mutex<Listing>);

#[derive(Debug, Default)]
struct Listing {
    /// `None` before the first tree is read.
    tree: Option<String>,
    /// The object at each path.
    files: BTreeMap<Vec<u8>, String>,
}

impl Vault {
    /// A folder that contains only the attribute files of a commit, at their paths. It exists while
    /// the vault is open, and never changes.
    pub(crate) fn merge_attributes(
        &self,
        commit: &CommitId,
        cancel: &Cancel,
    ) -> Result<PathBuf, VaultError> {
        let tree = self.tree(commit, cancel)?;
        let mut listing = self.merge_attributes.0.lock().unwrap_or_else(PoisonError::into_inner);
        self.list(&mut listing, tree, cancel)?;
        let folder = self.layout.scratch.join("attributes");
        let path = folder.join(listing.name());
        if !files::is_folder(&path) {
            let new = TemporaryFolder::new(&folder, "new")?;
            self.write_attributes(&listing, new.path(), cancel)?;
            files::rename(new.path(), &path)?;
        }
        Ok(path)
    }

    fn list(&self, listing: &mut Listing, tree: String, cancel: &Cancel) -> Result<(), GitError> {
        if listing.tree.as_ref() == Some(&tree) {
            return Ok(());
        }
        let before = match &listing.tree {
            Some(before) => before.clone(),
            None => self.call("hash-object").args(["-t", "tree", "--stdin"]).line(cancel)?,
        };
        let call = self.foreign("diff-tree").args(PLAIN_DIFF).args(["--raw", &before, &tree]);
        for Change { mode_after, object, path, .. } in
            call.args(["--", EVERYWHERE]).changes(cancel)?
        {
            if [MODE_NONE, MODE_LINK, MODE_REPOSITORY].contains(&mode_after.as_str()) {
                listing.files.remove(&path);
            } else {
                listing.files.insert(path, object);
            }
        }
        listing.tree = Some(tree);
        Ok(())
    }

    fn write_attributes(
        &self,
        listing: &Listing,
        place: &Path,
        cancel: &Cancel,
    ) -> Result<(), VaultError> {
        if listing.files.is_empty() {
            return Ok(());
        }
        let names: String = listing.files.values().flat_map(|it| [it, "\n"]).collect();
        let call = self.foreign("cat-file").args(["--batch", "--buffer"]).stdin(names);
        let answer = call.finish(cancel)?;
        if !answer.finished.success() {
            return Err(answer.error().into());
        }
        let contents = read_objects(&answer, listing.files.len())?;
        for (path, content) in listing.files.keys().zip(contents) {
            let path = Path::new(OsStr::from_bytes(path));
            // The user's history may contain names that git rejects today.
            if path.components().all(|it| matches!(it, Component::Normal(_))) {
                let path = place.join(path);
                files::create_folder(path.parent().expect("it is below the place"))?;
                files::write(&path, content)?;
            }
        }
        Ok(())
    }
}

impl Listing {
    /// A name that depends only on the files.
    fn name(&self) -> String {
        let mut sum = Sha1::new();
        for (path, object) in &self.files {
            sum.update(path);
            sum.update([0]);
            sum.update(object);
            sum.update([0]);
        }
        sum.finalize().iter().fold(String::new(), |mut name, byte| {
            write!(name, "{byte:02x}").expect("a string takes everything");
            name
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::lab::{Lab, below};
    use std::{fs, os::unix::fs::symlink, path::Path};

    fn listed(folder: &Path) -> Vec<(String, String)> {
        let text = |it: &[u8]| String::from_utf8_lossy(it).into_owned();
        let files = below(folder).into_iter().filter(|it| it.1.0 & 0o170_000 == 0o100_000);
        files.map(|(path, (_, bytes))| (path.display().to_string(), text(&bytes))).collect()
    }

    #[test]
    fn each_commit_has_separate_attribute_files() {
        let lab = Lab::new();
        let plain = lab.rev("HEAD");
        lab.write(".gitattributes", "a merge=union\n");
        lab.write("core/deep/.gitattributes", "b merge=union\n");
        fs::create_dir(lab.user.join("linked")).expect("a folder");
        symlink("../.gitattributes", lab.user.join("linked/.gitattributes")).expect("a link");
        let first = lab.commit("attributes");
        lab.git(&["rm", "--quiet", ".gitattributes"]);
        lab.write("core/deep/.gitattributes", "c merge=union\n");
        let second = lab.commit("others");
        lab.write("api/lib.rs", "pub fn other() {}\n");
        let third = lab.commit("none changed");
        let vault = lab.vault();
        let files = |commit| {
            let path = vault.merge_attributes(commit, &lab.cancel).expect("a folder");
            (listed(&path), path)
        };
        let pair = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        let expected = [
            pair(".gitattributes", "a merge=union\n"),
            pair("core/deep/.gitattributes", "b merge=union\n"),
        ];
        let (found, folder) = files(&first);
        assert_eq!(found, expected);
        assert_eq!(files(&plain).0, []);
        let (found, other) = files(&second);
        assert_eq!(found, [pair("core/deep/.gitattributes", "c merge=union\n")]);
        assert_eq!(files(&third).1, other, "they are the same files");
        assert_eq!(files(&first).1, folder);
    }
}
