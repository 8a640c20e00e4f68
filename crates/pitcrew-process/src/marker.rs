//! The marker of the processes of one run. It identifies them even after they left the process
//! group and session. It is an environment variable, because only the environment is always
//! inherited.

use crate::{Policy, Tier};
use std::sync::atomic::{AtomicU64, Ordering};

/// The variable that contains the marker.
pub(crate) const RUN_MARKER: &str = "PITCREW_RUN";

/// The variable that names the owner of these programs. It stays the same over all runs, and after
/// the owner has ended.
pub(crate) const OWNER_MARKER: &str = "PITCREW_OWNER";

/// Separates a marker from the markers of nested runs. A single marker never contains it.
const WITHIN: &str = "//";

/// The marker of one run.
#[derive(Clone, Debug)]
pub(crate) struct Mark {
    pub(crate) text: String,
    /// Whether all processes with this marker are in a box, except for the one that holds the box.
    pub(crate) is_boxed: bool,
}

impl Mark {
    pub(crate) fn new(policy: &Policy) -> Self {
        Self { text: unique(), is_boxed: policy.tier == Tier::T3 }
    }
}

/// Returns a marker that no other run has, in any process. It includes the marker of the enclosing
/// run, so ending that run finds this one too.
fn unique() -> String {
    let own = own();
    match std::env::var(RUN_MARKER) {
        Ok(outer) => format!("{outer}{WITHIN}{own}"),
        Err(_) => own,
    }
}

/// A value that is unique among all processes.
pub(crate) fn own() -> String {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let since_epoch = std::time::UNIX_EPOCH.elapsed().unwrap_or_default();
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    format!("{}-{}-{number}", std::process::id(), since_epoch.as_nanos())
}

/// Whether a process with this environment, as the system reports it, belongs to the run `marker`.
pub(crate) fn is_on(environment: &[u8], marker: &str) -> bool {
    let value = |entry| str::from_utf8(entry).ok()?.strip_prefix(RUN_MARKER)?.strip_prefix('=');
    let belongs = |value: &str| {
        let rest = value.strip_prefix(marker);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(WITHIN))
    };
    environment.split(|byte| *byte == 0).filter_map(value).any(belongs)
}

/// Whether a process with this environment, as the system reports it, belongs to `owner`.
pub(crate) fn is_of(environment: &[u8], owner: &str) -> bool {
    let wanted = format!("{OWNER_MARKER}={owner}");
    environment.split(|byte| *byte == 0).any(|entry| entry == wanted.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_run_belongs_to_both_runs_and_neighbour_to_none() {
        let environment = b"HOME=/root\0PITCREW_RUN=/attempts/1//7-8-0\0A=1\0";
        assert!(is_on(environment, "/attempts/1"));
        assert!(is_on(environment, "/attempts/1//7-8-0"));
        for other in ["/attempts", "/attempts/1//7-8-00", "/attempts/2", "7-8-0"] {
            assert!(!is_on(environment, other), "{other}");
        }
        assert!(!is_on(b"PITCREW_RUN=/attempts/10\0", "/attempts/1"));
        assert!(!is_on(b"XPITCREW_RUN=1\0", "1"));
    }

    #[test]
    fn owner_must_match_exactly() {
        let environment = b"HOME=/root\0PITCREW_OWNER=/state/1\0A=1\0";
        assert!(is_of(environment, "/state/1"));
        assert!(!is_of(environment, "/state") && !is_of(environment, "/state/10"));
    }

    #[test]
    fn markers_of_two_runs_differ() {
        assert_ne!(unique(), unique());
    }
}
