//! The final state of the run, and what must be found of it after a cut.

use super::disk::Left;
use pitcrew_kernel::{State, evolve};
use pitcrew_model::{EffectId, Entry, Seq};
use pitcrew_process::{SpoolReader, SpoolRecord};
use pitcrew_store::{Journal, SqliteJournal};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

pub struct Truth {
    /// The folder that was recorded.
    state: PathBuf,
    entries: Vec<Entry>,
    /// The open effects after each number of entries.
    effects: Vec<BTreeSet<EffectId>>,
    /// All frames from and to the agents.
    frames: BTreeSet<String>,
}

impl Truth {
    /// Reads the state folder of a completed run.
    pub fn read(state: &Path, spools: &[PathBuf]) -> Self {
        let journal = SqliteJournal::open(state).expect("the journal opens");
        let entries = journal.read(Seq(0), usize::MAX).expect("the journal reads");
        let mut replayed = State::default();
        let mut effects = vec![BTreeSet::new()];
        for entry in &entries {
            evolve(&mut replayed, entry);
            effects.push(replayed.effects.clone());
        }
        let frames = spools.iter().flat_map(|it| frames(it).expect("a spool reads")).collect();
        Self { state: state.to_owned(), entries, effects, frames }
    }

    pub fn check(&self, left: &Left, folder: &Path) -> Result<(), String> {
        self.check_journal(left, folder)?;
        for (path, bytes) in left.files.iter().filter(|it| is_spool(it.0)) {
            self.check_spool(bytes, folder).map_err(|it| format!("{}: {it}", path.display()))?;
        }
        Ok(())
    }

    /// The journal opens, is consistent, and has all acknowledged entries and no others.
    fn check_journal(&self, left: &Left, folder: &Path) -> Result<(), String> {
        for name in ["journal.db", "journal.db-wal", "journal.db-shm"] {
            fs::remove_file(folder.join(name)).ok();
            if let Some(bytes) = left.files.get(&self.state.join(name))
                && name != "journal.db-shm"
            {
                fs::write(folder.join(name), bytes).map_err(words)?;
            }
        }
        let journal = SqliteJournal::open(folder).map_err(|it| format!("{it:?}"))?;
        let entries = journal.read(Seq(0), usize::MAX).map_err(|it| format!("{it:?}"))?;
        let open = journal.open_effects().map_err(|it| format!("{it:?}"))?;
        drop(journal);
        integrity(&folder.join("journal.db")).map_err(words)?;
        let count = entries.len();
        if (count as u64) < left.acknowledged {
            return Err(format!(
                "entry {} was acknowledged, but there are only {count}",
                left.acknowledged
            ));
        }
        if self.entries.get(..count) != Some(&entries[..]) {
            return Err(format!("the {count} entries differ from those that were written"));
        }
        let open: BTreeSet<EffectId> = open.into_iter().map(|it| it.0).collect();
        if open != self.effects[count] {
            return Err(format!("{open:?} are open after {count}, not {:?}", self.effects[count]));
        }
        Ok(())
    }

    /// Every frame that is read was written, and is complete.
    fn check_spool(&self, bytes: &[u8], folder: &Path) -> Result<(), String> {
        let path = folder.join("spool.ndjson");
        fs::write(&path, bytes).map_err(words)?;
        let found = frames(&path).map_err(words)?;
        match found.iter().find(|it| !self.frames.contains(*it)) {
            Some(other) => Err(format!("`{other}` was never written")),
            None => Ok(()),
        }
    }
}

pub fn is_spool(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with("spool") && name.ends_with(".ndjson")
}

fn frames(spool: &Path) -> std::io::Result<Vec<String>> {
    let mut reader = SpoolReader::open(spool)?;
    let mut frames = Vec::new();
    while let Some(record) = reader.read()? {
        frames.push(match record {
            SpoolRecord::Output { offset, time_ms, line } => format!("{offset} {time_ms} < {line}"),
            SpoolRecord::Input { offset, time_ms, id, line } => {
                format!("{offset} {time_ms} > {id} {line}")
            }
            SpoolRecord::Garbage { offset, time_ms, reason } => {
                format!("{offset} {time_ms} ? {reason}")
            }
        });
    }
    Ok(frames)
}

fn integrity(journal: &Path) -> rusqlite::Result<()> {
    let connection = rusqlite::Connection::open(journal)?;
    let verdict: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0))?;
    if verdict == "ok" {
        return Ok(());
    }
    Err(rusqlite::Error::ToSqlConversionFailure(verdict.into()))
}

fn words(error: impl std::error::Error) -> String {
    error.to_string()
}
