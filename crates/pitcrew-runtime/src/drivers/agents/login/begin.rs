//! Prepares an agent's login and private home before its start.

use super::{
    Logins,
    home::{self, Plan, TOOL_SETTINGS},
    inner,
    record::{Copied, Record},
    refresh_queue::{Lock, Shared, expired},
};
use crate::clock;
use pitcrew_config::{BackendSettings, LoginFile};
use pitcrew_model::{AttemptId, Failure};
use pitcrew_process::remove_tree;
use std::{fs, io, path::PathBuf, sync::Arc};

const GIT_SETTINGS: &str = ".gitconfig";

/// The right to start an agent. No other agent starts before its home is created.
pub struct LoginPermit {
    plan: Plan,
    lock: Lock,
}

/// Why an agent cannot start.
#[derive(Debug, thiserror::Error)]
pub enum LoginError {
    #[error(
        "the login in {} has expired, and agents cannot renew it because the file does not name its \
         account: start the program once to renew it, or {login}",
        file.display()
    )]
    Expired { file: PathBuf, login: String },
    #[error("failed to create its private home: {0}")]
    Io(#[from] io::Error),
}

impl From<LoginError> for Failure {
    fn from(error: LoginError) -> Self {
        let message = error.to_string();
        match error {
            LoginError::Expired { .. } => Self::Auth { message },
            LoginError::Io(_) => Self::AgentExited { exit: message, output: String::new() },
        }
    }
}

impl Logins {
    /// Waits until an agent may start. `None` if it needs no home or has one.
    pub async fn acquire(
        &self,
        attempt: AttemptId,
        name: &str,
        backend: &BackendSettings,
    ) -> Result<Option<LoginPermit>, LoginError> {
        // An earlier start of this attempt, which may still run, uses this home.
        if backend.state_env.is_empty() || self.is_watched(attempt) {
            return Ok(None);
        }
        let home = self.dirs.home(attempt);
        let places = backend.credential_places(&self.user);
        let sources: Vec<PathBuf> = places.iter().map(|it| it.source.clone()).collect();
        let (shared, format) =
            (Shared::new(&self.dirs.user_logins(), name), backend.login_format());
        if let Some(file) = expired(&sources, &format, clock::wall_ms()) {
            let login = backend.login.clone().unwrap_or_else(|| "log in again".to_owned());
            return Err(LoginError::Expired { file: file.to_owned(), login });
        }
        let lock = shared.acquire(&sources, &format, &home).await?;
        let copied = places.into_iter().map(|it| Copied {
            user: it.source,
            copy: home.join(it.below),
            from: String::new(),
        });
        let record = Record {
            backend: name.to_owned(),
            sooner_ms: self.free_time(name),
            format,
            copies: copied.collect(),
            home: home.clone(),
        };
        let placed = |it: Vec<LoginFile>| it.into_iter().map(|it| (it.source, home.join(it.below)));
        let git = (self.git_settings.clone(), home.join(GIT_SETTINGS));
        let tools = placed(backend.moved_places(TOOL_SETTINGS, &self.user)).chain([git]).collect();
        let settings = placed(backend.state_places(&self.user)).collect();
        // A variable may also name one of the initial files.
        let is_folder =
            |it: &PathBuf| !backend.state_first.keys().any(|path| home.join(path) == *it);
        let folders = backend.private_state(&home).into_values().filter(is_folder).collect();
        let first = backend.state_first.iter().filter(|it| !it.1.is_empty());
        let first = first.map(|(path, text)| (home.join(path), text.clone()));
        let first = first.chain(inner::script(backend, &self.user, &home)).collect();
        Ok(Some(LoginPermit { plan: Plan { record, tools, settings, folders, first }, lock }))
    }

    /// Creates the home. Must be awaited, because a home that is created later would not be
    /// watched.
    pub async fn make_home(
        self: &Arc<Self>,
        attempt: AttemptId,
        permit: Option<LoginPermit>,
    ) -> io::Result<()> {
        let Some(LoginPermit { plan, lock }) = permit else { return Ok(()) };
        let path = self.record_path(attempt);
        let make = move || {
            let home = plan.record.home.clone();
            // First, because after a crash the record must include the credentials that are copied
            // now.
            let record = plan.record.save(&path).and_then(|()| {
                let record = home::make(plan, clock::wall_ms())?;
                record.save(&path).map(|()| record)
            });
            if record.is_err() && remove_tree(&home).is_ok() {
                fs::remove_file(&path).ok();
            }
            drop(lock);
            record
        };
        let record = tokio::task::spawn_blocking(make).await.map_err(io::Error::other)??;
        self.watch(attempt, record);
        Ok(())
    }

    /// The variables that point an agent to its home, and tools to the user's.
    pub fn variables(
        &self,
        attempt: AttemptId,
        backend: &BackendSettings,
    ) -> Vec<(String, String)> {
        if backend.state_env.is_empty() {
            return Vec::new();
        }
        let home = self.dirs.home(attempt);
        let own = backend.private_state(&home).into_iter();
        let own = own.map(|(name, path)| (name, path.display().to_string()));
        let own = own.chain(inner::variable(backend, &self.user, &home));
        // A copy that the agent may change.
        let git = ("GIT_CONFIG_GLOBAL".to_owned(), home.join(GIT_SETTINGS).display().to_string());
        let own = own.chain([git]);
        let tools = home::tool_variables(&self.user).into_iter();
        tools.filter(|it| !backend.env.contains_key(&it.0)).chain(own).collect()
    }
}
