//! Starts and stops the server.

use crate::{
    accept::serve_at,
    idle::OpenRequests,
    loopback,
    pool::{ConnectionPool, Endpoint},
    routes,
    tools::Desk,
};
use pitcrew_api::Token;
use pitcrew_model::{Actor, AttemptId, Command, Crew, Rejection, Timestamp};
pub use pitcrew_runtime::now;
use pitcrew_runtime::{Accepted, Orchestrator, Tokens, WorkerSocket};
use std::{
    fs, io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    pin::pin,
    sync::Arc,
    time::Duration,
};
use tokio::{
    net::UnixListener,
    signal::unix::{Signal, SignalKind, signal},
    sync::{mpsc, watch},
    task::JoinSet,
};

/// How long open requests may take during shutdown.
const CLOSE_MAX: Duration = Duration::from_secs(3);

/// The parameters of the server.
pub struct Serve {
    pub orchestrator: Orchestrator,
    pub tokens: Tokens,
    pub socket: PathBuf,
    /// The user's repository, as shown to people.
    pub workspace: String,
    /// Exit after this long without a client, a worker or anything due.
    pub idle: Option<Duration>,
    pub desk: Arc<dyn Desk>,
    /// SIGTERM, registered before the orchestrator started, so that it always shuts down cleanly.
    pub terminate: Signal,
}

/// The state shared by all routes.
pub struct Doors {
    pub orchestrator: Orchestrator,
    pub tokens: Tokens,
    pub workspace: String,
    pub started_at: Timestamp,
    pub open_requests: OpenRequests,
    pub desk: Arc<dyn Desk>,
    /// The port of the tools over HTTP, once requested.
    pub loopback: tokio::sync::Mutex<Option<loopback::Listener>>,
    /// The process's limit of open files.
    pub files_max: usize,
    /// True during shutdown: no connections are accepted and streams end.
    pub closing: watch::Sender<bool>,
}

impl Doors {
    pub fn worker_of(&self, token: &Token) -> Option<AttemptId> {
        let views = self.orchestrator.handle().views();
        let attempts = views.board.live_attempts();
        self.tokens.find(token.reveal(), attempts)
    }

    /// Sends a command. One that names agents is preceded by the crew as it is now.
    pub async fn command(&self, actor: Actor, command: Command) -> Result<Accepted, Rejection> {
        let handle = self.orchestrator.handle();
        if names_agents(&command) {
            let crew = self.crew().await?;
            handle.command(Actor::Orchestrator, Command::ApplyCrew { crew }).await?;
        }
        handle.command(actor, command).await
    }

    /// Reads the crew on a blocking thread, because it accesses the disk.
    pub async fn crew(&self) -> Result<Crew, Rejection> {
        let desk = self.desk.clone();
        let read = tokio::task::spawn_blocking(move || desk.crew()).await;
        read.map_err(|_| Rejection::ShuttingDown)
    }

    pub fn close(&self) {
        self.closing.send_replace(true);
    }

    /// The connection limits of an endpoint.
    pub fn pool(&self, endpoint: Endpoint) -> Arc<ConnectionPool> {
        Arc::new(ConnectionPool::new(endpoint, self.files_max))
    }

    pub async fn closed(&self) {
        // The sender is a field of this struct, so it cannot be gone.
        self.closing.subscribe().wait_for(|it| *it).await.ok();
    }
}

fn names_agents(command: &Command) -> bool {
    if let Command::Once { order, .. } = command {
        return names_agents(order);
    }
    matches!(
        command,
        Command::CreatePlan(_)
            | Command::AddTask { .. }
            | Command::SpawnSubtasks { .. }
            | Command::SpawnStandalone { .. }
    )
}

