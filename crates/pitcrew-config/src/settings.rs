//! Settings: layers that are merged, each value with its origin.
//!
//! A layer that comes with the repository may tighten limits but never names a program or a model.
//! Merging is pure; only `read_layers` touches files. No value is interpreted as a command.

mod layer;
mod value;
mod draft;
mod backends;
mod model;
mod prices;
mod network;
mod sandbox;
mod landing;
mod notify;
mod scalars;
mod load;
mod origins;
mod read;

pub use layer::{BackendText, Layer, LayerText, Origin, Sources, Trust};
pub use load::{ConfigErrors, orchestrator_variables};
pub use model::{MODEL_KEYS, ModelPrices, ModelSettings};
pub use notify::{NOTIFY_KEYS, NotifyChannel, NotifyKind, NotifySettings};
pub use origins::{Ignored, Origins};
pub use prices::PRICE_KEYS;
pub use read::{LayerPaths, ReadLayerError, read_layers, read_user_layer};
pub use sandbox::{SANDBOX_KEYS, SandboxSettings};
pub use value::{SETTING_KEYS, Settings};

pub(crate) use draft::Found;
pub(crate) use scalars::command_problem;
