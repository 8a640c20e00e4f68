//! The sources of settings.

use std::{collections::BTreeMap, fmt};

/// The layers, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    Default,
    User,
    Repository,
    Local,
    Environment,
    Flag,
}

/// Who wrote a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// The user of this machine wrote it.
    Person,
    /// It came with the repository: it may only tighten limits.
    Repository,
}

/// The text of a settings file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerText {
    /// Its name in messages.
    pub file: String,
    pub text: String,
    pub trust: Trust,
}

/// A user's file about one backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackendText {
    /// The name of the backend, which is the file's.
    pub name: String,
    /// The file's name in messages.
    pub file: String,
    pub text: String,
}

/// All inputs of `Settings::load`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sources {
    /// The key and value of each flag, such as `max_agents` and `3`.
    pub flags: BTreeMap<String, String>,
    /// The environment. Only `HOME` and variables that start with `PITCREW_` are read.
    pub environment: BTreeMap<String, String>,
    /// `.pitcrew/config.local.toml`. If it is committed, it came with the repository: set its
    /// `trust` accordingly.
    pub local: Option<LayerText>,
    /// `.pitcrew/config.toml`.
    pub repository: Option<LayerText>,
    pub user: Option<LayerText>,
    /// `backends/NAME.toml` in the folder of the user's settings.
    pub backends: Vec<BackendText>,
}

/// Where a value was set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    pub layer: Layer,
    /// A path, or the name of a variable or a flag; empty for a default.
    pub place: String,
    /// 1-based; absent for sources without lines.
    pub line: Option<usize>,
}

impl Origin {
    pub(super) fn default_value() -> Self {
        Self { layer: Layer::Default, place: String::new(), line: None }
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Default => "default",
            Self::User => "user",
            Self::Repository => "repository",
            Self::Local => "local",
            Self::Environment => "environment",
            Self::Flag => "flag",
        })
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.layer, self.line) {
            (Layer::Default, _) => f.write_str("default"),
            (_, Some(line)) => write!(f, "{}:{line}", self.place),
            (_, None) => f.write_str(&self.place),
        }
    }
}
