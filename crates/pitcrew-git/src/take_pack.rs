//! Imports the objects of a pack or a bundle into the vault, and checks each of them.
//!
//! A fetch from a bundle checks nothing before git 2.46, whatever the settings say. So we run
//! `index-pack --strict` on the pack in it ourselves, as a fetch would.

use crate::{
    Vault,
    error::{GitError, GitErrorKind},
    git::Call,
    import::Checking,
};
use pitcrew_process::Cancel;
use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader, Read},
    path::Path,
};

/// Defects of objects that git only warns about. An ordinary git creates none of them.
const STRICT: [&str; 12] = [
    "badFilemode",
    "zeroPaddedFilemode",
    "hasDot",
    "hasDotdot",
    "hasDotgit",
    "fullPathname",
    "emptyName",
    "nullSha1",
    "largePathname",
    "gitmodulesSymlink",
    "gitattributesSymlink",
    "gitignoreSymlink",
];

/// The names in a bundle are before its pack. More than this is no bundle of ours.
const HEAD_BYTES_MAX: u64 = 16 * 1_024 * 1_024;

impl Vault {
    /// Fails where an object is malformed, or where one of its own is missing.
    pub(crate) fn take_pack(
        &self,
        pack: &Path,
        checking: Checking,
        cancel: &Cancel,
    ) -> Result<(), GitError> {
        // It was made in a box, where anything may have been put in its place.
        if !fs::symlink_metadata(pack).is_ok_and(|it| it.is_file()) {
            let (command, place) = ("index-pack", pack.to_owned());
            let kind = GitErrorKind::Unreadable { reason: "there is no pack".into() };
            return Err(GitError { command, place, kind });
        }
        self.index_pack(checking).stdin_file(pack, 0).done(cancel)
    }

    /// The same for a bundle. Where it has no pack at all, the fetch that follows says so.
    pub(crate) fn take_bundle(&self, bundle: &Path, cancel: &Cancel) -> Result<(), GitError> {
        let Ok(Some(place)) = pack_place(bundle) else { return Ok(()) };
        self.index_pack(Checking::Strict).stdin_file(bundle, place).done(cancel)
    }

    fn index_pack(&self, checking: Checking) -> Call<'static> {
        // It is small, and read forwards.
        let call = self.call("index-pack").args(["--stdin", "--fix-thin", "--no-rev-index"]);
        match checking {
            Checking::Strict => {
                let strict = STRICT.map(|it| format!("{it}=error")).join(",");
                call.arg(format!("--strict={strict}"))
            }
            Checking::Off => call,
        }
    }
}

/// Where the pack begins: after the first empty line.
fn pack_place(bundle: &Path) -> io::Result<Option<u64>> {
    let mut head = BufReader::new(File::open(bundle)?.take(HEAD_BYTES_MAX));
    let (mut place, mut line) = (0, Vec::new());
    loop {
        line.clear();
        place += head.read_until(b'\n', &mut line)? as u64;
        match line.as_slice() {
            b"\n" => return Ok(Some(place)),
            [.., b'\n'] => {}
            _ => return Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pack_begins_after_the_first_empty_line() {
        let folder = tempfile::tempdir().expect("a folder");
        let bundle = folder.path().join("bundle");
        let place = |bytes: &[u8]| {
            fs::write(&bundle, bytes).expect("room");
            pack_place(&bundle).expect("it can be read")
        };
        assert_eq!(place(b"# v2 git bundle\n-1 base\n2 HEAD\n\nPACK\n\n"), Some(32));
        assert_eq!(place(b"# v2 git bundle\n-1 base"), None);
        assert_eq!(place(b""), None);
    }
}
