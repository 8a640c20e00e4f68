//! Reads the settings files. Everything else about settings is pure.

use super::{LayerText, Sources, Trust};
use crate::dirs::Dirs;
use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

/// What a settings file may be at most.
const SETTINGS_BYTES_MAX: u64 = 1_024 * 1_024;

/// Where the settings files are. None of them needs to exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerPaths {
    pub user: PathBuf,
    pub repository: PathBuf,
    pub local: PathBuf,
}

impl LayerPaths {
    pub fn new(dirs: &Dirs, repository_root: &Path) -> Self {
        let own = repository_root.join(".pitcrew");
        Self {
            user: dirs.config.join("config.toml"),
            repository: own.join("config.toml"),
            local: own.join("config.local.toml"),
        }
    }
}

/// A settings file that is there and cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("failed to read the settings at `{}`", path.display())]
pub struct ReadLayerError {
    pub path: PathBuf,
    #[source]
    pub source: io::Error,
}

/// Reads the files that exist. Flags and environment are left for the caller to fill in.
pub fn read_layers(paths: &LayerPaths) -> Result<Sources, ReadLayerError> {
    Ok(Sources {
        user: read_layer(&paths.user, Trust::Person)?,
        repository: read_layer(&paths.repository, Trust::Repository)?,
        local: read_layer(&paths.local, Trust::Person)?,
        ..Sources::default()
    })
}

fn read_layer(path: &Path, trust: Trust) -> Result<Option<LayerText>, ReadLayerError> {
    match read_text(path) {
        Ok(text) => Ok(Some(LayerText { file: path.display().to_string(), text, trust })),
        Err(source) if source.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ReadLayerError { path: path.to_owned(), source }),
    }
}

fn read_text(path: &Path) -> io::Result<String> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let mut text = String::new();
    File::open(path)?.take(SETTINGS_BYTES_MAX + 1).read_to_string(&mut text)?;
    if text.len() as u64 > SETTINGS_BYTES_MAX {
        return Err(io::Error::other(format!("it has more than {SETTINGS_BYTES_MAX} bytes")));
    }
    Ok(text)
}
