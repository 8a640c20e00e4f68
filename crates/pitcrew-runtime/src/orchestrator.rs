//! An orchestrator at work: everything wired, started and ended in the right order.

use crate::{
    Handle, Tokens, Views,
    boot::{Boot, First},
    clock,
    confinement::{self, Found},
    drivers::{
        AgentSetup, Drivers, HttpTools, OpenTools, Symbols, VaultDriver, WorkerDoor, WorkerDoors,
        watch_egress,
    },
    log::Log,
    network::Lookup,
    published::Published,
    redact::Redactor,
    turnstile::Turnstile,
};
use pitcrew_config::{ModelSettings, Settings, WorkspaceDirs, user_environment};
use pitcrew_git::{Layout, Repository, Vault, VaultError};
use pitcrew_model::{Command, Matrix, Timestamp, limits};
use pitcrew_process::{Cancel, Policy, Tier, end_left_behind};
use pitcrew_store::{Journal, JournalReader, OpenError, ReadError, SqliteJournal};
use pitcrew_writer::{Reissue, Writer};
use std::{
    ffi::OsString,
    fs, io,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};
use tokio::{
    sync::{mpsc, oneshot, watch},
    task::JoinHandle,
};

/// Inputs that may wait for the writer.
const INPUTS_QUEUED_MAX: usize = 1_024;
const _: () = assert!(limits::AGENTS_MAX as usize <= INPUTS_QUEUED_MAX);
/// How long a disk may take for the last transactions before we go without it.
const WRITER_STOP_MAX: Duration = Duration::from_secs(10);

/// Whatever is larger is no key.
const KEY_BYTES_MAX: u64 = 64 * 1_024;

/// What an orchestrator needs to know.
pub struct Setup {
    /// Our own executable.
    pub program: PathBuf,
    pub repository: Repository,
    pub dirs: WorkspaceDirs,
    pub settings: Settings,
    /// What may be done without asking.
    pub matrix: Matrix,
    pub tokens: Tokens,
}

#[derive(Debug, thiserror::Error)]
#[error("the orchestrator of `{}` cannot start", workspace.display())]
pub struct StartError {
    pub workspace: PathBuf,
    #[source]
    pub kind: StartErrorKind,
}

