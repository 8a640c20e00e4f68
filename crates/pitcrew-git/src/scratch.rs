//! A clean temporary checkout for running checks.

use crate::{
    Vault,
    base_store::Store,
    commands::Commands,
    error::FileError,
    files::{self, TemporaryFolder, require_free_space},
};
use pitcrew_model::{AttemptId, CheckFailure, CheckResult, CommitId, Failure};
use pitcrew_process::{Cancel, Policy};
use std::path::PathBuf;

/// The commands to run in a clean checkout.
pub(crate) struct Trial<'a> {
    /// The purpose, as a part of the folder's name.
    pub(crate) name: String,
    pub(crate) setup: &'a [String],
    pub(crate) checks: &'a [String],
    /// A commit in whose store most objects are.
    pub(crate) near: &'a CommitId,
    /// The attempt whose work is checked. Its checkout borrows from the same store.
    pub(crate) attempt: Option<AttemptId>,
}

impl Trial<'_> {
    fn first(&self) -> Option<&String> {
        self.setup.iter().chain(self.checks).next()
    }
}

/// A folder for checks and the box of the first command, made before the commit to check is known.
/// It has to be used on the thread that created it.
pub struct ReadyTrial {
    // Dropped before the folder.
    commands: Commands,
    scene: Scene,
    first: String,
    store: Store,
}

/// A temporary folder, and the folder in it for the checkout.
pub(crate) struct Scene {
    folder: TemporaryFolder,
    pub(crate) path: PathBuf,
}

impl Scene {
    pub(crate) fn parts(self) -> (TemporaryFolder, PathBuf) {
        (self.folder, self.path)
    }
}

impl Vault {
    /// Prepares to verify work. `None` if that fails: everything is then done when the work is
    /// verified, and errors are reported there.
    pub fn get_trial_ready(
        &self,
        attempt: AttemptId,
        first: &str,
        policy: &Policy,
    ) -> Option<ReadyTrial> {
        require_free_space(&self.layout.scratch).ok()?;
        let record = self.records().checkout(attempt).ok().flatten()?;
        let scene = self.scene(&attempt.to_string()).ok()?;
        let (like, cancel) = (PathBuf::from(&record.path), Cancel::default());
        let store = self.lend_briefly(&scene.path, Some(&like), &record.start, &cancel).ok()?;
        let mut commands = Commands::of(&store.readable(policy), &scene.path);
        commands.expect(first);
        commands.is_ready().then_some(())?;
        Some(ReadyTrial { commands, scene, first: first.to_owned(), store })
    }

    /// Runs setup and checks in a clean, bootstrapped checkout of the commit that `find` returns,
    /// and removes the checkout.
    pub(crate) fn try_out(
        &self,
        trial: &Trial<'_>,
        ready: Option<ReadyTrial>,
        find: impl FnOnce() -> Result<CommitId, Failure> + Send,
        policy: &Policy,
        cancel: &Cancel,
    ) -> Result<(CommitId, Vec<CheckResult>), Failure> {
        if trial.checks.is_empty() {
            return Ok((find()?, Vec::new()));
        }
        require_free_space(&self.layout.scratch)?;
        let make = |path: &PathBuf, store: &Store| {
            let commit = find()?;
            let policy = store.readable(policy);
            self.make_tree(path, "pitcrew/check", &commit, store, &policy, cancel)?;
            Ok::<_, Failure>(commit)
        };
        let (made, mut commands, scene) = match ready.filter(|it| trial.first() == Some(&it.first))
        {
            Some(ReadyTrial { commands, scene, store, .. }) => {
                (make(&scene.path, &store), commands, scene)
            }
            None => {
                let scene = self.scene(&trial.name)?;
                let record =
                    trial.attempt.and_then(|it| self.records().checkout(it).ok().flatten());
                let like = record.map(|it| PathBuf::from(it.path));
                let store = self.lend_briefly(&scene.path, like.as_deref(), trial.near, cancel)?;
                let policy = store.readable(policy);
                let (made, commands) = std::thread::scope(|scope| {
                    let making = scope.spawn(|| make(&scene.path, &store));
                    let mut commands = Commands::of(&policy, &scene.path);
                    if let Some(first) = trial.first() {
                        commands.expect(first);
                    }
                    (making.join().expect("git is started without a panic"), commands)
                });
                (made, commands, scene)
            }
        };
        let tried = made.and_then(|commit| {
            commands.run_setup(trial.setup, cancel)?;
            Ok((commit, commands.run_checks(trial.checks, cancel)?))
        });
        drop(commands);
        self.give_back(&scene.path).ok();
        // A tree has many files, so a thread removes them. If no thread starts, dropping the
        // closure removes them.
        std::thread::Builder::new().name("scratch".into()).spawn(|| drop(scene.folder)).ok();
        tried
    }

    pub(crate) fn scene(&self, name: &str) -> Result<Scene, FileError> {
        let folder = TemporaryFolder::new(&self.layout.scratch, name)?;
        // Checks print paths, so the checkout folder should not look temporary.
        let name = self.user.root().file_name().unwrap_or("checkout".as_ref());
        let path = folder.path().join(name);
        files::create_folder(&path)?;
        Ok(Scene { folder, path })
    }
}

/// Returns an error if any check failed.
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
