//! Finds the folders for state, settings and sockets, for the user and for each workspace.
//!
//! Paths are derived from an environment that the caller passes in. Only private folders and the
//! link to a workspace's sockets touch the disk.

use pitcrew_model::{AttemptId, CommitId, PlanId};
use sha2::{Digest, Sha256};
use std::{
    collections::BTreeMap,
    fmt, fs, io,
    os::unix::{
        ffi::OsStrExt,
        fs::{DirBuilderExt, MetadataExt, symlink},
    },
    path::{Path, PathBuf},
    str::FromStr,
};

/// The OS limits the path of a unix socket to 108 bytes; we stay below.
const SOCKET_BYTES_MAX: usize = 100;
/// The longest path that a workspace adds to the runtime folder: `/<id>/attempt-<number>.sock`, or
/// the equally long `/<id>/attempt-<number>/sock`.
const SOCKET_TAIL_BYTES: usize = 51;

/// The folders of a user. None of them needs to exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dirs {
    pub state: PathBuf,
    pub config: PathBuf,
    /// Short enough for every socket below it.
    pub runtime: PathBuf,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "failed to find the folder for {what}: neither {variable} nor HOME is an absolute path; set one of them"
)]
pub struct DirsError {
    pub what: &'static str,
    pub variable: &'static str,
}

impl Dirs {
    /// The folders of the user with this id and environment.
    pub fn from_env(
        environment: &BTreeMap<String, String>,
        user_id: u32,
    ) -> Result<Self, DirsError> {
        // A relative path would depend on the current folder; the XDG specification ignores it too.
        let absolute =
            |name: &str| environment.get(name).map(PathBuf::from).filter(|it| it.is_absolute());
        let below_home = |what, variable: &'static str, below: &str| {
            let own = absolute(variable);
            let found = own.or_else(|| absolute("HOME").map(|it| it.join(below)));
            found.map(|it| it.join("pitcrew")).ok_or(DirsError { what, variable })
        };
        Ok(Self {
            state: below_home("state", "XDG_STATE_HOME", ".local/state")?,
            config: below_home("settings", "XDG_CONFIG_HOME", ".config")?,
            runtime: runtime(absolute("XDG_RUNTIME_DIR"), user_id),
        })
    }

    /// The folders of the user who runs this process.
    pub fn of_this_process() -> Result<Self, DirsError> {
        Self::from_env(&std::env::vars().collect(), rustix::process::getuid().as_raw())
    }

    pub fn workspace(&self, id: &WorkspaceId) -> WorkspaceDirs {
        let state = self.state.join("workspaces").join(&id.0);
        let runtime = self.runtime.join(&id.0);
        WorkspaceDirs { id: id.clone(), state, runtime }
    }

    /// A cache of git's answers about the repository at this path. It can be deleted.
    pub fn repository(&self, root: &Path) -> PathBuf {
        self.state.join("repositories").join(digest(&[root.as_os_str().as_bytes()]))
    }
}

fn runtime(given: Option<PathBuf>, user_id: u32) -> PathBuf {
    let own = PathBuf::from(format!("/tmp/pitcrew-{user_id}"));
    let Some(given) = given.map(|it| it.join("pitcrew")) else { return own };
    if given.as_os_str().len() + SOCKET_TAIL_BYTES <= SOCKET_BYTES_MAX {
        given
    } else {
        own.join(digest(&[given.as_os_str().as_bytes()]))
    }
}

/// The name of a workspace, derived from its root commit and its path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WorkspaceId(String);

impl WorkspaceId {
    /// `path` must be canonical: two names for one folder would be two workspaces.
    pub fn new(root_commit: &CommitId, path: &Path) -> Self {
        Self(digest(&[root_commit.0.as_bytes(), path.as_os_str().as_bytes()]))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for WorkspaceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for WorkspaceId {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_digit = |it: u8| it.is_ascii_digit() || (b'a'..=b'f').contains(&it);
        if text.len() == 16 && text.bytes().all(is_digit) {
            Ok(Self(text.to_owned()))
        } else {
            Err("a workspace id is 16 hexadecimal digits")
        }
    }
}

/// The first 16 hexadecimal digits of the SHA-256 of the parts, each ended by a zero byte.
fn digest(parts: &[&[u8]]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part);
        hasher.update([0]);
    }
    let first = hasher.finalize().iter().take(8).fold(0u64, |it, byte| it << 8 | u64::from(*byte));
    format!("{first:016x}")
}

/// The folders of one workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkspaceDirs {
    pub id: WorkspaceId,
    pub state: PathBuf,
    /// For sockets. Lost when the machine restarts.
    pub runtime: PathBuf,
}

impl WorkspaceDirs {
    pub fn journal(&self) -> PathBuf {
        self.state.join("journal.db")
    }

    pub fn vault(&self) -> PathBuf {
        self.state.join("vault.git")
    }

    pub fn token(&self) -> PathBuf {
        self.state.join("token")
    }

    pub fn logs(&self) -> PathBuf {
        self.state.join("logs")
    }

    /// A cache of facts about source files. It can be deleted.
    pub fn symbols(&self) -> PathBuf {
        self.state.join("symbols")
    }

