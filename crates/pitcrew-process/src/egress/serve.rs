//! The process itself: listens, says that it does, and serves until its standard input ends.

use super::{
    EgressSpec, Listen,
    ledger::{Ledger, QUIET},
    network::Internet,
    ready::{Ready, say_ready},
    spec::Socket,
    visit::Door,
};
use rustix::{fs::Mode, process::umask};
use std::{fs, io, os::fd::AsFd, path::Path, process::ExitCode, sync::Arc};
use tokio::{
    io::AsyncReadExt,
    net::{TcpListener, TcpStream, UnixListener, UnixStream, unix::pipe},
    signal::unix::{Signal, SignalKind, signal},
    task::JoinSet,
    time::MissedTickBehavior,
};

/// Connections at the same time. More than that is no build.
const VISITS_MAX: usize = 512;

/// The body of `pitcrew egress SPEC`; `spec` is a file.
pub fn egress_main(spec: &Path) -> ExitCode {
    let result = read(spec).and_then(|spec| {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_all().max_blocking_threads(16).build()?;
        let result = runtime.block_on(serve(&spec));
        // A resolver that hangs is not waited for.
        runtime.shutdown_background();
        result
    });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say_ready(&Ready::Failed { reason: error.to_string() }).ok();
            ExitCode::FAILURE
        }
    }
}

fn read(spec: &Path) -> io::Result<EgressSpec> {
    serde_json::from_slice(&fs::read(spec)?)
        .map_err(|error| io::Error::other(format!("bad `{}`: {error}", spec.display())))
}

enum Listener {
    Socket(UnixListener),
    Port(TcpListener),
}

impl Listener {
    async fn open(spec: &EgressSpec) -> io::Result<Self> {
        match &spec.listen {
            Listen::Socket(name) => {
                Ok(Self::Socket(UnixListener::from_std(bind(&spec.dir.join(name))?)?))
            }
            Listen::Port { .. } => Ok(Self::Port(TcpListener::bind(("127.0.0.1", 0)).await?)),
        }
    }

    fn port(&self) -> io::Result<Option<u16>> {
        match self {
            Self::Socket(_) => Ok(None),
            Self::Port(listener) => Ok(Some(listener.local_addr()?.port())),
        }
    }

    async fn accept(&self) -> io::Result<Stream> {
        match self {
            Self::Socket(listener) => Ok(Stream::Socket(listener.accept().await?.0)),
            Self::Port(listener) => Ok(Stream::Port(listener.accept().await?.0)),
        }
    }
}

enum Stream {
    Socket(UnixStream),
    Port(TcpStream),
}

impl Stream {
    async fn serve(self, door: Arc<Door<Internet>>) {
        match self {
            Self::Socket(stream) => door.visit(stream).await,
            Self::Port(stream) => door.visit(stream).await,
        }
    }
}

/// Nobody but us may connect, from the first moment on.
fn bind(socket: &Path) -> io::Result<std::os::unix::net::UnixListener> {
    match fs::remove_file(socket) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let socket = Socket::at(socket)?;
    let before = umask(Mode::from_raw_mode(0o177));
    let listener = std::os::unix::net::UnixListener::bind(&socket.path);
    umask(before);
    let listener = listener?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

async fn serve(spec: &EgressSpec) -> io::Result<()> {
    let mut lifeline = pipe::Receiver::from_owned_fd(io::stdin().as_fd().try_clone_to_owned()?)
        .map_err(|error| io::Error::other(format!("standard input has to be a pipe: {error}")))?;
    // Whoever ends the programs of a box asks all of them to end; we stay until they are gone.
    let _asked: Signal = signal(SignalKind::terminate())?;
    let credentials = match &spec.listen {
        Listen::Socket(_) => None,
        Listen::Port { token } => Some(base64(format!("{USER}:{token}").as_bytes())),
    };
    let ledger = Ledger::open(&spec.dir)?;
    let (allowed, upstream) = (spec.allowed()?, spec.upstream.clone());
    let network = if upstream.is_none() { Internet::direct() } else { Internet::behind_proxy() };
    let door = Arc::new(Door { credentials, allowed, ledger, upstream, network });
    let listener = Listener::open(spec).await?;
    say_ready(&Ready::Listening { port: listener.port()? })?;
    let mut visits = JoinSet::new();
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
            accepted = listener.accept(), if visits.len() < VISITS_MAX => {
                // A connection that broke before it began is nobody's loss.
                if let Ok(stream) = accepted {
                    visits.spawn(stream.serve(Arc::clone(&door)));
                }
            }
            Some(_) = visits.join_next() => {}
            // What cannot be written now is tried again.
            _ = minute.tick() => drop(door.ledger.flush()),
        }
    }
    visits.shutdown().await;
    if let Listen::Socket(name) = &spec.listen {
        fs::remove_file(spec.dir.join(name)).ok();
    }
    door.ledger.flush()
}

/// The user of the credentials; the secret is the password.
pub(super) const USER: &str = "pitcrew";

pub(super) fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte));
        let bits = bits << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * place)) as usize & 63];
            text.push(if place <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_written_as_clients_write_them() {
        for (plain, coded) in
            [("a", "YQ=="), ("ab", "YWI="), ("abc", "YWJj"), ("pitcrew:x", "cGl0Y3Jldzp4")]
        {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }
}
