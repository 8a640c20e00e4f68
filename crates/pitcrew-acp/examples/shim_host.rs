//! The shim as a separate program, for the tests.

use std::{path::Path, process::ExitCode};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.as_slice() {
        [word, dir] if word == "shim" => pitcrew_process::shim_main(Path::new(dir)),
        other => panic!("no such mode: {other:?}"),
    }
}
