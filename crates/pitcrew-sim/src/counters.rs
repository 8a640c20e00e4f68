//! Counts how many steps of schedules had each fault. A fault that never happens tests nothing.

use std::fmt;

macro_rules! faults {
    ($($name:ident = $text:literal),* $(,)?) => {
        /// A fault, or an event at a bad time.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Fault { $($name),* }

        impl Fault {
            pub const ALL: &[Self] = &[$(Self::$name),*];

            pub fn text(self) -> &'static str {
                match self { $(Self::$name => $text),* }
            }
        }
    };
}

faults!(
    CrashBetween = "crashes between two appends",
    CrashBefore = "crashes before anything was written",
    TornTail = "crashes with a torn record",
    UnsyncedLost = "crashes that lose an unsynced record",
    UnsyncedKept = "crashes that keep an unsynced record",
    CrashAfter = "crashes before the acknowledgement",
    DiskFull = "appends to a full disk",
    DiskReadOnly = "appends to a read-only disk",
    DiskBusy = "appends to a locked journal",
    ClockBack = "clock set back",
    ClockForward = "clock set forward",
    SharedAppend = "appends of several inputs",
    ResultLost = "results lost in a crash",
    ResultTwice = "results sent twice",
    DoneTwice = "effects ordered twice",
    Cut = "effects cut short",
    AgentDied = "agents that died",
    AgentSurvived = "agents that outlived the orchestrator",
    AgentLost = "agents that went down with the orchestrator",
    AgentUnstarted = "agents that could not be started",
    AgentIgnores = "agents that ignore an interrupt",
    AgentZombie = "words of agents that are over",
    Nonsense = "words about what does not exist",
    SaidTwice = "words of agents said twice",
    TurnFailed = "turns that ended with an error",
    QuotaMet = "limits of providers that were met",
    Unreachable = "providers that could not be reached",
    LimitGivenUp = "limits of providers that were given up",
    LoginMissing = "agents that were not logged in",
    ModelFailed = "models that failed",
    UsageTold = "usage reported during a turn",
    UsageLies = "usage that cannot be true",
    UsageLate = "usage reported between turns",
    CapReached = "caps that were reached",
    CapWarned = "caps of which little was left",
    CapRaised = "caps that were raised",
    NoCompletion = "turns that ended without a word",
    CheckoutFailed = "checkouts that could not be made",
    GateRefused = "work refused at the gate",
    GitLocked = "git steps that found a lock",
    MovedHead = "heads that had moved",
    ChecksRed = "checks that failed",
    BaseRed = "checks that fail on the base",
    Conflict = "work that conflicts",
    LandingConflict = "landings that conflict",
    LandingFailed = "landings that failed",
    SnapshotFailed = "snapshots that could not be taken",
    RemovalKept = "checkouts that could not be removed",
    PlanUnprepared = "plans that could not be prepared",
    Timeout = "attempts that ran out of time",
    LateAnswer = "answers to what is closed",
    SecondAnswer = "commands given twice",
    Contradiction = "answers that contradict the last one",
    Cancelled = "cancels",
    Paused = "pauses",
    Retried = "retries",
    Accepted = "partial tasks accepted",
    Abandoned = "tasks and plans abandoned",
    Landed = "landings asked for",
    Unsigned = "landings and reverts that wait for a signature",
    UndoAsked = "undos asked for",
    Undone = "landings undone",
    UndoFailed = "landings that could not be undone",
    MergedByHand = "results merged by hand",
    Granted = "approvals that reach further than once",
    GrantUsed = "calls that a grant covers",
    Revoked = "grants revoked",
    Expired = "requests that expired",
    MatrixChanged = "permissions that changed",
    ConfinementChanged = "machines that confine otherwise after a restart",
    SnapshotsDropped = "old snapshots dropped",
    Restored = "kept states restored",
    Limited = "limits changed",
    HandedOut = "sub-tasks created",
    HandedOutByClient = "sub-tasks created by a client",
    Orphaned = "sub-tasks that ended with their parent",
    WaitAnswered = "waits for sub-tasks that were answered",
    WaitTimedOut = "waits for sub-tasks that took too long",
    WaitLost = "waits for sub-tasks that ended with their turn",
    ToldByTurn = "results of sub-tasks delivered with a turn",
    ParentDecided = "requests of sub-tasks that their parent decided",
    ParentPassed = "requests of sub-tasks that their parent left",
    WaitCut = "waits for sub-tasks that ended with a request",
    Pulled = "changes of sub-tasks pulled",
    Refused = "commands refused",
    MessageSent = "messages sent",
    MessageTwice = "messages sent twice",
    MessageBack = "messages whose turn failed",
    MessageDead = "messages that were never read",
    MessageExpired = "messages that came too late",
    WaitCycle = "workers that waited for each other",
    QueryParked = "workers that waited for an owner without a slot",
    QueryIndexed = "queries that the index answered",
    QueryAnswered = "queries that an owner answered",
    QueryCached = "queries that an owner had answered before",
    QueryOverheard = "queries whose owner only said something",
    QueryLate = "queries that were answered late",
    QueryPassedOn = "queries that went on to the next owner",
    QueryOverBudget = "queries over a budget",
    QueryTimedOut = "queries that timed out",
    QueryWithdrawn = "queries that were withdrawn",
    QueryNotAvailable = "queries without an available owner",
);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counters {
    pub steps: u64,
    pub events: u64,
    pub tasks: u64,
    pub tasks_completed: u64,
    pub reached: Reached,
    counts: Vec<u64>,
}

/// The statuses that were reached, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reached {
    pub plans: u32,
    pub tasks: u32,
    pub workers: u32,
    pub requests: u32,
    pub landings: u32,
    pub messages: u32,
}

impl Default for Counters {
    fn default() -> Self {
        let counts = vec![0; Fault::ALL.len()];
        Self {
            steps: 0,
            events: 0,
            tasks: 0,
            tasks_completed: 0,
            reached: Reached::default(),
            counts,
        }
    }
}

impl Counters {
    pub fn count(&mut self, fault: Fault) {
        self.counts[fault as usize] += 1;
    }

    pub fn of(&self, fault: Fault) -> u64 {
        self.counts[fault as usize]
    }

    pub fn add(&mut self, other: &Self) {
        self.steps += other.steps;
        self.events += other.events;
        self.tasks += other.tasks;
        self.tasks_completed += other.tasks_completed;
        self.reached.plans |= other.reached.plans;
        self.reached.tasks |= other.reached.tasks;
        self.reached.workers |= other.reached.workers;
        self.reached.requests |= other.reached.requests;
        self.reached.landings |= other.reached.landings;
        self.reached.messages |= other.reached.messages;
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
    }
}

impl fmt::Display for Counters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for fault in Fault::ALL {
            writeln!(f, "{:>12}  {}", self.of(*fault), fault.text())?;
        }
        writeln!(f, "{:>12}  tasks", self.tasks)?;
        writeln!(f, "{:>12}  tasks that were completed while things failed", self.tasks_completed)?;
        writeln!(f, "{:>12}  steps", self.steps)?;
        write!(f, "{:>12}  events", self.events)
    }
}
