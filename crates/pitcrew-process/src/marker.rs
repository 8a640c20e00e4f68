//! The marker of the processes of one run, which identifies them even after they left the group and
//! session. It is an environment variable, because nothing else is always inherited.

use crate::{Policy, Tier};
use std::sync::atomic::{AtomicU64, Ordering};

/// The variable that holds the mark.
pub(crate) const RUN_MARKER: &str = "PITCREW_RUN";

/// The variable that says whose programs these are, over all runs and over the end of the owner.
pub(crate) const OWNER_MARKER: &str = "PITCREW_OWNER";

/// Between a mark and those of the runs within its run. No mark contains it by itself.
const WITHIN: &str = "//";

/// The mark of one run.
#[derive(Clone, Debug)]
pub(crate) struct Mark {
    pub(crate) text: String,
    /// All who bear it are in a box, but for who holds that.
    pub(crate) is_boxed: bool,
}

impl Mark {
    pub(crate) fn new(policy: &Policy) -> Self {
        Self { text: unique(), is_boxed: policy.tier == Tier::T3 }
    }
}

/// A mark that no other run has, in this process or another. It says also within which run it is,
/// so ending the outer run finds this one too.
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

/// Whether a process with this environment, as the system shows it, belongs to the run `marker`.
pub(crate) fn is_on(environment: &[u8], marker: &str) -> bool {
    let value = |entry| str::from_utf8(entry).ok()?.strip_prefix(RUN_MARKER)?.strip_prefix('=');
    let belongs = |value: &str| {
        let rest = value.strip_prefix(marker);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(WITHIN))
    };
    environment.split(|byte| *byte == 0).filter_map(value).any(belongs)
}

/// Whether a process with this environment, as the system shows it, says that it is `owner`'s.
pub(crate) fn is_of(environment: &[u8], owner: &str) -> bool {
    let wanted = format!("{OWNER_MARKER}={owner}");
    environment.split(|byte| *byte == 0).any(|entry| entry == wanted.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_within_a_run_belongs_to_both_and_a_neighbour_to_none() {
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
    fn an_owner_is_known_by_the_whole_name() {
        let environment = b"HOME=/root\0PITCREW_OWNER=/state/1\0A=1\0";
        assert!(is_of(environment, "/state/1"));
        assert!(!is_of(environment, "/state") && !is_of(environment, "/state/10"));
    }

    #[test]
    fn no_two_runs_have_the_same_mark() {
        assert_ne!(unique(), unique());
    }
}
