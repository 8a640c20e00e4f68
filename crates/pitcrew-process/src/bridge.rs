//! A loopback port that leads to a socket, for a program that may not create sockets with a path.
//!
//! The bridge starts before the program. It is not a child of the program, because the program may
//! wait for all of its children. The bridge decides nothing: the process behind the socket decides
//! which destinations are allowed.

mod ready;

use crate::{command, egress::Socket};
use ready::{Ready, ready, say_ready};
use serde::{Deserialize, Serialize};
use std::{
    ffi::OsString,
    io,
    net::Ipv4Addr,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{ExitCode, Stdio},
    sync::Arc,
    time::Duration,
};
use tokio::{
    io::{AsyncWriteExt, copy},
    net::{TcpListener, TcpStream, UnixStream},
    sync::Semaphore,
    task::JoinSet,
    time::sleep,
};

/// The argument that makes the process serve. Without it, the process starts another one and exits.
const STAY: &str = "stay";

/// Concurrent connections. Further connections wait in the port's queue.
const VISITS_MAX: usize = 32;

/// Wait after a failed `accept`, which may have failed for lack of resources.
const PAUSE: Duration = Duration::from_millis(10);

/// The configuration of a bridge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BridgeSpec {
    pub socket: PathBuf,
}

/// Starts `program bridge SPEC` and returns its loopback port.
///
/// `program` is our own executable. The bridge is not a child of this process.
pub fn start_bridge(program: &Path, spec: &BridgeSpec) -> io::Result<u16> {
    let (ours, stdout) = io::pipe()?;
    let mut command = command(program, spec, &[])?;
    command.stdin(Stdio::null()).stdout(stdout).stderr(Stdio::null());
    let status = command.spawn()?.wait()?;
    drop(command);
    match ready(ours)? {
        Ready::Listening { port } if status.success() => Ok(port),
        Ready::Listening { .. } => Err(io::Error::other("the bridge ended at once")),
        Ready::Failed { reason } => Err(io::Error::other(reason)),
    }
}

fn command(program: &Path, spec: &BridgeSpec, more: &[&str]) -> io::Result<std::process::Command> {
    let spec = serde_json::to_string(spec).map_err(io::Error::other)?;
    let mut argv: Vec<OsString> = vec![program.into(), "bridge".into(), spec.into()];
    argv.extend(more.iter().map(OsString::from));
    // Includes the markers of the run, by which the process is found from outside.
    let env: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    command::command(&argv, Path::new("/"), &env)
}

/// The body of `pitcrew bridge SPEC [stay]`; `spec` is JSON.
pub(crate) fn bridge_main(spec: &str, more: Option<&str>) -> ExitCode {
    let spec = serde_json::from_str(spec).map_err(io::Error::other);
    let result = spec.and_then(|spec| match more {
        Some(STAY) => stay(&spec),
        Some(_) | None => leave(&spec),
    });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say_ready(&Ready::Failed { reason: error.to_string() }).ok();
            ExitCode::FAILURE
        }
    }
}

/// Starts the serving process. When this process exits, that process gets another parent.
fn leave(spec: &BridgeSpec) -> io::Result<()> {
    let mut command = command(&std::env::current_exe()?, spec, &[STAY])?;
    command.process_group(0).stdin(Stdio::null()).stderr(Stdio::null());
    command.spawn().map(drop)
}

fn stay(spec: &BridgeSpec) -> io::Result<()> {
    // A terminal's signals are meant for the program, not for the bridge.
    rustix::process::setsid().ok();
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build()?.block_on(serve(spec))
}

async fn serve(spec: &BridgeSpec) -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let port = listener.local_addr()?.port();
    let socket = Arc::new(Socket::at(&spec.socket)?);
    say_ready(&Ready::Listening { port })?;
    let room = Arc::new(Semaphore::new(VISITS_MAX));
    let mut visits = JoinSet::new();
    loop {
        let place = Arc::clone(&room).acquire_owned().await;
        match listener.accept().await {
            Ok((inside, _)) => {
                let socket = Arc::clone(&socket);
                visits.spawn(async move {
                    // The two ends of a broken connection report the error themselves.
                    cross(inside, &socket).await.ok();
                    drop(place);
                });
            }
            Err(_) => sleep(PAUSE).await,
        }
        while visits.try_join_next().is_some() {}
    }
}

/// Forwards one connection. It ends when the socket has no more data: the process behind the socket
/// enforces the time limits.
async fn cross(inside: TcpStream, socket: &Socket) -> io::Result<()> {
    let (mut from_inside, mut to_inside) = inside.into_split();
    let outside = UnixStream::connect(&socket.path).await?;
    let (mut from_outside, mut to_outside) = outside.into_split();
    let up = async {
        copy(&mut from_inside, &mut to_outside).await.ok();
        to_outside.shutdown().await.ok();
        std::future::pending::<()>().await;
    };
    tokio::select! {
        down = copy(&mut from_outside, &mut to_inside) => down.map(drop),
        () = up => Ok(()),
    }
}

/// The variables that make programs use the proxy at `url`.
pub fn proxy_environment(url: &str) -> Vec<(String, String)> {
    const PROXY: &[&str] = &[
        "HTTPS_PROXY",
        "HTTP_PROXY",
        "ALL_PROXY",
        "https_proxy",
        "http_proxy",
        "all_proxy",
        "CARGO_HTTP_PROXY",
    ];
    const LOOPBACK: &str = "localhost,127.0.0.1,::1";
    let proxy = PROXY.iter().map(|it| (*it, url));
    let others = [("NO_PROXY", LOOPBACK), ("no_proxy", LOOPBACK), ("NODE_USE_ENV_PROXY", "1")];
    proxy.chain(others).map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}
