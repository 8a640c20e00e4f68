//! Events.

use crate::{
    golden, queries,
    subtasks::{delegation, output},
    values::{
        ATTEMPT, MESSAGE, PLAN, REQUEST, TASK, WORKER, commit, crew, exit, grant, matrix, path,
        plan_head, sandbox, sandbox_of_root, task_spec,
    },
};
use pitcrew_model::{
    Access, Action, Actor, AwaitEnd, BudgetScope, Caps, Claim, Confined, Crew, EffectId,
    EffectResult, EgressDecision, EgressOf, Entry, Event, Failure, Freshness, Grant, GrantId,
    GrantTarget, History, HoldCause, Hooks, LandingStatus, Matrix, Measure, Message,
    MessageContext, MessageKind, MessageStatus, Outcome, Party, PlanHead, PlanStatus, Priority,
    Reads, Reason, RequestKind, RequestStatus, RuleSource, Seq, Sign, Spending, TaskId, TaskSpec,
    TaskStatus, Tier, Timestamp, TurnCause, Usage, WorkerStatus,
};

fn events() -> Vec<Event> {
    [
        plan_events(),
        task_events(),
        attempt_events(),
        worker_events(),
        request_events(),
        denied_events(),
        subtask_events(),
        vec![Event::TaskHeld { task: TASK, actor: Actor::Client }],
        with_a_model(),
        message_events(),
        queries::events(),
        zone_events(),
        egress_events(),
        client_events(),
    ]
    .concat()
}

fn egress_events() -> Vec<Event> {
    let decided = |whose, allowed, reason: &str| {
        Event::EgressDecided(EgressDecision {
            whose,
            host: "a.example".into(),
            port: 443,
            allowed,
            reason: reason.into(),
            count: 2,
            offset: 150,
        })
    };
    let of_attempt = EgressOf::Attempt(ATTEMPT);
    vec![
        decided(of_attempt, true, "rule *.example"),
        decided(of_attempt, false, "it is not on the allow-list"),
        decided(EgressOf::Plan(PLAN), false, "it is not on the allow-list"),
    ]
}

fn caps() -> Caps {
    Caps { tokens: Some(200_000), cost_micros: Some(2_500_000) }
}

fn created(head: PlanHead) -> Event {
    Event::PlanCreated {
        plan: PLAN,
        head,
        status: PlanStatus::AwaitingApproval,
        clean_base: false,
        actor: Actor::Person,
    }
}

fn zone_events() -> Vec<Event> {
    let blocked = |access, bytes_saved| Event::AccessBlocked {
        worker: WORKER,
        place: 4_096,
        access,
        path: "core/auth.rs".into(),
        bytes_saved,
    };
    vec![
        created(PlanHead { denied: vec![path("infra")], reads: Reads::Zone, ..plan_head() }),
        blocked(Access::Read, 1_200),
        blocked(Access::Write, 0),
    ]
}

fn settings(history: History, sign: Sign) -> Event {
    Event::SettingsApplied { agents_max: 5, agents_live_max: 20, history, sign }
}

fn plan_events() -> Vec<Event> {
    vec![
        settings(History::Merge, Sign::Terminal),
        settings(History::Squash, Sign::Terminal),
        settings(History::Merge, Sign::Never),
        Event::AgentsMaxSet { count: 5 },
        created(plan_head()),
        created(PlanHead { base: None, ..plan_head() }),
        created(PlanHead { agents_max: Some(2), ..plan_head() }),
        created(PlanHead { caps: caps(), ..plan_head() }),
        created(PlanHead { include: vec![path(".env")], ..plan_head() }),
        Event::PlanMoved {
            plan: PLAN,
            from: PlanStatus::AwaitingApproval,
            to: PlanStatus::Active,
            reason: "approved".into(),
            actor: Actor::Person,
        },
        Event::PlanOpened { plan: PLAN },
        Event::BaseCheckAsked { plan: PLAN },
        Event::LandingPlanned {
            plan: PLAN,
            history: History::Linear,
            message: Some("Add limits".into()),
            hooks: Hooks::Run,
            signed: None,
        },
        Event::LandingPlanned {
            plan: PLAN,
            history: History::Merge,
            message: None,
            hooks: Hooks::Skip,
            signed: Some(commit("d")),
        },
        Event::MergedByHand { plan: PLAN, branch: "main".into() },
        Event::LandingMoved {
            plan: PLAN,
            from: LandingStatus::Review,
            to: LandingStatus::Merging,
            reason: "approved".into(),
            actor: Actor::Person,
        },
    ]
}

