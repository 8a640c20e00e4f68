//! The repository that a command works on, with its folders and settings.

mod cache;

use crate::{exit::Exit, report::Report};
use pitcrew_config::{
    Dirs, LayerPaths, Origins, Permissions, Settings, Trust, WorkspaceDirs, WorkspaceId, printable,
    read_layers, read_permissions, user_environment,
};
use pitcrew_git::{Git, Layout, Place, Repository};
use pitcrew_process::{Cancel, Run, run_trusted};
use std::{
    path::{Path, PathBuf},
    time::Duration,
};

pub const WORKTREES_HELP: &str = "set `worktrees` in your settings, usually \
                                  `~/.config/pitcrew/config.toml`, or PITCREW_WORKTREES, to a \
                                  folder that you may write to";

/// The list of the files of a commit.
const LISTING_BYTES_MAX: usize = 64 * 1_024 * 1_024;
/// Uncommitted paths that are listed before the rest is only counted.
const PATHS_LISTED_MAX: usize = 10;

/// A repository and its folders.
#[derive(Clone, Debug)]
pub struct Workspace {
    pub repository: Repository,
    pub user: Dirs,
    pub dirs: WorkspaceDirs,
}

impl Workspace {
    /// Finds the repository of the current folder, from the cache if possible.
    pub fn here() -> Result<Self, Report> {
        let (path, user) = (current_folder()?, user_dirs()?);
        match Place::find(&path).and_then(|it| cache::recall(&user, it)) {
            Some(repository) => Ok(Self::of(repository, user)),
            None => Self::at(&path),
        }
    }

    /// Finds the repository of this path with git.
    pub fn at(path: &Path) -> Result<Self, Report> {
        let (before, user) = (Place::find(path), user_dirs()?);
        let repository = Repository::discover(&Git::default(), path, &Cancel::default())
            .map_err(|error| Report::from_error(Exit::Usage, &error))?;
        let workspace = Self::of(repository, user);
        // Inspecting a repository must not create files.
        let is_used = workspace.dirs.state.is_dir();
        if let Some(place) = before.filter(|it| is_used && Place::find(path).as_ref() == Some(it)) {
            cache::remember(&workspace.user, &place, &workspace.repository);
        }
        Ok(workspace)
    }

    fn of(repository: Repository, user: Dirs) -> Self {
        let id = WorkspaceId::new(repository.root_commit(), repository.root());
        let dirs = user.workspace(&id).found();
        Self { repository, user, dirs }
    }

    pub fn root(&self) -> &Path {
        self.repository.root()
    }

    /// Creates the private folders of the workspace.
    pub fn make_dirs(&self) -> Result<(), Report> {
        self.dirs.make().map_err(|error| {
            let is_state = error.path.starts_with(&self.dirs.state);
            let variable = if is_state { "XDG_STATE_HOME" } else { "XDG_RUNTIME_DIR" };
            Report::from_error(Exit::Unreachable, &error)
                .help(format!("make it writable, or set {variable} to another folder"))
        })
    }

    /// Merges all layers of settings.
    pub fn settings(&self) -> Result<(Settings, Origins), Report> {
        let paths = LayerPaths::new(&self.user, self.root());
        let mut sources =
            read_layers(&paths).map_err(|error| Report::from_error(Exit::Usage, &error))?;
        if let Some(local) = &mut sources.local
            && self.is_committed(&paths.local)
        {
            local.trust = Trust::Repository;
        }
        sources.environment = user_environment();
        let loaded =
            Settings::load(&sources).map_err(|errors| Report::diagnostics(errors.to_string()))?;
        self.refuse_worktrees_inside(&loaded)?;
        Ok(loaded)
    }

    /// Checkouts inside the repository would be added to it by `git add`.
    fn refuse_worktrees_inside(
        &self,
        (settings, origins): &(Settings, Origins),
    ) -> Result<(), Report> {
        let Some(folder) = &settings.worktrees else { return Ok(()) };
        let place = Layout::resolved(folder);
        let inside = [self.root(), self.repository.common_dir(), self.repository.git_dir()];
        let Some(around) = inside.into_iter().find(|it| place.starts_with(it)) else {
            return Ok(());
        };
        let origin = origins.get("worktrees").expect("a value has an origin");
        let message = format!(
            "{origin}: `worktrees` is `{}`, which is inside `{}`",
            printable(&folder.display().to_string()),
            printable(&around.display().to_string())
        );
        let help = "choose a folder outside the repository, or remove the setting: checkouts are \
                    then beside it, in `.worktrees`";
        Err(Report::new(Exit::Usage, message).help(help))
    }

    /// The folders that the orchestrator of this repository uses.
    pub fn layout(&self, settings: &Settings) -> Layout {
        Layout::beside(&self.repository, &self.dirs.state)
            .with_checkouts(settings.worktrees.as_deref())
    }

    /// Fails unless checkouts can be created.
    pub fn require_checkouts(&self, settings: &Settings) -> Result<(), Report> {
        let layout = self.layout(settings);
        let Some(obstacle) = layout.obstacle() else { return Ok(()) };
        let message = format!("checkouts cannot be created in `{}`", layout.checkouts.display());
        Err(Report::new(Exit::Failure, message).because(obstacle).help(WORKTREES_HELP))
    }

