//! Kills the real binary, cuts its power, and checks that nothing was lost.
//!
//! `cargo xtask crash` builds the binary with its failpoints and runs this. Every failure is
//! reported with the seed that repeats it. Never part of the product.

mod random;
mod arguments;
mod rounds;
mod power;

use arguments::{Arguments, What};
use std::{path::Path, process::ExitCode};

/// The open files needed by concurrent rounds and cases.
const MEMORY_BYTES_MIN: u64 = 1024 * 1024 * 1024;

fn main() -> ExitCode {
    let arguments = match Arguments::parse(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(message) => {
            eprintln!("error: {message}\n\n{}", arguments::USAGE);
            return ExitCode::from(2);
        }
    };
    use_memory();
    let holds = match arguments.what {
        What::Rounds { count } => rounds::run(&arguments.binary, count, arguments.seed),
        What::PowerLoss { count, disk } => {
            power::run(&arguments.binary, count, arguments.seed, disk)
        }
    };
    if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A killed process keeps its writes on any file system; a disk would only be slower.
fn use_memory() {
    let memory = Path::new("/dev/shm");
    let free = rustix::fs::statvfs(memory).map_or(0, |it| it.f_bavail * it.f_frsize);
    if free >= MEMORY_BYTES_MIN {
        tempfile::env::override_temp_dir(memory).ok();
    }
}
