//! Standard input and output of a program in a box, passed around bubblewrap.
//!
//! bubblewrap keeps its own standard streams open as long as the box exists. If they were the
//! program's streams, we could not detect that the program has closed them. So bubblewrap gets a
//! socket, and our launcher receives the program's streams through it, inside the box.

use crate::{Policy, Tier};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use std::{
    io::{self, IoSlice, IoSliceMut},
    mem::MaybeUninit,
    os::{
        fd::{AsFd, OwnedFd},
        unix::net::UnixStream,
    },
};

/// How a program gets its standard input and output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ends {
    /// The program inherits the streams of the process that starts it.
    Inherited,
    /// Likewise, but our launcher waits for the first byte of the input and consumes it.
    Awaited,
    /// Our launcher receives them through its standard input, see `hand_over`.
    HandedOver,
}

impl Ends {
    /// Lets a box be created before its program may start.
    pub(crate) fn awaited(policy: &Policy) -> Self {
        match (policy.tier, &policy.launcher) {
            (Tier::T3, Some(_)) => Self::Awaited,
            (Tier::T1 | Tier::T2 | Tier::T3, _) => Self::Inherited,
        }
    }

    /// Makes the program the only process that holds the streams.
    pub(crate) fn alone(policy: &Policy) -> Self {
        match (policy.tier, &policy.launcher) {
            (Tier::T3, Some(_)) => Self::HandedOver,
            (Tier::T1 | Tier::T2 | Tier::T3, _) => Self::Inherited,
        }
    }
}

/// Returns a socket that contains both streams, to be the standard input of the launcher.
pub(crate) fn hand_over(stdin: impl AsFd, stdout: impl AsFd) -> io::Result<OwnedFd> {
    let (ours, theirs) = UnixStream::pair()?;
    pass(ours, stdin, stdout)?;
    Ok(theirs.into())
}

/// Sends both streams to a launcher that waits for them at the other end of a socket.
pub(crate) fn pass(socket: impl AsFd, stdin: impl AsFd, stdout: impl AsFd) -> io::Result<()> {
    let ends = [stdin.as_fd(), stdout.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut message = SendAncillaryBuffer::new(&mut space);
    assert!(message.push(SendAncillaryMessage::ScmRights(&ends)), "there is space for two");
    sendmsg(socket, &[IoSlice::new(&[0])], &mut message, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Receives input and output through our standard input.
pub(crate) fn take_over() -> io::Result<[OwnedFd; 2]> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut message = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let from = &mut [IoSliceMut::new(&mut byte)];
    recvmsg(io::stdin(), from, &mut message, RecvFlags::CMSG_CLOEXEC)?;
    let mut ends = Vec::new();
    for part in message.drain() {
        if let RecvAncillaryMessage::ScmRights(given) = part {
            ends.extend(given);
        }
    }
    <[OwnedFd; 2]>::try_from(ends).map_err(|_| io::Error::other("they were not handed over"))
}
