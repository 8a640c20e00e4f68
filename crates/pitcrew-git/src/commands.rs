//! Runs the plan's own commands in a checkout: setup and checks. Confined, they are repository code.

use crate::error::chain;
use pitcrew_model::{CheckResult, Failure, limits, text};
use pitcrew_process::{Cancel, Finished, Policy, shell};
use std::{path::Path, time::Duration};

/// Runs the setup commands in order, up to the first that fails.
pub(crate) fn run_setup(
    policy: &Policy,
    setup: &[String],
    place: &Path,
    cancel: &Cancel,
) -> Result<(), Failure> {
    for command in setup {
        let result = run(policy, command, place, limits::SETUP_TIMEOUT_MS, cancel)?;
        if !result.passed() {
            let CheckResult { command, code, output, .. } = result;
            return Err(Failure::Setup { command, code, output });
        }
    }
    Ok(())
}

/// Runs all the checks, also after one that failed.
pub(crate) fn run_checks(
    policy: &Policy,
    checks: &[String],
    place: &Path,
    cancel: &Cancel,
) -> Result<Vec<CheckResult>, Failure> {
    checks.iter().map(|it| run(policy, it, place, limits::CHECK_TIMEOUT_MS, cancel)).collect()
}

fn run(
    policy: &Policy,
    command: &str,
    place: &Path,
    timeout_ms: u64,
    cancel: &Cancel,
) -> Result<CheckResult, Failure> {
    let timeout = Duration::from_millis(timeout_ms);
    let policy = policy.clone().writing(place);
    let finished = match shell(&policy, command, place, timeout, cancel) {
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

fn exit_code(finished: &Finished) -> Option<i32> {
    if finished.timed_out {
        return None;
    }
    finished.code.or_else(|| finished.signal.map(|it| 128 + it))
}
