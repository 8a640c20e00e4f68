//! Inside a box without a network: ports of the box's own loopback that lead to the egress process
//! outside, by the socket that is mounted in the box.
//!
//! Started before the program, and a child of the box's first process and not of the program, which
//! may wait for all its children. It ends with the box, and decides nothing: what may be reached is
//! decided outside.

use crate::{
    command,
    egress::{Ready, Socket, ready, say_ready},
};
use serde::{Deserialize, Serialize};
use std::{
    ffi::OsString,
    io,
    net::{Ipv4Addr, Ipv6Addr},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{ExitCode, Stdio},
    sync::Arc,
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, UnixStream},
    task::JoinSet,
};

/// What the answer to a request for a forwarded port has at most.
const ANSWER_BYTES_MAX: usize = 4 * 1_024;
/// The word that makes the process stay; without it, it starts another one and leaves.
const STAY: &str = "stay";

/// What leads where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BridgeSpec {
    /// The socket of the egress process.
    pub socket: PathBuf,
    /// Ports of the machine's loopback that are to be found under the same number in the box.
    pub forward: Vec<u16>,
}

/// Starts `program bridge SPEC` and tells at which port of the loopback the proxy is.
///
/// `program` is our own executable. What is started is no child of ours.
pub fn start_bridge(program: &Path, spec: &BridgeSpec) -> io::Result<u16> {
    let (ours, stdout) = io::pipe()?;
    let mut command = command(program, spec, &[])?;
    command.stdin(Stdio::null()).stdout(stdout).stderr(Stdio::null());
    let status = command.spawn()?.wait()?;
    drop(command);
    match ready(ours)? {
        Ready::Listening { port: Some(port) } if status.success() => Ok(port),
        Ready::Listening { .. } => Err(io::Error::other("the bridge ended at once")),
        Ready::Failed { reason } => Err(io::Error::other(reason)),
    }
}

fn command(program: &Path, spec: &BridgeSpec, more: &[&str]) -> io::Result<std::process::Command> {
    let spec = serde_json::to_string(spec).map_err(io::Error::other)?;
    let mut argv: Vec<OsString> = vec![program.into(), "bridge".into(), spec.into()];
    argv.extend(more.iter().map(OsString::from));
    // The marks of the run, by which it is found from outside.
    let env: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    command::command(&argv, Path::new("/"), &env)
}

/// The body of `pitcrew bridge SPEC [stay]`; `spec` is JSON.
pub fn bridge_main(spec: &str, more: Option<&str>) -> ExitCode {
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

/// Starts the process that stays. With our end it gets the box's first process as its parent.
fn leave(spec: &BridgeSpec) -> io::Result<()> {
    let mut command = command(&std::env::current_exe()?, spec, &[STAY])?;
    command.process_group(0).stdin(Stdio::null()).stderr(Stdio::null());
    command.spawn().map(drop)
}

fn stay(spec: &BridgeSpec) -> io::Result<()> {
    // A terminal's signals are for the program.
    rustix::process::setsid().ok();
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build()?.block_on(serve(spec))
}

/// A port of the box, and what is asked for outside when somebody connects to it.
struct Gate {
    listener: TcpListener,
    forward: Option<u16>,
}

async fn serve(spec: &BridgeSpec) -> io::Result<()> {
    let proxy = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let port = proxy.local_addr()?.port();
    let mut gates = vec![Gate { listener: proxy, forward: None }];
    for port in &spec.forward {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).await.map_err(|error| {
            io::Error::other(format!("port {port} of the box cannot be forwarded: {error}"))
        })?;
        gates.push(Gate { listener, forward: Some(*port) });
        // Some look for `localhost` here first; where there is no IPv6 they go on.
        if let Ok(listener) = TcpListener::bind((Ipv6Addr::LOCALHOST, *port)).await {
            gates.push(Gate { listener, forward: Some(*port) });
        }
    }
    let socket = Arc::new(Socket::at(&spec.socket)?);
    say_ready(&Ready::Listening { port: Some(port) })?;
    let mut serving = JoinSet::new();
    for gate in gates {
        serving.spawn(gate.serve(Arc::clone(&socket)));
    }
    while serving.join_next().await.is_some() {}
    Ok(())
}

impl Gate {
    async fn serve(self, socket: Arc<Socket>) {
        let mut visits = JoinSet::new();
        loop {
            tokio::select! {
                accepted = self.listener.accept() => {
                    if let Ok((inside, _)) = accepted {
                        visits.spawn(cross(inside, Arc::clone(&socket), self.forward));
                    }
                }
                Some(_) = visits.join_next() => {}
            }
        }
    }
}

/// One connection. What breaks it is for its two ends to know.
async fn cross(
    mut inside: impl AsyncRead + AsyncWrite + Unpin,
    socket: Arc<Socket>,
    forward: Option<u16>,
) -> io::Result<()> {
    let mut outside = UnixStream::connect(&socket.path).await?;
    if let Some(port) = forward {
        ask(&mut outside, port).await?;
    }
    tokio::io::copy_bidirectional(&mut inside, &mut outside).await?;
    Ok(())
}

/// Asks for a port of the machine's loopback. Reads not a byte more than the answer.
async fn ask(outside: &mut UnixStream, port: u16) -> io::Result<()> {
    outside.write_all(format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n").as_bytes()).await?;
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") && answer.len() < ANSWER_BYTES_MAX {
        answer.push(outside.read_u8().await?);
    }
    let is_open = answer.starts_with(b"HTTP/1.1 200 ");
    if is_open { Ok(()) } else { Err(io::ErrorKind::ConnectionRefused.into()) }
}

/// The variables by which programs find the proxy at `url`.
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