fn with_a_model() -> Vec<Event> {
    let spec = TaskSpec { model: Some("opus".into()), ..task_spec() };
    vec![Event::TaskAdded { plan: PLAN, task: TASK, spec, depends_on: Vec::new() }]
}

fn task_events() -> Vec<Event> {
    vec![
        Event::TaskAdded {
            plan: PLAN,
            task: TASK,
            spec: task_spec(),
            depends_on: vec![TaskId(391)],
        },
        Event::TaskAdded {
            plan: PLAN,
            task: TASK,
            spec: TaskSpec { caps: caps(), ..task_spec() },
            depends_on: Vec::new(),
        },
        Event::TaskMoved {
            task: TASK,
            from: TaskStatus::Queued,
            to: TaskStatus::Starting,
            reason: Reason::SlotFree,
            actor: Actor::Orchestrator,
        },
        Event::TaskDeployed { task: TASK, actor: Actor::Person },
        Event::RetryGranted { task: TASK, freshness: Freshness::Fresh, actor: Actor::Person },
    ]
}

fn attempt_events() -> Vec<Event> {
    let ended = |outcome, failure| Event::AttemptEnded { attempt: ATTEMPT, outcome, failure };
    vec![
        Event::AttemptOpened {
            attempt: ATTEMPT,
            task: TASK,
            worker: WORKER,
            number: 2,
            start: commit("a"),
            base: commit("b"),
        },
        ended(Outcome::Success, None),
        ended(Outcome::Failed, Some(Failure::NoCompletion)),
        Event::CompletionClaimed {
            attempt: ATTEMPT,
            claim: Claim::Success,
            summary: "done".into(),
        },
        Event::CollectAsked { attempt: ATTEMPT },
        Event::SaveAsked { attempt: ATTEMPT },
        Event::SnapshotAsked { attempt: ATTEMPT },
        Event::VerifyAsked { attempt: ATTEMPT, onto: commit("a") },
        Event::IntegrateAsked { attempt: ATTEMPT },
        Event::Abandoned { attempt: ATTEMPT, actor: Actor::Person },
        Event::RemovalAsked { attempt: ATTEMPT },
        Event::RestoreAsked { task: TASK, number: 3, actor: Actor::Person },
        Event::DropAsked { attempt: ATTEMPT },
        Event::TidyAsked,
        Event::EffectEnded {
            effect: EffectId(99),
            result: EffectResult::CheckoutRemoved { attempt: ATTEMPT },
        },
    ]
}

fn message_events() -> Vec<Event> {
    let bare = MessageContext {
        plan: PLAN,
        task: TASK,
        worker: None,
        worktree: None,
        parent: None,
        subtask: None,
        depth: 0,
    };
    let said = Message {
        id: MESSAGE,
        from: Party::Person,
        to: Party::Task(TASK),
        kind: MessageKind::Update,
        priority: Priority::High,
        context: bare.clone(),
        content: "Use port 8080".into(),
        thread: MESSAGE,
        reply_to: None,
        key: None,
        expires_at: None,
    };
    let asked = Message {
        from: Party::Worker(WORKER),
        to: Party::Orchestrator,
        kind: MessageKind::Answer,
        context: MessageContext {
            worker: Some(WORKER),
            worktree: Some("/w/task-392".into()),
            parent: Some(WORKER),
            subtask: Some(TASK),
            depth: 1,
            ..bare
        },
        reply_to: Some(MESSAGE),
        key: Some("a1".into()),
        expires_at: Some(Timestamp(1_000)),
        ..said.clone()
    };
    vec![
        Event::MessageQueued(said),
        Event::MessageQueued(asked),
        Event::MessageMoved {
            message: MESSAGE,
            task: TASK,
            from: MessageStatus::Queued,
            to: MessageStatus::Delivered,
            reader: Some(WORKER),
            reason: String::new(),
        },
    ]
}

