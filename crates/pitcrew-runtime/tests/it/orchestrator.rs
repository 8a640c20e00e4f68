//! An orchestrator in this process: it releases everything when it ends.

use pitcrew_config::{Dirs, Settings, Sources, WorkspaceDirs, WorkspaceId, parse_plan};
use pitcrew_git::{Git, Repository};
use pitcrew_model::{
    Actor, Approval, Command, CreatePlan, Input, InputBody, Origin, PlanId, PlanStatus, Rejection,
    Timestamp,
};
use pitcrew_process::{Cancel, Run, run_trusted};
use pitcrew_runtime::{Orchestrator, Setup, StartErrorKind, Tokens, Writer};
use pitcrew_store::{OpenErrorKind, SqliteJournal};
use rustix::process::{Pid, test_kill_process};
use std::{
    collections::BTreeMap,
    env, fs,
    path::Path,
    thread,
    time::{Duration, Instant},
};
use tempfile::TempDir;

const LONG: Duration = Duration::from_mins(1);

fn git(root: &Path, arguments: &[&str]) {
    let identity = ["user.name=Ada", "user.email=ada@example.org", "core.hooksPath=/dev/null"];
    let run = Run::new("git", root)
        .args(identity.iter().flat_map(|it| ["-c", it]))
        .args(arguments)
        .env("HOME", root)
        .env("GIT_CONFIG_NOSYSTEM", "1");
    let finished = run_trusted(run, &Cancel::default()).unwrap();
    assert!(finished.success(), "{finished:?}");
}

fn workspace() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("repository");
    fs::create_dir(&root).unwrap();
    fs::write(root.join("file"), "text\n").unwrap();
    git(&root, &["init", "--quiet", "--initial-branch=main"]);
    git(&root, &["add", "."]);
    git(&root, &["commit", "--quiet", "--message=start"]);
    dir
}

fn repository(dir: &Path) -> Repository {
    let git = Git::default();
    Repository::discover(&git, &dir.join("repository"), &Cancel::default()).unwrap()
}

fn dirs(dir: &Path, repository: &Repository) -> WorkspaceDirs {
    let id = WorkspaceId::new(repository.root_commit(), repository.root());
    let below = |name: &str| dir.join(name).display().to_string();
    let environment: BTreeMap<String, String> =
        [("HOME", "home"), ("XDG_STATE_HOME", "state"), ("XDG_RUNTIME_DIR", "run")]
            .map(|(name, folder)| (name.to_owned(), below(folder)))
            .into();
    Dirs::from_env(&environment, 0).unwrap().workspace(&id)
}

fn start(dir: &Path) -> Result<Orchestrator, StartErrorKind> {
    let repository = repository(dir);
    let dirs = dirs(dir, &repository);
    let (mut settings, _) = Settings::load(&Sources::default()).unwrap();
    // This program cannot launch sandboxes.
    settings.sandbox.tier = Some(pitcrew_model::Tier::T1);
    let tokens = Tokens::new("0".repeat(64));
    let program = env::current_exe().unwrap();
    let matrix = pitcrew_model::Matrix::builtin();
    let setup = Setup { program, repository, dirs, settings, matrix, tokens };
    Orchestrator::start(setup).map_err(|it| it.kind)
}

/// A plan that starts nothing by itself.
pub fn plan(check: &str) -> Command {
    let text = format!(
        "name = \"p\"\ndeploy = \"manual\"\n[[task]]\nid = \"t\"\ncommand = \"true\"\nchecks = [\"{check}\"]\n"
    );
    let (settings, _) = Settings::load(&Sources::default()).unwrap();
    let spec = parse_plan("plan.toml", &text, &settings.plan_defaults()).unwrap().spec;
    let (origin, clean_base, approval) = (Origin::File, false, Approval::Given);
    Command::CreatePlan(CreatePlan { spec, origin, clean_base, approval, default_agent: None })
}

/// A plan whose base check runs for ten minutes, in a process that records its id.
fn endless(pid: &Path) -> Command {
    plan(&format!("echo $$ > '{}'; exec sleep 600", pid.display()))
}

async fn until<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + LONG;
    let mut look = tokio::time::interval(Duration::from_millis(5));
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(Instant::now() < until, "{what} does not come");
        look.tick().await;
    }
}

async fn running(file: &Path) -> Pid {
    until("the check", || Pid::from_raw(fs::read_to_string(file).ok()?.trim().parse().ok()?)).await
}

async fn gone(pid: Pid) {
    until("its end", || test_kill_process(pid).is_err().then_some(())).await;
}

