//! Where settings come from.

use std::{collections::BTreeMap, fmt};

/// The layers, the weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    Default,
    User,
    Repository,
    Local,
    Environment,
    Flag,
}

/// Whose word a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// The person at this machine wrote it.
    Person,
    /// It came with the repository: it may tighten limits, and nothing more.
    Repository,
}

/// A settings file that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerText {
    /// What messages call it.
    pub file: String,
    pub text: String,
    pub trust: Trust,
}

/// A file of the user about one backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackendText {
    /// The name of the backend: that of the file.
    pub name: String,
    /// What messages call the file.
    pub file: String,
    pub text: String,
}

/// Everything that settings are made of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sources {
    /// Key of a setting and what the flag said, such as `max_agents` and `3`.
    pub flags: BTreeMap<String, String>,
    /// The environment. What does not begin with `PITCREW_` is left alone, but for `HOME`.
    pub environment: BTreeMap<String, String>,
    /// `.pitcrew/config.local.toml`. Where it is committed, it came with the repository: say so in its `trust`.
    pub local: Option<LayerText>,
    /// `.pitcrew/config.toml`.
    pub repository: Option<LayerText>,
    pub user: Option<LayerText>,
    /// `backends/NAME.toml` in the folder of the user's settings.
    pub backends: Vec<BackendText>,
}

/// Where a value was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    pub layer: Layer,
    /// A path, the name of a variable or of a flag; empty for a default.
    pub place: String,
    /// 1-based; absent where there are no lines.
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
