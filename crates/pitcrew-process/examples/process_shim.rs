//! The shim as a program of its own, for the tests: `process_shim shim DIR`.

use std::{path::Path, process::ExitCode};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.as_slice() {
        [_, word, dir] if word == "shim" => pitcrew_process::shim_main(Path::new(dir)),
        _ => ExitCode::from(2),
    }
}
