//! Coming back to an agent that has a session with somebody who is gone.

use crate::{
    Profile, Reach, Session, SessionEvents,
    connection::Connection,
    frame::number,
    open::{Agreed, Wire, session},
};
use pitcrew_process::{Presence, ShimError, attach_shim};
use serde::de::DeserializeOwned;
use std::{
    path::{Path, PathBuf},
    time::Duration,
};

/// A session as it would be if nobody had been away.
pub struct Reattached {
    pub session: Session,
    pub events: SessionEvents,
    pub presence: Presence,
}

/// There is no session to go on with.
#[derive(Debug, thiserror::Error)]
#[error("failed to come back to the agent of `{}`", dir.display())]
pub struct AttachError {
    /// The attempt's folder.
    pub dir: PathBuf,
    #[source]
    pub kind: AttachErrorKind,
}

#[derive(Debug, thiserror::Error)]
pub enum AttachErrorKind {
    #[error(transparent)]
    Shim(#[from] ShimError),
    /// Its agent and its orchestrator never agreed on one, or what they said is not there any more.
    #[error("its spool holds no session")]
    NoSession,
}

/// Comes back to the agent of an attempt's folder, whose checkout is `cwd`. When it returns,
/// everything that passed before is known: a turn that is open goes on, the end of one that has
/// ended is given to whoever prompts with the same effect, and what the agent still waits for is
/// among the events. The same holds of an agent that is gone.
pub async fn attach(
    dir: &Path,
    cwd: &Path,
    profile: Profile,
    reach: Option<Reach>,
    patience: Duration,
) -> Result<Reattached, AttachError> {
    let failed = |kind| AttachError { dir: dir.to_owned(), kind };
    let found = attach_shim(dir, patience).await.map_err(|error| failed(error.into()))?;
    let until = match found.presence {
        Presence::Alive { spooled, .. } => spooled,
        Presence::Ended | Presence::Lost => u64::MAX,
    };
    let title = profile.title.clone();
    let connection = Connection::new(found.shim, cwd.to_owned(), profile, reach);
    let wire = Wire::caught_up(connection, found.events, until).await;
    let presence = if wire.events.was_silent() { Presence::Lost } else { found.presence };
    let agreed = agreed(&wire.connection, title.as_deref()).zip(wire.connection.opened_by());
    let (agreed, opened_by) = agreed.ok_or_else(|| failed(AttachErrorKind::NoSession))?;
    let (connection, reader, permissions) = wire.listen();
    let (session, events) = session(connection, reader, permissions, opened_by, agreed);
    Ok(Reattached { session, events, presence })
}

/// What was agreed on before we came.
fn agreed(connection: &Connection, title: Option<&str>) -> Option<Agreed> {
    let effect = connection.opened_by()?;
    let agent = kept(connection, number::initialize(effect))?;
    let session = kept(connection, number::new_session(effect))?;
    Agreed::new(&agent, session, title.unwrap_or("agent")).ok()
}

fn kept<T: DeserializeOwned>(connection: &Connection, number: u64) -> Option<T> {
    serde_json::from_value(connection.kept_answer(number)?.ok()?).ok()
}
