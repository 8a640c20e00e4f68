//! The user of a program in its box, and the files that belong to that user.

use super::{mounts::Mount, roots::is_system};
use crate::{
    BoxUser, Policy,
    enclose::{Accounts, BOX_ID, Mapping, is_machine_root},
};
use rustix::process::{getegid, geteuid};
use std::{
    collections::BTreeSet,
    ffi::OsString,
    path::{Path, PathBuf},
};

/// The namespaces must be owned by an ordinary user.
const AS_USER: &[&str] = &["--unshare-user"];

/// Root without capabilities causes problems: tools try to change file owners and fail, and nested
/// sandboxes may not be created for it.
const AS_NOBODY: &[&str] = &["--unshare-user", "--uid", "65534", "--gid", "65534"];

const NOBODY: u32 = 65_534;

/// The capabilities for switching to the user of the box and for entering that user's private
/// folders. The program has none of them.
const SWITCHING: &[&str] = &[
    "--cap-add",
    "CAP_SETUID",
    "--cap-add",
    "CAP_SETGID",
    "--cap-add",
    "CAP_SETPCAP",
    "--cap-add",
    "CAP_CHOWN",
    "--cap-add",
    "CAP_DAC_READ_SEARCH",
];

/// The capability for mounting `/proc`.
const MOUNTING: &[&str] = &["--cap-add", "CAP_SYS_ADMIN"];

/// Shared memory, which bubblewrap creates with the devices.
const SHARED_MEMORY: &str = "/dev/shm";

/// The user of a program in its box.
pub(super) enum User {
    /// Our own user, which is not root.
    Same,
    /// Root of a container with separate user ids: an ordinary user outside the container.
    Nobody,
    /// A user id that owns nothing on the machine. Used if we are root.
    Own,
}

impl User {
    pub(super) fn of_box() -> Self {
        if is_machine_root() {
            Self::Own
        } else if geteuid().is_root() {
            Self::Nobody
        } else {
            Self::Same
        }
    }

    /// The arguments for bubblewrap.
    pub(super) fn arguments(&self, policy: &Policy) -> Vec<&'static str> {
        let more = if self.mounts_proc(policy) { MOUNTING } else { &[] };
        let words = match self {
            Self::Same => AS_USER,
            Self::Nobody => AS_NOBODY,
            Self::Own => SWITCHING,
        };
        [words, more].concat()
    }

    /// If root starts bubblewrap, it covers part of the `/proc` that it mounts, so a nested box
    /// could not mount its own.
    pub(super) fn mounts_proc(&self, policy: &Policy) -> bool {
        matches!(self, Self::Own) && policy.nests
    }

    pub(super) fn accounts(&self, env: &[(OsString, OsString)]) -> Accounts {
        let (user, group) = match self {
            Self::Same => (geteuid().as_raw(), getegid().as_raw()),
            Self::Nobody => (NOBODY, NOBODY),
            Self::Own => (BOX_ID, BOX_ID),
        };
        Accounts::new(env, user, group)
    }

    /// Returns the folders that exist only in the box and lead to a mount. If root starts
    /// bubblewrap, it would make them accessible to root only.
    pub(super) fn leads_to(&self, mounts: &[(PathBuf, Mount)]) -> BTreeSet<PathBuf> {
        let mut folders = BTreeSet::new();
        let Self::Own = *self else { return folders };
        for (path, _) in mounts {
            if let (None, between) = above(path, mounts) {
                let named = between.into_iter().filter(|it| it.parent().is_some());
                folders.extend(named.map(Path::to_owned));
            }
        }
        folders
    }

    /// Likewise, for a hidden folder that contains mounts.
    pub(super) fn leads_below(
        &self,
        hidden: &Path,
        mounts: &[(PathBuf, Mount)],
    ) -> BTreeSet<PathBuf> {
        let mut folders = BTreeSet::new();
        let Self::Own = *self else { return folders };
        for (path, _) in mounts.iter().filter(|it| it.0.starts_with(hidden)) {
            if let (Some(Mount::Hidden), between) = above(path, mounts) {
                folders.extend(between.into_iter().map(Path::to_owned));
            }
        }
        folders
    }

    /// The user that our launcher switches to in the box.
    pub(super) fn switch(&self, policy: &Policy, mounts: &[(PathBuf, Mount)]) -> Option<BoxUser> {
        let Self::Own = *self else { return None };
        let owned = made_by_the_box(mounts).into_iter().chain([SHARED_MEMORY.into()]).collect();
        Some(BoxUser { id: BOX_ID, owned, mounts_proc: self.mounts_proc(policy) })
    }

    /// Returns the mounts whose root-owned files must appear to belong to the program. System files
    /// stay root's.
    pub(super) fn mapping(&self, mounts: &[(PathBuf, Mount)]) -> Option<Mapping> {
        let Self::Own = *self else { return None };
        let mut mapping = Mapping { write: Vec::new(), read: Vec::new() };
        for (path, mount) in mounts.iter().filter(|it| !is_system(&it.0)) {
            match mount {
                Mount::ReadOnly => mapping.read.push(path.clone()),
                Mount::Writable | Mount::Pinned => mapping.write.push(path.clone()),
                Mount::Empty | Mount::Hidden | Mount::Link(_) => {}
            }
        }
        Some(mapping)
    }
}

/// Returns the nearest mount above a path and the folders in between, lowest first.
fn above<'a>(path: &'a Path, mounts: &'a [(PathBuf, Mount)]) -> (Option<&'a Mount>, Vec<&'a Path>) {
    let mut between = Vec::new();
    for folder in path.ancestors().skip(1) {
        if let Some((_, mount)) = mounts.iter().find(|it| it.0 == folder) {
            return (Some(mount), between);
        }
        between.push(folder);
    }
    (None, between)
}

/// Returns the empty folders of a box and the folders in them that lead to a mount.
fn made_by_the_box(mounts: &[(PathBuf, Mount)]) -> BTreeSet<PathBuf> {
    let mut made = BTreeSet::new();
    for (path, mount) in mounts {
        if *mount == Mount::Empty {
            made.insert(path.clone());
        } else if let (Some(Mount::Empty), between) = above(path, mounts) {
            made.extend(between.into_iter().map(Path::to_owned));
        }
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_the_box_creates_belong_to_the_program() {
        let mounts = [
            ("/people/ada", Mount::Empty),
            ("/people/ada/.cargo/bin", Mount::ReadOnly),
            ("/people/ada/.cargo/bin/deep/er", Mount::Writable),
            ("/srv/trees/one", Mount::Writable),
            ("/tmp", Mount::Empty),
        ]
        .map(|(path, mount)| (PathBuf::from(path), mount));
        let made: Vec<_> = made_by_the_box(&mounts).into_iter().collect();
        assert_eq!(made, ["/people/ada", "/people/ada/.cargo", "/tmp"].map(PathBuf::from));
    }
}
