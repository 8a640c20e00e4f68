//! Enums that are stored as one word, and small values.

use crate::{
    golden,
    values::{PLAN, TASK, WORKER, tool_use},
};
use expect_test::expect;
use pitcrew_model::{
    Access, Action, Actor, Addressee, Approval, AwaitEnd, Backend, BudgetScope, Claim, Deploy,
    Effort, ErrorCause, Freshness, GrantScope, LandedAt, LandingStatus, Measure, MessageKind,
    MessageStatus, NoteKind, Origin, Outcome, Overlap, Party, PermissionOption,
    PermissionOptionKind, PlanStatus, Priority, QueryBudget, QueryVia, Reads, RefusalKind,
    RequestKind, RequestStatus, Rule, Spending, StopReason, SubtaskKind, TaskStatus, TaskWork,
    Timestamp, ToolUse, TurnCause, Verdict, WorkerStatus, WorkspaceMode,
};
use serde::{Serialize, de::DeserializeOwned};
use std::fmt::Debug;

/// Generates a line with every variant of a fieldless enum. Does not compile if a variant is
/// missing.
macro_rules! words {
    ($type:ident: $($variant:ident),*) => {{
        let _ = |it: $type| match it { $($type::$variant)|* => () };
        line(stringify!($type), &[$($type::$variant),*])
    }};
}

fn line<T: Serialize + DeserializeOwned + PartialEq + Debug>(name: &str, all: &[T]) -> String {
    let encoded = serde_json::to_string(all).expect("words are valid JSON");
    let decoded: Vec<T> = serde_json::from_str(&encoded).expect("words decode");
    assert_eq!(decoded, all);
    format!("{name} {encoded}\n")
}