#[derive(Debug, thiserror::Error)]
pub enum StartErrorKind {
    #[error(transparent)]
    Journal(#[from] OpenError),
    #[error(transparent)]
    Replay(#[from] ReadError),
    #[error(transparent)]
    Vault(#[from] VaultError),
    #[error("the log could not be opened")]
    Log(#[from] io::Error),
}

/// A running orchestrator. Ended by `stop`; when it is dropped instead, it is as if the process
/// had died: nothing is lost, and nothing is waited for.
pub struct Orchestrator {
    handle: Handle,
    pub(crate) vault: Arc<Vault>,
    /// How every program beside the agents is run.
    pub(crate) policy: Arc<Policy>,
    pub(crate) reader: Mutex<JournalReader>,
    pub(crate) dirs: WorkspaceDirs,
    http: HttpTools,
    doors: WorkerDoors,
    /// Ends what only looks.
    pub(crate) looks: Cancel,
    engine: Mutex<Option<Engine>>,
}

/// The parts that run.
struct Engine {
    /// The writer's thread hands the writer back when it ends, and the journal's lock with it.
    writer_ended: oneshot::Receiver<Writer<SqliteJournal>>,
    drivers: JoinHandle<()>,
    stop_drivers: oneshot::Sender<()>,
    clock: JoinHandle<()>,
    egress: JoinHandle<()>,
}

/// Adds what every confined program reads of the vault: shared objects, and our copy of the user's
/// git settings.
fn with_vault(mut policy: Policy, vault: &Vault) -> Policy {
    policy.read.extend(vault.shared_folders());
    if policy.tier > Tier::T1 {
        let git_settings = vault.git_settings();
        policy.env.push(("GIT_CONFIG_GLOBAL".into(), git_settings.display().to_string()));
        policy.read.push(git_settings);
    }
    policy
}

impl Orchestrator {
    /// Replays the journal and goes on where it stopped. Blocks; needs a tokio runtime around it.
    pub fn start(setup: Setup) -> Result<Self, StartError> {
        let workspace = setup.repository.root().to_owned();
        Self::wire(setup).map_err(|kind| StartError { workspace, kind })
    }

    fn wire(setup: Setup) -> Result<Self, StartErrorKind> {
        let (user, sandbox) = (user_environment(), setup.settings.sandbox.clone());
        let found = Found::by_trying(&sandbox, &user, &setup.program);
        let mut first_orders = first_orders(&setup);
        first_orders.push(Command::ApplySandbox { sandbox: found.told(&sandbox) });
        let journal = SqliteJournal::open(&setup.dirs.state)?;
        // The journal is ours alone, so whoever started what still runs here is dead.
        let owner = setup.dirs.state.display().to_string();
        end_left_behind(&owner);
        let log = Arc::new(Log::open(&setup.dirs.logs(), redactor(&setup))?);
        let reader = Mutex::new(journal.reader()?);
        let mut views = Views::default();
        let mut reissue = Reissue::new(journal.open_effects()?);
        let mut last = Timestamp(0);
        let writer = Writer::open(journal, |entry| {
            views.fold(entry);
            reissue.see(entry);
            last = entry.at;
        })?;
        clock::go_on_after(last);
        let layout = layout(&setup.repository, &setup.dirs.state, &setup.settings);
        let repository = setup.repository.owned_by(&owner);
        let vault = Arc::new(open_vault(repository, &layout, &setup.settings)?);
        log.line("Orchestrator", &format!("serves {}", vault.user().root().display()));

        let (inputs, inbox) = mpsc::channel(INPUTS_QUEUED_MAX);
        let (orders, ordered) = mpsc::unbounded_channel();
        let (due, due_changes) = watch::channel(None);
        let published = Arc::new(Published::new(views, writer.last()));
        let handle = Handle { inputs, published: published.clone() };
        let policy = confinement::base(&found, &sandbox, &user, &setup.dirs, &setup.program);
        let policy = with_vault(policy, &vault);
        log.line("Orchestrator", &format!("confines programs by tier {}", policy.tier));
        let http = HttpTools::new(&setup.dirs);
        let doors = WorkerDoors::new(&setup.dirs, policy.tier);
        let network = network(policy.tier, &setup.settings, &setup.dirs);
        let agents = AgentSetup {
            policy: policy.clone(),
            network: network.clone(),
            program: setup.program,
            dirs: setup.dirs.clone(),
            tokens: setup.tokens,
            backends: setup.settings.backends.clone(),
            model: setup.settings.model.clone(),
            prices: setup.settings.prices.clone(),
            lease_ms: setup.settings.lease_ms,
            http: http.clone(),
            doors: doors.clone(),
            root: vault.user().root().to_owned(),
        };
        let policy = Arc::new(policy.owned_by(&owner));
        let driver = VaultDriver::new(vault.clone(), policy.clone(), network, setup.dirs.clone());
        let symbols = Symbols::new(&setup.dirs.state.join("symbols"));
        let drivers = Drivers::new(handle.clone(), agents, driver, symbols, log.clone());
        let boot =
            Boot::new(writer.state(), last, &published.views().board, &reissue, first_orders);
        // Before the writer says anything: what it ends must find what it ends.
        reissue.send(|order| drop(orders.send(order)));
        let (tell_first, first) = oneshot::channel();

        let turnstile = Turnstile { inputs: inbox, published, orders, due, log: log.clone() };
        let writer_ended = spawn_writer(turnstile, writer, first)?;
        let (stop_drivers, stop) = oneshot::channel();
        let drivers = tokio::spawn(async move {
            // To its end also when a stop is asked for: only agents that are found can be ended.
            boot.run(tell_first, &drivers.agents, &log).await;
            drivers.run(ordered, stop).await;
        });
        let clock = tokio::spawn(clock::wake(handle.clone(), due_changes));
        let egress = tokio::spawn(watch_egress(handle.clone(), setup.dirs.clone()));
        let engine = Engine { writer_ended, drivers, stop_drivers, clock, egress };
        let engine = Mutex::new(Some(engine));
        let looks = Cancel::default();
        let dirs = setup.dirs;
        Ok(Self { handle, vault, policy, reader, dirs, http, doors, looks, engine })
    }

    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Agents that are to have their tools over HTTP are given them so from now on.
    pub async fn serve_tools_with(&self, open: OpenTools) {
        self.http.served_by(open).await;
    }

    /// The sockets of workers, as they are opened. The first caller gets them.
    pub fn worker_doors(&self) -> Option<mpsc::UnboundedReceiver<WorkerDoor>> {
        self.doors.opened()
    }

    /// Takes no more inputs, ends the agents and every program, and returns when everything that
    /// was accepted is on disk. Takes seconds at most, whatever is running.
    pub async fn stop(&self) {
        let Some(mut engine) = self.take_engine() else { return };
        engine.clock.abort();
        engine.egress.abort();
        self.looks.cancel();
        // First the writer: what is cut short after that must not be taken for a result.
        let written = async {
            self.handle.stop().await;
            (&mut engine.writer_ended).await.ok()
        };
        let writer = tokio::time::timeout(WRITER_STOP_MAX, written).await;
        engine.stop_drivers.send(()).ok();
        engine.drivers.await.ok();
        // Whoever gets the journal next may touch what the drivers touched. Closing it blocks.
        let let_go = move || drop((writer, engine.writer_ended));
        tokio::task::spawn_blocking(let_go).await.ok();
    }

    fn take_engine(&self) -> Option<Engine> {
        self.engine.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Drop for Orchestrator {
    fn drop(&mut self) {
        self.looks.cancel();
        if let Some(engine) = self.take_engine() {
            engine.clock.abort();
            engine.egress.abort();
            engine.drivers.abort();
        }
    }
}

/// A writer that breaks takes the process with it: only a replay knows what is true then.
fn spawn_writer<J: Journal + 'static>(
    turnstile: Turnstile,
    writer: Writer<J>,
    first: oneshot::Receiver<First>,
) -> io::Result<oneshot::Receiver<Writer<J>>> {
    let (ended, writer_ended) = oneshot::channel();
    let run = move || {
        let run = AssertUnwindSafe(|| turnstile.run(writer, first));
        let Ok(writer) = catch_unwind(run) else {
            eprintln!("pitcrew: the writer broke; the orchestrator ends here");
            std::process::abort();
        };
        // When nobody waits for it, it is dropped here.
        ended.send(writer).ok();
    };
    thread::Builder::new().name("writer".into()).spawn(run)?;
    Ok(writer_ended)
}

/// Knows what our environment, the settings of the backends, the file of the model's key and our own
/// tokens hold.
fn redactor(setup: &Setup) -> Redactor {
    let text = |(name, value): (OsString, OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    let backends = setup.settings.backends.values().flat_map(|it| it.env.clone());
    let key = setup.settings.model.as_ref().and_then(key_in_file).unwrap_or_default();
    let tokens = [setup.tokens.person(), key.as_str()];
    Redactor::new(std::env::vars_os().filter_map(text).chain(backends), &tokens)
}

/// The key of the built-in agent, where a file has it. Whoever cannot read it cannot tell it either.
fn key_in_file(model: &ModelSettings) -> Option<String> {
    let file = model.key_file.as_ref()?;
    let is_key = fs::metadata(file).is_ok_and(|it| it.is_file() && it.len() <= KEY_BYTES_MAX);
    is_key.then(|| fs::read_to_string(file).ok())?
}

/// What the files say, before anything begins.
fn first_orders(setup: &Setup) -> Vec<Command> {
    vec![
        Command::ApplySettings {
            agents_max: setup.settings.max_agents,
            agents_live_max: setup.settings.max_live_agents,
            history: setup.settings.history,
        },
        Command::ApplyMatrix { matrix: setup.matrix.clone() },
        Command::ApplyQueryLimits { limits: setup.settings.queries },
    ]
}

/// What programs may reach, where they are held at all.
fn network(tier: Tier, settings: &Settings, dirs: &WorkspaceDirs) -> Lookup {
    match tier {
        Tier::T1 => Lookup::default(),
        Tier::T2 | Tier::T3 => Lookup::begin(settings, &dirs.state.join("caches")),
    }
}

fn open_vault(
    repository: Repository,
    layout: &Layout,
    settings: &Settings,
) -> Result<Vault, VaultError> {
    let vault = Vault::open_or_create(repository, layout, &Cancel::default())?;
    let backends = settings.backends.iter();
    Ok(vault.guarding(backends.map(|(name, it)| (name.clone(), it.config_files.clone()))))
}

fn layout(repository: &Repository, state: &Path, settings: &Settings) -> Layout {
    let mut layout = Layout::beside(repository, state);
    if let Some(folder) = &settings.worktrees {
        layout.checkouts.clone_from(folder);
    }
    layout
}

#[cfg(test)]
mod tests {
    use super::*;
    use pitcrew_model::ModelProvider;

    #[test]
    fn the_key_of_a_file_is_known_and_nothing_else_is_read_as_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let key = |content: Option<&str>| {
            let file = folder.path().join("key");
            fs::write(&file, content.unwrap_or_default()).expect("a file");
            key_in_file(&ModelSettings {
                provider: ModelProvider::Anthropic,
                name: "m".into(),
                endpoint: None,
                key_env: None,
                key_file: content.map(|_| file),
                max_output_tokens: None,
                context_tokens: 1,
                prices: None,
            })
        };
        let known = key(Some("sesame-open\n")).expect("a key");
        let redactor = Redactor::new([], &[&known]);
        assert_eq!(redactor.redact("said sesame-open aloud"), "said [redacted] aloud");
        assert_eq!(key(Some(&"x".repeat(100_000))), None);
        assert_eq!(key(None), None);
    }
}
