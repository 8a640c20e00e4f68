//! Loopback ports that lead to our sockets, for programs that cannot create sockets with a path.
//!
//! Variables that name a socket name its port instead. A program may start our executable with
//! other variables, but it passes its home on, so each address is also written to a file there.
//! Each socket has its own file, because workers share a home that the user made writable.

use crate::{BridgeSpec, start_bridge};
use std::{
    env,
    ffi::OsStr,
    fs::{self, File, OpenOptions},
    hash::{DefaultHasher, Hash, Hasher},
    io::{self, Read, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

/// The start of the names of the files in the home. The rest is a hash of the path of the socket.
/// A file has one line: an address, and the socket behind it.
const FILE_PREFIX: &str = ".pitcrew-relay-";
/// No path of a socket is longer.
const LINE_BYTES_MAX: u64 = 1_024;

type Variables = Vec<(String, String)>;

/// Starts a relay for each of these sockets. Returns their ports and the variables that name them.
pub(super) fn start(sockets: &[PathBuf]) -> io::Result<(Vec<u16>, Variables)> {
    let home = env::var_os("HOME");
    if let (false, Some(home)) = (sockets.is_empty(), &home) {
        remove_stale(Path::new(home));
    }
    let (mut ports, mut variables) = (Vec::new(), Vec::new());
    for socket in sockets {
        let spec = BridgeSpec { socket: socket.clone() };
        let port = start_bridge(&env::current_exe()?, &spec)?;
        let address = format!("127.0.0.1:{port}");
        // If there is no home, or it cannot be written, the variables must suffice.
        home.as_deref().map(|it| write(it, socket, &address)).transpose().ok();
        let naming = env::vars().filter(|(_, value)| Path::new(value) == socket);
        variables.extend(naming.map(|(name, _)| (name, address.clone())));
        ports.push(port);
    }
    Ok((ports, variables))
}

/// Returns the address that leads to a socket, if this program is confined without a box.
pub fn relay_of(socket: &Path) -> Option<String> {
    let (address, named) = read(&file(&env::var_os("HOME")?, socket))?;
    (named == socket).then_some(address)
}

fn file(home: &OsStr, socket: &Path) -> PathBuf {
    let mut hasher = DefaultHasher::new();
    socket.hash(&mut hasher);
    Path::new(home).join(format!("{FILE_PREFIX}{:016x}", hasher.finish()))
}

fn write(home: &OsStr, socket: &Path, address: &str) -> io::Result<()> {
    let file = file(home, socket);
    // An existing entry, even a link, was created by a program with fewer rights than ours, so it
    // is removed.
    fs::remove_file(&file).ok();
    let mut made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(file)?;
    made.write_all(format!("{address} {}\n", socket.display()).as_bytes())
}

fn read(file: &Path) -> Option<(String, PathBuf)> {
    let mut text = String::new();
    File::open(file).ok()?.take(LINE_BYTES_MAX).read_to_string(&mut text).ok()?;
    let (address, socket) = text.trim_end().split_once(' ')?;
    Some((address.to_owned(), socket.into()))
}

/// Removes the files of attempts that have ended. Only a home that workers share contains any.
fn remove_stale(home: &Path) {
    for entry in fs::read_dir(home).into_iter().flatten().flatten() {
        let is_relay = entry.file_name().to_str().is_some_and(|it| it.starts_with(FILE_PREFIX));
        // A pipe would block.
        if is_relay && entry.file_type().is_ok_and(|it| it.is_file()) {
            let socket = read(&entry.path()).map(|it| it.1);
            if !socket.as_deref().and_then(Path::parent).is_some_and(Path::exists) {
                fs::remove_file(entry.path()).ok();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_that_share_a_home_have_separate_relays() {
        let home = tempfile::tempdir().expect("a folder");
        let run = tempfile::tempdir().expect("a folder");
        let sockets = ["attempt-1", "attempt-2"].map(|it| run.path().join(it).join("sock"));
        for (socket, address) in sockets.iter().zip(["127.0.0.1:1", "127.0.0.1:2"]) {
            fs::create_dir(socket.parent().expect("it has a folder")).expect("a folder");
            write(home.path().as_os_str(), socket, address).expect("a file");
        }
        let relay = |socket: &Path| read(&file(home.path().as_os_str(), socket));
        assert_eq!(relay(&sockets[0]), Some(("127.0.0.1:1".into(), sockets[0].clone())));
        assert_eq!(relay(&sockets[1]), Some(("127.0.0.1:2".into(), sockets[1].clone())));
        fs::remove_dir(run.path().join("attempt-1")).expect("the attempt has ended");
        fs::write(home.path().join(".profile"), "").expect("a file of the user");
        remove_stale(home.path());
        assert_eq!((relay(&sockets[0]), relay(&sockets[1]).is_some()), (None, true));
        assert!(home.path().join(".profile").exists());
    }
}