#[test]
fn words_keep_their_form() {
    let lines = [
        words!(Outcome: Success, Partial, Failed, Timeout, Cancelled),
        words!(RefusalKind: OutsideZone, GitDir, SymlinkLeaves, Gitlink, TooLarge, TooMany,
            Executes, BadName, BadMode, Denied, OnlyReads),
        words!(Reads: Guided, Zone),
        words!(Access: Read, Write),
        words!(Origin: File, Intent),
        words!(Approval: Ask, Given),
        words!(Verdict: Approve, Deny),
        words!(Freshness: Continue, Fresh),
        words!(Claim: Success, Partial, Failed),
        words!(NoteKind: Status, Question, Completion, Error, Answer),
        words!(Deploy: Auto, Manual),
        words!(Overlap: Wait, Allow),
        words!(Effort: Low, Medium, High),
        words!(Measure: Tokens, Cost),
        words!(Rule: AutoApprove, AskUser, AutoDeny),
        words!(GrantScope: Once, Task, Plan, Always),
        line("Action", Action::NAMED),
        words!(PermissionOptionKind: AllowOnce, AllowAlways, RejectOnce, RejectAlways),
        words!(SubtaskKind: Delegate, Advisor, Route, Handoff, TeamMember, Review),
        words!(WorkspaceMode: ReadOnly, Isolated, Shared),
        words!(AwaitEnd: AllEnded, TimedOut, TurnOver, ChildAsks, Questioned, Replaced),
        line("PlanStatus", PlanStatus::ALL),
        line("TaskStatus", TaskStatus::ALL),
        line("WorkerStatus", WorkerStatus::ALL),
        line("RequestStatus", RequestStatus::ALL),
        line("LandingStatus", LandingStatus::ALL),
        line("MessageStatus", MessageStatus::ALL),
        words!(Priority: Critical, High, Normal, Low),
        words!(MessageKind: StatusUpdate, PermissionRequest, Question, Completion, Error, Answer,
            Update, Query),
        words!(QueryVia: Tool, Need, Read, Question),
        words!(QueryBudget: Worker, Plan),
    ];
    expect![[r#"
        Outcome ["success","partial","failed","timeout","cancelled"]
        RefusalKind ["outside_zone","git_dir","symlink_leaves","gitlink","too_large","too_many","executes","bad_name","bad_mode","denied","only_reads"]
        Reads ["guided","zone"]
        Access ["read","write"]
        Origin ["file","intent"]
        Approval ["ask","given"]
        Verdict ["approve","deny"]
        Freshness ["continue","fresh"]
        Claim ["success","partial","failed"]
        NoteKind ["status","question","completion","error","answer"]
        Deploy ["auto","manual"]
        Overlap ["wait","allow"]
        Effort ["low","medium","high"]
        Measure ["tokens","cost"]
        Rule ["auto_approve","ask_user","auto_deny"]
        GrantScope ["once","task","plan","always"]
        Action ["file_edits_in_worktree","file_creation_in_worktree","file_deletion_in_worktree","access_outside_worktree","edits_outside_worktree","subtask_spawning","agent_reassignment","plan_execution","model_switch_same_tier","model_switch_expensive","branch_merge","git_push","worktree_cleanup","delete_main_branch","force_push","pr_creation","command_execution","opaque_command","network_access","other_tool"]
        PermissionOptionKind ["allow_once","allow_always","reject_once","reject_always"]
        SubtaskKind ["delegate","advisor","route","handoff","team_member","review"]
        WorkspaceMode ["read_only","isolated","shared"]
        AwaitEnd ["all_ended","timed_out","turn_over","child_asks","questioned","replaced"]
        PlanStatus ["draft","clarifying","decomposing","awaiting_approval","active","paused","partial","failed","completed","cancelled"]
        TaskStatus ["pending","queued","blocked","starting","running","verifying","integrating","completed","partial","failed","cancelled"]
        WorkerStatus ["created","starting","running","waiting_input","waiting_permission","waiting_quota","waiting_subtasks","paused","completed","failed","killed"]
        RequestStatus ["at_user","approved","denied","answered","withdrawn","expired","requested","at_parent","at_orchestrator"]
        LandingStatus ["none","review","merging","conflict","side_branch","merged","cleaned","abandoned","signing","undoing","undone"]
        MessageStatus ["queued","delivered","processed","dead","expired"]
        Priority ["critical","high","normal","low"]
        MessageKind ["status_update","permission_request","question","completion","error","answer","update","query"]
        QueryVia ["tool","need","read","question"]
        QueryBudget ["worker","plan"]
    "#]].assert_eq(&lines.concat());
}

golden!(
    actors_are_stored_as_ever,
    Actor,
    "actor.ndjson",
    vec![Actor::Person, Actor::Orchestrator, Actor::Worker(WORKER), Actor::Client],
    [Person, Orchestrator, Worker, Client]
);

golden!(
    parties_are_stored_as_ever,
    Party,
    "party.ndjson",
    vec![
        Party::Person,
        Party::Orchestrator,
        Party::Worker(WORKER),
        Party::Task(TASK),
        Party::Client,
    ],
    [Person, Orchestrator, Worker, Task, Client]
);

golden!(
    addressees_are_sent_as_ever,
    Addressee,
    "addressee.ndjson",
    vec![Addressee::Orchestrator, Addressee::Parent, Addressee::Worker(WORKER)],
    [Orchestrator, Parent, Worker]
);

golden!(
    backends_are_stored_as_ever,
    Backend,
    "backend.ndjson",
    vec![Backend::Builtin, Backend::Program { name: "claude".into() }, Backend::Model],
    [Builtin, Program, Model]
);

golden!(
    task_works_are_stored_as_ever,
    TaskWork,
    "task_work.ndjson",
    vec![
        TaskWork::Prompt { prompt: "Add it".into() },
        TaskWork::Script { prompt: "Add it".into(), script: "write a\n".into() },
        TaskWork::Command { prompt: "Add it".into(), command: "make".into() },
    ],
    [Prompt, Script, Command]
);

golden!(
    turn_causes_are_stored_as_ever,
    TurnCause,
    "turn_cause.ndjson",
    vec![
        TurnCause::Start,
        TurnCause::Reminder,
        TurnCause::Answer { question: "Which?".into(), answer: "That".into() },
        TurnCause::Resumed,
        TurnCause::QuotaOver,
        TurnCause::Results,
        TurnCause::Messages,
    ],
    [Start, Reminder, Answer, Resumed, QuotaOver, Results, Messages]
);

golden!(
    stop_reasons_are_stored_as_ever,
    StopReason,
    "stop_reason.ndjson",
    vec![
        StopReason::EndTurn,
        StopReason::MaxTokens,
        StopReason::MaxTurnRequests,
        StopReason::Refusal,
        StopReason::Cancelled,
        StopReason::Error { cause: ErrorCause::Other, message: "overloaded".into() },
        StopReason::Error { cause: ErrorCause::Auth, message: "no key".into() },
        StopReason::Error { cause: ErrorCause::Model, message: "overloaded".into() },
        StopReason::Error {
            cause: ErrorCause::Quota { until: Some(Timestamp(1_700_000_000_000)) },
            message: "5 hours".into(),
        },
        StopReason::Error { cause: ErrorCause::Quota { until: None }, message: "slowly".into() },
        StopReason::Error { cause: ErrorCause::Unreachable, message: "cannot reach it".into() },
    ],
    [EndTurn, MaxTokens, MaxTurnRequests, Refusal, Cancelled, Error]
);

golden!(
    places_of_landing_are_stored_as_ever,
    LandedAt,
    "landed_at.ndjson",
    vec![
        LandedAt::Base { branch: "main".into() },
        LandedAt::Side { branch: "pitcrew/plan-7".into(), reason: "main is checked out".into() },
    ],
    [Base, Side]
);

golden!(
    requests_are_stored_as_ever,
    RequestKind,
    "request_kind.ndjson",
    vec![
        RequestKind::PlanExecution,
        RequestKind::BranchMerge,
        RequestKind::ToolUse {
            tool: tool_use(),
            call: "call-1".into(),
            options: vec![PermissionOption {
                id: "yes".into(),
                kind: PermissionOptionKind::AllowOnce,
            }],
            action: None,
            actions: [].into(),
        },
        RequestKind::ToolUse {
            tool: ToolUse { partial: true, ..tool_use() },
            call: "call-1".into(),
            options: Vec::new(),
            action: Some(Action::CommandExecution),
            actions: [].into(),
        },
        RequestKind::ToolUse {
            tool: tool_use(),
            call: "call-1".into(),
            options: Vec::new(),
            action: Some(Action::CommandExecution),
            actions: [Action::CommandExecution, Action::NetworkAccess].into(),
        },
        RequestKind::Question { question: "Which?".into() },
        RequestKind::Budget(Spending {
            scope: BudgetScope::Plan(PLAN),
            measure: Measure::Cost,
            used: 2_000_000,
            cap: 1_500_000,
        }),
    ],
    [PlanExecution, BranchMerge, ToolUse, Question, Budget]
);
