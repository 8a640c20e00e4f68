//! A clean temporary checkout for running checks.

use crate::{
    Vault,
    commands::Commands,
    error::FileError,
    files::{self, TemporaryFolder, require_free_space},
};
use pitcrew_model::{CheckFailure, CheckResult, CommitId, Failure};
use pitcrew_process::{Cancel, Policy};
use std::path::PathBuf;

/// What is run in a clean checkout.
pub(crate) struct Trial<'a> {
    /// What it is for, as part of a folder's name.
    pub(crate) name: String,
    pub(crate) setup: &'a [String],
    pub(crate) checks: &'a [String],
}

impl Trial<'_> {
    fn first(&self) -> Option<&String> {
        self.setup.iter().chain(self.checks).next()
    }
}

/// A place for checks and the box of the first command, made before it is known what they are run on.
/// To be used on the thread that made it.
pub struct ReadyTrial {
    // Ends before its folder.
    commands: Commands,
    scene: Scene,
    first: String,
}

/// A folder of its own, and the one in it that a checkout is made in.
struct Scene {
    folder: TemporaryFolder,
    path: PathBuf,
}

impl Vault {
    /// Prepares to verify work. `None` where that fails: then everything is done, and errors are
    /// reported, when the work is verified.
    pub fn get_trial_ready(&self, name: &str, first: &str, policy: &Policy) -> Option<ReadyTrial> {
        require_free_space(&self.layout.scratch).ok()?;
        let scene = self.scene(name).ok()?;
        let mut commands = Commands::of(policy, &scene.path);
        commands.expect(first);
        commands.is_ready().then_some(())?;
        Some(ReadyTrial { commands, scene, first: first.to_owned() })
    }

    /// Runs setup and checks in a clean, bootstrapped checkout of what `find` finds, and removes it.
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
        let make = |path: &PathBuf| {
            let commit = find()?;
            self.make_tree(path, "pitcrew/check", &commit, policy, cancel)?;
            Ok::<_, Failure>(commit)
        };
        let (made, mut commands, scene) = match ready.filter(|it| trial.first() == Some(&it.first))
        {
            Some(ReadyTrial { commands, scene, .. }) => (make(&scene.path), commands, scene),
            None => {
                let scene = self.scene(&trial.name)?;
                let (made, commands) = std::thread::scope(|scope| {
                    let making = scope.spawn(|| make(&scene.path));
                    let mut commands = Commands::of(policy, &scene.path);
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
        // A tree has many files, so a thread removes them. Without a thread, dropping the closure does.
        std::thread::Builder::new().name("scratch".into()).spawn(|| drop(scene.folder)).ok();
        tried
    }

    fn scene(&self, name: &str) -> Result<Scene, FileError> {
        let folder = TemporaryFolder::new(&self.layout.scratch, name)?;
        // Checks print paths; the folder of the checkout itself should not look temporary.
        let name = self.user.root().file_name().unwrap_or("checkout".as_ref());
        let path = folder.path().join(name);
        files::create_folder(&path)?;
        Ok(Scene { folder, path })
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
