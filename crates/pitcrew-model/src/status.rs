//! The lifecycles: which state may follow which. Any other transition is rejected.

use core::fmt;
use serde::{Deserialize, Serialize};

macro_rules! status {
    ($(#[$doc:meta])* $name:ident { $($(#[$state_doc:meta])* $state:ident = $text:literal => [$($next:ident),*]),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum $name { $($(#[$state_doc])* $state),* }

        impl $name {
            pub const ALL: &[Self] = &[$(Self::$state),*];

            /// Returns the states that may follow this one.
            pub fn followers(self) -> &'static [Self] {
                match self { $(Self::$state => &[$(Self::$next),*]),* }
            }

            pub fn may_become(self, next: Self) -> bool {
                self.followers().contains(&next)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(match self { $(Self::$state => $text),* })
            }
        }
    };
}

status!(
    /// The status of a plan.
    PlanStatus {
        Draft = "draft" => [AwaitingApproval, Active, Cancelled],
        Clarifying = "clarifying" => [Decomposing, Cancelled],
        Decomposing = "decomposing" => [AwaitingApproval, Failed, Cancelled],
        AwaitingApproval = "awaiting_approval" => [Active, Draft, Cancelled],
        Active = "active" => [Paused, Completed, Partial, Failed, Cancelled],
        Paused = "paused" => [Active, Completed, Partial, Failed, Cancelled],
        /// All tasks ended, some completed and some not.
        Partial = "partial" => [Active, Completed, Cancelled],
        /// No task completed, or planning failed.
        Failed = "failed" => [Decomposing, Active, Cancelled],
        Completed = "completed" => [Active],
        Cancelled = "cancelled" => [],
    }
);

status!(
    /// The status of a task. "Retrying" is an attempt after the first.
    TaskStatus {
        /// Waits for dependencies, for its back-off or for its deployment.
        Pending = "pending" => [Queued, Blocked, Failed, Cancelled],
        /// Ready; waits for a slot or a region.
        Queued = "queued" => [Starting, Pending, Blocked, Failed, Cancelled],
        /// A dependency ended without completion.
        Blocked = "blocked" => [Pending, Cancelled],
        Starting = "starting" => [Running, Pending, Failed, Cancelled],
        Running = "running" => [Verifying, Pending, Failed, Cancelled],
        Verifying = "verifying" => [Integrating, Completed, Partial, Running, Pending, Failed, Cancelled],
        Integrating = "integrating" => [Completed, Pending, Failed, Cancelled],
        /// Verified and in the integration branch. Final.
        Completed = "completed" => [],
        Partial = "partial" => [Pending, Integrating, Cancelled],
        Failed = "failed" => [Pending, Cancelled],
        Cancelled = "cancelled" => [Pending],
    }
);

status!(
    /// The status of a worker.
    WorkerStatus {
        Created = "created" => [Starting, Killed, Failed],
        Starting = "starting" => [Running, Failed, Killed],
        Running = "running" => [WaitingInput, WaitingPermission, WaitingQuota, WaitingSubtasks, Paused, Completed, Failed, Killed],
        WaitingInput = "waiting_input" => [Running, Paused, Completed, Failed, Killed],
        WaitingPermission = "waiting_permission" => [Running, WaitingQuota, Paused, Completed, Failed, Killed],
        /// Waits for the end of a provider limit.
        WaitingQuota = "waiting_quota" => [Running, Completed, Failed, Killed],
        /// Waits for its sub-tasks.
        WaitingSubtasks = "waiting_subtasks" => [Running, Completed, Failed, Killed],
        Paused = "paused" => [Running, WaitingInput, WaitingPermission, Completed, Failed, Killed],
        Completed = "completed" => [],
        Failed = "failed" => [],
        Killed = "killed" => [],
    }
);

status!(
    /// The status of a request.
    RequestStatus {
        AtUser = "at_user" => [Approved, Denied, Answered, Withdrawn, Expired],
        Approved = "approved" => [],
        Denied = "denied" => [],
        Answered = "answered" => [],
        /// No longer needed: its worker ended or its plan was cancelled.
        Withdrawn = "withdrawn" => [],
        /// Not decided in time. The configured default applies.
        Expired = "expired" => [],
        /// A sub-task requests a permission that it does not have.
        Requested = "requested" => [AtParent, AtOrchestrator],
        /// The parent of the sub-task decides.
        AtParent = "at_parent" => [AtOrchestrator, Approved, Denied, Withdrawn],
        /// The matrix decides.
        AtOrchestrator = "at_orchestrator" => [AtUser, Approved, Denied],
    }
);

