//! Opening the doors and closing them.

use crate::{
    accept::serve_at,
    idle::Clients,
    loopback,
    room::{Door, Room},
    routes,
    tools::Desk,
};
use pitcrew_api::Token;
use pitcrew_model::{AttemptId, Timestamp};
pub use pitcrew_runtime::now;
use pitcrew_runtime::{Orchestrator, Tokens, WorkerDoor};
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

/// How long requests that are being served may take once the doors close.
const CLOSE_MAX: Duration = Duration::from_secs(3);

/// What is served, and where.
pub struct Serve {
    pub orchestrator: Orchestrator,
    pub tokens: Tokens,
    pub socket: PathBuf,
    /// The user's repository, as people know it.
    pub workspace: String,
    /// End after so long without a client, a worker or anything due.
    pub idle: Option<Duration>,
    pub desk: Arc<dyn Desk>,
    /// SIGTERM, received from before the orchestrator began: its end is a clean one at any time.
    pub terminate: Signal,
}

/// What the routes share.
pub struct Doors {
    pub orchestrator: Orchestrator,
    pub tokens: Tokens,
    pub workspace: String,
    pub started_at: Timestamp,
    pub clients: Clients,
    pub desk: Arc<dyn Desk>,
    /// The port on which tools are served over HTTP, once somebody asked for it.
    pub loopback: tokio::sync::Mutex<Option<loopback::Listener>>,
    /// How many files this process may open.
    pub files_max: usize,
    /// True from the moment nobody is let in any more: streams end then.
    pub closing: watch::Sender<bool>,
}

impl Doors {
    pub fn worker_of(&self, token: &Token) -> Option<AttemptId> {
        let views = self.orchestrator.handle().views();
        let attempts = views.board.live_attempts();
        self.tokens.find(token.reveal(), attempts)
    }

    pub fn close(&self) {
        self.closing.send_replace(true);
    }

    /// Room for the connections at a door.
    pub fn room(&self, door: Door) -> Arc<Room> {
        Arc::new(Room::new(door, self.files_max))
    }

    pub async fn closed(&self) {
        // The sender is ours, so it is not gone before the end.
        self.closing.subscribe().wait_for(|it| *it).await.ok();
    }
}

/// Serves until told to stop, or until nobody needs it; then ends the orchestrator.
///
/// Returns within seconds of being told, whatever is running. `ready` is called when clients can
/// come and signals are heard.
pub async fn serve(serve: Serve, ready: impl FnOnce()) -> io::Result<()> {
    let doors = Arc::new(Doors {
        orchestrator: serve.orchestrator,
        tokens: serve.tokens,
        workspace: serve.workspace,
        started_at: now(),
        clients: Clients::default(),
        desk: serve.desk,
        loopback: tokio::sync::Mutex::default(),
        files_max: files_max(),
        closing: watch::Sender::new(false),
    });
    doors.orchestrator.serve_tools_with(loopback::for_agents(&doors)).await;
    let served = let_in(&doors, &serve.socket, serve.terminate, serve.idle, ready).await;
    // While the journal is still locked: after that the socket may be somebody else's.
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
    let told = until_told(doors.clone(), signals, idle);
    let person = serve_at(listener, doors.room(Door::Person), router, doors, told);
    let workers = async {
        if let Some(opened) = doors.orchestrator.worker_doors() {
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
        // Whoever is still there keeps a connection that nobody answers any more.
        () = late => {}
    }
    Ok(())
}

/// Serves each worker at a socket of its own, until the doors close.
async fn serve_workers(doors: &Arc<Doors>, mut opened: mpsc::UnboundedReceiver<WorkerDoor>) {
    let mut serving = JoinSet::new();
    loop {
        tokio::select! {
            () = doors.closed() => break,
            Some(door) = opened.recv() => {
                serving.spawn(serve_worker(doors.clone(), door));
            }
            Some(_) = serving.join_next() => {}
        }
    }
    while serving.join_next().await.is_some() {}
}

async fn serve_worker(doors: Arc<Doors>, door: WorkerDoor) -> io::Result<()> {
    let WorkerDoor { attempt, listener, closed } = door;
    let listener = UnixListener::from_std(listener)?;
    let (room, router) = (doors.room(Door::Worker(attempt)), routes::for_worker(doors.clone()));
    let serving = serve_at(listener, room, router, &doors, doors.closed());
    tokio::select! {
        () = serving => {}
        // Nothing of the worker runs any more.
        _ = closed => {}
    }
    Ok(())
}

/// The socket is ours alone: whoever can open it can only be the same user, and needs the token too.
///
/// The journal's lock is held, so a socket that is there belongs to a process that is gone. Ours
/// takes its place in one step, and is never open to others.
fn listen(socket: &Path) -> io::Result<UnixListener> {
    // Agents that outlived another orchestrator look into this folder: it is never replaced.
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

async fn until_told(doors: Arc<Doors>, mut signals: Signals, idle: Option<Duration>) {
    let unused = async {
        match idle {
            Some(patience) => {
                let is_busy = || doors.orchestrator.handle().is_busy();
                doors.clients.idle_for(patience, is_busy).await;
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
