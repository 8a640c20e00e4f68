//! Opens the file: checks its owner and version, and sets it up for durability.

use super::{FILE_NAME, fault};
use crate::OpenErrorKind;
use rusqlite::{Connection, OpenFlags};
use std::{
    fs::{self, DirBuilder, File, OpenOptions, Permissions},
    io,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::Path,
    time::Duration,
};

/// "Pitc": distinguishes our files from those of other programs.
const APPLICATION_ID: i32 = 0x5069_7463;
const VERSION: i32 = 1;
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Creates the folder and its parents. Each new one is synced into its parent, because a power cut
/// could otherwise lose the journal with it.
pub fn make_dir(dir: &Path) -> io::Result<()> {
    if dir.as_os_str().is_empty() || dir.is_dir() {
        return Ok(());
    }
    let parent = dir.parent().unwrap_or(dir);
    make_dir(parent)?;
    DirBuilder::new().mode(0o700).create(dir).map_err(|error| {
        let text = format!("cannot make the folder `{}`: {error}", dir.display());
        io::Error::new(error.kind(), text)
    })?;
    // A parent without a name is the current folder.
    File::open(Path::new(".").join(parent))?.sync_all()
}

/// Opens the database for the writer. The caller holds the lock.
pub fn writer(dir: &Path) -> Result<Connection, OpenErrorKind> {
    let path = dir.join(FILE_NAME);
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&path)?;
    if file.metadata()?.permissions().mode() & 0o077 != 0 {
        fs::set_permissions(&path, Permissions::from_mode(0o600))?;
    }
    // Closed before SQLite opens it: closing it later would drop SQLite's own locks.
    drop(file);
    let connect = || Connection::open_with_flags(&path, flags(OpenFlags::SQLITE_OPEN_READ_WRITE));
    let connection = connect().map_err(|it| fault::on_open(it, dir))?;
    prepare(&connection, dir)?;
    File::open(dir)?.sync_all()?;
    Ok(connection)
}

/// Opens the database a second time, for a reader.
pub fn reader(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(path, flags(OpenFlags::SQLITE_OPEN_READ_ONLY))?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    Ok(connection)
}

/// A connection is used by one thread at a time, so `SQLite`'s own mutex is not needed. Paths are
/// never URIs.
fn flags(access: OpenFlags) -> OpenFlags {
    access | OpenFlags::SQLITE_OPEN_NO_MUTEX
}

fn prepare(connection: &Connection, dir: &Path) -> Result<(), OpenErrorKind> {
    let sql = |it| fault::on_open(it, dir);
    connection.busy_timeout(BUSY_TIMEOUT).map_err(sql)?;
    // Checked before anything is changed, so that a foreign file stays as it is.
    let is_new = check_owner(connection, dir)?;
    let mode = set_journal_mode(connection).map_err(sql)?;
    if mode != "wal" {
        return Err(OpenErrorKind::NoWriteAheadLog { mode });
    }
    // NORMAL would lose acknowledged batches in a power cut.
    connection.pragma_update(None, "synchronous", "full").map_err(sql)?;
    // On macOS an ordinary sync stops at the drive's cache.
    connection.pragma_update(None, "fullfsync", true).map_err(sql)?;
    if is_new { create_tables(connection).map_err(sql) } else { Ok(()) }
}

/// Requests a write-ahead log, and returns the resulting mode.
///
/// The answer comes before the change is on the disk: only a caller that reads to the end learns of
/// a failure.
fn set_journal_mode(connection: &Connection) -> rusqlite::Result<String> {
    let mut statement = connection.prepare("PRAGMA journal_mode = wal")?;
    let mut modes = statement.query_map([], |row| row.get(0))?;
    let mode = modes.next().unwrap_or(Err(rusqlite::Error::QueryReturnedNoRows))?;
    modes.try_for_each(|it| it.map(drop))?;
    Ok(mode)
}

/// Refuses a file of another program or of a newer version. Returns whether the file is empty.
fn check_owner(connection: &Connection, dir: &Path) -> Result<bool, OpenErrorKind> {
    let pragma = |name| {
        connection
            .pragma_query_value(None, name, |row| row.get::<_, i32>(0))
            .map_err(|it| fault::on_open(it, dir))
    };
    let (application_id, version) = (pragma("application_id")?, pragma("user_version")?);
    if application_id == APPLICATION_ID && version > VERSION {
        return Err(OpenErrorKind::Newer { found: version, known: VERSION });
    }
    if application_id == APPLICATION_ID && version == VERSION {
        return Ok(false);
    }
    let tables: i64 = connection
        .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
        .map_err(|it| fault::on_open(it, dir))?;
    if application_id == 0 && version == 0 && tables == 0 {
        Ok(true)
    } else {
        Err(OpenErrorKind::Foreign { application_id })
    }
}

/// In one transaction: a file has both tables and its version, or is empty.
fn create_tables(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(&format!(
        "BEGIN IMMEDIATE;
         CREATE TABLE events (seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, body TEXT NOT NULL) STRICT;
         CREATE TABLE outbox (effect INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT;
         PRAGMA application_id = {APPLICATION_ID};
         PRAGMA user_version = {VERSION};
         COMMIT;"
    ))
}
