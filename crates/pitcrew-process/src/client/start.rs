//! Starts a shim and attaches to it, either at once or when its agent may start.

use super::{
    Outgoing, ShimError, ShimErrorKind, ShimEvents, ShimHandle, attach, error::Context,
    events::Source,
};
use crate::{
    ShimSpec, command,
    shim::{Hello, Start, lock, remove_exit, spec_path},
};
use std::{
    fs::{DirBuilder, OpenOptions},
    io::{self, Write},
    os::{
        fd::OwnedFd,
        unix::fs::{DirBuilderExt, OpenOptionsExt},
    },
    path::Path,
    process::Stdio,
    time::Duration,
};
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{UnixStream, unix::OwnedReadHalf},
    process::{Child, Command},
};

/// How long a shim may take to start. It normally takes milliseconds, and much less than this even
/// on a busy machine.
const START_MS_MAX: u64 = 30_000;

/// Starts `program shim DIR`, which starts the agent, and attaches to it.
///
/// The shim runs in a separate session and outlives this process. `program` is our own executable.
/// Creates the attempt's folder and the socket's folder if they are missing.
pub async fn start_shim(
    program: &Path,
    spec: &ShimSpec,
) -> Result<(ShimHandle, ShimEvents), ShimError> {
    within_time(spec, start(program, spec)).await
}

/// Starts a shim before its agent may start. The shim prepares as much as possible in advance. Does
/// not wait for it.
///
/// The agent's checkout may still be created while the shim prepares, but its folder must exist.
pub fn prepare_shim(program: &Path, spec: &ShimSpec) -> Result<PreparedShim, ShimError> {
    let spawned = || -> Result<PreparedShim, ShimErrorKind> {
        let broken = |error: io::Error| not_started(error.to_string());
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().map_err(broken)?;
        ours.set_nonblocking(true).map_err(broken)?;
        let socket = UnixStream::from_std(ours).map_err(broken)?;
        let shim = spawn(program, spec, OwnedFd::from(theirs).into()).map_err(broken)?;
        let shim = shim.ok_or(ShimErrorKind::AlreadyRunning)?;
        Ok(PreparedShim { spec: spec.clone(), shim, socket })
    };
    spawned().map_err(|kind| Context::new(spec).error(kind))
}

/// A shim whose agent has not started. If this is dropped, or if this process ends, the agent never
/// starts and the prepared processes end.
#[derive(Debug)]
pub struct PreparedShim {
    spec: ShimSpec,
    shim: Child,
    socket: UnixStream,
}

impl PreparedShim {
    /// The specification that the shim was started with.
    pub fn spec(&self) -> &ShimSpec {
        &self.spec
    }

    /// Starts the agent and attaches to the shim.
    pub async fn go(self) -> Result<(ShimHandle, ShimEvents), ShimError> {
        let Self { spec, shim, mut socket } = self;
        let gone = async {
            let sent = socket.write_all(&[0]).await;
            sent.map_err(|error| not_started(error.to_string()))?;
            meet(shim, socket, &spec).await
        };
        within_time(&spec, gone).await
    }

    /// Waits until all of its processes have ended.
    pub async fn end(self) {
        let Self { mut shim, socket, .. } = self;
        drop(socket);
        shim.wait().await.ok();
    }
}

async fn within_time(
    spec: &ShimSpec,
    start: impl Future<Output = Result<Met, ShimErrorKind>>,
) -> Result<(ShimHandle, ShimEvents), ShimError> {
    let context = Context::new(spec);
    let start = tokio::time::timeout(Duration::from_millis(START_MS_MAX), start);
    let met = match start.await {
        Ok(met) => met.map_err(|kind| context.error(kind))?,
        Err(_) => return Err(context.error(not_started("it does not answer"))),
    };
    let Met { shim, hello, stream, outgoing } = met;
    let mut events = attach::events(&spec.dir, Source::Shim(stream));
    events.agent = Some(hello.agent);
    events.shim = Some(shim);
    Ok((attach::handle(&spec.dir, Some(hello), Some(outgoing)), events))
}

struct Met {
    shim: Child,
    hello: Hello,
    stream: BufReader<OwnedReadHalf>,
    outgoing: Outgoing,
}

async fn start(program: &Path, spec: &ShimSpec) -> Result<Met, ShimErrorKind> {
    let spawned =
        spawn(program, spec, Stdio::piped()).map_err(|error| not_started(error.to_string()))?;
    let mut shim = spawned.ok_or(ShimErrorKind::AlreadyRunning)?;
    let stdout = shim.stdout.take().ok_or_else(|| not_started("it cannot be heard"))?;
    meet(shim, stdout, spec).await
}

/// Reads the shim's first report and attaches to it.
async fn meet(
    mut shim: Child,
    stdout: impl AsyncRead + Unpin,
    spec: &ShimSpec,
) -> Result<Met, ShimErrorKind> {
    if let Some(refusal) = refusal(first_words(stdout).await) {
        // The shim is about to exit, and the folder is free only after that.
        shim.wait().await.map_err(|error| not_started(error.to_string()))?;
        return Err(refusal);
    }
    let stream = UnixStream::connect(&spec.socket).await.map_err(ShimErrorKind::Gone)?;
    let (hello, stream, outgoing) = attach::meet(stream).await.map_err(ShimErrorKind::Gone)?;
    Ok(Met { shim, hello, stream, outgoing })
}

/// Returns why a shim did not start the agent, or nothing if it did.
fn refusal(words: io::Result<Start>) -> Option<ShimErrorKind> {
    match words {
        Ok(Start::Ready) => None,
        Ok(Start::AgentMissing { reason }) => Some(ShimErrorKind::AgentMissing { reason }),
        Ok(Start::AlreadyRunning) => Some(ShimErrorKind::AlreadyRunning),
        Ok(Start::Failed { reason }) => Some(not_started(reason)),
        Err(error) => Some(not_started(error.to_string())),
    }
}

fn not_started(reason: impl Into<String>) -> ShimErrorKind {
    ShimErrorKind::NotStarted { reason: reason.into() }
}

/// Starts the shim, unless another one owns the folder. The shim gets none of our environment
/// variables, because an agent could read them there.
fn spawn(program: &Path, spec: &ShimSpec, stdout: Stdio) -> io::Result<Option<Child>> {
    let mut folders = DirBuilder::new();
    folders.recursive(true).mode(0o700);
    folders.create(&spec.dir)?;
    spec.socket.parent().map_or(Ok(()), |it| folders.create(it))?;
    let Some(lock) = lock::take(&spec.dir)? else { return Ok(None) };
    remove_exit(&spec.dir)?;
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let mut file = options.open(spec_path(&spec.dir))?;
    file.write_all(&serde_json::to_vec(spec).map_err(io::Error::other)?)?;
    let mut options = OpenOptions::new();
    let log = options.append(true).create(true).mode(0o600).open(spec.dir.join("shim.log"))?;
    let argv = [program.as_os_str(), "shim".as_ref(), spec.dir.as_os_str()];
    let mut command = command::command(&argv, &spec.dir, &[])?;
    command.stdin(lock).stdout(stdout).stderr(log);
    Command::from(command).spawn().map(Some)
}

async fn first_words(stdout: impl AsyncRead + Unpin) -> io::Result<Start> {
    let mut line = String::new();
    BufReader::new(stdout).take(64 * 1_024).read_line(&mut line).await?;
    serde_json::from_str(&line)
        .map_err(|_| io::Error::other(format!("it said {line:?} and not that it is ready")))
}
