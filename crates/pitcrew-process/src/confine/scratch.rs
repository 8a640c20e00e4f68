//! A home for a program that has none of its own, gone when the program is.

use crate::{Policy, Tier, marker};
use std::{
    fs::{self, DirBuilder},
    io,
    os::unix::fs::DirBuilderExt,
    path::PathBuf,
};

/// A folder that is removed with this.
#[derive(Debug)]
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// Makes one where the tier needs it, and says so in the policy. A box has an empty home and a
    /// `/tmp` of its own.
    pub(crate) fn open(policy: &mut Policy) -> io::Result<Option<Self>> {
        if policy.tier != Tier::T2 || policy.home.is_some() {
            return Ok(None);
        }
        let folder = std::env::temp_dir().join(format!("pitcrew-{}", marker::own()));
        DirBuilder::new().mode(0o700).create(&folder)?;
        policy.home = Some(folder.clone());
        Ok(Some(Self(folder)))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed is a temporary file.
        fs::remove_dir_all(&self.0).ok();
    }
}
