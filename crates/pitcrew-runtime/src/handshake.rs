//! Tests an agent: starts it, opens a session, and stops it.
//!
//! It is started exactly as for a task, behind a shim, in an empty folder. No prompt is sent, so no
//! model is called. Its answers are read from the spool.

mod report;

use crate::{
    Tokens,
    drivers::{AgentResources, AgentSetup, HttpTools, SpawnRequest, WorkerSockets},
    network::Lookup,
};
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

pub use report::{AgentReport, Choice, RequestError};

/// If the starter dies, the agent ends after this time.
const LEASE_MS: u64 = 5_000;

/// The result of the test.
#[derive(Debug)]
pub struct Handshake {
    /// The agent's own name and version. `None` if no session was opened.
    pub agent: Option<String>,
    pub heard: AgentReport,
    /// Why there was no session.
    pub failure: Option<Failure>,
    /// How its process ended. `None` if it never started, or ended with the failure.
    pub exit: Option<Exit>,
}

/// The folder for the test could not be created or removed.
#[derive(Debug, thiserror::Error)]
#[error("failed to create or remove the folder for testing the agent at `{}`", path.display())]
pub struct HandshakeError {
    pub path: PathBuf,
    #[source]
    pub source: io::Error,
}

/// Tests the agent of a backend. `program` is our own executable; a temporary folder is created in
/// `runtime` for the sockets. When this returns, no process of the agent is left.
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
        sockets: WorkerSockets::new(&dirs, Tier::T1),
        dirs,
        // A worker without a task has no tools.
        tokens: Tokens::new("0".repeat(64)),
        backends: BTreeMap::from([(name.to_owned(), backend)]),
        model: None,
        prices: BTreeMap::new(),
        lease_ms: LEASE_MS,
        policy: Policy::unconfined(),
        network: Lookup::default(),
        root: cwd.to_owned(),
        vault: None,
    };
    let which = SpawnRequest {
        backend: Backend::Program { name: name.to_owned() },
        model: None,
        reach: WorkerAccess { zone: Zone::default(), sees: Vec::new(), stay: CheckoutRole::Owner },
        unseen: Vec::new(),
    };
    // Uses the user's own state, because the user runs this to check that the agent works.
    let opened =
        match setup.launch(EffectId(1), AttemptId(1), &which, cwd, AgentResources::default()) {
            Ok(launch) => pitcrew_acp::open(launch).await.map_err(|it| it.failure),
            Err(failure) => Err(failure),
        };
    match opened {
        Ok((session, _events)) => {
            let agent = Some(session.agent_name().to_owned());
            let exit = session.stop(Duration::from_millis(limits::STOP_GRACE_MS)).await;
            Handshake { agent, heard: report::read(&spool), failure: None, exit: Some(exit) }
        }
        Err(failure) => Handshake {
            agent: None,
            heard: report::read(&spool),
            failure: Some(failure),
            exit: None,
        },
    }
}
