//! The processes that the survey needs outside the box: one with a key in its session keyring, and
//! a bystander.

use std::{ffi::CString, process::ExitCode};

const JOIN_SESSION_KEYRING: libc::c_long = 1;
const SESSION_KEYRING: libc::c_long = -3;

/// Executes a program whose session keyring has a key, like the login session of a person.
pub fn hold(argv: &[String]) -> ExitCode {
    // SAFETY: the strings end with a zero and live until the calls return.
    unsafe {
        libc::syscall(libc::SYS_keyctl, JOIN_SESSION_KEYRING, c"pitcrew-survey-outside".as_ptr());
        libc::syscall(
            libc::SYS_add_key,
            c"user".as_ptr(),
            c"pitcrew-survey-secret".as_ptr(),
            c"secret".as_ptr(),
            6_usize,
            SESSION_KEYRING,
        );
    }
    let words: Vec<CString> = argv.iter().filter_map(|it| CString::new(it.as_str()).ok()).collect();
    let mut pointers: Vec<*const libc::c_char> = words.iter().map(|it| it.as_ptr()).collect();
    pointers.push(std::ptr::null());
    // SAFETY: the list ends with a null pointer, and its strings live until the program is
    // replaced.
    unsafe { libc::execvp(pointers[0], pointers.as_ptr()) };
    eprintln!("cannot execute {argv:?}: {}", std::io::Error::last_os_error());
    ExitCode::FAILURE
}

/// A bystander that lives until it is killed.
pub fn wait() -> ! {
    loop {
        // SAFETY: it waits for a signal.
        unsafe { libc::pause() };
    }
}
