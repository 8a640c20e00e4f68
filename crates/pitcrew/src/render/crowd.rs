//! Long lists of tasks: those that matter most, and the number of the others.

use super::words::plural;
use pitcrew_model::TaskStatus;
use std::collections::BTreeMap;

/// Tasks that are listed before the rest is only counted.
pub const TASKS_SHOWN_MAX: usize = 40;

/// Keeps at most `max` tasks, in their order, and counts the others by status.
///
/// Tasks at work come first, then those that failed, then those that wait.
pub fn cap<T>(
    all: Vec<T>,
    max: usize,
    status: impl Fn(&T) -> TaskStatus,
) -> (Vec<T>, BTreeMap<TaskStatus, u64>) {
    let mut hidden = BTreeMap::new();
    if all.len() <= max {
        return (all, hidden);
    }
    let mut places: Vec<usize> = (0..all.len()).collect();
    places.sort_by_key(|it| rank(status(&all[*it])));
    let mut is_shown = vec![false; all.len()];
    for place in &places[..max] {
        is_shown[*place] = true;
    }
    for place in &places[max..] {
        *hidden.entry(status(&all[*place])).or_default() += 1;
    }
    let shown = all.into_iter().zip(is_shown).filter(|it| it.1).map(|it| it.0);
    (shown.collect(), hidden)
}

/// `and 1960 more: 1900 completed, 60 pending; --json lists all`
pub fn more(hidden: &BTreeMap<TaskStatus, u64>) -> Option<String> {
    let count: u64 = hidden.values().sum();
    let by_status: Vec<String> =
        hidden.iter().map(|(status, count)| format!("{count} {status}")).collect();
    (count > 0).then(|| {
        let what = plural(count, "more task");
        format!("  and {what}: {}; `pitcrew status --json` lists all", by_status.join(", "))
    })
}

fn rank(status: TaskStatus) -> u8 {
    match status {
        TaskStatus::Starting
        | TaskStatus::Running
        | TaskStatus::Verifying
        | TaskStatus::Integrating => 0,
        TaskStatus::Failed | TaskStatus::Partial => 1,
        TaskStatus::Blocked | TaskStatus::Cancelled => 2,
        TaskStatus::Queued => 3,
        TaskStatus::Pending => 4,
        TaskStatus::Completed => 5,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_that_matter_are_kept_in_order() {
        use TaskStatus::{Completed, Failed, Pending, Running};
        let all = vec![Completed, Failed, Completed, Running, Pending];
        let (shown, hidden) = cap(all.clone(), 3, |it| *it);
        assert_eq!(shown, [Failed, Running, Pending]);
        assert_eq!(
            more(&hidden).as_deref(),
            Some("  and 2 more tasks: 2 completed; `pitcrew status --json` lists all")
        );
        let (shown, hidden) = cap(all.clone(), 5, |it| *it);
        assert_eq!((shown, more(&hidden)), (all, None));
    }
}
