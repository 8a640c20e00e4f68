//! Imports the objects of a pack or a bundle into the vault and checks each of them.
//!
//! Before git 2.46, a fetch from a bundle checks nothing, whatever the settings are. So
//! `index-pack --strict` is run directly on the pack in the bundle, as a fetch would do.

use crate::{
    Vault,
    error::{GitError, GitErrorKind},
    git::Call,
    import::Checking,
};
use pitcrew_model::limits;
use pitcrew_process::{Cancel, open_plain};
use std::{
    io::{self, BufRead, BufReader, Read},
    path::Path,
};

/// Object defects that git only warns about by default. An ordinary git creates none of them. A
/// name that an older git does not support would be an error itself. The gate detects the other
/// defects.
const STRICT: [&str; 11] = [
    "badFilemode",
    "zeroPaddedFilemode",
    "hasDot",
    "hasDotdot",
    "hasDotgit",
    "fullPathname",
    "emptyName",
    "nullSha1",
    "gitmodulesSymlink",
    "gitattributesSymlink",
    "gitignoreSymlink",
];

/// The maximum size of a bundle's header, which lists its refs before the pack.
const HEAD_BYTES_MAX: u64 = 16 * 1_024 * 1_024;

impl Vault {
    /// Imports a pack. Fails if an object is malformed or refers to a missing object.
    pub(crate) fn take_pack(
        &self,
        pack: &Path,
        checking: Checking,
        cancel: &Cancel,
    ) -> Result<(), GitError> {
        self.index_pack(checking).stdin_file(pack, 0).done(cancel)
    }

    /// Does the same for a bundle.
    pub(crate) fn take_bundle(&self, bundle: &Path, cancel: &Cancel) -> Result<(), GitError> {
        let place = require_bundle(bundle)?;
        self.index_pack(Checking::Strict).stdin_file(bundle, place).done(cancel)
    }

    fn index_pack(&self, checking: Checking) -> Call<'static> {
        // The pack is small, so no reverse index is needed.
        let call = self.foreign("index-pack").args(["--stdin", "--fix-thin", "--no-rev-index"]);
        match checking {
            Checking::Strict => {
                let strict = STRICT.map(|it| format!("{it}=error")).join(",");
                call.arg(format!("--strict={strict}"))
            }
            Checking::Off => call,
        }
    }
}

/// The offset of the pack in a bundle. Fails if the file is not a bundle or has more refs than are
/// saved.
pub(crate) fn require_bundle(bundle: &Path) -> Result<u64, GitError> {
    pack_place(bundle).map_err(|error| {
        let kind = GitErrorKind::Unreadable { reason: error.to_string() };
        GitError { command: "bundle", place: bundle.to_owned(), kind }
    })
}

/// The offset of the pack, which is after the first empty line.
fn pack_place(bundle: &Path) -> io::Result<u64> {
    let mut head = BufReader::new(open_plain(bundle)?.take(HEAD_BYTES_MAX));
    let (mut place, mut line) = (0, Vec::new());
    // The first line identifies the format.
    for _ in 0..=limits::SAVED_REFS_MAX {
        line.clear();
        place += head.read_until(b'\n', &mut line)? as u64;
        match line.as_slice() {
            b"\n" => return Ok(place),
            [.., b'\n'] => {}
            _ => return Err(io::Error::other("it is not a bundle")),
        }
    }
    Err(io::Error::other(format!("it has more than {} refs", limits::SAVED_REFS_MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn pack_begins_after_the_first_empty_line() {
        let folder = tempfile::tempdir().expect("a folder");
        let bundle = folder.path().join("bundle");
        let place = |bytes: &[u8]| {
            fs::write(&bundle, bytes).expect("room");
            pack_place(&bundle).map_err(|it| it.to_string())
        };
        assert_eq!(place(b"# v2 git bundle\n-1 base\n2 HEAD\n\nPACK\n\n"), Ok(32));
        for broken in [&b"# v2 git bundle\n-1 base"[..], b""] {
            assert_eq!(place(broken), Err("it is not a bundle".to_owned()));
        }
        let many = "1 refs/x\n".repeat(limits::SAVED_REFS_MAX + 1);
        assert_eq!(place(many.as_bytes()), Err("it has more than 10000 refs".to_owned()));
    }
}
