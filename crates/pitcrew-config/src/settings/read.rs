//! Reads settings files. Everything else about settings is pure.

use super::{BackendText, LayerText, Sources, Trust};
use crate::dirs::Dirs;
use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

/// The largest settings file.
const SETTINGS_BYTES_MAX: u64 = 1_024 * 1_024;

/// The paths of the settings files. None of them needs to exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerPaths {
    pub user: PathBuf,
    pub repository: PathBuf,
    pub local: PathBuf,
    /// The folder of the user's own backends.
    pub backends: PathBuf,
}

impl LayerPaths {
    pub fn new(dirs: &Dirs, repository_root: &Path) -> Self {
        let own = repository_root.join(".pitcrew");
        Self {
            user: dirs.config.join("config.toml"),
            repository: own.join("config.toml"),
            local: own.join("config.local.toml"),
            backends: dirs.config.join("backends"),
        }
    }
}

/// A settings file that exists but cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("failed to read the settings at `{}`", path.display())]
pub struct ReadLayerError {
    pub path: PathBuf,
    #[source]
    pub source: io::Error,
}

/// Reads the files that exist. The caller adds flags and environment.
pub fn read_layers(paths: &LayerPaths) -> Result<Sources, ReadLayerError> {
    Ok(Sources {
        user: read_layer(&paths.user, Trust::Person)?,
        repository: read_layer(&paths.repository, Trust::Repository)?,
        local: read_layer(&paths.local, Trust::Person)?,
        backends: read_backends(&paths.backends)?,
        ..Sources::default()
    })
}

/// Reads only the settings that the user made for all repositories.
pub fn read_user_layer(dirs: &Dirs) -> Result<Sources, ReadLayerError> {
    Ok(Sources {
        user: read_layer(&dirs.config.join("config.toml"), Trust::Person)?,
        backends: read_backends(&dirs.config.join("backends"))?,
        ..Sources::default()
    })
}

/// Every `NAME.toml` in the folder, sorted by name. Other files are ignored.
fn read_backends(folder: &Path) -> Result<Vec<BackendText>, ReadLayerError> {
    let failed = |path: &Path, source| ReadLayerError { path: path.to_owned(), source };
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(source) if source.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(failed(folder, source)),
    };
    let mut backends = Vec::new();
    for entry in entries {
        let path = entry.map_err(|it| failed(folder, it))?.path();
        let name = path.file_stem().and_then(|it| it.to_str()).map(str::to_owned);
        let Some(name) = name.filter(|_| path.extension().is_some_and(|it| it == "toml")) else {
            continue;
        };
        let text = read_text(&path).map_err(|it| failed(&path, it))?;
        backends.push(BackendText { name, file: path.display().to_string(), text });
    }
    backends.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(backends)
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
