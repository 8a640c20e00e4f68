//! The probe of the survey: runs in a box and reports what a program there can reach.
//!
//! ```text
//! probe KIND:  ready ─► waits for orders ─► tries everything ─► report ─► waits to be let go
//! ```
//!
//! Notes are exchanged as files in its working directory, because this is the only way out of every
//! kind of box. The probe makes no lasting changes: files are opened but not written, folders that
//! it creates are removed, and system calls are stopped before they are executed. The same program
//! also prepares what is needed outside the box (`hold`).
#![expect(unsafe_code, reason = "it tries calls of the kernel that have no safe form")]

mod notes;
mod paths;
mod kernel;
mod processes;
mod own;
mod connect;
mod hold;

use notes::Notes;
use std::{env, fmt::Display, process::ExitCode};

/// Lines of the report, in any order.
#[derive(Default)]
struct Report(Vec<String>);

impl Report {
    fn add(&mut self, line: impl Display) {
        self.0.push(line.to_string());
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["hold", ..] => hold::hold(&arguments[1..]),
        ["wait"] => hold::wait(),
        [kind] => survey(kind),
        _ => {
            eprintln!("usage: survey_probe KIND | wait | hold PROGRAM [ARGUMENT]...");
            ExitCode::FAILURE
        }
    }
}

fn survey(kind: &str) -> ExitCode {
    let Some(notes) = Notes::begin(kind) else {
        eprintln!("the survey found no place for its notes, or had no answer");
        return ExitCode::FAILURE;
    };
    let orders = notes.orders();
    if orders.is_skipped {
        notes.finish(&[]);
        return ExitCode::SUCCESS;
    }
    let mut report = Report::default();
    // Properties that later steps would change come first.
    own::survey(&mut report);
    processes::survey(&orders, &mut report);
    kernel::survey(&mut report);
    connect::survey(&orders, &mut report);
    paths::survey(&orders, &mut report);
    notes.finish(&report.0);
    ExitCode::SUCCESS
}

/// The number of the last error.
fn errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

/// The name of an error, if the report depends on it.
fn error_name(number: i32) -> String {
    match number {
        libc::EPERM => "EPERM".into(),
        libc::EACCES => "EACCES".into(),
        libc::ENOSYS => "ENOSYS".into(),
        libc::ENOENT => "ENOENT".into(),
        libc::ESRCH => "ESRCH".into(),
        number => format!("errno {number}"),
    }
}

/// Runs `work` in a child process, so that its effects on the process end with it. The error is the
/// signal that killed the child.
fn in_child(work: impl FnOnce() -> u8) -> Result<u8, i32> {
    // SAFETY: there is only one thread, so the child may do anything that we may.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let code = work();
        // SAFETY: exits immediately, without running the parent's cleanup.
        unsafe { libc::_exit(i32::from(code)) }
    }
    let mut status = 0;
    // SAFETY: the child is ours, and the status is written to our variable.
    unsafe { libc::waitpid(child, &raw mut status, 0) };
    if libc::WIFEXITED(status) {
        Ok(u8::try_from(libc::WEXITSTATUS(status)).unwrap_or(u8::MAX))
    } else {
        Err(libc::WTERMSIG(status))
    }
}
