//! A file that a model names: reached through the client where that offers it, else beneath the
//! session's folder.

use super::border;
use crate::session::Session;
use pitcrew_model::RepoPath;
use pitcrew_process::{Beneath, BeneathError};
use std::{
    io::Read,
    path::{Path, PathBuf},
};

/// Larger files are for other tools.
const FILE_BYTES_MAX: u64 = 8 * 1_024 * 1_024;

pub(super) struct Stored<'a> {
    session: &'a Session,
    /// As the model is told it.
    pub shown: String,
    pub file: PathBuf,
    way: Way,
}

enum Way {
    Own(Beneath, RepoPath),
    Client,
}

impl<'a> Stored<'a> {
    /// An error is about the path: nothing was begun.
    pub fn at(session: &'a Session, path: &str) -> Result<Self, String> {
        if session.has_files {
            let (shown, file) = (path.to_owned(), session.cwd.join(Path::new(path)));
            return Ok(Self { session, shown, file, way: Way::Client });
        }
        let (beneath, place) = border::inside(&session.cwd, path)?;
        let (shown, file) = (place.as_str().to_owned(), session.cwd.join(place.as_str()));
        Ok(Self { session, shown, file, way: Way::Own(beneath, place) })
    }

    /// Some lines of its text, counted from 1; nothing where there is no such file.
    pub async fn lines(&self, first: u64, count: Option<u64>) -> Result<Option<String>, String> {
        match &self.way {
            Way::Own(beneath, place) => {
                Ok(own(beneath, place)?.map(|it| String::from_utf8_lossy(&it).into_owned()))
            }
            Way::Client => self.session.teller.read_file(&self.file, first, count).await,
        }
    }

    /// All of its text; nothing where there is no such file.
    pub async fn text(&self) -> Result<Option<String>, String> {
        match &self.way {
            Way::Own(beneath, place) => match own(beneath, place)?.map(String::from_utf8) {
                None => Ok(None),
                Some(Ok(text)) => Ok(Some(text)),
                Some(Err(_)) => Err("it is no text; use `run_command`".to_owned()),
            },
            Way::Client => self.session.teller.read_file(&self.file, 1, None).await,
        }
    }

    pub async fn put(&self, text: &str) -> Result<(), String> {
        match &self.way {
            Way::Own(beneath, place) => {
                let written = beneath.write(place, text.as_bytes());
                written.map_err(|it| format!("{it}; look at what stands there"))
            }
            Way::Client => self.session.teller.write_file(&self.file, text).await,
        }
    }

    /// Whether the lines that are given are only those that were asked for.
    pub fn gives_parts(&self) -> bool {
        matches!(self.way, Way::Client)
    }

    /// A pipe would be waited for, and a huge file be read whole. Nothing where the client sees to it.
    pub fn check_changeable(&self) -> Result<(), String> {
        let Way::Own(beneath, place) = &self.way else { return Ok(()) };
        match beneath.read(place).map(|it| it.metadata().map_or(0, |it| it.len())) {
            Err(BeneathError::NotAFile) => Err("the path is there, and is no file".to_owned()),
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
        Err(BeneathError::NotAFile) => return Err("it is no file; use `list_files`".to_owned()),
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
