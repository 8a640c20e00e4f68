//! Pitcrew's bare repository, through which all commits pass between the agents' checkouts and the
//! user's repository.
//!
//! It has separate objects, hard-linked if the file system supports it, so that nothing the user
//! does to their repository can remove objects from it. The vault never deletes an object.

use crate::{
    Git, Layout, Repository,
    base_store::Stores,
    error::{FileError, GitError, GitErrorKind, VaultError},
    files,
    fill_ahead::AllAhead,
    gate::ConfigFiles,
    git::Call,
    known::{Known, KnownCommits},
    merge_attributes::MergeAttributes,
    records::Records,
    settings::Settings,
    shared_settings,
    sweep::{self, sweep},
};
use pitcrew_model::{AttemptId, CommitId, folded_name};
use pitcrew_process::Cancel;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

pub(crate) const CONFIG: &str = "\
[gc]
	auto = 0
	pruneExpire = never
[maintenance]
	auto = false
[receive]
	autogc = false
[transfer]
	fsckObjects = true
[core]
	logAllRefUpdates = always
	fsync = all
	fsyncMethod = batch
	filesRefLockTimeout = 5000
	packedRefsTimeout = 5000
";

/// The vault of one workspace.
#[derive(Debug)]
pub struct Vault {
    pub(crate) git: Git,
    pub(crate) user: Repository,
    pub(crate) layout: Layout,
    pub(crate) settings: Settings,
    /// Held while commits are copied from or to the user's repository.
    pub(crate) exchange: Mutex<()>,
    /// Held while packs are combined.
    pub(crate) gathering: Mutex<()>,
    /// Held while git changes refs of the vault.
    pub(crate) refs: Mutex<()>,
    /// One lock for each attempt with reading sub-tasks, held while their checkouts change.
    pub(crate) pools: Mutex<BTreeMap<AttemptId, Arc<Mutex<()>>>>,
    /// The checkouts that are filled before they are ordered.
    pub(crate) ahead: Mutex<AllAhead>,
    /// Held while people's copies of work change.
    pub(crate) copying: Mutex<()>,
    pub(crate) known: KnownCommits,
    pub(crate) merge_attributes: MergeAttributes,
    /// Configuration files that the gate allows only if a region names them, in addition to the
    /// gate's own table.
    pub(crate) config_files: ConfigFiles,
    /// The stores that checkouts borrow from. `None` until the list is read.
    pub(crate) stores: Mutex<Option<Stores>>,
}

impl Vault {
    /// Opens the vault, or creates it from the user's repository if there is none.
    ///
    /// Must be called once per process, when no git of an earlier process is running. Removes
    /// unfinished files and locks of earlier processes, including locks in the user's repository
    /// that a note marks as Pitcrew's.
    pub fn open_or_create(
        user: Repository,
        layout: &Layout,
        cancel: &Cancel,
    ) -> Result<Self, VaultError> {
        let layout = Layout {
            vault: absolute(&layout.vault)?,
            checkouts: absolute(&layout.checkouts)?,
            scratch: absolute(&layout.scratch)?,
        };
        files::remove_folder(&layout.scratch)?;
        files::create_private_folder(&layout.scratch)?;
        if files::is_folder(&layout.checkouts) {
            // An earlier version gave other users access.
            files::create_private_folder(&layout.checkouts)?;
        }
        let settings = Settings::read(&user, cancel)?;
        shared_settings::share(&user, &layout.git_settings(), cancel)?;
        let git = user.git().clone().with_settings(&layout.git_settings());
        let vault = Self {
            git,
            user,
            layout,
            settings,
            exchange: Mutex::new(()),
            gathering: Mutex::new(()),
            refs: Mutex::new(()),
            pools: Mutex::default(),
            ahead: Mutex::default(),
            copying: Mutex::new(()),
            known: KnownCommits::default(),
            merge_attributes: MergeAttributes::default(),
            config_files: ConfigFiles::new(),
            stores: Mutex::default(),
        };
        if !files::is_there(&vault.layout.vault.join("HEAD")) {
            clone_bare(&vault.git, vault.user.common_dir(), &vault.layout.vault, cancel)?;
        }
        sweep(&vault.layout.vault);
        vault.sweep_modules();
        vault.sweep_ahead();
        vault.sweep_stores()?;
        vault.remove_user_locks();
        Ok(vault)
    }

