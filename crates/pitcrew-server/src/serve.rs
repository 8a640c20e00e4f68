//! Opening the doors and closing them.

use crate::{idle::Clients, loopback, routes, tools::Desk};
use pitcrew_api::Token;
use pitcrew_model::{AttemptId, Timestamp};
pub use pitcrew_runtime::now;
use pitcrew_runtime::{Orchestrator, Tokens};
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
    sync::watch,
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
        closing: watch::Sender::new(false),
    });
    doors.orchestrator.serve_tools_with(loopback::for_agents(&doors)).await;
    let served = let_in(&doors, &serve.socket, serve.idle, ready).await;
    // While the journal is still locked: after that the socket may be somebody else's.
    fs::remove_file(&serve.socket).ok();
    doors.orchestrator.stop().await;
    served
}

async fn let_in(
    doors: &Arc<Doors>,
    socket: &Path,
    idle: Option<Duration>,
    ready: impl FnOnce(),
) -> io::Result<()> {
    let signals = Signals::hear()?;
    let listener = listen(socket)?;
    ready();
    let told = until_told(doors.clone(), signals, idle);
    let serving = axum::serve(listener, routes::router(doors.clone())).with_graceful_shutdown(told);
    let mut serving = pin!(serving.into_future());
    let late = async {
        doors.closed().await;
        tokio::time::sleep(CLOSE_MAX).await;
    };
    tokio::select! {
        served = &mut serving => served,
        // Whoever is still there keeps a connection that nobody answers any more.
        () = late => Ok(()),
    }
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

struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn hear() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }
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