status!(
    /// The status of a message.
    MessageStatus {
        /// Unread. The orchestrator and people read messages at once.
        Queued = "queued" => [Delivered, Processed, Dead, Expired],
        /// In the prompt of the current turn.
        Delivered = "delivered" => [Processed, Queued, Dead],
        /// The turn succeeded.
        Processed = "processed" => [],
        /// It will never be read.
        Dead = "dead" => [],
        Expired = "expired" => [],
    }
);

status!(
    /// The status of the landing of a plan.
    LandingStatus {
        None = "none" => [Review, Merging, Abandoned],
        Review = "review" => [Merging, Abandoned, None],
        Merging = "merging" => [Signing, Merged, SideBranch, Conflict, None],
        Conflict = "conflict" => [Merging, Abandoned, None],
        /// On a branch of its own, because the base branch could not be moved.
        SideBranch = "side_branch" => [Merging, Merged, Abandoned, None],
        /// On the base branch.
        Merged = "merged" => [Cleaned, Undoing, None],
        Cleaned = "cleaned" => [Undoing, None],
        /// Discarded. It can still be landed.
        Abandoned = "abandoned" => [Review, Merging, None],
        /// The commits are ready and wait for the signature of a person.
        Signing = "signing" => [Merging, Abandoned, None],
        Undoing = "undoing" => [Undone, Merged],
        /// No longer on the base branch. It can be landed again.
        Undone = "undone" => [Review, Merging, Abandoned, None],
    }
);

impl PlanStatus {
    /// Returns whether no work of the plan runs or waits to run.
    pub fn has_ended(self) -> bool {
        matches!(self, Self::Completed | Self::Partial | Self::Failed | Self::Cancelled)
    }
}

impl MessageStatus {
    pub fn has_ended(self) -> bool {
        matches!(self, Self::Processed | Self::Dead | Self::Expired)
    }
}

impl TaskStatus {
    /// Returns whether the task does not continue by itself.
    pub fn has_ended(self) -> bool {
        matches!(self, Self::Completed | Self::Partial | Self::Failed | Self::Cancelled)
    }

    /// Returns whether an attempt of the task is open.
    pub fn in_attempt(self) -> bool {
        matches!(self, Self::Starting | Self::Running | Self::Verifying | Self::Integrating)
    }
}

impl RequestStatus {
    /// Returns whether the request is undecided.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Requested | Self::AtParent | Self::AtOrchestrator | Self::AtUser)
    }
}

impl WorkerStatus {
    pub fn has_ended(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Killed)
    }

    /// Returns whether the worker is parked: it keeps its session and its region, but not its slot.
    pub fn is_parked(self) -> bool {
        matches!(
            self,
            Self::WaitingInput
                | Self::WaitingPermission
                | Self::WaitingQuota
                | Self::WaitingSubtasks
                | Self::Paused
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use std::{format, string::String, vec::Vec};

    /// S0-070, S1-011, S1-014: every legal transition, by name.
    #[test]
    fn the_plan_machine_is_this_table() {
        let row = |from: &PlanStatus| format!("{from}: {:?}\n", from.followers());
        let table = PlanStatus::ALL.iter().map(row).collect::<Vec<String>>().concat();
        expect![[r#"
            draft: [AwaitingApproval, Active, Cancelled]
            clarifying: [Decomposing, Cancelled]
            decomposing: [AwaitingApproval, Failed, Cancelled]
            awaiting_approval: [Active, Draft, Cancelled]
            active: [Paused, Completed, Partial, Failed, Cancelled]
            paused: [Active, Completed, Partial, Failed, Cancelled]
            partial: [Active, Completed, Cancelled]
            failed: [Decomposing, Active, Cancelled]
            completed: [Active]
            cancelled: []
        "#]]
        .assert_eq(&table);
    }

    /// S0-071: a transition that is not in the table is illegal.
    #[test]
    fn a_completed_task_never_moves_again() {
        for next in TaskStatus::ALL {
            assert!(!TaskStatus::Completed.may_become(*next), "completed -> {next}");
        }
    }

    /// S0-132: cancel is legal from every state that has not ended.
    #[test]
    fn every_open_state_can_be_cancelled() {
        for from in TaskStatus::ALL.iter().filter(|it| !it.has_ended()) {
            assert!(from.may_become(TaskStatus::Cancelled), "{from}");
        }
        for from in PlanStatus::ALL.iter().filter(|it| !it.has_ended()) {
            assert!(from.may_become(PlanStatus::Cancelled), "{from}");
        }
    }

    /// S1-058: every parked state can return to running.
    #[test]
    fn a_parked_worker_can_run_again() {
        for from in WorkerStatus::ALL.iter().filter(|it| it.is_parked()) {
            assert!(from.may_become(WorkerStatus::Running), "{from}");
        }
    }
}
