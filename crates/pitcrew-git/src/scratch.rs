//! A clean checkout that lives as long as a few checks.

use crate::{
    Vault,
    commands::Commands,
    files::{self, TemporaryFolder, require_free_space},
};
use pitcrew_model::{CheckFailure, CheckResult, CommitId, Failure};
use pitcrew_process::{Cancel, Policy};

/// What is run in a clean checkout.
pub(crate) struct Trial<'a> {
    /// Whom it is for, as part of a folder's name.
    pub(crate) name: String,
    pub(crate) setup: &'a [String],
    pub(crate) checks: &'a [String],
}

impl Vault {
    /// Runs setup and checks in a clean, bootstrapped checkout of what `find` finds, and removes it.
    pub(crate) fn try_out(
        &self,
        trial: &Trial<'_>,
        find: impl FnOnce() -> Result<CommitId, Failure> + Send,
        policy: &Policy,
        cancel: &Cancel,
    ) -> Result<(CommitId, Vec<CheckResult>), Failure> {
        if trial.checks.is_empty() {
            return Ok((find()?, Vec::new()));
        }
        require_free_space(&self.layout.scratch)?;
        let folder = TemporaryFolder::new(&self.layout.scratch, &trial.name)?;
        let tried = self.try_in(&folder, trial, find, policy, cancel);
        // A tree has many files, and nobody has to wait until they are gone. Where that is not done
        // behind everything else it is done at once.
        std::thread::Builder::new().name("scratch".into()).spawn(|| drop(folder)).ok();
        tried
    }

    fn try_in(
        &self,
        folder: &TemporaryFolder,
        trial: &Trial<'_>,
        find: impl FnOnce() -> Result<CommitId, Failure> + Send,
        policy: &Policy,
        cancel: &Cancel,
    ) -> Result<(CommitId, Vec<CheckResult>), Failure> {
        // Checks print paths; the folder of the checkout itself should not look temporary.
        let name = self.user.root().file_name().unwrap_or("checkout".as_ref());
        let path = folder.path().join(name);
        files::create_folder(&path)?;
        let make = || {
            let commit = find()?;
            self.make_tree(&path, "pitcrew/check", &commit, policy, cancel)?;
            Ok::<_, Failure>(commit)
        };
        let (made, mut commands) = std::thread::scope(|scope| {
            let making = scope.spawn(make);
            let mut commands = Commands::of(policy, &path);
            if let Some(first) = trial.setup.iter().chain(trial.checks).next() {
                commands.expect(first);
            }
            (making.join().expect("git is started without a panic"), commands)
        });
        let commit = made?;
        commands.run_setup(trial.setup, cancel)?;
        Ok((commit, commands.run_checks(trial.checks, cancel)?))
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
