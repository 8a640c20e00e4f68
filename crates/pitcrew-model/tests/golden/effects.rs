//! Effects.

use crate::{
    golden, queries,
    values::{ATTEMPT, PLAN, TASK, WORKER, commit, path, strings, zone},
};
use pitcrew_model::{
    AttemptId, Backend, BuiltinOrder, CheckoutPlace, CheckoutRole, CommitId, Effect, History,
    Hooks, LandedTask, Reads, RepoPath, Sign, WorkspaceMode, Zone,
};

fn effects() -> Vec<Effect> {
    [
        plan_effects(),
        worker_effects(),
        attempt_effects(),
        with_a_model(),
        queries::effects(),
        in_a_zone(),
        ordered(),
    ]
    .concat()
}

fn prepare(base: Option<&str>, clean_base: bool, include: &[RepoPath], checks: &[&str]) -> Effect {
    let (base, include) = (base.map(Into::into), include.to_vec());
    let (setup, checks) = (strings(checks), strings(checks));
    Effect::PreparePlan { plan: PLAN, base, clean_base, include, setup, checks }
}

fn plan_effects() -> Vec<Effect> {
    vec![
        prepare(Some("main"), true, &[], &[]),
        prepare(None, false, &[], &[]),
        prepare(None, false, &[path(".env")], &["npm test"]),
        Effect::CheckBase {
            plan: PLAN,
            commit: commit("a"),
            setup: strings(&["npm ci"]),
            checks: strings(&["npm test"]),
        },
        Effect::Land {
            plan: PLAN,
            slug: "green".into(),
            title: "Grün".into(),
            branch: Some("main".into()),
            start: commit("a"),
            tip: commit("b"),
            head: commit("c"),
            setup: strings(&["npm ci"]),
            checks: strings(&["npm test"]),
            history: History::Linear,
            message: Some("Grüner".into()),
            hooks: Hooks::Run,
            sign: Sign::Terminal,
            signed: None,
            tasks: vec![LandedTask {
                task: TASK,
                key: "paint".into(),
                summary: "painted it".into(),
                agent: Some("claude".into()),
                onto: commit("a"),
                merged: commit("c"),
            }],
        },
        Effect::Land {
            plan: PLAN,
            slug: "green".into(),
            title: "Grün".into(),
            branch: None,
            start: commit("a"),
            tip: commit("b"),
            head: commit("c"),
            setup: Vec::new(),
            checks: Vec::new(),
            history: History::Merge,
            message: None,
            hooks: Hooks::Skip,
            sign: Sign::Never,
            signed: Some(commit("d")),
            tasks: Vec::new(),
        },
        undo_landing(Sign::Terminal, None),
        undo_landing(Sign::Never, Some(commit("d"))),
    ]
}

fn undo_landing(sign: Sign, signed: Option<CommitId>) -> Effect {
    Effect::UndoLanding {
        plan: PLAN,
        title: "Grün".into(),
        branch: "main".into(),
        landed: commit("c"),
        before: commit("b"),
        sign,
        signed,
    }
}

fn with_a_model() -> Vec<Effect> {
    vec![Effect::StartAgent {
        worker: WORKER,
        attempt: ATTEMPT,
        backend: Backend::Program { name: "claude".into() },
        path: "/checkouts/task-392".into(),
        model: Some("opus".into()),
        zone: Zone::default(),
        sees: Vec::new(),
        reads: Reads::Guided,
        stay: CheckoutRole::Owner,
    }]
}

fn in_a_zone() -> Vec<Effect> {
    vec![Effect::StartAgent {
        worker: WORKER,
        attempt: ATTEMPT,
        backend: Backend::Model,
        path: "/checkouts/task-392".into(),
        model: None,
        zone: zone(),
        sees: vec![path("src")],
        reads: Reads::Zone,
        stay: CheckoutRole::Guest,
    }]
}