    /// The spool, the standard error and the specification of an attempt.
    pub fn attempt(&self, attempt: AttemptId) -> PathBuf {
        self.state.join("attempts").join(attempt.to_string())
    }

    /// Output of the plan's own checks: on its base, and at landing.
    pub fn checks(&self, plan: PlanId) -> PathBuf {
        self.state.join("checks").join(plan.to_string())
    }

    /// The private home of an attempt's agent, removed with the attempt.
    ///
    /// It is not in a temporary folder, because agents with their own sandbox hide those.
    pub fn home(&self, attempt: AttemptId) -> PathBuf {
        self.attempt(attempt).join("home")
    }

    /// A record of what was copied into these homes, for the next process.
    pub fn logins(&self) -> PathBuf {
        self.state.join("logins")
    }

    /// Logins that all workspaces of the user share.
    pub fn user_logins(&self) -> PathBuf {
        self.of_user().join("logins")
    }

    /// A cache of programs that agents unpacked. It can be deleted.
    pub fn user_programs(&self) -> PathBuf {
        self.of_user().join("programs")
    }

    /// The folder that contains all workspaces of the user.
    pub fn of_user(&self) -> &Path {
        self.state.ancestors().nth(2).unwrap_or(&self.state)
    }

    /// The socket for the user's commands. No sandbox can see it.
    pub fn socket(&self) -> PathBuf {
        self.runtime.join("door/serve.sock")
    }

    /// The folder of a worker's socket, which contains nothing else. It is mounted in the worker's
    /// sandbox, so it is never replaced while the worker lives.
    pub fn worker_socket_dir(&self, attempt: AttemptId) -> PathBuf {
        self.runtime.join(attempt.to_string())
    }

    /// The socket for the tool calls of one worker.
    pub fn worker_socket(&self, attempt: AttemptId) -> PathBuf {
        self.worker_socket_dir(attempt).join("sock")
    }

    /// Follows the link to the workspace's sockets, regardless of the environment. An orchestrator
    /// that was started in another session (desktop, ssh) may already use another runtime folder.
    #[must_use]
    pub fn found(mut self) -> Self {
        if let Ok(there) = fs::read_link(self.link())
            && there.is_absolute()
            && is_own_dir(&there)
        {
            self.runtime = there;
        }
        self
    }

    /// Creates the private folders and the link to the sockets.
    pub fn make(&self) -> Result<(), PrivateDirError> {
        private_dir(&self.state)?;
        private_dir(&self.runtime)?;
        let link = self.link();
        if fs::read_link(&link).is_ok_and(|it| it == self.runtime) {
            return Ok(());
        }
        // Without the link, only a process with the same environment finds the sockets.
        let new = link.with_extension(std::process::id().to_string());
        symlink(&self.runtime, &new).and_then(|()| fs::rename(&new, &link)).ok();
        Ok(())
    }

    fn link(&self) -> PathBuf {
        self.state.join("sockets")
    }

    /// The socket of an attempt's shim.
    pub fn attempt_socket(&self, attempt: AttemptId) -> PathBuf {
        self.runtime.join(format!("{attempt}.sock"))
    }
}

/// A folder that could not be made private.
#[derive(Debug, thiserror::Error)]
#[error("failed to make `{}` a folder for this user only", path.display())]
pub struct PrivateDirError {
    pub path: PathBuf,
    #[source]
    pub source: io::Error,
}

/// Creates a folder, and its parents, that only this user can enter. Fails if it belongs to another
/// user.
///
/// In `/tmp` another user may have created the folder first, so the folder and its parents are
/// checked: the owner of a parent could replace the folder.
pub fn private_dir(path: &Path) -> Result<(), PrivateDirError> {
    let failed = |source| PrivateDirError { path: path.to_owned(), source };
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed)?;
    let found = fs::symlink_metadata(path).map_err(failed)?;
    if !found.is_dir() {
        return Err(failed(io::Error::other("it is a symbolic link")));
    }
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(failed(io::Error::other("it belongs to another user")));
    }
    if found.mode() & 0o077 != 0 {
        let reason =
            format!("other users can enter it (mode {:o}); run: chmod 700", found.mode() & 0o777);
        return Err(failed(io::Error::other(reason)));
    }
    path.ancestors().skip(1).try_for_each(check_above).map_err(failed)
}

fn is_own_dir(path: &Path) -> bool {
    let own = rustix::process::geteuid().as_raw();
    fs::symlink_metadata(path).is_ok_and(|it| it.is_dir() && it.uid() == own)
}

fn check_above(path: &Path) -> io::Result<()> {
    /// The owner of files whose user this container does not know.
    const UNKNOWN_USER: u32 = 65_534;
    let found =
        fs::symlink_metadata(if path.as_os_str().is_empty() { Path::new(".") } else { path })?;
    let keepers = [0, UNKNOWN_USER, rustix::process::geteuid().as_raw()];
    let (is_sticky, others_write) = (found.mode() & 0o1000 != 0, found.mode() & 0o002 != 0);
    if !keepers.contains(&found.uid()) {
        Err(io::Error::other(format!("`{}` belongs to another user", path.display())))
    } else if found.is_dir() && others_write && !is_sticky {
        Err(io::Error::other(format!("every user can change `{}`", path.display())))
    } else {
        Ok(())
    }
}
