//! Fills the submodules of a checkout: nested clones that borrow from bare repositories, which have
//! only the commits that checkouts needed.

use crate::{
    Vault,
    base_store::{Store, init_bare},
    error::{GitError, VaultError, chain},
    files,
    git_dir::GitDir,
    vault::fetch_commit,
};
use pitcrew_model::CommitId;
use pitcrew_process::{Cancel, Policy};
use std::{
    fmt::Write,
    path::{Component, Path, PathBuf},
};

/// The nesting limit of submodules, because a repository may contain itself.
const PATH_PARTS_MAX: usize = 32;

/// The result of filling the submodules.
#[derive(Debug, Default)]
pub(crate) struct Submodules {
    /// The paths that were filled.
    pub(crate) filled: Vec<String>,
    pub(crate) notes: Vec<String>,
}

/// A repository whose submodules are filled: its checkout and the user's tree.
struct Outer {
    checkout: PathBuf,
    user_tree: PathBuf,
    user_git_dir: PathBuf,
    /// The path relative to the outermost repository.
    path: String,
}

struct Module {
    name: String,
    path: String,
    commit: CommitId,
}

impl Vault {
    /// Fills every submodule that the user has on this machine. The others stay empty, with a note.
    pub(crate) fn fill_submodules(
        &self,
        checkout: &Path,
        store: &Store,
        policy: &Policy,
        cancel: &Cancel,
    ) -> Result<Submodules, VaultError> {
        let mut result = Submodules::default();
        let mut open = vec![Outer {
            checkout: checkout.to_owned(),
            user_tree: self.user.root().to_owned(),
            user_git_dir: self.user.common_dir().to_owned(),
            path: String::new(),
        }];
        while let Some(outer) = open.pop() {
            if !files::is_there(&outer.checkout.join(".gitmodules")) {
                continue;
            }
            for module in self.list_modules(&outer.checkout, policy, cancel)? {
                let path = join(&outer.path, &module.path);
                match self.fill(&outer, &module, &path, store, policy, cancel) {
                    Ok(inner) => {
                        result.filled.push(path);
                        if inner.path.split('/').count() < PATH_PARTS_MAX {
                            open.push(inner);
                        }
                    }
                    Err(reason) => {
                        result.notes.push(format!("submodule {path} is left empty: {reason}"));
                    }
                }
            }
        }
        Ok(result)
    }

    fn fill(
        &self,
        outer: &Outer,
        module: &Module,
        path: &str,
        store: &Store,
        policy: &Policy,
        cancel: &Cancel,
    ) -> Result<Outer, String> {
        let source = source_of(outer, module)
            .ok_or("it is not on this machine; `git submodule update --init --recursive`")?;
        let folder = outer.checkout.join(&module.path);
        if !files::is_folder(&folder) {
            return Err("there is no folder for it".into());
        }
        let store = store.modules().join(format!("{}.git", plain(path)));
        self.fill_from(&source, &folder, module, &store, policy, cancel)
            .map_err(|error| chain(&error))?;
        Ok(Outer {
            checkout: folder,
            user_tree: outer.user_tree.join(&module.path),
            user_git_dir: source,
            path: path.to_owned(),
        })
    }

    fn fill_from(
        &self,
        source: &Path,
        folder: &Path,
        module: &Module,
        store: &Path,
        policy: &Policy,
        cancel: &Cancel,
    ) -> Result<(), VaultError> {
        {
            let _exchange = self.exchange.lock().expect("no holder of the lock panics");
            if !files::is_there(&store.join("HEAD")) {
                init_bare(&self.git, store, &module.commit, cancel)?;
            }
            let there = self
                .git
                .ours(store, "cat-file")
                .git_dir(store)
                .args(["-e", &format!("{}^{{commit}}", module.commit)])
                .finish(cancel)?;
            if !there.finished.success() {
                let to = format!("refs/pitcrew/commits/{}", module.commit);
                let call = self.git.ours(store, "fetch").git_dir(store);
                fetch_commit(call, source, &module.commit, &to, cancel)?;
            }
        }
        let objects = [store.join("objects")];
        GitDir {
            branch: "pitcrew",
            commit: &module.commit,
            objects: &objects,
            settings: &self.settings,
            exclude: b"",
        }
        .write(&folder.join(".git"))?;
        self.git
            .confined(policy, folder, "read-tree")
            .args(["-u", "--reset", &module.commit.0])
            .done(cancel)?;
        Ok(())
    }

    /// The submodules that are in both the checkout's index and `.gitmodules`.
    fn list_modules(
        &self,
        checkout: &Path,
        policy: &Policy,
        cancel: &Cancel,
    ) -> Result<Vec<Module>, GitError> {
        let names = self
            .git
            .confined(policy, checkout, "config")
            .args(["-z", "--file", ".gitmodules", "--get-regexp", "^submodule\\..*\\.path$"])
            .finish(cancel)?;
        let names = String::from_utf8_lossy(&names.finished.stdout).into_owned();
        let entries = self
            .git
            .confined(policy, checkout, "ls-files")
            .args(["-z", "--stage"])
            .output(cancel)?;
        let entries = String::from_utf8_lossy(&entries).into_owned();
        Ok(entries
            .split('\0')
            .filter_map(|it| it.strip_prefix("160000 ")?.split_once(" 0\t"))
            .filter_map(|(commit, path)| {
                let name = names.split('\0').find_map(|it| {
                    let (key, value) = it.split_once('\n')?;
                    let name = key.strip_prefix("submodule.")?.strip_suffix(".path")?;
                    (value == path).then(|| name.to_owned())
                })?;
                Some(Module { name, path: path.to_owned(), commit: CommitId(commit.to_owned()) })
            })
            .collect())
    }
}

/// The user's git folder of a submodule.
fn source_of(outer: &Outer, module: &Module) -> Option<PathBuf> {
    let name = Path::new(&module.name);
    let is_plain = name.components().all(|it| matches!(it, Component::Normal(_)));
    let absorbed = outer.user_git_dir.join("modules").join(name);
    let own = outer.user_tree.join(&module.path).join(".git");
    [absorbed, own].into_iter().find(|it| is_plain && files::is_there(&it.join("HEAD")))
}

fn join(outer: &str, path: &str) -> String {
    if outer.is_empty() { path.to_owned() } else { format!("{outer}/{path}") }
}

/// Converts a path to a single folder name.
fn plain(path: &str) -> String {
    path.bytes().fold(String::new(), |mut name, byte| {
        if byte.is_ascii_alphanumeric() || byte == b'-' {
            name.push(char::from(byte));
        } else {
            write!(name, "_{byte:02x}").expect("a string takes everything");
        }
        name
    })
}
