//! A running orchestrator: connects all parts, and starts and stops them in the right order.

use crate::{
    Handle, Tokens, Views,
    boot::{Boot, InitialInputs},
    clock,
    confinement::{self, Confinement},
    drivers::{
        AgentSetup, Drivers, HttpTools, OpenTools, Symbols, VaultDriver, WorkerSocket,
        WorkerSockets, watch_egress,
    },
    log::Log,
    merges::MergeWatch,
    network::Lookup,
    notify::Notifier,
    parsers::Parsers,
    published::Published,
    redact::Redactor,
    writer_loop::WriterLoop,
};
use pitcrew_config::{ModelSettings, Settings, WorkspaceDirs, user_environment};
use pitcrew_git::{Layout, Repository, Vault, VaultError};
use pitcrew_model::{Command, Matrix, Sandbox, Timestamp, limits};
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

/// Inputs in the queue of the writer.
const INPUTS_QUEUED_MAX: usize = 1_024;
const _: () = assert!(limits::AGENTS_MAX as usize <= INPUTS_QUEUED_MAX);
/// How long a shutdown waits for the last transactions.
const WRITER_STOP_MAX: Duration = Duration::from_secs(10);

/// A larger value is not a key.
const KEY_BYTES_MAX: u64 = 64 * 1_024;

/// The parameters of an orchestrator.
pub struct Setup {
    /// Our own executable.
    pub program: PathBuf,
    pub repository: Repository,
    pub dirs: WorkspaceDirs,
    pub settings: Settings,
    /// The permission rules.
    pub matrix: Matrix,
    pub tokens: Tokens,
}

#[derive(Debug, thiserror::Error)]
#[error("failed to start the orchestrator of `{}`", workspace.display())]
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
    #[error("failed to open the log")]
    Log(#[from] io::Error),
}

/// A running orchestrator. `stop` ends it in order; dropping it is equivalent to a crash of the
/// process: nothing is lost and nothing is awaited.
pub struct Orchestrator {
    handle: Handle,
    pub(crate) vault: Arc<Vault>,
    /// How every program except the agents is run.
    pub(crate) policy: Arc<Policy>,
    pub(crate) reader: Mutex<JournalReader>,
    pub(crate) dirs: WorkspaceDirs,
    http: HttpTools,
    sockets: WorkerSockets,
    /// Ends the tasks that only observe.
    pub(crate) looks: Cancel,
    pub(crate) merges: MergeWatch,
    engine: Mutex<Option<Engine>>,
}

/// The running parts.
struct Engine {
    /// The writer's thread returns the writer, and with it the journal's lock.
    writer_ended: oneshot::Receiver<Writer<SqliteJournal>>,
    drivers: JoinHandle<()>,
    stop_drivers: oneshot::Sender<()>,
    clock: JoinHandle<()>,
    egress: JoinHandle<()>,
    notifier: Option<JoinHandle<()>>,
}

/// Makes our copy of the git settings of the user and the system readable, instead of their files.
fn with_vault(mut policy: Policy, vault: &Vault) -> Policy {
    if policy.tier > Tier::T1 {
        let git_settings = vault.git_settings();
        policy.env.push(("GIT_CONFIG_GLOBAL".into(), git_settings.display().to_string()));
        policy.env.push(("GIT_CONFIG_NOSYSTEM".into(), "1".into()));
        policy.read.push(git_settings);
    }
    policy
}

impl Orchestrator {
    /// Replays the journal and continues from there. Blocks; requires a tokio runtime.
    pub fn start(setup: Setup) -> Result<Self, StartError> {
        let workspace = setup.repository.root().to_owned();
        Self::wire(setup).map_err(|kind| StartError { workspace, kind })
    }

