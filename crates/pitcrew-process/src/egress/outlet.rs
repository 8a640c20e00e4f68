//! The parent's side of an egress process, which starts before the program in the box and ends
//! after it.

use super::{EgressSpec, Listen, Socket, serve::USER};
use crate::{
    Egress, EgressAt, Net, Policy, Tier, bridge::proxy_environment, command, marker, poll,
};
use rustix::{
    event::PollFlags,
    net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen, socket_with},
    process::{PidfdFlags, Signal, pidfd_open, pidfd_send_signal},
};
use std::{
    ffi::OsString,
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Read, Write},
    net::TcpListener,
    os::{
        fd::{AsFd, OwnedFd},
        unix::{
            fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt},
            net::UnixStream,
            process::CommandExt,
        },
    },
    path::{Path, PathBuf},
    process::{Child, Stdio},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// How long the process may take to write its remaining counts.
const END_MS_MAX: u64 = 2_000;

/// A running egress process. It ends when this is dropped, and also if we are killed.
#[derive(Debug)]
pub(crate) struct Outlet {
    /// The thread that starts the process.
    starting: Option<JoinHandle<io::Result<Started>>>,
    /// The process ends when this is closed.
    lifeline: Option<UnixStream>,
    /// Its configuration file, which it removes after reading.
    spec: PathBuf,
}

#[derive(Debug)]
struct Started {
    child: Child,
    exit: OwnedFd,
}

impl Outlet {
    /// Starts an egress process if the policy needs one and does not name a running one, and sets
    /// its address in the policy.
    ///
    /// Without confinement none is started, because a program could bypass it.
    pub(crate) fn open(policy: &Policy) -> io::Result<(Option<Self>, Policy)> {
        let mut policy = policy.clone();
        let (Net::Proxy(egress @ Egress { at: None, .. }), Tier::T2 | Tier::T3) =
            (&mut policy.net, policy.tier)
        else {
            return Ok((None, policy));
        };
        let Some(program) = &policy.launcher else {
            return Err(io::Error::other(
                "a proxy needs our own executable, and the policy names none",
            ));
        };
        let token = token()?;
        // Other egress processes may use the same folder.
        let name = format!("egress-{}", marker::own());
        let listen = match policy.tier {
            Tier::T1 | Tier::T3 => Listen::Socket(format!("{name}.sock")),
            Tier::T2 => Listen::Port { token: token.clone() },
        };
        let spec = EgressSpec {
            dir: egress.dir.clone(),
            listen,
            allow: egress.allow.clone(),
            private: egress.private.clone(),
            forward: egress.forward.clone(),
            upstream: egress.upstream.clone(),
        };
        // The process has no way to report that its configuration is invalid, so check it here.
        spec.allowed()?;
        let (outlet, port) = Self::start(program, &spec, &format!("{name}.json"))?;
        egress.at = match (&spec.listen, port) {
            (Listen::Socket(name), _) => Some(EgressAt::Socket(spec.dir.join(name))),
            (Listen::Port { .. }, Some(port)) => {
                let url = format!("http://{USER}:{token}@127.0.0.1:{port}");
                policy.env.extend(proxy_environment(&url));
                Some(EgressAt::Port(port))
            }
            (Listen::Port { .. }, None) => None,
        };
        Ok((Some(outlet), policy))
    }

    /// Starts `program egress SPEC` without waiting, not even until `exec`. A program that connects
    /// in the meantime waits on the listening socket, which is open already. If the process cannot
    /// be started, connections fail.
    fn start(program: &Path, spec: &EgressSpec, name: &str) -> io::Result<(Self, Option<u16>)> {
        DirBuilder::new().recursive(true).mode(0o700).create(&spec.dir)?;
        let path = spec.dir.join(name);
        write_private(&path, &serde_json::to_vec(spec).map_err(io::Error::other)?)?;
        let (listener, port) = open(spec)?;
        let (lifeline, theirs) = UnixStream::pair()?;
        let argv: [OsString; 3] = [program.into(), "egress".into(), path.clone().into()];
        let mut command = command::command(&argv, &spec.dir, &[])?;
        command.process_group(0).stdin(listener).stdout(OwnedFd::from(theirs));
        command.stderr(Stdio::null());
        let start = move || {
            let child = command.spawn()?;
            let exit = pidfd_open(rustix::process::Pid::from_child(&child), PidfdFlags::empty())?;
            Ok(Started { child, exit })
        };
        let starting = thread::Builder::new().name("egress".into()).spawn(start);
        let starting = starting.inspect_err(|_| drop(fs::remove_file(&path)))?;
        Ok((Self { starting: Some(starting), lifeline: Some(lifeline), spec: path }, port))
    }
}

/// Opens the listening socket, and returns its port number if it has one.
fn open(spec: &EgressSpec) -> io::Result<(OwnedFd, Option<u16>)> {
    match &spec.listen {
        Listen::Socket(name) => {
            let path = spec.dir.join(name);
            let listener =
                socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
            bind(&listener, &SocketAddrUnix::new(&Socket::at(&path)?.path)?)?;
            // No connection is possible before `listen`, and afterwards only for our user.
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
            listen(&listener, 16)?;
            Ok((listener, None))
        }
        Listen::Port { .. } => {
            let listener = TcpListener::bind(("127.0.0.1", 0))?;
            let port = listener.local_addr()?.port();
            Ok((listener.into(), Some(port)))
        }
    }
}

impl Drop for Outlet {
    /// Lets the process write its remaining counts, and makes sure that it has ended.
    fn drop(&mut self) {
        self.lifeline = None;
        let started = self.starting.take().and_then(|it| it.join().ok());
        if let Some(Ok(mut started)) = started {
            started.end();
        }
        fs::remove_file(&self.spec).ok();
    }
}

impl Started {
    fn end(&mut self) {
        let until = Instant::now() + Duration::from_millis(END_MS_MAX);
        let is_over = || {
            let exit = (self.exit.as_fd(), PollFlags::IN);
            poll::wait(&[exit], Some(until)).is_ok_and(|it| it[0])
        };
        while !is_over() && Instant::now() < until {}
        // The signal has no effect if the process has ended.
        pidfd_send_signal(&self.exit, Signal::KILL).ok();
        // A caller that waits for any child may have waited for this one already.
        self.child.wait().ok();
    }
}

fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600).open(path)?.write_all(bytes)
}

/// Returns a secret for one run.
fn token() -> io::Result<String> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(format!("{:032x}", u128::from_be_bytes(bytes)))
}
