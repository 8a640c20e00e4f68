//! The files that an agent reaches through us, as its backend's data and its zone say.

use super::Agents;
use pitcrew_acp::{Outline, Outlined, Reach};
use pitcrew_config::FileAccess;
use pitcrew_model::{BACKEND_BUILTIN, BACKEND_COMMAND, Backend, RepoPath};
use std::{path::Path, sync::Arc};

impl Agents {
    /// None where the backend opens files itself.
    pub(super) fn reach(
        &self,
        backend: &Backend,
        checkout: &Path,
        given: &pitcrew_kernel::WorkerAccess,
    ) -> Option<Reach> {
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
                Some(Reach { zone, sees, stay, outline: self.outline(checkout) })
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

/// The backend that goes by this name in a task.
pub(super) fn named(backend: &str) -> Backend {
    match backend {
        BACKEND_BUILTIN | BACKEND_COMMAND => Backend::Builtin,
        name => Backend::Program { name: name.to_owned() },
    }
}