    fn wire(setup: Setup) -> Result<Self, StartErrorKind> {
        let (user, sandbox) = (user_environment(), setup.settings.sandbox.clone());
        let found = Confinement::by_trying(&sandbox, &user, &setup.program);
        let first_orders = first_orders(&setup, found.for_kernel(&sandbox));
        let journal = SqliteJournal::open(&setup.dirs.state)?;
        // We hold the journal lock, so the previous owner of programs that still run is dead.
        let owner = setup.dirs.state.display().to_string();
        end_left_behind(&owner);
        let log = Arc::new(Log::open(&setup.dirs.logs(), redactor(&setup))?);
        let reader = Mutex::new(journal.reader()?);
        let news = notifier(&setup, &journal, &log)?;
        let mut views = Views::default();
        let mut reissue = Reissue::new(journal.open_effects()?);
        let mut last = Timestamp(0);
        let writer = Writer::open(journal, |entry| {
            views.fold(entry);
            reissue.see(entry);
            last = entry.at;
        })?;
        clock::continue_after(last);
        let layout = layout(&setup.repository, &setup.dirs.state, &setup.settings);
        let repository = setup.repository.owned_by(&owner);
        let vault = Arc::new(open_vault(repository, &layout, &setup.settings)?);
        log.line("Orchestrator", &format!("serves {}", vault.user().root().display()));

        let (inputs, inbox) = mpsc::channel(INPUTS_QUEUED_MAX);
        let (orders, ordered) = mpsc::unbounded_channel();
        let (due, due_changes) = watch::channel(None);
        let published = Arc::new(Published::new(views, writer.last()));
        let handle = Handle { inputs, published: published.clone() };
        let notifier = news.map(|it| it.start(&handle));
        let policy = confinement::base(&found, &sandbox, &user, &setup.dirs, &setup.program);
        let policy = with_vault(policy, &vault);
        log.line("Orchestrator", &format!("sandboxes programs in tier {}", policy.tier));
        let (http, sockets) =
            (HttpTools::new(&setup.dirs), WorkerSockets::new(&setup.dirs, policy.tier));
        let network = network(policy.tier, &setup.settings, &setup.dirs);
        let parsers = Arc::new(Parsers::new(&setup.program));
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
            sockets: sockets.clone(),
            root: vault.user().root().to_owned(),
            vault: Some(vault.clone()),
        };
        let policy = Arc::new(policy.owned_by(&owner));
        let driver = VaultDriver::new(vault.clone(), policy.clone(), network, setup.dirs.clone());
        let symbols = Symbols::new(&setup.dirs.state.join("symbols"), parsers);
        let drivers = Drivers::new(handle.clone(), agents, driver, symbols, log.clone());
        let boot =
            Boot::new(writer.state(), last, &published.views().board, &reissue, first_orders);
        // Before the writer starts, because its events refer to what is registered here.
        reissue.send(|order| drop(orders.send(order)));
        let ((tell_first, first), (stop_drivers, stop)) = (oneshot::channel(), oneshot::channel());

        let writer_loop = WriterLoop { inputs: inbox, published, orders, due, log: log.clone() };
        let writer_ended = spawn_writer(writer_loop, writer, first)?;
        let drivers = tokio::spawn(async move {
            // Completes even during a stop, because only agents that were found can be ended.
            boot.run(tell_first, &drivers.agents, &log).await;
            drivers.run(ordered, stop).await;
        });
        let clock = tokio::spawn(clock::wake(handle.clone(), due_changes));
        let egress = tokio::spawn(watch_egress(handle.clone(), setup.dirs.clone()));
        let engine = Engine { writer_ended, drivers, stop_drivers, clock, egress, notifier };
        let (engine, dirs) = (Mutex::new(Some(engine)), setup.dirs);
        let (looks, merges) = (Cancel::default(), MergeWatch::default());
        Ok(Self { handle, vault, policy, reader, dirs, http, sockets, looks, merges, engine })
    }

    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Offers the tools over HTTP to agents that use it.
    pub async fn serve_tools_with(&self, open: OpenTools) {
        self.http.served_by(open).await;
    }

    /// The sockets of workers as they are opened. The first caller gets the receiver.
    pub fn worker_sockets(&self) -> Option<mpsc::UnboundedReceiver<WorkerSocket>> {
        self.sockets.opened()
    }

    /// Accepts no more inputs, ends the agents and every program, and returns when all accepted
    /// inputs are on disk. Takes a few seconds at most.
    pub async fn stop(&self) {
        let Some(mut engine) = self.take_engine() else { return };
        engine.clock.abort();
        engine.egress.abort();
        engine.notifier.iter().for_each(JoinHandle::abort);
        self.looks.cancel();
        // The writer first: a cancelled effect must not be recorded as a result.
        let written = async {
            self.handle.stop().await;
            (&mut engine.writer_ended).await.ok()
        };
        let writer = tokio::time::timeout(WRITER_STOP_MAX, written).await;
        engine.stop_drivers.send(()).ok();
        engine.drivers.await.ok();
        // The next owner of the journal may touch what the drivers touched. Closing it blocks.
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
            engine.notifier.iter().for_each(JoinHandle::abort);
            engine.drivers.abort();
        }
    }
}