/// A long check does not delay the stop, and its cancellation is not recorded as a result.
#[tokio::test]
async fn a_stop_kills_running_work_and_leaves_its_effect_open() {
    let dir = workspace();
    let orchestrator = start(dir.path()).unwrap();
    let file = dir.path().join("pid");
    let handle = orchestrator.handle().clone();
    handle.command(Actor::Person, endless(&file)).await.unwrap();
    let pid = running(&file).await;
    let began = Instant::now();
    orchestrator.stop().await;
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    assert!(test_kill_process(pid).is_err(), "it went first");
    let refused = handle.command(Actor::Person, Command::CollectGarbage).await.unwrap_err();
    assert_eq!(refused, Rejection::ShuttingDown);
    assert_eq!(handle.garbage().await.removable, []);
    orchestrator.stop().await;

    // The journal is unlocked at once, and the check runs again.
    fs::remove_file(&file).unwrap();
    let next = start(dir.path()).unwrap();
    let pid = running(&file).await;
    let status = next.handle().views().board.plan_view(PlanId(1)).unwrap().status;
    assert_eq!(status, PlanStatus::Active);
    // After the cancel the check is not needed.
    let cancel = Command::CancelPlan { plan: PlanId(1) };
    next.handle().command(Actor::Person, cancel).await.unwrap();
    gone(pid).await;
    until("rest", || (!next.handle().is_busy()).then_some(())).await;
    next.stop().await;
}

/// The next orchestrator must not run beside the programs of the last one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_journal_stays_locked_until_everything_has_ended() {
    let dir = workspace();
    let orchestrator = start(dir.path()).unwrap();
    let file = dir.path().join("pid");
    orchestrator.handle().command(Actor::Person, endless(&file)).await.unwrap();
    let pid = running(&file).await;
    let state = dirs(dir.path(), &repository(dir.path())).state;
    let next = thread::spawn(move || {
        let until = Instant::now() + LONG;
        while SqliteJournal::open(&state).is_err() {
            assert!(Instant::now() < until, "it is never free");
        }
        test_kill_process(pid).is_err()
    });
    orchestrator.stop().await;
    assert!(next.join().unwrap(), "it was free while the check still ran");
}

/// The check was cancelled while no orchestrator was running to stop it.
#[tokio::test]
async fn a_check_of_an_ended_plan_is_not_run_again() {
    let dir = workspace();
    let orchestrator = start(dir.path()).unwrap();
    let file = dir.path().join("pid");
    orchestrator.handle().command(Actor::Person, endless(&file)).await.unwrap();
    running(&file).await;
    orchestrator.stop().await;

    let journal = SqliteJournal::open(&dirs(dir.path(), &repository(dir.path())).state).unwrap();
    let mut writer = Writer::open(journal, |_| {}).unwrap();
    let body = InputBody::Command(Command::CancelPlan { plan: PlanId(1) });
    let cancelled = writer.commit(&[Input { at: Timestamp(1), actor: Actor::Person, body }]);
    assert!(cancelled.verdicts[0].is_ok(), "{:?}", cancelled.verdicts);
    assert_eq!(writer.state().effects.len(), 1, "the check is still open");
    drop(writer);

    let next = start(dir.path()).unwrap();
    // The effect is closed by a writer that knows the open effects.
    next.handle().garbage().await;
    until("rest", || (!next.handle().is_busy()).then_some(())).await;
    next.stop().await;
}

/// Otherwise deadlines would be delayed by the amount by which the clock was set back.
#[tokio::test(flavor = "multi_thread")]
async fn time_continues_from_the_journal_if_the_clock_was_set_back() {
    let dir = workspace();
    let later = pitcrew_runtime::now().plus(3_600_000);
    let journal = SqliteJournal::open(&dirs(dir.path(), &repository(dir.path())).state).unwrap();
    let mut writer = Writer::open(journal, |_| {}).unwrap();
    let body = InputBody::Command(plan("true"));
    let created = writer.commit(&[Input { at: later, actor: Actor::Person, body }]);
    assert!(created.verdicts[0].is_ok(), "{:?}", created.verdicts);
    drop(writer);

    let orchestrator = start(dir.path()).unwrap();
    assert!(pitcrew_runtime::now() >= later);
    orchestrator.stop().await;
}

/// Dropping it is equivalent to a crash: nothing keeps running, and the next one finds everything.
#[tokio::test]
async fn a_dropped_orchestrator_leaves_nothing_running() {
    let dir = workspace();
    let orchestrator = start(dir.path()).unwrap();
    let file = dir.path().join("pid");
    orchestrator.handle().command(Actor::Person, endless(&file)).await.unwrap();
    let pid = running(&file).await;
    assert!(
        matches!(start(dir.path()), Err(StartErrorKind::Journal(it))
            if matches!(it.kind, OpenErrorKind::Locked { .. })),
        "there is one already"
    );
    drop(orchestrator);
    gone(pid).await;
    fs::remove_file(&file).unwrap();
    let next = until("the next one", || start(dir.path()).ok()).await;
    running(&file).await;
    next.stop().await;
}

/// Commands that share a transaction get their own positions in the journal.
#[tokio::test]
async fn every_command_gets_the_position_of_its_own_entries() {
    let dir = workspace();
    let orchestrator = start(dir.path()).unwrap();
    let handle = orchestrator.handle();
    let commands = (0..20).map(|_| handle.command(Actor::Person, plan("true")));
    for accepted in futures::future::join_all(commands).await {
        let accepted = accepted.unwrap();
        assert_eq!(accepted.entries.last().unwrap().seq, accepted.seq);
        let stored = orchestrator.entries(accepted.entries[0].seq, 1_000).unwrap();
        assert_eq!(stored[..accepted.entries.len() - 1], accepted.entries[1..]);
    }
    orchestrator.stop().await;
}
