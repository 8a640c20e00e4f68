//! The sockets of workers: each is in its own folder, which is mounted only in that worker's
//! sandbox.
//!
//! A worker that floods its socket fills only its own queue. After a restart each live worker's
//! socket is opened again in the same folder, which its sandbox still sees.

use pitcrew_config::WorkspaceDirs;
use pitcrew_model::{AttemptId, Tier};
use pitcrew_process::{is_machine_root, remove_tree};
use std::{
    collections::{BTreeSet, HashMap},
    fs::{self, Permissions},
    io,
    os::unix::{fs::PermissionsExt, net::UnixListener},
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::sync::{mpsc, oneshot};

/// The socket for one worker's connections.
#[derive(Debug)]
pub struct WorkerSocket {
    pub attempt: AttemptId,
    pub listener: UnixListener,
    /// Closed when the worker is gone.
    pub closed: oneshot::Receiver<()>,
}

/// Opens and closes the sockets. The server accepts their connections.
#[derive(Clone)]
pub struct WorkerSockets {
    dirs: WorkspaceDirs,
    /// Sandboxes have their own user.
    own_user: bool,
    open: Arc<Mutex<HashMap<AttemptId, oneshot::Sender<()>>>>,
    opened: mpsc::UnboundedSender<WorkerSocket>,
    /// For the server.
    unserved: Arc<Mutex<Option<mpsc::UnboundedReceiver<WorkerSocket>>>>,
}

impl WorkerSockets {
    pub fn new(dirs: &WorkspaceDirs, tier: Tier) -> Self {
        let (opened, unserved) = mpsc::unbounded_channel();
        let unserved = Arc::new(Mutex::new(Some(unserved)));
        let own_user = tier == Tier::T3 && is_machine_root();
        Self { dirs: dirs.clone(), own_user, open: Arc::default(), opened, unserved }
    }

    /// The sockets as they are opened. The first caller gets the receiver.
    pub fn opened(&self) -> Option<mpsc::UnboundedReceiver<WorkerSocket>> {
        self.unserved.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Opens the socket of an attempt unless it is open. Connections wait in its queue until the
    /// server accepts them.
    pub fn open(&self, attempt: AttemptId) -> io::Result<()> {
        let mut open = self.lock();
        if open.contains_key(&attempt) {
            return Ok(());
        }
        let listener = self.listen(attempt)?;
        let (close, closed) = oneshot::channel();
        open.insert(attempt, close);
        // Without a server, callers get no answer, as before it starts.
        self.opened.send(WorkerSocket { attempt, listener, closed }).ok();
        Ok(())
    }

    /// Closes the socket of an attempt whose agent has ended.
    pub fn close(&self, attempt: AttemptId) {
        if self.lock().remove(&attempt).is_some() {
            remove_tree(&self.dirs.worker_socket_dir(attempt)).ok();
        }
    }

    /// Removes the sockets of an earlier orchestrator, except those of these attempts.
    pub fn remove_left_over(&self, kept: &BTreeSet<AttemptId>) {
        for entry in fs::read_dir(&self.dirs.runtime).into_iter().flatten().flatten() {
            let attempt = entry.file_name().to_str().and_then(|it| it.parse().ok());
            if attempt.is_some_and(|it: AttemptId| !kept.contains(&it)) {
                remove_tree(&entry.path()).ok();
            }
        }
    }

    /// Replaces an old socket atomically. The folder is kept, because a sandbox that outlived an
    /// orchestrator has mounted it.
    fn listen(&self, attempt: AttemptId) -> io::Result<UnixListener> {
        let (folder, socket) =
            (self.dirs.worker_socket_dir(attempt), self.dirs.worker_socket(attempt));
        // Only we can enter the parent folder. A sandbox that mounts this folder may have another
        // user.
        let (folder_mode, socket_mode) =
            if self.own_user { (0o755, 0o666) } else { (0o700, 0o600) };
        fs::create_dir_all(&folder)?;
        set_mode(&folder, folder_mode)?;
        let new = folder.join("new");
        fs::remove_file(&new).ok();
        let listener = UnixListener::bind(&new)?;
        listener.set_nonblocking(true)?;
        set_mode(&new, socket_mode)?;
        fs::rename(&new, &socket)?;
        Ok(listener)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<AttemptId, oneshot::Sender<()>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    fs::set_permissions(path, Permissions::from_mode(mode))
}