/// The observer that notifies the person, if a channel is set up.
fn notifier(
    setup: &Setup,
    journal: &SqliteJournal,
    log: &Arc<Log>,
) -> Result<Option<Notifier>, ReadError> {
    if !Notifier::is_needed(&setup.settings.notify) {
        return Ok(None);
    }
    let name = setup.repository.root().file_name().unwrap_or_default();
    Ok(Some(Notifier {
        reader: journal.reader()?,
        settings: setup.settings.notify.clone(),
        workspace: name.to_string_lossy().into_owned(),
        redactor: redactor(setup),
        log: log.clone(),
    }))
}

/// A panic of the writer ends the process: only a replay restores a valid state.
fn spawn_writer<J: Journal + 'static>(
    writer_loop: WriterLoop,
    writer: Writer<J>,
    first: oneshot::Receiver<InitialInputs>,
) -> io::Result<oneshot::Receiver<Writer<J>>> {
    let (ended, writer_ended) = oneshot::channel();
    let run = move || {
        let run = AssertUnwindSafe(|| writer_loop.run(writer, first));
        let Ok(writer) = catch_unwind(run) else {
            eprintln!("pitcrew: the writer panicked; the orchestrator exits");
            std::process::abort();
        };
        // The writer is dropped here if nothing waits for it.
        ended.send(writer).ok();
    };
    thread::Builder::new().name("writer".into()).spawn(run)?;
    Ok(writer_ended)
}

/// Redacts the values of our environment, the settings of the backends, the model's key file and
/// our own tokens.
fn redactor(setup: &Setup) -> Redactor {
    let text = |(name, value): (OsString, OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    let backends = setup.settings.backends.values().flat_map(|it| it.env.clone());
    let key = setup.settings.model.as_ref().and_then(key_in_file).unwrap_or_default();
    // The path of a webhook is its key.
    let webhook = setup.settings.notify.webhook.as_deref().unwrap_or_default();
    let webhook = webhook.splitn(4, '/').nth(3).unwrap_or_default();
    let tokens = [setup.tokens.person(), key.as_str(), webhook];
    Redactor::new(std::env::vars_os().filter_map(text).chain(backends), &tokens)
}

/// Reads the key in the file of the built-in agent. An unreadable key cannot leak.
fn key_in_file(model: &ModelSettings) -> Option<String> {
    let file = model.key_file.as_ref()?;
    let is_key = fs::metadata(file).is_ok_and(|it| it.is_file() && it.len() <= KEY_BYTES_MAX);
    is_key.then(|| fs::read_to_string(file).ok())?
}

/// The commands that apply the settings files, before anything else.
fn first_orders(setup: &Setup, sandbox: Sandbox) -> Vec<Command> {
    vec![
        Command::ApplySettings {
            agents_max: setup.settings.max_agents,
            agents_live_max: setup.settings.max_live_agents,
            history: setup.settings.history,
            sign: setup.settings.sign,
        },
        Command::ApplyMatrix { matrix: setup.matrix.clone() },
        Command::ApplyQueryLimits { limits: setup.settings.queries },
        Command::ApplySandbox { sandbox },
    ]
}

/// The egress rules, if programs are sandboxed.
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
    Layout::beside(repository, state).with_checkouts(settings.worktrees.as_deref())
}

#[cfg(test)]
mod tests {
    use super::*;
    use pitcrew_model::ModelProvider;

    #[test]
    fn reads_the_key_file_and_rejects_other_files() {
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
