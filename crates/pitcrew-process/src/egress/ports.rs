//! Ports on the loopback of a box that are served outside the box.
//!
//! Our launcher opens them inside the box before the program starts, and passes them through the
//! socket that is mounted there. So none of our processes has to run in the box, and the network is
//! available when the program starts.

use super::Socket;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use serde::{Deserialize, Serialize};
use std::{
    io::{self, IoSlice, IoSliceMut, Read},
    mem::MaybeUninit,
    net::{Ipv4Addr, Ipv6Addr, Shutdown, TcpListener},
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::net::UnixStream,
    },
    path::PathBuf,
    time::Duration,
};
use tokio::{
    io::{AsyncWriteExt, Interest},
    time::timeout,
};

/// The process outside starts before the box, so it responds at once.
const ANSWER_MS_MAX: u64 = 30_000;
/// The response if all ports were accepted.
const TAKEN: [u8; 1] = [1];

/// The route from inside a box to the network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WayOut {
    /// The socket of the egress process.
    pub socket: PathBuf,
    /// Ports of the machine's loopback that have the same number in the box.
    pub forward: Vec<u16>,
}

/// A port that programs in a box connect to.
pub(super) struct Port {
    pub(super) listener: TcpListener,
    /// The port of the machine that it is forwarded to. Absent for the port of the proxy.
    pub(super) forward: Option<u16>,
}

/// Opens the ports and passes them on. Returns the loopback port of the proxy.
pub fn lead_out(way: &WayOut) -> io::Result<u16> {
    let mut ports = Vec::new();
    for number in &way.forward {
        let opened = TcpListener::bind((Ipv4Addr::LOCALHOST, *number));
        let listener = opened.map_err(|error| {
            io::Error::other(format!("port {number} of the box cannot be forwarded: {error}"))
        })?;
        ports.push(Port { listener, forward: Some(*number) });
        // Some programs try this address first for `localhost`. Without IPv6, they try the next
        // one.
        if let Ok(listener) = TcpListener::bind((Ipv6Addr::LOCALHOST, *number)) {
            ports.push(Port { listener, forward: Some(*number) });
        }
    }
    // Opened last, so that its number differs from the forwarded ports.
    let proxy = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let port = proxy.local_addr()?.port();
    ports.push(Port { listener: proxy, forward: None });
    let mut stream = UnixStream::connect(&Socket::at(&way.socket)?.path)?;
    for port in &ports {
        give(&stream, port)?;
    }
    stream.shutdown(Shutdown::Write)?;
    stream.set_read_timeout(Some(Duration::from_millis(ANSWER_MS_MAX)))?;
    stream.read_exact(&mut [0; TAKEN.len()])?;
    Ok(port)
}

fn give(stream: &UnixStream, port: &Port) -> io::Result<()> {
    let number = port.forward.unwrap_or_default().to_be_bytes();
    let ports = [port.listener.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut message = SendAncillaryBuffer::new(&mut space);
    assert!(message.push(SendAncillaryMessage::ScmRights(&ports)), "there is space for one");
    sendmsg(stream, &[IoSlice::new(&number)], &mut message, SendFlags::empty())?;
    Ok(())
}

/// Accepts the passed ports, all or none, and confirms it.
pub(super) async fn take(
    mut stream: tokio::net::UnixStream,
    ports_max: usize,
) -> io::Result<Vec<Port>> {
    let taking = async {
        let mut ports = Vec::new();
        while let Some(port) =
            stream.async_io(Interest::READABLE, || receive(stream.as_fd())).await?
        {
            ports.push(port);
            if ports.len() > ports_max {
                return Err(io::Error::from(io::ErrorKind::InvalidData));
            }
        }
        Ok(ports)
    };
    let ports = timeout(Duration::from_millis(ANSWER_MS_MAX), taking).await??;
    stream.write_all(&TAKEN).await?;
    Ok(ports)
}

fn receive(stream: BorrowedFd<'_>) -> io::Result<Option<Port>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut message = RecvAncillaryBuffer::new(&mut space);
    let mut number = [0; 2];
    let into = &mut [IoSliceMut::new(&mut number)];
    let received = recvmsg(stream, into, &mut message, RecvFlags::CMSG_CLOEXEC)?;
    let mut given: Vec<OwnedFd> = Vec::new();
    for part in message.drain() {
        if let RecvAncillaryMessage::ScmRights(handed) = part {
            given.extend(handed);
        }
    }
    match (received.bytes, given.pop()) {
        (0, None) => Ok(None),
        (2, Some(port)) => {
            let number = u16::from_be_bytes(number);
            let forward = (number != 0).then_some(number);
            Ok(Some(Port { listener: port.into(), forward }))
        }
        (_, _) => Err(io::ErrorKind::InvalidData.into()),
    }
}
