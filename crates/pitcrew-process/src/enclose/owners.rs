//! Mounts in which root's files belong to the user of a box. bubblewrap binds from them.
//!
//! The mounts are visible only to this process and the program that it executes, and end with it.

use super::{BOX_ID, Mapping, failed, last_error};
use rustix::{
    fd::{AsFd, AsRawFd, OwnedFd},
    fs::{CWD, Mode, OFlags, openat},
    io::{Errno, read, retry_on_intr, write},
    mount::{
        MountPropagationFlags, MoveMountFlags, OpenTreeFlags, mount_change, move_mount, open_tree,
    },
    pipe::pipe,
    thread::UnshareFlags,
};
use std::{fs, io, path::Path};

pub(super) fn map(mapping: &Mapping) -> Result<(), String> {
    let users = user_namespace().map_err(|it| failed("a mapping of users", it))?;
    unshare(UnshareFlags::NEWNS).map_err(|it| failed("a mount namespace", it))?;
    let slaves = MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC;
    mount_change("/", slaves).map_err(|it| failed("a mount namespace", it))?;
    let mut mapped: Vec<&Path> = Vec::new();
    let write = mapping.write.iter().map(|it| (it, true));
    let mut places: Vec<_> = write.chain(mapping.read.iter().map(|it| (it, false))).collect();
    // A parent sorts before its content, which is mapped together with it.
    places.sort();
    for (path, is_written) in places {
        if mapped.iter().any(|it| path.starts_with(it)) {
            continue;
        }
        match map_place(path, &users) {
            Ok(()) => mapped.push(path),
            Err(_) if !is_written => {}
            Err(error) => {
                let why = format!(
                    "{error}: its file system cannot map owners; run as an ordinary user instead"
                );
                return Err(failed(&format!("the owner of `{}`", path.display()), why));
            }
        }
    }
    Ok(())
}

fn map_place(path: &Path, users: &OwnedFd) -> rustix::io::Result<()> {
    let whole = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE;
    let tree = open_tree(CWD, path, whole)?;
    set_owners(&tree, users)?;
    move_mount(&tree, "", CWD, path, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
}

#[expect(unsafe_code, reason = "the call has no safe form")]
fn set_owners(tree: impl AsFd, users: &OwnedFd) -> rustix::io::Result<()> {
    let attributes = libc::mount_attr {
        attr_set: libc::MOUNT_ATTR_IDMAP,
        attr_clr: 0,
        propagation: 0,
        userns_fd: u64::try_from(users.as_raw_fd()).expect("an open file has a number"),
    };
    // SAFETY: the path is empty and zero-terminated, and the attributes live until the call
    // returns.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            tree.as_fd().as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH | libc::AT_RECURSIVE,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    if result < 0 { Err(last_error()) } else { Ok(()) }
}

#[expect(unsafe_code, reason = "a namespace of files cannot be left in a safe form")]
fn unshare(flags: UnshareFlags) -> rustix::io::Result<()> {
    // SAFETY: there is one thread, and none of our open files is closed.
    unsafe { rustix::thread::unshare_unsafe(flags) }
}

/// A user namespace that maps root to the user of the box, and every other id to itself.
#[expect(unsafe_code, reason = "only another process can be in another user namespace")]
fn user_namespace() -> io::Result<OwnedFd> {
    let (is_there, tell) = pipe()?;
    let (wait, go) = pipe()?;
    // SAFETY: there is one thread, and the child makes only system calls.
    let child = unsafe { libc::fork() };
    match child {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            drop((is_there, go));
            if unshare(UnshareFlags::NEWUSER).is_ok() {
                write(&tell, &[1]).ok();
                // Blocks until the parent has opened the namespace or has ended.
                retry_on_intr(|| read(&wait, &mut [0_u8])).ok();
            }
            // SAFETY: ends the child at once, without running any code of the parent.
            unsafe { libc::_exit(0) }
        }
        child => {
            drop((tell, wait));
            let opened = open_user_namespace(child, &is_there);
            drop(go);
            // SAFETY: the child is ours, and a null pointer for the status is allowed.
            unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
            opened
        }
    }
}

fn open_user_namespace(child: i32, is_there: &OwnedFd) -> io::Result<OwnedFd> {
    if retry_on_intr(|| read(is_there, &mut [0_u8]))? == 0 {
        return Err(Errno::PERM.into());
    }
    let map = format!("0 {BOX_ID} 1\n1 1 {}\n", BOX_ID - 1);
    for name in ["uid_map", "gid_map"] {
        fs::write(format!("/proc/{child}/{name}"), &map)?;
    }
    let path = format!("/proc/{child}/ns/user");
    Ok(openat(CWD, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?)
}
