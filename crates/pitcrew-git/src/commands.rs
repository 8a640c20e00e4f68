//! Runs the plan's own commands in a checkout: setup and checks. Confined, they are repository code.

use crate::error::chain;
use pitcrew_model::{CheckResult, Failure, limits, text};
use pitcrew_process::{Cancel, Finished, Policy, Prepared, Run, RunError, Way, open_way, prepare};
use std::{
    path::{Path, PathBuf},
    time::Duration,
};

/// Runs the setup commands in order, up to the first that fails.
pub(crate) fn run_setup(
    policy: &Policy,
    setup: &[String],
    place: &Path,
    cancel: &Cancel,
) -> Result<(), Failure> {
    Commands::of(policy, place).run_setup(setup, cancel)
}

/// Commands that are run one after another in the same place, with one way to the network.
pub(crate) struct Commands {
    place: PathBuf,
    /// Ends before the way.
    next: Option<(String, Result<Prepared, RunError>)>,
    policy: Policy,
    _way: Option<Way>,
}

impl Commands {
    pub(crate) fn of(policy: &Policy, place: &Path) -> Self {
        // Where there is none, each command fails when it looks for its own, and says why.
        let way = open_way(policy).ok();
        let policy = way.as_ref().map_or(policy, |it| &it.policy).clone().writing(place);
        Self { place: place.to_owned(), next: None, policy, _way: way }
    }

    /// Makes the box of the command that comes next, while others still fill the place.
    ///
    /// It has to be run on this thread.
    pub(crate) fn expect(&mut self, command: &str) {
        let prepared = prepare(&self.policy, Run::shell(command, &self.place));
        self.next = Some((command.to_owned(), prepared));
    }

    /// Whether there is a box for what comes next.
    pub(crate) fn is_ready(&self) -> bool {
        self.next.as_ref().is_some_and(|it| it.1.is_ok())
    }

    /// Runs the setup commands in order, up to the first that fails.
    pub(crate) fn run_setup(&mut self, setup: &[String], cancel: &Cancel) -> Result<(), Failure> {
        for command in setup {
            let result = self.run(command, limits::SETUP_TIMEOUT_MS, cancel)?;
            if !result.passed() {
                let CheckResult { command, code, output, .. } = result;
                return Err(Failure::Setup { command, code, output });
            }
        }
        Ok(())
    }

    /// Runs all the checks, also after one that failed.
    pub(crate) fn run_checks(
        &mut self,
        checks: &[String],
        cancel: &Cancel,
    ) -> Result<Vec<CheckResult>, Failure> {
        checks.iter().map(|it| self.run(it, limits::CHECK_TIMEOUT_MS, cancel)).collect()
    }

    fn run(
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
                // As a shell says it of a program that it cannot start.
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
