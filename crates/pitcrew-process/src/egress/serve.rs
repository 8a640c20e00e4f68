//! The egress process: listens and serves until the other end of its standard output is closed.

use super::{
    EgressSpec, Listen,
    gateway::Gateway,
    ledger::{Ledger, QUIET},
    network::Internet,
    ports::{self, Port},
    reached::Reached,
};
use rustix::process::{Resource, getrlimit, setrlimit};
use std::{fs, io, os::fd::AsFd, path::Path, process::ExitCode, sync::Arc, time::Duration};
use tokio::{
    io::AsyncReadExt,
    net::{TcpListener, UnixListener, UnixStream},
    signal::unix::{Signal, SignalKind, signal},
    sync::Semaphore,
    task::JoinSet,
    time::MissedTickBehavior,
};

/// Concurrent connections. No build needs more.
const CONNECTIONS_MAX: usize = 512;

/// Open files for each connection, and the most for everything else.
const FILES_PER_CONNECTION: usize = 2;
const OTHER_FILES: usize = 256;

/// Boxes that one process serves at the same time.
const BOXES_MAX: usize = 64;

/// Wait after a failed `accept`, which may have failed for lack of resources.
const PAUSE: Duration = Duration::from_millis(10);

/// The body of `pitcrew egress SPEC`; `spec` is a file.
pub(crate) fn egress_main(spec: &Path) -> ExitCode {
    let result = read(spec).and_then(|spec| {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_all().max_blocking_threads(16).build()?;
        let result = runtime.block_on(serve(&spec));
        // Does not wait for a resolver that hangs.
        runtime.shutdown_background();
        result
    });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        // There is no caller to report to. A box without this process has no network and reports
        // that.
        Err(_) => ExitCode::FAILURE,
    }
}

/// Reads the configuration and removes the file, which is only needed at the start.
fn read(spec: &Path) -> io::Result<EgressSpec> {
    let text = fs::read(spec)?;
    fs::remove_file(spec).ok();
    serde_json::from_slice(&text)
        .map_err(|error| io::Error::other(format!("bad `{}`: {error}", spec.display())))
}

/// The state that all ports share.
struct Server {
    gateway: Gateway<Internet>,
    /// One permit for each connection.
    permits: Arc<Semaphore>,
    /// The most ports that one box may have: two for each forwarded port, and one for the proxy.
    ports_max: usize,
}

impl Server {
    /// Accepts ports from boxes. Each box sends them before its program starts. A port that a
    /// program opens and sends itself is served like any other.
    async fn accept_boxes(self: Arc<Self>, listener: UnixListener) {
        let mut boxes = JoinSet::new();
        loop {
            tokio::select! {
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) if boxes.len() < BOXES_MAX => {
                        boxes.spawn(Arc::clone(&self).serve_box(stream));
                    }
                    Ok(_) => {}
                    Err(_) => tokio::time::sleep(PAUSE).await,
                },
                Some(_) = boxes.join_next() => {}
            }
        }
    }

    async fn serve_box(self: Arc<Self>, stream: UnixStream) {
        let Ok(ports) = ports::take(stream, self.ports_max).await else { return };
        let mut listeners = JoinSet::new();
        for port in ports {
            listeners.spawn(Arc::clone(&self).serve_port(port));
        }
        while listeners.join_next().await.is_some() {}
    }

    async fn serve_port(self: Arc<Self>, port: Port) -> io::Result<()> {
        port.listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(port.listener)?;
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) => {
                        let permit = Arc::clone(&self.permits).acquire_owned().await;
                        let server = Arc::clone(&self);
                        connections.spawn(async move {
                            match port.forward {
                                Some(port) => server.gateway.forward(stream, port).await,
                                None => server.gateway.serve(stream).await,
                            }
                            drop(permit);
                        });
                    }
                    // A connection that broke before it was accepted needs no handling.
                    Err(_) => tokio::time::sleep(PAUSE).await,
                },
                Some(_) = connections.join_next() => {}
            }
        }
    }
}

async fn serve(spec: &EgressSpec) -> io::Result<()> {
    let line: std::os::unix::net::UnixStream = io::stdout().as_fd().try_clone_to_owned()?.into();
    line.set_nonblocking(true)?;
    let mut lifeline = UnixStream::from_std(line)?;
    // Ending the programs of a box signals this process too, but it must run until they have ended.
    let _asked: Signal = signal(SignalKind::terminate())?;
    let credentials = match &spec.listen {
        Listen::Socket(_) => None,
        Listen::Port { token } => Some(base64(format!("{USER}:{token}").as_bytes())),
    };
    let (ledger, reached) = (Ledger::open(&spec.dir)?, Reached::open(&spec.dir)?);
    let (allowed, upstream) = (spec.allowed()?, spec.upstream.clone());
    let network = if upstream.is_none() { Internet::direct() } else { Internet::behind_proxy() };
    let gateway = Gateway { credentials, allowed, ledger, reached, upstream, network };
    let permits = Arc::new(Semaphore::new(connections_max()));
    let server = Arc::new(Server { gateway, permits, ports_max: 2 * spec.forward.len() + 1 });
    let mut serving = JoinSet::new();
    let given = io::stdin().as_fd().try_clone_to_owned()?;
    match &spec.listen {
        Listen::Socket(_) => {
            let listener = std::os::unix::net::UnixListener::from(given);
            listener.set_nonblocking(true)?;
            serving.spawn(Arc::clone(&server).accept_boxes(UnixListener::from_std(listener)?));
        }
        Listen::Port { .. } => {
            let port = Port { listener: given.into(), forward: None };
            let server = Arc::clone(&server);
            serving.spawn(async move { drop(server.serve_port(port).await) });
        }
    }
    let mut minute = tokio::time::interval(QUIET);
    minute.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut byte = [0];
    loop {
        tokio::select! {
            end = lifeline.read(&mut byte) => {
                if matches!(end, Ok(0) | Err(_)) {
                    break;
                }
            }
            // Counts that cannot be written now are written later.
            _ = minute.tick() => drop(server.gateway.ledger.flush()),
        }
    }
    serving.shutdown().await;
    if let Listen::Socket(name) = &spec.listen {
        fs::remove_file(spec.dir.join(name)).ok();
    }
    server.gateway.ledger.flush()
}

/// Returns how many connections the file limit allows. This process starts no program that would
/// inherit the raised limit.
fn connections_max() -> usize {
    let wanted = CONNECTIONS_MAX * FILES_PER_CONNECTION + OTHER_FILES;
    let mut limit = getrlimit(Resource::Nofile);
    let files = |it: Option<u64>| it.and_then(|it| usize::try_from(it).ok()).unwrap_or(wanted);
    let allowed = files(limit.maximum).min(wanted);
    if files(limit.current) < allowed {
        limit.current = u64::try_from(allowed).ok();
        setrlimit(Resource::Nofile, limit).ok();
    }
    let now = files(getrlimit(Resource::Nofile).current).min(wanted);
    (now.saturating_sub(OTHER_FILES) / FILES_PER_CONNECTION).max(16)
}

/// The user name of the credentials; the secret is the password.
pub(super) const USER: &str = "pitcrew";

pub(super) fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte));
        let bits = bits << (8 * (3 - chunk.len()));
        for index in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * index)) as usize & 63];
            text.push(if index <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_encoded_as_clients_encode_them() {
        for (plain, coded) in
            [("a", "YQ=="), ("ab", "YWI="), ("abc", "YWJj"), ("pitcrew:x", "cGl0Y3Jldzp4")]
        {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }
}