    /// Adds the configuration files of each backend. The gate allows changes to them only if a
    /// region names them.
    #[must_use]
    pub fn guarding(mut self, backends: impl IntoIterator<Item = (String, Vec<String>)>) -> Self {
        let folded = |it: &String| it.split('/').map(folded_name).collect::<Vec<_>>().join("/");
        let backends = backends.into_iter();
        self.config_files =
            backends.map(|(name, files)| (name, files.iter().map(folded).collect())).collect();
        self
    }

    /// The folders that the vault uses.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    pub fn user(&self) -> &Repository {
        &self.user
    }

    pub(crate) fn call(&self, command: &'static str) -> Call<'static> {
        self.git.ours(&self.layout.vault, command).git_dir(&self.layout.vault)
    }

    /// A command that reads objects of an agent. `call` is only for objects that Pitcrew or the
    /// user made, or that were judged.
    pub(crate) fn foreign(&self, command: &'static str) -> Call<'static> {
        self.call(command).on_foreign_objects()
    }

    pub(crate) fn records(&self) -> Records {
        Records::new(&self.layout.vault)
    }

    /// The git settings that programs in boxes get instead of the user's.
    pub fn git_settings(&self) -> PathBuf {
        self.layout.git_settings()
    }

    /// Removes what a killed git left in the repositories that submodules borrow from.
    fn sweep_modules(&self) {
        for base in fs::read_dir(self.layout.bases()).into_iter().flatten().flatten() {
            for module in fs::read_dir(base.path().join("modules")).into_iter().flatten().flatten()
            {
                sweep(&module.path());
            }
        }
    }

    pub(crate) fn objects(&self) -> PathBuf {
        self.layout.vault.join("objects")
    }

    pub(crate) fn resolve(
        &self,
        name: &str,
        cancel: &Cancel,
    ) -> Result<Option<CommitId>, GitError> {
        let name = format!("{name}^{{commit}}");
        let commit = self.call("rev-parse").args(["--verify", "--quiet", &name]).maybe(cancel)?;
        Ok(commit.map(CommitId))
    }

    pub(crate) fn tree(&self, commit: &CommitId, cancel: &Cancel) -> Result<String, GitError> {
        if let Some(tree) = self.known.tree(commit) {
            return Ok(tree);
        }
        let name = format!("{commit}^{{tree}}");
        let tree = self.call("rev-parse").args(["--verify", &name]).line(cancel)?;
        self.known.learn(commit, Known { tree: tree.clone(), parents: Vec::new() });
        Ok(tree)
    }

    pub(crate) fn set_ref(&self, name: &str, commit: &CommitId) -> Result<(), GitError> {
        self.update_ref(&[name, &commit.0])
    }

    pub(crate) fn delete_ref(&self, name: &str) -> Result<(), GitError> {
        self.update_ref(&["-d", name])
    }

    pub(crate) fn update_ref(&self, arguments: &[&str]) -> Result<(), GitError> {
        self.change_refs(|| self.call("update-ref").args(arguments))
    }

    /// Changes refs, one call at a time. The call cannot be cancelled, because that would leave a
    /// lock. A lock that a killed git left is removed, because no other program writes here.
    pub(crate) fn change_refs(&self, call: impl Fn() -> Call<'static>) -> Result<(), GitError> {
        let _changing = self.refs.lock().expect("no holder of the lock panics");
        let change = || call().done(&Cancel::default());
        let changed = change().map_err(|error| match &error.kind {
            GitErrorKind::Locked { lock } if sweep::remove_left_lock(&self.layout.vault, lock) => {
                None
            }
            GitErrorKind::Locked { .. }
            | GitErrorKind::NotStarted(_)
            | GitErrorKind::Exit { .. }
            | GitErrorKind::TimedOut { .. }
            | GitErrorKind::Cancelled
            | GitErrorKind::TooLong { .. }
            | GitErrorKind::OutOfMemory
            | GitErrorKind::Unread { .. }
            | GitErrorKind::Unreadable { .. } => Some(error),
        });
        match changed {
            Err(None) => change(),
            Err(Some(error)) => Err(error),
            Ok(()) => Ok(()),
        }
    }

    /// Whether `older` equals `newer` or is in its history.
    pub(crate) fn is_ancestor(
        &self,
        older: &CommitId,
        newer: &CommitId,
        cancel: &Cancel,
    ) -> Result<bool, GitError> {
        self.call("merge-base").args(["--is-ancestor", &older.0, &newer.0]).yes(cancel)
    }

    /// Fetches a commit of the user's repository with all of its history and stores it under a ref
    /// of the vault.
    pub(crate) fn bring(
        &self,
        commit: &CommitId,
        to: &str,
        cancel: &Cancel,
    ) -> Result<(), GitError> {
        if self.resolve(&commit.0, cancel).is_ok_and(|it| it.is_some()) {
            return self.set_ref(to, commit);
        }
        fetch_commit(self.call("fetch"), self.user.common_dir(), commit, to, cancel)
    }
}

/// Fetches one commit by name from a repository on this machine.
pub(crate) fn fetch_commit(
    call: Call<'_>,
    from: &Path,
    commit: &CommitId,
    to: &str,
    cancel: &Cancel,
) -> Result<(), GitError> {
    // The newest protocol serves commits that are not at a branch. The user's history may be older
    // than the current rules of fsck.
    call.config("protocol.version=2")
        .config("transfer.fsckObjects=false")
        .args(["--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance"])
        .args(["--no-recurse-submodules", "--update-shallow"])
        .arg(from)
        .arg(format!("+{commit}:{to}"))
        .done(cancel)
}

/// Creates a bare clone with separate objects. After a crash, it is either complete or missing.
pub(crate) fn clone_bare(
    git: &Git,
    from: &Path,
    to: &Path,
    cancel: &Cancel,
) -> Result<(), VaultError> {
    let parent = to.parent().expect("a vault is in a folder");
    files::create_folder(parent)?;
    let mut name = to.file_name().expect("a vault has a name").to_owned();
    name.push(".new");
    let temporary = parent.join(name);
    files::remove_folder(&temporary)?;
    // Alternates would be copied unchanged, so the clone would borrow from a third repository.
    let is_borrowing = files::is_there(&from.join("objects/info/alternates"));
    let ways: &[&str] = if is_borrowing { &["--no-local"] } else { &["--local", "--no-local"] };
    let mut result = Ok(());
    for way in ways {
        result = git
            .ours(parent, "clone")
            .args(["--quiet", "--bare", "--no-tags", "--template=", way])
            .arg(from)
            .arg(&temporary)
            .done(cancel);
        if result.is_ok() {
            break;
        }
        // The user's own garbage collection may remove files while they are being linked.
        files::remove_folder(&temporary)?;
    }
    result?;
    // Every checkout reads its files from here, and a pack is read much faster than loose objects.
    git.ours(&temporary, "repack").args(["-d", "--quiet"]).done(cancel)?;
    let config = temporary.join("config");
    let mut text = files::read_if_there(&config)?.unwrap_or_default();
    text.extend_from_slice(CONFIG.as_bytes());
    files::write(&config, text)?;
    sync(&config)?;
    files::rename(&temporary, to)?;
    sync(parent)?;
    Ok(())
}

fn sync(path: &Path) -> Result<(), FileError> {
    fs::File::open(path).and_then(|it| it.sync_all()).map_err(files::failed("sync", path))
}

fn absolute(path: &Path) -> Result<PathBuf, FileError> {
    std::path::absolute(path).map_err(files::failed("find", path))
}
