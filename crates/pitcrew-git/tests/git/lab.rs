//! A temporary home with a repository and a vault beside it.

use pitcrew_git::{
    AttemptName, Checkout, CheckoutKind, CollectWork, Git, LandPlan, Layout, PrepareCheckout,
    PreparePlan, Repository, SaveWork, Stopped, Vault, Verify,
};
use pitcrew_model::{
    AttemptId, CommitId, Failure, History, Hooks, LandedTask, PlanBase, PlanId, RefusalKind,
    RepoPath, Sign, TaskId, Work, Zone,
};
use pitcrew_process::{Cancel, Finished, Policy, Run, Tier, roots, run_trusted};
use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};
use tempfile::TempDir;

pub const PLAN: PlanId = PlanId(1);

pub struct Lab {
    pub folder: TempDir,
    pub user: PathBuf,
    pub cancel: Cancel,
    pub policy: Policy,
}

/// The access that git has in an agent's tree: as little as possible.
fn policy(home: String) -> Policy {
    let path = std::env::var("PATH").expect("a PATH");
    let environment = BTreeMap::from([("HOME".to_owned(), home), ("PATH".to_owned(), path)]);
    let roots = roots(&environment);
    Policy {
        tier: Tier::T3,
        env: environment.into_iter().collect(),
        read: roots.read,
        deny: roots.deny,
        launcher: Some(launcher()),
        ..Policy::unconfined()
    }
}

/// Cargo builds the examples of a crate together with its tests.
fn launcher() -> PathBuf {
    let tests = std::env::current_exe().expect("the test itself");
    let program = tests.ancestors().nth(2).expect("Cargo's folders").join("examples/git_box");
    assert!(program.exists(), "build it first: cargo build --package pitcrew-git --examples");
    program
}

