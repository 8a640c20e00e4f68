//! A temporary home for a program without one.

use crate::{Policy, Tier, marker, remove_tree};
use std::{
    fs::{self, DirBuilder},
    hash::{DefaultHasher, Hash, Hasher},
    io,
    os::unix::fs::DirBuilderExt,
    path::PathBuf,
};

/// A folder that is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// Creates a temporary home if the tier needs one, and sets it in the policy. A box already has
    /// an empty home and a private `/tmp`.
    pub(crate) fn open(policy: &mut Policy) -> io::Result<Option<Self>> {
        if policy.tier != Tier::T2 || policy.home.is_some() {
            return Ok(None);
        }
        let name = format!("{}{}", beginning(policy.owner()), marker::own());
        let folder = std::env::temp_dir().join(name);
        DirBuilder::new().mode(0o700).create(&folder)?;
        policy.home = Some(folder.clone());
        Ok(Some(Self(folder)))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // If it cannot be removed, it remains as a temporary file.
        remove_tree(&self.0).ok();
    }
}

/// Removes temporary homes that are left because the process that made them was killed. The owner's
/// programs must have ended.
pub(crate) fn remove_left_behind(owner: &str) {
    let beginning = beginning(Some(owner));
    let entries = fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten();
    let its = entries.filter(|it| it.file_name().to_string_lossy().starts_with(&beginning));
    for entry in its {
        remove_tree(&entry.path()).ok();
    }
}

/// The common prefix of the names of an owner's homes.
fn beginning(owner: Option<&str>) -> String {
    let Some(owner) = owner else { return "pitcrew-".to_owned() };
    let mut hasher = DefaultHasher::new();
    owner.hash(&mut hasher);
    format!("pitcrew-{:016x}-", hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn home_left_by_a_killed_process_is_removed_for_its_owner() {
        let owner = format!("{}/state", marker::own());
        let mut policy = Policy { tier: Tier::T2, ..Policy::unconfined() }.owned_by(&owner);
        let scratch = Scratch::open(&mut policy).unwrap().unwrap();
        let folder = scratch.0.clone();
        fs::write(folder.join("file"), "left").unwrap();
        std::mem::forget(scratch);
        remove_left_behind(&format!("{owner}/other"));
        assert!(folder.exists());
        remove_left_behind(&owner);
        assert!(!folder.exists());
    }
}