/// Serves until it is stopped or idle, then stops the orchestrator.
///
/// Returns within seconds of the request to stop. `ready` is called when clients can connect and
/// signals are handled.
pub async fn serve(serve: Serve, ready: impl FnOnce()) -> io::Result<()> {
    let doors = Arc::new(Doors {
        orchestrator: serve.orchestrator,
        tokens: serve.tokens,
        workspace: serve.workspace,
        started_at: now(),
        open_requests: OpenRequests::default(),
        desk: serve.desk,
        loopback: tokio::sync::Mutex::default(),
        files_max: files_max(),
        closing: watch::Sender::new(false),
    });
    doors.orchestrator.serve_tools_with(loopback::for_agents(&doors)).await;
    let served = let_in(&doors, &serve.socket, serve.terminate, serve.idle, ready).await;
    // While the journal is still locked: after that the socket may belong to another process.
    fs::remove_file(&serve.socket).ok();
    doors.orchestrator.stop().await;
    served
}

async fn let_in(
    doors: &Arc<Doors>,
    socket: &Path,
    terminate: Signal,
    idle: Option<Duration>,
    ready: impl FnOnce(),
) -> io::Result<()> {
    let signals = Signals { terminate, interrupt: signal(SignalKind::interrupt())? };
    let listener = listen(socket)?;
    ready();
    let router = routes::for_person(doors.clone());
    let stopped = until_stopped(doors.clone(), signals, idle);
    let person = serve_at(listener, doors.pool(Endpoint::Person), router, doors, stopped);
    let workers = async {
        if let Some(opened) = doors.orchestrator.worker_sockets() {
            serve_workers(doors, opened).await;
        }
    };
    let mut serving = pin!(async { tokio::join!(person, workers) });
    let late = async {
        doors.closed().await;
        tokio::time::sleep(CLOSE_MAX).await;
    };
    tokio::select! {
        _ = &mut serving => {}
        // Remaining connections get no answers.
        () = late => {}
    }
    Ok(())
}

/// Serves each worker on its own socket until shutdown.
async fn serve_workers(doors: &Arc<Doors>, mut opened: mpsc::UnboundedReceiver<WorkerSocket>) {
    let mut serving = JoinSet::new();
    loop {
        tokio::select! {
            () = doors.closed() => break,
            Some(socket) = opened.recv() => {
                serving.spawn(serve_worker(doors.clone(), socket));
            }
            Some(_) = serving.join_next() => {}
        }
    }
    while serving.join_next().await.is_some() {}
}

async fn serve_worker(doors: Arc<Doors>, socket: WorkerSocket) -> io::Result<()> {
    let WorkerSocket { attempt, listener, closed } = socket;
    let listener = UnixListener::from_std(listener)?;
    let (pool, router) = (doors.pool(Endpoint::Worker(attempt)), routes::for_worker(doors.clone()));
    let serving = serve_at(listener, pool, router, &doors, doors.closed());
    tokio::select! {
        () = serving => {}
        // All programs of the worker have ended.
        _ = closed => {}
    }
    Ok(())
}

/// Only this user can open the socket, and callers need the token too.
///
/// The journal's lock is held, so an existing socket belongs to a dead process. It is replaced
/// atomically, and the new one is never open to others.
fn listen(socket: &Path) -> io::Result<UnixListener> {
    // Agents that outlived another orchestrator have this folder mounted: it is never replaced.
    socket.parent().map_or(Ok(()), fs::create_dir_all)?;
    let new = socket.with_extension("new");
    fs::remove_file(&new).ok();
    let listener = UnixListener::bind(&new)?;
    fs::set_permissions(&new, fs::Permissions::from_mode(0o600))?;
    fs::rename(&new, socket)?;
    Ok(listener)
}

fn files_max() -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    limit.and_then(|it| usize::try_from(it).ok()).unwrap_or(usize::MAX)
}

struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

async fn until_stopped(doors: Arc<Doors>, mut signals: Signals, idle: Option<Duration>) {
    let unused = async {
        match idle {
            Some(patience) => {
                let is_busy = || doors.orchestrator.handle().is_busy();
                doors.open_requests.idle_for(patience, is_busy).await;
            }
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        _ = signals.terminate.recv() => {}
        _ = signals.interrupt.recv() => {}
        () = doors.closed() => {}
        () = unused => {}
    }
    doors.close();
}