fn worker_events() -> Vec<Event> {
    vec![
        Event::WorkerMoved {
            worker: WORKER,
            from: WorkerStatus::Created,
            to: WorkerStatus::Starting,
            reason: String::new(),
        },
        Event::AgentStartAsked { worker: WORKER },
        Event::TurnOpened { worker: WORKER, cause: TurnCause::Start },
        Event::StopAsked { worker: WORKER },
        Event::InterruptAsked { worker: WORKER },
        Event::AgentExited { worker: WORKER, exit: exit() },
        Event::AgentReattached { worker: WORKER, away_ms: 1_500 },
        Event::CallTaken { worker: WORKER, nonce: "a1".into() },
        Event::ActivityNoted { worker: WORKER, note: "reads".into() },
        Event::UsageNoted {
            worker: WORKER,
            usage: Usage { tokens_in: 1, tokens_out: 2, tokens_cached: 3, cost_micros: 4 },
        },
        Event::BudgetWarned(Spending {
            scope: BudgetScope::Task(TASK),
            measure: Measure::Tokens,
            used: 80,
            cap: 100,
        }),
        Event::BackendHeld {
            backend: "claude".into(),
            until: Timestamp(1_700_000_000_000),
            reason: "5 hours".into(),
            cause: HoldCause::Limit,
        },
        Event::BackendReleased { backend: "claude".into(), actor: Actor::Person },
        Event::BackendHeld {
            backend: "claude".into(),
            until: Timestamp(1_700_000_000_000),
            reason: "cannot reach api.example.com".into(),
            cause: HoldCause::Unreachable,
        },
        Event::BackendProbed { backend: "claude".into(), task: TASK },
    ]
}

/// A denied action is stored with its rule.
fn denied_events() -> Vec<Event> {
    vec![
        Event::ToolDecided {
            worker: WORKER,
            call: "call-1".into(),
            title: "Push".into(),
            option: None,
            action: Some(Action::ForcePush),
            grant: None,
            denied_by: Some(RuleSource::BuiltIn),
        },
        Event::ToolDecided {
            worker: WORKER,
            call: "call-1".into(),
            title: "Run the tests".into(),
            option: None,
            action: Some(Action::CommandExecution),
            grant: None,
            denied_by: Some(RuleSource::File("permissions.md:5".into())),
        },
        Event::ToolDecided {
            worker: WORKER,
            call: "call-1".into(),
            title: "Edit the tests".into(),
            option: None,
            action: None,
            grant: None,
            denied_by: Some(RuleSource::Definition("reviewer.md".into())),
        },
        Event::MatrixApplied {
            matrix: Matrix {
                places: [(Action::ForcePush, "permissions.md:5".into())].into(),
                ..matrix()
            },
        },
    ]
}

fn request_events() -> Vec<Event> {
    let (call, option) = (|| String::from("call-1"), Some(String::from("yes")));
    let opened = |task, worker| Event::RequestOpened {
        request: REQUEST,
        plan: PLAN,
        task,
        worker,
        kind: RequestKind::BranchMerge,
    };
    vec![
        opened(None, None),
        opened(Some(TASK), Some(WORKER)),
        Event::RequestMoved {
            request: REQUEST,
            from: RequestStatus::AtUser,
            to: RequestStatus::Denied,
            text: Some("too dear".into()),
            actor: Actor::Worker(WORKER),
        },
        Event::ToolDecided {
            worker: WORKER,
            call: call(),
            title: "Run the tests".into(),
            option: option.clone(),
            action: None,
            grant: None,
            denied_by: None,
        },
        Event::ToolDecided {
            worker: WORKER,
            call: call(),
            title: "Run the tests".into(),
            option: option.clone(),
            action: Some(Action::CommandExecution),
            grant: Some(GrantId(4)),
            denied_by: None,
        },
        Event::ToolAnswered { request: REQUEST, worker: WORKER, call: call(), option },
        Event::MatrixApplied { matrix: matrix() },
        Event::CrewApplied { crew: crew() },
        Event::CrewApplied { crew: Crew::default() },
        Event::GrantGiven { grant: grant(), request: REQUEST, actor: Actor::Person },
        Event::GrantGiven {
            grant: Grant { command: None, reach: GrantTarget::Task(TASK), ..grant() },
            request: REQUEST,
            actor: Actor::Person,
        },
        Event::GrantGiven {
            grant: Grant { reach: GrantTarget::Always, ..grant() },
            request: REQUEST,
            actor: Actor::Person,
        },
        Event::GrantRevoked { grant: GrantId(4), actor: Actor::Person },
        Event::SandboxApplied { sandbox: sandbox() },
        Event::SandboxApplied { sandbox: sandbox_of_root() },
        Event::TierAccepted { tier: Tier::T1, actor: Actor::Person },
        Event::AgentConfined {
            worker: WORKER,
            confined: Confined { tier: Tier::T3, policy: "0a1b".into() },
        },
    ]
}

