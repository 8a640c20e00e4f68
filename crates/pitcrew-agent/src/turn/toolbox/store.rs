//! A file that a model names: accessed through the client if it supports that, else beneath the
//! session's folder.

use super::boundary;
use crate::session::Session;
use pitcrew_model::RepoPath;
use pitcrew_process::{Beneath, BeneathError};
use std::{
    io::Read,
    path::{Path, PathBuf},
};

/// Larger files need other tools.
const FILE_BYTES_MAX: u64 = 8 * 1_024 * 1_024;

pub(super) struct Stored<'a> {
    session: &'a Session,
    /// The path as shown to the model.
    pub shown: String,
    pub file: PathBuf,
    way: Way,
}

enum Way {
    Own(Beneath, RepoPath),
    Client,
}

impl<'a> Stored<'a> {
    /// An error is about the path: nothing was executed.
    pub fn at(session: &'a Session, path: &str) -> Result<Self, String> {
        if session.has_files {
            let (shown, file) = (path.to_owned(), session.cwd.join(Path::new(path)));
            return Ok(Self { session, shown, file, way: Way::Client });
        }
        let (beneath, place) = boundary::inside(&session.cwd, path)?;
        let (shown, file) = (place.as_str().to_owned(), session.cwd.join(place.as_str()));
        Ok(Self { session, shown, file, way: Way::Own(beneath, place) })
    }

    /// Some lines of the text, counted from 1; `None` if the file does not exist.
    pub async fn lines(&self, first: u64, count: Option<u64>) -> Result<Option<String>, String> {
        match &self.way {
            Way::Own(beneath, place) => {
                Ok(own(beneath, place)?.map(|it| String::from_utf8_lossy(&it).into_owned()))
            }
            Way::Client => self.session.reporter.read_file(&self.file, first, count).await,
        }
    }

    /// The whole text; `None` if the file does not exist.
    pub async fn text(&self) -> Result<Option<String>, String> {
        match &self.way {
            Way::Own(beneath, place) => match own(beneath, place)?.map(String::from_utf8) {
                None => Ok(None),
                Some(Ok(text)) => Ok(Some(text)),
                Some(Err(_)) => Err("it is not text; use `run_command`".to_owned()),
            },
            Way::Client => self.session.reporter.read_file(&self.file, 1, None).await,
        }
    }

    pub async fn put(&self, text: &str) -> Result<(), String> {
        match &self.way {
            Way::Own(beneath, place) => {
                let written = beneath.write(place, text.as_bytes());
                written.map_err(|it| format!("{it}; check what exists at this path"))
            }
            Way::Client => self.session.reporter.write_file(&self.file, text).await,
        }
    }

    /// Whether `lines` returns only the requested lines.
    pub fn gives_parts(&self) -> bool {
        matches!(self.way, Way::Client)
    }

    /// Rejects pipes, which would block, and huge files. Returns nothing if the client checks this.
    pub fn check_changeable(&self) -> Result<(), String> {
        let Way::Own(beneath, place) = &self.way else { return Ok(()) };
        match beneath.read(place).map(|it| it.metadata().map_or(0, |it| it.len())) {
            Err(BeneathError::NotAFile) => Err("the path exists but is not a file".to_owned()),
            Ok(bytes) if bytes > FILE_BYTES_MAX => {
                Err(format!("the file has {bytes} bytes; use `run_command`"))
            }
            Ok(_) | Err(_) => Ok(()),
        }
    }
}

fn own(beneath: &Beneath, place: &RepoPath) -> Result<Option<Vec<u8>>, String> {
    let file = match beneath.read(place) {
        Ok(file) => file,
        Err(BeneathError::Missing) => return Ok(None),
        Err(BeneathError::NotAFile) => return Err("it is not a file; use `list_files`".to_owned()),
        Err(error) => return Err(format!("{error}; correct the path, or use `list_files`")),
    };
    let mut bytes = Vec::new();
    let read = file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes);
    read.map_err(|it| format!("{it}; correct the path, or use `list_files`"))?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        let limit = FILE_BYTES_MAX;
        return Err(format!("it has more than {limit} bytes; use `search` or `run_command`"));
    }
    Ok(Some(bytes))
}