fn worker_effects() -> Vec<Effect> {
    vec![
        Effect::StartAgent {
            worker: WORKER,
            attempt: ATTEMPT,
            backend: Backend::Builtin,
            path: "/checkouts/task-392".into(),
            model: None,
            zone: Zone::default(),
            sees: Vec::new(),
            reads: Reads::Guided,
            stay: CheckoutRole::Owner,
        },
        Effect::Prompt { worker: WORKER, text: "Add the API".into(), order: None },
        Effect::AnswerPermission {
            worker: WORKER,
            call: "call-1".into(),
            option: Some("yes".into()),
        },
        Effect::AnswerPermission { worker: WORKER, call: "call-1".into(), option: None },
        Effect::InterruptTurn { worker: WORKER },
        Effect::StopAgent { worker: WORKER },
    ]
}

#[expect(clippy::too_many_lines, reason = "a list")]
fn attempt_effects() -> Vec<Effect> {
    vec![
        Effect::PrepareCheckout {
            attempt: ATTEMPT,
            plan: PLAN,
            task: TASK,
            number: 2,
            slug: "add-the-api".into(),
            start: commit("a"),
            setup: strings(&["npm ci"]),
            place: None,
        },
        Effect::CollectWork {
            attempt: ATTEMPT,
            plan: PLAN,
            task: TASK,
            number: 2,
            slug: "add-the-api".into(),
            path: "/checkouts/task-392".into(),
            start: commit("a"),
            base: commit("b"),
            zone: zone(),
            message: "Add the API".into(),
        },
        Effect::Snapshot {
            attempt: ATTEMPT,
            path: "/checkouts/task-392".into(),
            start: commit("a"),
            base: commit("b"),
            number: 3,
            last: Some(commit("c")),
        },
        Effect::SaveWork {
            attempt: ATTEMPT,
            plan: PLAN,
            task: TASK,
            number: 2,
            slug: "add-the-api".into(),
            path: None,
        },
        Effect::Verify {
            attempt: ATTEMPT,
            onto: commit("a"),
            work: commit("b"),
            title: "Add the API".into(),
            setup: strings(&["npm ci"]),
            checks: strings(&["npm test"]),
            expected_files: vec![path("src/api/mod.rs")],
            zone: zone(),
        },
        Effect::Integrate { attempt: ATTEMPT, plan: PLAN, onto: commit("a"), merged: commit("b") },
        Effect::Restore {
            task: TASK,
            slug: "add-the-api".into(),
            number: 3,
            commit: commit("a"),
            base: commit("b"),
        },
        Effect::DropSnapshots { attempt: ATTEMPT },
        Effect::TidyVault,
        Effect::RemoveCheckout { attempt: ATTEMPT, path: "/checkouts/task-392".into() },
        Effect::PrepareCheckout {
            attempt: ATTEMPT,
            plan: PLAN,
            task: TASK,
            number: 1,
            slug: "look-at-the-api".into(),
            start: commit("a"),
            setup: Vec::new(),
            place: Some(CheckoutPlace {
                workspace: WorkspaceMode::ReadOnly,
                parent: AttemptId(40),
                parent_path: "/checkouts/task-391".into(),
            }),
        },
        Effect::PullWork {
            attempt: ATTEMPT,
            path: "/checkouts/task-391".into(),
            task: TASK,
            commit: commit("c"),
            base: commit("b"),
            title: "subtask-392: look-at-the-api".into(),
            zone: zone(),
        },
    ]
}

fn ordered() -> Vec<Effect> {
    let prompt =
        |order| Effect::Prompt { worker: WORKER, text: "Do it".into(), order: Some(order) };
    vec![
        prompt(BuiltinOrder::Command { command: "make\n".into() }),
        prompt(BuiltinOrder::Script { script: "complete done".into() }),
    ]
}

golden!(
    effects_are_stored_as_ever,
    Effect,
    "effect.ndjson",
    effects(),
    [
        PreparePlan,
        CheckBase,
        PrepareCheckout,
        StartAgent,
        Prompt,
        AnswerPermission,
        InterruptTurn,
        StopAgent,
        CollectWork,
        Snapshot,
        SaveWork,
        Verify,
        Integrate,
        Land,
        UndoLanding,
        Restore,
        DropSnapshots,
        TidyVault,
        RemoveCheckout,
        PullWork,
        ConsultOracle,
    ]
);
