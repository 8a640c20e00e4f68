//! Reattaches to an agent whose session belongs to an earlier process.

use crate::{
    FileScope, Profile, Session, SessionEvents,
    connection::Connection,
    frame::number,
    open::{Negotiated, Wire, session},
};
use pitcrew_process::{Presence, ShimError, attach_shim};
use serde::de::DeserializeOwned;
use std::{
    path::{Path, PathBuf},
    time::Duration,
};

/// A session in the state that it would have without the interruption.
pub struct Reattached {
    pub session: Session,
    pub events: SessionEvents,
    pub presence: Presence,
}

/// There is no session to reattach to.
#[derive(Debug, thiserror::Error)]
#[error("failed to reattach to the agent in `{}`", dir.display())]
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
    /// The agent and its orchestrator never opened one, or the record of it is gone.
    #[error("its spool contains no session")]
    NoSession,
}

/// Reattaches to the agent in an attempt's folder, whose checkout is `cwd`. When it returns, all
/// earlier traffic has been read: an open turn continues, the result of a finished turn is kept for
/// a prompt with the same effect, and the agent's open requests are among the events. This also
/// works for an agent that has exited.
pub async fn attach(
    dir: &Path,
    cwd: &Path,
    profile: Profile,
    reach: Option<FileScope>,
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

/// The session that was negotiated before we attached.
fn agreed(connection: &Connection, title: Option<&str>) -> Option<Negotiated> {
    let effect = connection.opened_by()?;
    let agent = kept(connection, number::initialize(effect))?;
    let session = kept(connection, number::new_session(effect))?;
    Negotiated::new(&agent, session, title.unwrap_or("agent")).ok()
}

fn kept<T: DeserializeOwned>(connection: &Connection, number: u64) -> Option<T> {
    serde_json::from_value(connection.kept_answer(number)?.ok()?).ok()
}
