//! Combines the small packs of the vault into larger ones. Never deletes an object.

use crate::{Vault, error::VaultError};
use pitcrew_model::Failure;
use pitcrew_process::Cancel;
use std::{fs, path::Path};

/// Every import adds a pack, and every object lookup may search all of them.
const PACKS_MAX: usize = 50;

/// Fewer loose objects than this are not worth a pack.
const LOOSE_MAX: usize = 2_000;

impl Vault {
    /// Removes unused stores, and packs loose objects and small packs if there are very many. Returns how many loose objects
    /// were packed.
    pub fn tidy(&self, cancel: &Cancel) -> Result<u64, Failure> {
        self.sweep_stores()?;
        let loose = self.loose_count();
        if loose <= LOOSE_MAX && self.packs_count() <= PACKS_MAX {
            return Ok(0);
        }
        let _gathering = self.gathering.lock().expect("no holder of the lock panics");
        self.repack(cancel)?;
        Ok(loose.saturating_sub(self.loose_count()) as u64)
    }

    /// Combines small packs if there are many. A repository that borrows from the vault finds every
    /// object before and after, because git rescans the folder if a pack is gone.
    pub(crate) fn gather_packs(&self, cancel: &Cancel) -> Result<(), VaultError> {
        if self.packs_count() <= PACKS_MAX {
            return Ok(());
        }
        // Another thread is already doing this.
        let Ok(_gathering) = self.gathering.try_lock() else { return Ok(()) };
        if self.packs_count() > PACKS_MAX {
            self.repack(cancel)?;
        }
        Ok(())
    }

    /// Puts loose objects and small packs into one pack. Large packs are kept as they are.
    pub(crate) fn repack(&self, cancel: &Cancel) -> Result<(), VaultError> {
        // Snapshots create many refs, each in a separate file.
        self.change_refs(|| self.call("pack-refs").arg("--all"))?;
        let call = self.call("repack").config("core.fsync=all");
        Ok(call.args(["-d", "--quiet", "--geometric=2", "--no-write-bitmap-index"]).done(cancel)?)
    }

    fn loose_count(&self) -> usize {
        let is_fan = |it: &str| it.len() == 2 && it.bytes().all(|it| it.is_ascii_hexdigit());
        let folders = fs::read_dir(self.objects()).into_iter().flatten().flatten();
        folders
            .filter(|it| it.file_name().to_str().is_some_and(is_fan))
            .map(|it| fs::read_dir(it.path()).into_iter().flatten().count())
            .sum()
    }

    fn packs_count(&self) -> usize {
        count_packs(&self.objects())
    }
}

pub(crate) fn count_packs(objects: &Path) -> usize {
    let files = fs::read_dir(objects.join("pack")).into_iter().flatten().flatten();
    files.filter(|it| it.path().extension().is_some_and(|it| it == "idx")).count()
}
