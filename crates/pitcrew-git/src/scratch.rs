//! A clean checkout that lives as long as a few checks.

use crate::{
    Vault,
    commands::{run_checks, run_setup},
    files::{TemporaryFolder, require_free_space},
};
use pitcrew_model::{CheckFailure, CheckResult, CommitId, Failure};
use pitcrew_process::{Cancel, Policy};

/// What is run in a clean checkout.
pub(crate) struct Trial<'a> {
    /// Whom it is for, as part of a folder's name.
    pub(crate) name: String,
    pub(crate) commit: &'a CommitId,
    pub(crate) setup: &'a [String],
    pub(crate) checks: &'a [String],
}

impl Vault {
    /// Runs setup and checks in a clean, bootstrapped checkout, and removes it.
    pub(crate) fn try_out(
        &self,
        trial: &Trial<'_>,
        policy: &Policy,
        cancel: &Cancel,
    ) -> Result<Vec<CheckResult>, Failure> {
        if trial.checks.is_empty() {
            return Ok(Vec::new());
        }
        require_free_space(&self.layout.scratch)?;
        let folder = TemporaryFolder::new(&self.layout.scratch, &trial.name)?;
        // Checks print paths; the folder of the checkout itself should not look temporary.
        let name = self.user.root().file_name().unwrap_or("checkout".as_ref());
        let path = folder.path().join(name);
        self.make_tree(&path, "pitcrew/check", trial.commit, policy, cancel)?;
        run_setup(policy, trial.setup, &path, cancel)?;
        run_checks(policy, trial.checks, &path, cancel)
    }
}

/// The checks that failed, as the failure they are.
pub(crate) fn require_passed(checks: &[CheckResult]) -> Result<(), Failure> {
    let failed: Vec<CheckFailure> = checks
        .iter()
        .filter(|it| !it.passed())
        .map(|it| CheckFailure {
            command: it.command.clone(),
            code: it.code,
            output: it.output.clone(),
            red_on_base: false,
        })
        .collect();
    if failed.is_empty() { Ok(()) } else { Err(Failure::Checks { failed }) }
}
