//! Loopback ports that lead to our sockets, for programs that cannot make sockets with a path.
//!
//! Variables that name a socket name its port instead. A program may start ours with other
//! variables; its home it passes on, so the addresses are written to a file there as well.

use crate::{BridgeSpec, start_bridge};
use std::{
    env, fs,
    fs::OpenOptions,
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

/// A file in the home: each line has an address and the socket behind it.
const FILE: &str = ".pitcrew-relays";

type Variables = Vec<(String, String)>;

/// Starts a relay for each of these sockets. Their ports, and the variables that name them.
pub(super) fn start(sockets: &[PathBuf]) -> io::Result<(Vec<u16>, Variables)> {
    let (mut ports, mut variables, mut lines) = (Vec::new(), Vec::new(), Vec::new());
    for socket in sockets {
        let spec = BridgeSpec { socket: socket.clone() };
        let port = start_bridge(&env::current_exe()?, &spec)?;
        let address = format!("127.0.0.1:{port}");
        let naming = env::vars().filter(|(_, value)| Path::new(value) == socket);
        variables.extend(naming.map(|(name, _)| (name, address.clone())));
        lines.push(format!("{address} {}\n", socket.display()));
        ports.push(port);
    }
    if let (false, Some(file)) = (lines.is_empty(), file()) {
        // Whatever is in the way, also a link, was put there by a program that may not write
        // everything that we may. Without a home the variables have to do.
        fs::remove_file(&file).ok();
        let mut options = OpenOptions::new();
        let made = options.write(true).create_new(true).mode(0o600).open(file);
        made.and_then(|mut it| it.write_all(lines.concat().as_bytes())).ok();
    }
    Ok((ports, variables))
}

/// The address that leads to a socket, where this program is held without a box.
pub fn relay_of(socket: &Path) -> Option<String> {
    let text = fs::read_to_string(file()?).ok()?;
    let parts = text.lines().filter_map(|it| it.split_once(' '));
    let leading = parts.filter(|it| Path::new(it.1) == socket);
    leading.map(|it| it.0.to_owned()).next()
}

fn file() -> Option<PathBuf> {
    Some(Path::new(&env::var_os("HOME")?).join(FILE))
}
