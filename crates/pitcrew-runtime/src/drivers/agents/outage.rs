//! Whether an agent failed because its provider cannot be reached, by what the egress proxy saw.

use super::{Agents, live::Live};
use pitcrew_acp::TurnEnd;
use pitcrew_model::{ErrorCause, Failure, HostPattern, Place, StopReason};
use pitcrew_process::{ReachedLine, reached_lines};
use pitcrew_views::plain;
use std::collections::BTreeMap;

/// How much of the evidence must be against the network.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Evidence {
    /// The last provider host that was dialled.
    Last,
    /// Every provider host, because the error has another explanation.
    All,
}

impl Agents {
    /// The failure of a start or a turn, with the network as the cause if it was.
    pub(super) fn explained(&self, live: &Live, failure: Failure) -> Failure {
        let evidence = if matches!(failure, Failure::Model { .. }) {
            Evidence::All
        } else if matches!(
            failure,
            Failure::AgentExited { .. } | Failure::Protocol { .. } | Failure::Unreachable { .. }
        ) {
            Evidence::Last
        } else {
            return failure;
        };
        match self.outage(live, evidence) {
            Some(message) => Failure::Unreachable { message },
            None => failure,
        }
    }

    /// The same for the end of a turn.
    pub(super) fn explained_end(&self, live: &Live, mut end: TurnEnd) -> TurnEnd {
        if let StopReason::Error { cause, message } = &mut end.stop {
            let evidence = match cause {
                ErrorCause::Other | ErrorCause::Unreachable => Evidence::Last,
                ErrorCause::Model => Evidence::All,
                ErrorCause::Auth | ErrorCause::Quota { .. } => return end,
            };
            if let Some(outage) = self.outage(live, evidence) {
                (*cause, *message) = (ErrorCause::Unreachable, outage);
            }
        }
        end
    }

    fn outage(&self, live: &Live, evidence: Evidence) -> Option<String> {
        let hosts = live.provider.get()?;
        // Without a box there is no record.
        let lines = reached_lines(&self.setup.dirs.attempt(live.attempt)).ok()?;
        outage_in(&lines, hosts, evidence)
    }
}

/// What cannot be reached, by the last line about each host of the provider.
fn outage_in(lines: &[ReachedLine], hosts: &[HostPattern], evidence: Evidence) -> Option<String> {
    let is_provider = |it: &&ReachedLine| {
        let place = it.host.parse().ok().map(|host| Place { host, port: it.port });
        place.is_some_and(|place| hosts.iter().any(|it| it.fits(&place)))
    };
    let of_provider: Vec<&ReachedLine> = lines.iter().filter(is_provider).collect();
    let by_place: BTreeMap<_, _> =
        of_provider.iter().map(|it| ((&it.host, it.port), *it)).collect();
    let are_all = by_place.values().all(|it| it.unreachable.is_some());
    let last = of_provider.last().filter(|_| evidence == Evidence::Last || are_all)?;
    let (host, reason) = (plain::line(&last.host), plain::line(last.unreachable.as_ref()?));
    Some(format!("cannot reach {host}: {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_dialled_host_decides_unless_the_error_has_another_explanation() {
        let line = |host: &str, is_reached: bool| ReachedLine {
            at: 1,
            host: host.into(),
            port: 443,
            unreachable: (!is_reached).then(|| "connection refused".into()),
        };
        let hosts: Vec<HostPattern> =
            ["api.example", "login.example"].map(|it| it.parse().expect("a pattern")).into();
        let outage = |lines: &[ReachedLine], evidence| outage_in(lines, &hosts, evidence);
        let down = Some("cannot reach api.example: connection refused".to_owned());
        let reached_before = [line("login.example", true), line("api.example", false)];
        assert_eq!(outage(&reached_before, Evidence::Last), down);
        assert_eq!(outage(&reached_before, Evidence::All), None);
        let all = [line("login.example", false), line("api.example", false)];
        assert_eq!(outage(&all, Evidence::All), down);
        let back = [line("api.example", false), line("api.example", true)];
        assert_eq!(outage(&back, Evidence::Last), None);
        let foreign = [line("api.example", true), line("pypi.example", false)];
        assert_eq!(outage(&foreign, Evidence::Last), None);
        assert_eq!(outage(&[], Evidence::Last), None);
    }
}
