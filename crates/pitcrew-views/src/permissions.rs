//! The applied matrix and the active grants.

use crate::plain;
use pitcrew_model::{Actor, Entry, Event, Grant, GrantId, Matrix, RequestId, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The read model of permissions.
#[derive(Clone, Debug, Default)]
pub struct Granted {
    matrix: Matrix,
    held: BTreeMap<GrantId, ActiveGrant>,
}

/// An active grant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActiveGrant {
    /// Control characters are escaped.
    pub grant: Grant,
    /// The request that created it.
    pub request: RequestId,
    pub given_by: Actor,
    pub given_at: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermissionsView {
    /// The applied matrix.
    pub matrix: Matrix,
    /// Oldest first.
    pub grants: Vec<ActiveGrant>,
}

impl Granted {
    /// Folds one entry. Total: an entry that does not fit is ignored.
    pub fn fold(&mut self, entry: &Entry) {
        if let Event::MatrixApplied { matrix } = &entry.event {
            self.matrix = matrix.clone();
        } else if let Event::GrantGiven { grant, request, actor } = &entry.event {
            let (request, given_by, given_at) = (*request, *actor, entry.at);
            let grant = safe(grant);
            self.held.insert(grant.id, ActiveGrant { grant, request, given_by, given_at });
        } else if let Event::GrantRevoked { grant, .. } = &entry.event {
            self.held.remove(grant);
        }
    }

    pub fn view(&self) -> PermissionsView {
        let grants = self.held.values().cloned().collect();
        PermissionsView { matrix: self.matrix.clone(), grants }
    }
}

fn safe(grant: &Grant) -> Grant {
    let lines = |all: &[String]| all.iter().map(|it| plain::line(it)).collect();
    Grant {
        command: grant.command.as_deref().map(plain::block),
        paths: lines(&grant.paths),
        outside: lines(&grant.outside),
        ..grant.clone()
    }
}