fn subtask_events() -> Vec<Event> {
    let call = || Some(String::from("a1"));
    vec![
        Event::SubtaskAdded { plan: PLAN, task: TASK, spec: task_spec(), delegation: delegation() },
        Event::AwaitBegun {
            worker: WORKER,
            tasks: vec![TASK],
            until: Timestamp(1_700_000_000_000),
            call: call(),
        },
        Event::AwaitEnded {
            worker: WORKER,
            tasks: vec![TASK, TaskId(393)],
            open: vec![TaskId(393)],
            end: AwaitEnd::TimedOut,
            call: call(),
        },
        Event::ResultsHanded { worker: WORKER, tasks: vec![TASK] },
        Event::OutputHanded { attempt: ATTEMPT, output: output() },
        Event::PullAsked { attempt: ATTEMPT, task: TASK },
    ]
}

fn client_events() -> Vec<Event> {
    let call = || Some(String::from("a1"));
    vec![
        Event::ClientCallTaken { nonce: "a1".into() },
        Event::AgentGroupCreated { group: 392, parent: ATTEMPT, tasks: vec![TASK, TaskId(393)] },
        Event::AgentGroupMemberCompleted { group: 392, task: TASK, success: true },
        Event::StandaloneSpawned {
            plan: PLAN,
            tasks: vec![TASK],
            readers: Vec::new(),
            call: call(),
        },
        Event::StandaloneSpawned {
            plan: PLAN,
            tasks: vec![TASK],
            readers: vec![TASK],
            call: call(),
        },
        Event::AwaitEnded {
            worker: WORKER,
            tasks: vec![TASK],
            open: vec![TASK],
            end: AwaitEnd::Replaced,
            call: call(),
        },
    ]
}

golden!(
    events_are_stored_as_ever,
    Event,
    "event.ndjson",
    events(),
    [
        SettingsApplied,
        AgentsMaxSet,
        PlanCreated,
        TaskAdded,
        PlanMoved,
        PlanOpened,
        BaseCheckAsked,
        TaskMoved,
        TaskDeployed,
        RetryGranted,
        AttemptOpened,
        AttemptEnded,
        BackendHeld,
        BackendProbed,
        BackendReleased,
        WorkerMoved,
        AgentStartAsked,
        TurnOpened,
        StopAsked,
        InterruptAsked,
        AgentExited,
        AgentReattached,
        CallTaken,
        ActivityNoted,
        UsageNoted,
        BudgetWarned,
        CompletionClaimed,
        CollectAsked,
        SaveAsked,
        SnapshotAsked,
        VerifyAsked,
        IntegrateAsked,
        RequestOpened,
        RequestMoved,
        ToolDecided,
        ToolAnswered,
        LandingMoved,
        LandingPlanned,
        MergedByHand,
        Abandoned,
        RemovalAsked,
        RestoreAsked,
        DropAsked,
        TidyAsked,
        EffectEnded,
        SubtaskAdded,
        AwaitBegun,
        AwaitEnded,
        ResultsHanded,
        OutputHanded,
        PullAsked,
        TaskHeld,
        MessageQueued,
        MessageMoved,
        MatrixApplied,
        CrewApplied,
        GrantGiven,
        GrantRevoked,
        QueryLimitsApplied,
        QueryAsked,
        QueryRouted,
        QueryEnded,
        QueryAnsweredLate,
        AccessBlocked,
        EgressDecided,
        ClientCallTaken,
        AgentGroupCreated,
        AgentGroupMemberCompleted,
        StandaloneSpawned,
        SandboxApplied,
        TierAccepted,
        AgentConfined,
    ]
);

fn reasons() -> Vec<Reason> {
    let failure = |retry_at| Reason::Failure { failure: Failure::NoCompletion, retry_at };
    vec![
        Reason::Progress,
        Reason::DependenciesCompleted,
        Reason::DependencyEnded { task: TASK, status: TaskStatus::Failed },
        Reason::Unblocked,
        Reason::SlotFree,
        failure(Some(Timestamp(1_000))),
        failure(None),
        Reason::Retry,
        Reason::Cancelled,
        Reason::Accepted,
    ]
}

golden!(
    reasons_are_stored_as_ever,
    Reason,
    "reason.ndjson",
    reasons(),
    [
        Progress,
        DependenciesCompleted,
        DependencyEnded,
        Unblocked,
        SlotFree,
        Failure,
        Retry,
        Cancelled,
        Accepted,
    ]
);

/// Streams send events with their position and time.
#[test]
fn entries_keep_their_form() {
    let event = Event::PlanOpened { plan: PLAN };
    let entry = Entry { seq: Seq(17), at: Timestamp(1_700_000_000_000), event };
    crate::check("entry.ndjson", &[entry]);
}
