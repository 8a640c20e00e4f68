//! Switches from root to the unprivileged user of a box, after the setup that needs root.

use super::{capabilities, spec::BoxUser};
use rustix::{
    fs::{AtFlags, CWD, chownat},
    mount::{MountFlags, mount},
    process::{Gid, Uid, getegid, geteuid},
    thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid},
};
use std::io;

pub(super) fn switch_to(user: &BoxUser) -> io::Result<()> {
    if user.mounts_proc {
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
        mount("proc", "/proc", "proc", flags, None)?;
    }
    let (uid, gid) = (Uid::from_raw(user.id), Gid::from_raw(user.id));
    for folder in &user.owned {
        let given = chownat(CWD, folder, Some(uid), Some(gid), AtFlags::SYMLINK_NOFOLLOW);
        given.map_err(|it| io::Error::other(format!("chown {}: {it}", folder.display())))?;
    }
    capabilities::forget_all()?;
    set_thread_groups(&[])?;
    set_thread_res_gid(gid, gid, gid)?;
    set_thread_res_uid(uid, uid, uid)?;
    let is_user = geteuid() == uid && getegid() == gid;
    if is_user { Ok(()) } else { Err(io::Error::other("the user id could not be changed")) }
}
