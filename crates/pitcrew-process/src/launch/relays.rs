//! Loopback ports that lead to our sockets, for programs that cannot create sockets with a path.
//!
//! Variables that name a socket name its port instead. A program may start our executable with
//! other variables, but it passes its home on, so the addresses are also written to a file there.

use crate::{BridgeSpec, start_bridge};
use std::{
    env, fs,
    fs::OpenOptions,
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

/// A file in the home. Each line has an address and the socket behind it.
const FILE: &str = ".pitcrew-relays";

type Variables = Vec<(String, String)>;

/// Starts a relay for each of these sockets. Returns their ports and the variables that name them.
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
        // An existing entry, even a link, was created by a program with fewer rights than ours, so
        // it is removed. If there is no home, the variables must suffice.
        fs::remove_file(&file).ok();
        let mut options = OpenOptions::new();
        let made = options.write(true).create_new(true).mode(0o600).open(file);
        made.and_then(|mut it| it.write_all(lines.concat().as_bytes())).ok();
    }
    Ok((ports, variables))
}

/// Returns the address that leads to a socket, if this program is confined without a box.
pub fn relay_of(socket: &Path) -> Option<String> {
    let text = fs::read_to_string(file()?).ok()?;
    let parts = text.lines().filter_map(|it| it.split_once(' '));
    let leading = parts.filter(|it| Path::new(it.1) == socket);
    leading.map(|it| it.0.to_owned()).next()
}

fn file() -> Option<PathBuf> {
    Some(Path::new(&env::var_os("HOME")?).join(FILE))
}
