//! The shortest meeting with an agent: it is started, agrees on a session, and is stopped.
//!
//! It is started exactly as for a task, behind a shim, in an empty folder. No prompt is sent, so
//! no model is called. What it said is read back from the spool.

mod heard;

use crate::{
    Tokens,
    drivers::{AgentSetup, Given, HttpTools, Wanted, WorkerDoors},
    network::Lookup,
};
use heard::hear;
use pitcrew_config::{BackendSettings, WorkspaceDirs, WorkspaceId, private_dir};
use pitcrew_kernel::WorkerAccess;
use pitcrew_model::{AttemptId, Backend, CheckoutRole, EffectId, Exit, Failure, Zone, limits};
use pitcrew_process::{Policy, Tier, remove_tree};
use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

pub use heard::{Choice, Heard, Refused};

/// Whoever started it is gone: nothing of it stays for long.
const LEASE_MS: u64 = 5_000;

/// How a meeting went.
#[derive(Debug)]
pub struct Handshake {
    /// What the agent calls itself, with its version. Absent: no session came about.
    pub agent: Option<String>,
    pub heard: Heard,
    /// Why there was no session.
    pub failure: Option<Failure>,
    /// How its process ended. Absent: it was never there, or ended with the failure.
    pub exit: Option<Exit>,
}

/// The folder for the meeting could not be made or removed.
#[derive(Debug, thiserror::Error)]
#[error("failed to keep a folder to meet the agent in at `{}`", path.display())]
pub struct HandshakeError {
    pub path: PathBuf,
    #[source]
    pub source: io::Error,
}

/// Meets the agent of a backend. `program` is our own executable, `runtime` a folder for sockets
/// in which a folder is made and removed again. When this returns, none of the agent's processes
/// is left.
pub async fn handshake(
    program: PathBuf,
    runtime: &Path,
    name: &str,
    backend: BackendSettings,
) -> Result<Handshake, HandshakeError> {
    let folder = runtime.join(format!("handshake-{}", std::process::id()));
    let failed = |source| HandshakeError { path: folder.clone(), source };
    private_dir(&folder).map_err(|it| failed(io::Error::other(it)))?;
    let cwd = folder.join("empty");
    fs::create_dir_all(&cwd).map_err(failed)?;
    let met = meet(program, &folder, &cwd, name, backend).await;
    remove_tree(&folder).map_err(failed)?;
    Ok(met)
}

async fn meet(
    program: PathBuf,
    folder: &Path,
    cwd: &Path,
    name: &str,
    backend: BackendSettings,
) -> Handshake {
    let id: WorkspaceId = "0000000000000000".parse().expect("16 digits are an id");
    let dirs = WorkspaceDirs { id, state: folder.to_owned(), runtime: folder.to_owned() };
    let spool = dirs.attempt(AttemptId(1)).join("spool.ndjson");
    let setup = AgentSetup {
        program,
        http: HttpTools::new(&dirs),
        doors: WorkerDoors::new(&dirs, Tier::T1),
        dirs,
        // Nobody listens to the tools of a worker without work.
        tokens: Tokens::new("0".repeat(64)),
        backends: BTreeMap::from([(name.to_owned(), backend)]),
        model: None,
        prices: BTreeMap::new(),
        lease_ms: LEASE_MS,
        policy: Policy::unconfined(),
        network: Lookup::default(),
        root: cwd.to_owned(),
    };
    let which = Wanted {
        backend: Backend::Program { name: name.to_owned() },
        model: None,
        reach: WorkerAccess { zone: Zone::default(), sees: Vec::new(), stay: CheckoutRole::Owner },
        unseen: Vec::new(),
    };
    // With the user's own state: it is the user who starts it, to see whether it works.
    let opened = match setup.launch(EffectId(1), AttemptId(1), &which, cwd, Given::default()) {
        Ok(launch) => pitcrew_acp::open(launch).await.map_err(|it| it.failure),
        Err(failure) => Err(failure),
    };
    match opened {
        Ok((session, _events)) => {
            let agent = Some(session.agent_name().to_owned());
            let exit = session.stop(Duration::from_millis(limits::STOP_GRACE_MS)).await;
            Handshake { agent, heard: hear(&spool), failure: None, exit: Some(exit) }
        }
        Err(failure) => {
            Handshake { agent: None, heard: hear(&spool), failure: Some(failure), exit: None }
        }
    }
}
