//! Files that were open when this process started.
//!
//! A shell, an editor or a build may leave folders and sockets open in the programs it starts. A
//! box hides paths, but a folder that is already open still gives access to files outside.

use rustix::io::{FdFlags, fcntl_setfd};
use std::{ffi::c_long, fs, io, os::fd::BorrowedFd};

/// Standard input, output and error have lower numbers.
const FIRST: i32 = 3;

/// `CLOSE_RANGE_CLOEXEC`
const ON_EXEC: c_long = 4;

/// Keeps inherited files, except for standard input, output and error, from all programs that we
/// start. Call it at the start of a process; files that are opened later are close-on-exec anyway.
pub fn pass_nothing_on() -> io::Result<()> {
    if close_all_on_exec() { Ok(()) } else { close_each_on_exec() }
}

/// Needs no `/proc`, which a box may not have mounted yet. Kernels before 5.11 lack this flag.
#[expect(unsafe_code, reason = "the call has no safe form")]
fn close_all_on_exec() -> bool {
    // SAFETY: the flag does not affect open files in this process, and no memory is accessed.
    let result = unsafe {
        libc::syscall(libc::SYS_close_range, c_long::from(FIRST), c_long::from(u32::MAX), ON_EXEC)
    };
    result == 0
}

fn close_each_on_exec() -> io::Result<()> {
    for entry in fs::read_dir("/proc/self/fd")? {
        let number = entry?.file_name().to_str().and_then(|it| it.parse().ok());
        if let Some(number) = number.filter(|it| *it >= FIRST) {
            close_on_exec(number);
        }
    }
    Ok(())
}

#[expect(
    unsafe_code,
    reason = "the file was opened by another program, so no type of ours owns it"
)]
fn close_on_exec(number: i32) {
    // SAFETY: there is no other thread yet that could close the file, and if it is closed anyway
    // the kernel returns an error. The flag does not affect users of the file in this process.
    let file = unsafe { BorrowedFd::borrow_raw(number) };
    fcntl_setfd(file, FdFlags::CLOEXEC).ok();
}