    /// Merges all layers of permissions. Errors in the files are part of the result.
    pub fn permissions(&self) -> Result<Permissions, Report> {
        let (settings, _) = self.settings()?;
        Ok(self.permissions_with(&settings))
    }

    pub fn permissions_with(&self, settings: &Settings) -> Permissions {
        let sources = read_permissions(&self.user, self.root(), &settings.permissions);
        Permissions::load(&sources)
    }

    /// Fails with a list of uncommitted paths, if there are any.
    pub fn require_clean(&self) -> Result<(), Report> {
        // Without locks, so that not even the timestamps in the user's index change.
        let asked = Run::new("git", self.root())
            .args(["--no-optional-locks", "-c", "core.fsmonitor=false", "status"])
            .args(["--porcelain", "-z", "--no-renames", "--untracked-files=all"])
            .arg("--ignore-submodules=dirty")
            .timeout(Duration::from_mins(1));
        let found = run_trusted(asked, &Cancel::default())
            .map_err(|error| Report::from_error(Exit::Failure, &error))?;
        if !found.success() {
            let complaint = String::from_utf8_lossy(&found.stderr).trim().to_owned();
            return Err(Report::new(Exit::Failure, "git failed to list uncommitted changes")
                .because(complaint));
        }
        let paths = uncommitted(&String::from_utf8_lossy(&found.stdout));
        if paths.is_empty() {
            return Ok(());
        }
        let more = match paths.len().saturating_sub(PATHS_LISTED_MAX) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let listed = paths[..paths.len().min(PATHS_LISTED_MAX)].join(", ");
        let message = format!("the working tree has uncommitted changes: {listed}{more}");
        Err(Report::new(Exit::Usage, message).help(
            "commit or stash them, or leave out `--base HEAD` to start from a snapshot of them",
        ))
    }

    /// The files of a commit. `None` if git cannot list them.
    pub fn committed_files(&self, commit: &str) -> Option<Vec<String>> {
        let asked = Run::new("git", self.root())
            .args(["ls-tree", "-r", "-z", "--name-only", "--full-tree", commit])
            .output_bytes_max(LISTING_BYTES_MAX)
            .timeout(Duration::from_mins(1));
        let found = run_trusted(asked, &Cancel::default()).ok()?;
        let is_whole = found.success() && !found.truncated;
        let paths = String::from_utf8_lossy(&found.stdout);
        is_whole.then(|| paths.split_terminator('\0').map(str::to_owned).collect())
    }

    /// A committed file comes from the repository, not from the user.
    fn is_committed(&self, path: &Path) -> bool {
        let listed = Run::new("git", self.root())
            .args(["-c", "core.fsmonitor=false", "ls-files", "--error-unmatch", "--"])
            .arg(path)
            .timeout(Duration::from_mins(1));
        // If git fails, the file is not trusted.
        run_trusted(listed, &Cancel::default()).map_or(true, |it| it.success())
    }
}

/// Parses the paths in the output of `git status`. Nested repositories are ignored.
fn uncommitted(status: &str) -> Vec<String> {
    let entries = status.split('\0').filter_map(|it| it.split_at_checked(3));
    let inside = entries.filter(|(kind, path)| !(*kind == "?? " && path.ends_with('/')));
    inside.map(|(_, path)| printable(path)).collect()
}

pub fn current_folder() -> Result<PathBuf, Report> {
    std::env::current_dir().map_err(|error| {
        Report::new(Exit::Failure, "the current folder no longer exists").because(error.to_string())
    })
}

/// The folders of the user who runs this.
pub fn user_dirs() -> Result<Dirs, Report> {
    Dirs::from_env(&user_environment(), rustix::process::getuid().as_raw())
        .map_err(|error| Report::from_error(Exit::Usage, &error))
}

/// The effective settings here: those of the repository, or only the user's outside a repository.
pub fn settings_here() -> Result<(Settings, Origins), Report> {
    if let Ok(workspace) = Workspace::here() {
        return workspace.settings();
    }
    let nowhere = Path::new("/nonexistent");
    let sources = read_layers(&LayerPaths::new(&user_dirs()?, nowhere));
    let mut sources = sources.map_err(|error| Report::from_error(Exit::Usage, &error))?;
    sources.environment = user_environment();
    Settings::load(&sources).map_err(|errors| Report::diagnostics(errors.to_string()))
}
/// Fails unless `name` is a branch, tag or commit of the repository.
pub fn require_commit(root: &Path, name: &str) -> Result<(), Report> {
    let asked = Run::new("git", root)
        .args(["rev-parse", "--verify", "--quiet"])
        .arg(format!("{name}^{{commit}}"))
        .timeout(Duration::from_mins(1));
    let found = run_trusted(asked, &Cancel::default())
        .map_err(|error| Report::from_error(Exit::Failure, &error))?;
    if found.success() {
        return Ok(());
    }
    let message = format!("the base `{name}` is not a branch or commit of this repository");
    Err(Report::new(Exit::Usage, message)
        .help("`git branch --all` lists the branches; without a base, the plan starts from the current branch"))
}