impl Lab {
    /// A home without a repository.
    pub fn empty() -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let root = folder.path().canonicalize().expect("it exists");
        fs::create_dir_all(root.join("home")).expect("a home");
        fs::create_dir_all(root.join("code/shop")).expect("a folder for code");
        let home = root.join("home").to_str().expect("UTF-8").to_owned();
        let policy = policy(home);
        Self { user: root.join("code/shop"), folder, cancel: Cancel::default(), policy }
    }

    /// A repository with one commit of three files on `main`.
    pub fn new() -> Self {
        let lab = Self::empty();
        lab.git(&["init", "--quiet", "--initial-branch=main"]);
        lab.write("core/lib.rs", "pub fn core() {}\n");
        lab.write("api/lib.rs", "pub fn api() {}\n");
        lab.write("README.md", "# shop\n");
        lab.commit("first");
        lab
    }

    pub fn home(&self) -> PathBuf {
        self.folder.path().canonicalize().expect("it exists").join("home")
    }

    pub fn git_program(&self) -> Git {
        Git::at_home(self.home())
    }

    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        write(&self.user.join(path), text);
    }

    pub fn commit(&self, message: &str) -> CommitId {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "-m", message]);
        self.rev("HEAD")
    }

    pub fn rev(&self, name: &str) -> CommitId {
        CommitId(self.git(&["rev-parse", "--verify", name]))
    }

    /// Runs git as the user in their repository.
    pub fn git(&self, args: &[&str]) -> String {
        self.git_in(&self.user, args)
    }

    pub fn git_in(&self, place: &Path, args: &[&str]) -> String {
        let finished = self.try_git(place, args, "");
        assert!(
            finished.success(),
            "git {args:?} in {}: {}{}",
            place.display(),
            String::from_utf8_lossy(&finished.stdout),
            String::from_utf8_lossy(&finished.stderr)
        );
        String::from_utf8_lossy(&finished.stdout).trim_end().to_owned()
    }

    pub fn try_git(&self, place: &Path, args: &[&str], stdin: impl Into<Vec<u8>>) -> Finished {
        let run = Run::new("git", place)
            .args(args)
            .stdin(stdin)
            .env("HOME", self.home())
            .env("XDG_CONFIG_HOME", self.home().join(".config"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("LC_ALL", "C.UTF-8");
        let run = ["AUTHOR", "COMMITTER"].iter().fold(run, |run, who| {
            run.env(format!("GIT_{who}_NAME"), "Ada")
                .env(format!("GIT_{who}_EMAIL"), "ada@example.org")
        });
        run_trusted(run, &self.cancel).expect("git starts")
    }

    /// Runs git in the vault.
    pub fn vault_git(&self, vault: &Vault, args: &[&str]) -> String {
        self.git_in(&vault.layout().vault, args)
    }

    pub fn repository(&self) -> Repository {
        Repository::discover(&self.git_program(), &self.user, &self.cancel).expect("a repository")
    }

    pub fn vault(&self) -> Vault {
        let user = self.repository();
        let state = self.folder.path().canonicalize().expect("it exists").join("state");
        let layout = Layout::beside(&user, &state);
        Vault::open_or_create(user, &layout, &self.cancel).expect("a vault")
    }

    pub fn plan(&self, vault: &Vault) -> PlanBase {
        let order = PreparePlan { plan: PLAN, base: None, clean_base: false, include: Vec::new() };
        vault.prepare_plan(&order, &self.cancel).expect("a base")
    }

    pub fn checkout(&self, vault: &Vault, name: &AttemptName, start: &CommitId) -> Checkout {
        let order = PrepareCheckout {
            name: name.clone(),
            kind: CheckoutKind::Task,
            start: start.clone(),
            setup: Vec::new(),
        };
        vault.prepare_checkout(&order, &self.policy, &self.cancel, &|_| {}).expect("a checkout")
    }

    /// Collects with `region` as the zone. An empty region allows everything.
    pub fn collect(
        &self,
        vault: &Vault,
        name: &AttemptName,
        path: &Path,
        start: &CommitId,
        region: &[&str],
    ) -> Result<Work, Failure> {
        let order = collect_order(name, path, start, region);
        vault.collect(&order, &self.policy, &self.cancel)
    }

    pub fn save(&self, vault: &Vault, name: &AttemptName, path: &Path) -> Option<CommitId> {
        let order = SaveWork { name: name.clone(), path: Some(path.to_owned()) };
        vault.save(&order, &self.policy, &self.cancel).expect("saved")
    }

    /// A checkout of the first attempt, and two states of its work. In the second state, one file
    /// is added, one removed and one changed.
    pub fn two_states(&self, vault: &Vault) -> (PathBuf, [CommitId; 2]) {
        let (name, base) = (attempt(1), self.plan(vault));
        let path = self.checkout(vault, &name, &base.start).path;
        write(&path.join("core/new.rs"), "new\n");
        let first = self.save(vault, &name, &path).expect("a state");
        write(&path.join("core/lib.rs"), "changed\n");
        write(&path.join("api/more.rs"), "more\n");
        fs::remove_file(path.join("README.md")).expect("a file");
        let second = self.save(vault, &name, &path).expect("a state");
        (path, [first, second])
    }

    pub fn integrate(
        &self,
        vault: &Vault,
        number: u64,
        onto: &CommitId,
        edit: impl FnOnce(&Path),
    ) -> CommitId {
        let name = attempt(number);
        let checkout = self.checkout(vault, &name, onto);
        edit(&checkout.path);
        let work = self.collect(vault, &name, &checkout.path, onto, &[]).expect("work");
        let order = verify_order(onto, &work.commit);
        let merged = vault.verify(&order, &self.policy, &self.cancel).expect("verified").merged;
        vault.integrate(PLAN, onto, &merged, &self.cancel).expect("integrated")
    }
}

pub fn collect_order(
    name: &AttemptName,
    path: &Path,
    start: &CommitId,
    region: &[&str],
) -> CollectWork {
    CollectWork {
        name: name.clone(),
        path: path.to_owned(),
        start: start.clone(),
        base: start.clone(),
        zone: zone(region),
        message: "did it".into(),
    }
}

pub fn verify_order(onto: &CommitId, work: &CommitId) -> Verify {
    Verify {
        attempt: AttemptId(1),
        onto: onto.clone(),
        work: work.clone(),
        title: "task-1: do it".into(),
        setup: Vec::new(),
        checks: Vec::new(),
        expected_files: Vec::new(),
        zone: Zone::default(),
    }
}

pub fn land_order(base: &PlanBase, head: &CommitId) -> LandPlan {
    LandPlan {
        plan: PLAN,
        slug: "shop".into(),
        title: "Improve the shop".into(),
        branch: base.branch.clone(),
        start: base.start.clone(),
        tip: base.tip.clone(),
        head: head.clone(),
        setup: Vec::new(),
        checks: Vec::new(),
        history: History::Merge,
        message: None,
        hooks: Hooks::Run,
        sign: Sign::Terminal,
        signed: None,
        tasks: Vec::new(),
    }
}

/// Why nothing was landed.
#[track_caller]
pub fn failed<T: std::fmt::Debug>(result: Result<T, Stopped>) -> Failure {
    match result.expect_err("nothing was landed") {
        Stopped::Failed(failure) => failure,
        Stopped::Unsigned(unsigned) => panic!("a signature is missing: {unsigned:?}"),
    }
}

/// The order to land tasks that were integrated as these heads, in this sequence.
pub fn land_tasks(base: &PlanBase, heads: &[&CommitId]) -> LandPlan {
    let mut onto = &base.start;
    let mut tasks = Vec::new();
    for (number, merged) in (1..).zip(heads) {
        tasks.push(LandedTask {
            task: TaskId(number),
            key: format!("part-{number}"),
            summary: format!("wrote part {number}"),
            agent: Some("claude".into()),
            onto: onto.clone(),
            merged: (*merged).clone(),
        });
        onto = merged;
    }
    LandPlan { tasks, ..land_order(base, onto) }
}

pub fn attempt(number: u64) -> AttemptName {
    AttemptName {
        attempt: AttemptId(number),
        plan: PLAN,
        task: TaskId(number),
        number: 1,
        slug: "work".into(),
    }
}

pub fn zone(region: &[&str]) -> Zone {
    let parse = |it: &&str| RepoPath::parse_prefix(it).expect("a path");
    Zone { region: region.iter().map(parse).collect(), ..Zone::default() }
}

pub fn write(path: &Path, text: impl AsRef<[u8]>) {
    fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
    fs::write(path, text).expect("a file");
}

pub fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub fn make_executable(path: &Path) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a mode");
}

