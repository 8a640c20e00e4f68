//! Commands. They are not stored, but clients of other versions send them.

use crate::{
    golden, queries,
    subtasks::{output, subtask_spec},
    values::{
        ATTEMPT, MESSAGE, PLAN, REQUEST, TASK, WORKER, commit, crew, house_rules, matrix,
        plan_head, sandbox, sandbox_of_root, task_spec,
    },
};
use pitcrew_model::{
    Addressee, Approval, Claim, Command, CreatePlan, Freshness, GrantId, GrantScope, History,
    Hooks, HouseRules, NoteKind, Origin, Party, PlanSpec, Priority, Sandbox, Sign, Tier, Verdict,
};

#[expect(clippy::too_many_lines, reason = "a list")]
fn commands() -> Vec<Command> {
    vec![
        Command::CreatePlan(CreatePlan {
            spec: PlanSpec { head: plan_head(), tasks: vec![task_spec()] },
            origin: Origin::File,
            clean_base: false,
            approval: Approval::Ask,
            default_agent: None,
        }),
        Command::DecideRequest {
            request: REQUEST,
            verdict: Verdict::Deny,
            reason: Some("too dear".into()),
            scope: GrantScope::Once,
            shown: None,
        },
        Command::AnswerQuestion { request: REQUEST, text: "That".into() },
        Command::DeployTask { task: TASK },
        Command::RetryTasks { tasks: vec![TASK], freshness: Freshness::Fresh },
        Command::AcceptTask { task: TASK },
        Command::CancelTask { task: TASK },
        Command::CancelPlan { plan: PLAN },
        Command::PausePlan { plan: PLAN },
        Command::ResumePlan { plan: PLAN },
        Command::AbandonTask { task: TASK },
        Command::AbandonPlan { plan: PLAN },
        Command::RestoreTask { task: TASK, number: Some(3) },
        Command::RestoreTask { task: TASK, number: None },
        Command::LandPlan {
            plan: PLAN,
            approval: Approval::Given,
            history: None,
            message: None,
            hooks: Hooks::Run,
            signed: None,
        },
        Command::LandPlan {
            plan: PLAN,
            approval: Approval::Ask,
            history: Some(History::Squash),
            message: Some("Add limits".into()),
            hooks: Hooks::Run,
            signed: None,
        },
        Command::LandPlan {
            plan: PLAN,
            approval: Approval::Given,
            history: None,
            message: None,
            hooks: Hooks::Skip,
            signed: Some(commit("d")),
        },
        Command::UndoLanding { plan: PLAN, signed: None },
        Command::UndoLanding { plan: PLAN, signed: Some(commit("d")) },
        Command::CollectGarbage,
        settings(Sign::Terminal),
        settings(Sign::Never),
        Command::SetAgentsMax { count: 5 },
        Command::CompleteTask {
            attempt: ATTEMPT,
            claim: Claim::Success,
            summary: "done".into(),
            output: None,
        },
        Command::CompleteTask {
            attempt: ATTEMPT,
            claim: Claim::Partial,
            summary: "half".into(),
            output: Some(output()),
        },
        Command::Notify {
            attempt: ATTEMPT,
            kind: NoteKind::Question,
            message: "Which?".into(),
            to: Addressee::Worker(WORKER),
            reply_to: None,
        },
        Command::Once {
            nonce: "a1".into(),
            order: Box::new(Command::Notify {
                attempt: ATTEMPT,
                kind: NoteKind::Status,
                message: "half".into(),
                to: Addressee::Orchestrator,
                reply_to: Some(MESSAGE),
            }),
        },
        Command::SpawnSubtasks {
            attempt: ATTEMPT,
            subtasks: vec![subtask_spec()],
            wait_ms: Some(60_000),
            nonce: "5f3a".into(),
        },
        Command::AwaitSubtasks { attempt: ATTEMPT, tasks: vec![TASK], timeout_ms: 60_000 },
        Command::PullSubtask { attempt: ATTEMPT, task: TASK },
        Command::AddTask { plan: PLAN, task: Box::new(task_spec()) },
        Command::SendMessage {
            to: Party::Worker(WORKER),
            content: "Use port 8080".into(),
            priority: None,
            thread: None,
            key: None,
        },
        Command::SendMessage {
            to: Party::Task(TASK),
            content: "Use port 8080".into(),
            priority: Some(Priority::Critical),
            thread: Some(MESSAGE),
            key: Some("a1".into()),
        },
    ]
}

fn permission_commands() -> Vec<Command> {
    vec![
        Command::DecideRequest {
            request: REQUEST,
            verdict: Verdict::Approve,
            reason: None,
            scope: GrantScope::Plan,
            shown: None,
        },
        Command::ApplyMatrix { matrix: matrix() },
        Command::ApplyCrew { crew: crew() },
        Command::RevokeGrant { grant: GrantId(4) },
        Command::ApplySandbox { sandbox: sandbox() },
        Command::ApplySandbox {
            sandbox: Sandbox {
                available: Tier::T3,
                min_tier: None,
                obstacle: None,
                consent: false,
                as_root: false,
            },
        },
        Command::ApplySandbox { sandbox: sandbox_of_root() },
        Command::AcceptTier { tier: Tier::T1 },
        Command::DecideForChild {
            attempt: ATTEMPT,
            requests: vec![REQUEST],
            verdict: Verdict::Approve,
            reason: Some("go on".into()),
        },
        Command::SpawnStandalone { subtasks: vec![subtask_spec()], rules: HouseRules::default() },
        Command::SpawnStandalone { subtasks: vec![subtask_spec()], rules: house_rules() },
    ]
}

golden!(
    commands_are_sent_as_ever,
    Command,
    "command.ndjson",
    [commands(), permission_commands(), queries::commands()].concat(),
    [
        CreatePlan,
        DecideRequest,
        AnswerQuestion,
        DeployTask,
        RetryTasks,
        AcceptTask,
        CancelTask,
        CancelPlan,
        PausePlan,
        ResumePlan,
        AbandonTask,
        AbandonPlan,
        RestoreTask,
        LandPlan,
        UndoLanding,
        CollectGarbage,
        ApplySettings,
        SetAgentsMax,
        CompleteTask,
        Notify,
        Once,
        SpawnSubtasks,
        AwaitSubtasks,
        PullSubtask,
        AddTask,
        SendMessage,
        ApplyMatrix,
        ApplyCrew,
        RevokeGrant,
        ApplySandbox,
        AcceptTier,
        DecideForChild,
        AskQuery,
        ApplyQueryLimits,
        SpawnStandalone,
    ]
);

fn settings(sign: Sign) -> Command {
    let history = History::default();
    Command::ApplySettings { agents_max: 5, agents_live_max: 20, history, sign }
}
