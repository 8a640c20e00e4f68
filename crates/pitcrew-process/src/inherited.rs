//! What was open when we were started.
//!
//! A shell, an editor or a build may leave folders and sockets open to whatever it starts. A box hides
//! paths, and a folder that is open already leads out of it.

use rustix::io::{FdFlags, fcntl_setfd};
use std::{fs, io, os::fd::BorrowedFd};

/// Nothing that we inherited, but for standard input, output and error, is passed on to any program.
/// For the very start of a process: what we open ourselves is nobody else's business anyway.
pub fn pass_nothing_on() -> io::Result<()> {
    for entry in fs::read_dir("/proc/self/fd")? {
        let number = entry?.file_name().to_str().and_then(|it| it.parse().ok());
        if let Some(number) = number.filter(|it| *it > 2) {
            close_on_exec(number);
        }
    }
    Ok(())
}

#[expect(unsafe_code, reason = "nobody else has a word for what we did not open ourselves")]
fn close_on_exec(number: i32) {
    // SAFETY: no other thread is there yet that could close it, and where it is closed all the same the
    // kernel says so. The mark changes nothing for whoever uses it here.
    let file = unsafe { BorrowedFd::borrow_raw(number) };
    fcntl_setfd(file, FdFlags::CLOEXEC).ok();
}