/// Everything in a folder except `.git`: path, mode and content.
pub fn tree_of(root: &Path) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    let mut tree = BTreeMap::new();
    let mut open = vec![root.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).expect("a folder").flatten() {
            let path = entry.path();
            let metadata = fs::symlink_metadata(&path).expect("metadata");
            if metadata.is_dir() {
                if entry.file_name() != OsStr::new(".git") {
                    open.push(path);
                }
                continue;
            }
            let content = if metadata.is_symlink() {
                fs::read_link(&path).expect("a link").into_os_string().into_encoded_bytes()
            } else if metadata.is_file() {
                fs::read(&path).expect("a file")
            } else {
                Vec::new()
            };
            tree.insert(path, (metadata.permissions().mode(), content));
        }
    }
    tree
}

/// The same, with paths relative to the folder.
pub fn below(root: &Path) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    let name = |it: PathBuf| it.strip_prefix(root).expect("it is below").to_owned();
    tree_of(root).into_iter().map(|(path, file)| (name(path), file)).collect()
}

/// The refused paths with their kinds.
pub fn refusals(result: Result<Work, Failure>) -> Vec<(String, RefusalKind)> {
    match result {
        Err(Failure::Gate { refusals, .. }) => {
            refusals.into_iter().map(|it| (it.path, it.kind)).collect()
        }
        other => panic!("no refusal: {other:?}"),
    }
}
