//! Runs a plan's own commands, which are repository code, confined in a checkout: setup and checks.

use crate::error::chain;
use pitcrew_model::{CheckResult, Failure, limits, text};
use pitcrew_process::{Cancel, Finished, Policy, Prepared, Run, RunError, Way, open_way, prepare};
use std::{
    path::{Path, PathBuf},
    time::Duration,
};

/// Runs the setup commands in order and stops at the first failure.
pub(crate) fn run_setup(
    policy: &Policy,
    setup: &[String],
    place: &Path,
    cancel: &Cancel,
) -> Result<(), Failure> {
    Commands::of(policy, place).run_setup(setup, cancel)
}

/// Commands that run one after another in the same folder, with one shared network connection.
pub(crate) struct Commands {
    place: PathBuf,
    /// Dropped before the network connection.
    next: Option<(String, Result<Prepared, RunError>)>,
    policy: Policy,
    _way: Option<Way>,
}

impl Commands {
    pub(crate) fn of(policy: &Policy, place: &Path) -> Self {
        // If this fails, each command opens its own connection and reports the error.
        let way = open_way(policy).ok();
        let policy = way.as_ref().map_or(policy, |it| &it.policy).clone().writing(place);
        Self { place: place.to_owned(), next: None, policy, _way: way }
    }

    /// Creates the box of the next command, while other threads still fill the folder.
    ///
    /// The command has to run on the same thread.
    pub(crate) fn expect(&mut self, command: &str) {
        let prepared = prepare(&self.policy, Run::shell(command, &self.place));
        self.next = Some((command.to_owned(), prepared));
    }

    /// Whether there is a box for the next command.
    pub(crate) fn is_ready(&self) -> bool {
        self.next.as_ref().is_some_and(|it| it.1.is_ok())
    }

    /// Runs the setup commands in order and stops at the first failure.
    pub(crate) fn run_setup(&mut self, setup: &[String], cancel: &Cancel) -> Result<(), Failure> {
        for command in setup {
            let result = self.run_one(command, limits::SETUP_TIMEOUT_MS, cancel)?;
            if !result.passed() {
                let CheckResult { command, code, output, .. } = result;
                return Err(Failure::Setup { command, code, output });
            }
        }
        Ok(())
    }

    /// Runs all checks, even if one of them fails.
    pub(crate) fn run_checks(
        &mut self,
        checks: &[String],
        cancel: &Cancel,
    ) -> Result<Vec<CheckResult>, Failure> {
        checks.iter().map(|it| self.run_one(it, limits::CHECK_TIMEOUT_MS, cancel)).collect()
    }

    /// Runs one command. Any exit code is a result.
    pub(crate) fn run_one(
        &mut self,
        command: &str,
        timeout_ms: u64,
        cancel: &Cancel,
    ) -> Result<CheckResult, Failure> {
        let expected = self.next.take().filter(|it| it.0 == command).map(|it| it.1);
        let prepared =
            expected.unwrap_or_else(|| prepare(&self.policy, Run::shell(command, &self.place)));
        let timeout = Duration::from_millis(timeout_ms);
        let finished = match prepared.and_then(|it| it.go(timeout, cancel)) {
            Ok(finished) => finished,
            Err(error) => Finished {
                // The exit code of a shell for a program that it cannot start.
                code: Some(127),
                stdout: chain(&error).into_bytes(),
                ..Finished::default()
            },
        };
        if finished.cancelled {
            return Err(Failure::Interrupted);
        }
        let output = String::from_utf8_lossy(&finished.stdout);
        Ok(CheckResult {
            command: command.to_owned(),
            code: exit_code(&finished),
            output: text::tail(&output, limits::OUTPUT_TAIL_BYTES).to_owned(),
            took_ms: u64::try_from(finished.took.as_millis()).unwrap_or(u64::MAX),
        })
    }
}

fn exit_code(finished: &Finished) -> Option<i32> {
    if finished.timed_out {
        return None;
    }
    finished.code.or_else(|| finished.signal.map(|it| 128 + it))
}
