//! Runs the checks of a plan on its base, to know which checks already fail there.

use crate::{Vault, scratch::Trial};
use pitcrew_model::{CheckResult, CommitId, Failure, PlanId};
use pitcrew_process::{Cancel, Policy};

impl Vault {
    /// Runs the checks on the base. Never fails: a base that cannot be checked out has no results.
    pub fn check_base(
        &self,
        plan: PlanId,
        commit: &CommitId,
        setup: &[String],
        checks: &[String],
        policy: &Policy,
        cancel: &Cancel,
    ) -> Vec<CheckResult> {
        let trial =
            Trial { name: format!("{plan}-base"), setup, checks, near: commit, attempt: None };
        match self.try_out(&trial, None, || Ok(commit.clone()), policy, cancel) {
            Ok((_, results)) => results,
            Err(Failure::Setup { command, code, output }) => checks
                .iter()
                .map(|check| CheckResult {
                    command: check.clone(),
                    code,
                    output: format!("setup `{command}` failed before it:\n{output}"),
                    took_ms: 0,
                })
                .collect(),
            Err(_) => Vec::new(),
        }
    }
}
