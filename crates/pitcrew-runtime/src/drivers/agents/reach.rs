//! The files that an agent reaches through us, derived from its backend's settings and its zone.

use super::Agents;
use pitcrew_acp::{FileScope, Outline, Outlined};
use pitcrew_config::FileAccess;
use pitcrew_model::{BACKEND_BUILTIN, BACKEND_COMMAND, Backend, RepoPath};
use std::{path::Path, sync::Arc};

impl Agents {
    /// `None` if the backend opens files itself.
    pub(super) fn reach(
        &self,
        backend: &Backend,
        checkout: &Path,
        given: &pitcrew_kernel::WorkerAccess,
    ) -> Option<FileScope> {
        let access = match backend {
            Backend::Builtin | Backend::Model => FileAccess::Client,
            Backend::Program { name } => {
                self.setup.backends.get(name).map_or(FileAccess::Own, |it| it.files)
            }
        };
        match access {
            FileAccess::Own => None,
            FileAccess::Client => {
                let pitcrew_kernel::WorkerAccess { zone, sees, stay } = given.clone();
                Some(FileScope { zone, sees, stay, outline: self.outline(checkout) })
            }
        }
    }

    fn outline(&self, checkout: &Path) -> Outline {
        let (symbols, checkout) = (self.symbols.clone(), checkout.to_owned());
        Arc::new(move |file: RepoPath| -> Outlined {
            let (symbols, checkout) = (symbols.clone(), checkout.clone());
            Box::pin(async move { symbols.outline(&checkout, file.as_str()).await })
        })
    }
}

/// The backend with this name in a task.
pub(super) fn named(backend: &str) -> Backend {
    match backend {
        BACKEND_BUILTIN | BACKEND_COMMAND => Backend::Builtin,
        name => Backend::Program { name: name.to_owned() },
    }
}
