//! A program for the tests that runs the processes of this crate.

use pitcrew_process::{Cancel, Policy, Run, WayOut, lead_out, play_part, run_confined};
use std::{
    ffi::OsString,
    io::{Read, Write},
    net::TcpStream,
    path::Path,
    process::ExitCode,
};

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    if let Some(ended) = play_part(&arguments) {
        return ended;
    }
    let words: Vec<&str> = arguments.iter().filter_map(|it| it.to_str()).collect();
    match words.as_slice() {
        ["run", policy, cwd, script] => run(policy, cwd, script),
        ["say", port, text] => say(port, text),
        ["lead", dir, port] => lead(Path::new(dir), port),
        _ => ExitCode::from(2),
    }
}

/// Runs a script the way a program is run for an agent.
fn run(policy: &str, cwd: &str, script: &str) -> ExitCode {
    let policy: Policy = serde_json::from_str(policy).expect("the test wrote it");
    let finished = run_confined(&policy, Run::shell(script, cwd), &Cancel::default());
    let finished = finished.expect("the test can be run");
    std::io::stdout().write_all(&finished.stdout).expect("the test reads it");
    finished.code.and_then(|it| u8::try_from(it).ok()).map_or(ExitCode::FAILURE, ExitCode::from)
}

/// Hands a port over the socket in a folder, as if it were to be forwarded, and sends text to it.
fn lead(dir: &Path, port: &str) -> ExitCode {
    let entries = std::fs::read_dir(dir).expect("the test has it").flatten();
    let mut paths = entries.map(|it| it.path());
    let socket = paths.find(|it| it.extension().is_some_and(|it| it == "sock"));
    let forward = vec![port.parse().expect("a port")];
    let way = WayOut { socket: socket.expect("the test has one"), forward };
    if let Err(error) = lead_out(&way) {
        println!("error: {error}");
        return ExitCode::FAILURE;
    }
    say(port, "hi");
    println!("nothing");
    ExitCode::SUCCESS
}

/// Sends text to a loopback port and prints the response.
fn say(port: &str, text: &str) -> ExitCode {
    let port = port.parse().expect("a port");
    let talk = || {
        let mut stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.write_all(text.as_bytes())?;
        stream.shutdown(std::net::Shutdown::Write)?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        std::io::Result::Ok(answer)
    };
    match talk() {
        Ok(answer) => {
            print!("{answer}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            println!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
