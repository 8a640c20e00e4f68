//! Starts a shim and meets it.

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
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::Path,
    process::Stdio,
    time::Duration,
};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, BufReader},
    net::{UnixStream, unix::OwnedReadHalf},
    process::{Child, Command},
};

/// A shim is there within milliseconds, also on a busy machine long before this.
const START_MS_MAX: u64 = 30_000;

/// Starts `program shim DIR`, which starts the agent, and attaches to it.
///
/// The shim has a session of its own and outlives us. `program` is our own executable. Makes the
/// attempt's folder and the socket's when they are not there.
pub async fn start_shim(
    program: &Path,
    spec: &ShimSpec,
) -> Result<(ShimHandle, ShimEvents), ShimError> {
    let context = Context::new(spec);
    let start = tokio::time::timeout(Duration::from_millis(START_MS_MAX), start(program, spec));
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
    let spawned = spawn(program, spec).map_err(|error| not_started(error.to_string()))?;
    let mut shim = spawned.ok_or(ShimErrorKind::AlreadyRunning)?;
    if let Some(refusal) = refusal(first_words(&mut shim).await) {
        // It has nothing left to do but to end, and its folder is free again only then.
        shim.wait().await.map_err(|error| not_started(error.to_string()))?;
        return Err(refusal);
    }
    let stream = UnixStream::connect(&spec.socket).await.map_err(ShimErrorKind::Gone)?;
    let (hello, stream, outgoing) = attach::meet(stream).await.map_err(ShimErrorKind::Gone)?;
    Ok(Met { shim, hello, stream, outgoing })
}

/// Why a shim did not start the agent, unless it did.
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

/// Starts the shim, unless another one owns the folder. It gets no variable of ours: an agent
/// could read them there.
fn spawn(program: &Path, spec: &ShimSpec) -> io::Result<Option<Child>> {
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
    command.stdin(lock).stdout(Stdio::piped()).stderr(log);
    Command::from(command).spawn().map(Some)
}

async fn first_words(shim: &mut Child) -> io::Result<Start> {
    let stdout = shim.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
    let mut line = String::new();
    BufReader::new(stdout).take(64 * 1_024).read_line(&mut line).await?;
    serde_json::from_str(&line)
        .map_err(|_| io::Error::other(format!("it said {line:?} and not that it is ready")))
}
