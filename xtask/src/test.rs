//! Runs every test, and reports what did not run.
//!
//! A test that cannot run on this machine appends a line `name: reason` to the file that
//! `PITCREW_TEST_SKIPPED` names, and returns. With `CI=true` a single such line fails the run.

mod old_git;

use crate::{
    agents,
    program::{self, Failure, read, run_cargo},
};
use std::{fs, path::Path};

/// The oldest git that Pitcrew accepts.
const GIT_VERSION_MIN: (u32, u32) = (2, 39);

pub fn run() -> Result<(), Failure> {
    check_tools()?;
    install_packages();
    agents::install_for_tests();
    let skipped = std::env::temp_dir().join(format!("pitcrew-skipped-{}", std::process::id()));
    fs::write(&skipped, "")
        .map_err(|error| Failure(format!("cannot write `{}`: {error}", skipped.display())))?;
    // Also after a test has failed: the whole run takes long.
    let results = [run_tests(&skipped), old_git::run()];
    let result = results.into_iter().collect();
    fs::remove_file(&skipped).ok();
    result
}

/// Every test of every crate, even if one fails.
pub const CARGO: &[&str] = &["test", "--workspace", "--no-fail-fast"];

fn run_tests(skipped: &Path) -> Result<(), Failure> {
    let path = skipped.to_str().ok_or_else(|| {
        Failure(format!("`{}` is not UTF-8; set TMPDIR to another folder", skipped.display()))
    })?;
    // Builds everything before the first test runs. A separate build would compile what the tests
    // use with other features twice.
    let tested = run_cargo(CARGO, &[("PITCREW_TEST_SKIPPED", path)]);
    let lines = fs::read_to_string(skipped)
        .map_err(|error| Failure(format!("cannot read `{path}`: {error}")))?;
    let judged = judge_skipped(&lines, Place::current());
    tested.and(judged)
}

/// Where the tests run.
#[derive(Clone, Copy)]
enum Place {
    Here,
    Ci,
}

impl Place {
    fn current() -> Self {
        match std::env::var("CI") {
            Ok(value) if value == "true" || value == "1" => Self::Ci,
            Ok(_) | Err(_) => Self::Here,
        }
    }
}

fn judge_skipped(lines: &str, place: Place) -> Result<(), Failure> {
    let skipped: Vec<&str> = lines.lines().filter(|it| !it.trim().is_empty()).collect();
    println!("\n== skipped: {}", skipped.len());
    for line in &skipped {
        println!("SKIPPED {line}");
    }
    match (skipped.len(), place) {
        (0, _) | (_, Place::Here) => Ok(()),
        (count, Place::Ci) => {
            Err(Failure(format!("{count} tests were skipped, which is not allowed in CI")))
        }
    }
}

fn check_tools() -> Result<(), Failure> {
    let remedy = "install it with your package manager, e.g. `apt install git`";
    let printed = read("git", &["--version"])
        .map_err(|failure| Failure(format!("git is required: {failure}; {remedy}")))?;
    let (major, minor) = GIT_VERSION_MIN;
    match parse_git_version(&printed) {
        Some(version) if version >= GIT_VERSION_MIN => {}
        Some(_) | None => {
            return Err(Failure(format!(
                "git {major}.{minor} or newer is required, but `git --version` prints `{}`; {remedy}",
                printed.trim()
            )));
        }
    }
    read("sh", &["-c", ":"]).map(drop).map_err(|failure| {
        Failure(format!("a POSIX shell named `sh` is required: {failure}; put it on the PATH"))
    })
}

/// The packages for the sandbox tests: bubblewrap, what a vendor's agent needs for its own sandbox,
/// and a database outside the sandbox; and for the tests of landing, keys that sign. Each with a path that exists if it is installed.
const PACKAGES: [(&str, &str); 5] = [
    ("bubblewrap", "/usr/bin/bwrap"),
    ("socat", "/usr/bin/socat"),
    ("ripgrep", "/usr/bin/rg"),
    ("postgresql", "/usr/lib/postgresql"),
    ("openssh-client", "/usr/bin/ssh-keygen"),
];

fn install_packages() {
    for (package, path) in PACKAGES {
        if !Path::new(path).exists() && !install(package) {
            println!("WARNING: {package} cannot be installed: tests of the sandbox will fail");
        }
    }
}

/// Whether the package could be installed.
fn install(package: &str) -> bool {
    println!("{package} is not installed; trying to install it");
    let get = |arguments: &[&str]| {
        program::command("apt-get", arguments).status().is_ok_and(|it| it.success())
    };
    let install = || get(&["install", "--yes", "--no-install-recommends", package]);
    // A fresh machine may have no package lists yet.
    install() || get(&["update"]) && install()
}

/// Parses `git version 2.47.3 (vendor's text)`.
fn parse_git_version(printed: &str) -> Option<(u32, u32)> {
    let mut parts = printed.trim().strip_prefix("git version ")?.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_the_git_version_of_every_vendor() {
        assert_eq!(parse_git_version("git version 2.47.3\n"), Some((2, 47)));
        assert_eq!(parse_git_version("git version 2.39.5 (Apple Git-154)\n"), Some((2, 39)));
        assert_eq!(parse_git_version("git version 3.0.rc1\n"), Some((3, 0)));
        for wrong in ["", "git", "git version x.y", "hub version 2.40.0"] {
            assert_eq!(parse_git_version(wrong), None, "{wrong}");
        }
        assert!((2, 38) < GIT_VERSION_MIN && GIT_VERSION_MIN < (3, 0));
    }

    #[test]
    fn a_skipped_test_fails_the_run_in_ci_only() {
        let lines = "store::disk_full: a small file system cannot be mounted here\n";
        assert_eq!(judge_skipped(lines, Place::Here), Ok(()));
        assert_eq!(judge_skipped("\n", Place::Ci), Ok(()));
        let failure = judge_skipped(lines, Place::Ci).expect_err("one was skipped");
        assert!(failure.to_string().starts_with("1 tests were skipped"), "{failure}");
    }

    #[test]
    fn this_machine_has_the_tools() {
        assert_eq!(check_tools(), Ok(()));
    }
}
