//! Runs programs, always from the root of the repository.

use std::{
    ffi::OsString,
    fmt,
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
};

/// Why a command failed, as a message for its user.
#[derive(Debug, PartialEq, Eq)]
pub struct Failure(pub String);

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The root of the repository.
pub fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().expect("xtask is a folder of the repository").to_owned()
}

/// The cargo that runs this command, so that a selected toolchain is kept.
pub fn cargo() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// A command that starts at the root of the repository.
#[expect(clippy::disallowed_methods, reason = "xtask is not part of the product")]
pub fn command(program: impl Into<OsString>, arguments: &[&str]) -> Command {
    let mut command = Command::new(program.into());
    command.args(arguments).current_dir(root()).stdin(Stdio::null());
    command
}

/// Runs cargo; its output goes to the terminal.
pub fn run_cargo(arguments: &[&str], environment: &[(&str, &str)]) -> Result<(), Failure> {
    let shown = shown("cargo", arguments);
    println!("$ {shown}");
    let status = command(cargo(), arguments)
        .envs(environment.iter().copied())
        .status()
        .map_err(|error| Failure(format!("failed to start `{shown}`: {error}")))?;
    succeeded(&shown, status)
}

/// Runs a program and returns its stdout.
pub fn read(program: impl Into<OsString>, arguments: &[&str]) -> Result<String, Failure> {
    let program = program.into();
    let name = Path::new(&program).file_name().unwrap_or(&program);
    let shown = shown(&name.to_string_lossy(), arguments);
    let output = command(program, arguments)
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| Failure(format!("failed to start `{shown}`: {error}")))?;
    succeeded(&shown, output.status)?;
    String::from_utf8(output.stdout)
        .map_err(|_| Failure(format!("`{shown}` printed invalid UTF-8")))
}

fn succeeded(shown: &str, status: ExitStatus) -> Result<(), Failure> {
    if status.success() { Ok(()) } else { Err(Failure(format!("`{shown}` failed: {status}"))) }
}

fn shown(program: &str, arguments: &[&str]) -> String {
    let mut words = vec![program];
    words.extend(arguments);
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_program_is_reported_with_its_status() {
        let failure = read("sh", &["-c", "exit 3"]).expect_err("it exits with 3");
        assert_eq!(failure.to_string(), "`sh -c exit 3` failed: exit status: 3");
        let failure = read("pitcrew-no-such-program", &[]).expect_err("it does not exist");
        assert!(failure.to_string().contains("failed to start"), "{failure}");
    }

    #[test]
    fn a_program_starts_at_the_root_of_the_repository() {
        let here = read("pwd", &["-P"]).expect("pwd");
        let root = root().canonicalize().expect("the root");
        assert_eq!(Path::new(here.trim_end()), root);
    }
}
