//! Failures of attempts.

use crate::{
    golden,
    values::{PLAN, TASK, strings},
};
use pitcrew_model::{
    BudgetScope, CheckFailure, Failure, HoldCause, Measure, MissingProgram, Refusal, RefusalKind,
    Spending, Timestamp,
};

fn later_failures() -> Vec<Failure> {
    vec![
        Failure::Command { summary: "`make` exited with code 2".into() },
        Failure::Unreachable { message: "cannot reach api.example.com".into() },
        Failure::LimitStays {
            backend: "claude".into(),
            waits_count: 26,
            waited_ms: 86_400_000,
            message: "cannot reach api.example.com".into(),
            cause: HoldCause::Unreachable,
        },
    ]
}

fn failures() -> Vec<Failure> {
    let message = || String::from("no space left");
    let check = |code, red_on_base| CheckFailure {
        command: "cargo test".into(),
        code,
        output: "1 failed\n".into(),
        red_on_base,
    };
    let missing = |nearest: Option<&str>| MissingProgram {
        check: "pytst -q".into(),
        program: "pytst".into(),
        nearest: nearest.map(Into::into),
    };
    vec![
        Failure::Checkout { message: message() },
        Failure::Setup { command: "npm ci".into(), code: Some(1), output: "no\n".into() },
        Failure::AgentMissing { program: "claude".into(), message: "not found".into() },
        Failure::AgentExited { exit: "signal 9".into(), output: String::new() },
        Failure::Protocol { message: message() },
        Failure::NoCompletion,
        Failure::GaveUp { summary: "too hard".into() },
        Failure::Timeout { after_ms: 3_600_000 },
        Failure::Gate {
            refusals: vec![
                Refusal::new("README.md", RefusalKind::OutsideZone),
                Refusal {
                    rule: Some("by a rule".into()),
                    ..Refusal::new(".x", RefusalKind::Executes)
                },
            ],
            refusals_count: 2,
        },
        Failure::ExpectedFiles { missing: strings(&["src/api/mod.rs"]) },
        Failure::Checks { failed: vec![check(Some(101), false), check(None, true)] },
        Failure::Conflict { paths: strings(&["Cargo.toml"]), with: vec![TASK] },
        Failure::Interrupted,
        Failure::Cancelled { by: "person".into() },
        Failure::DiskLow { path: "/home".into(), free_bytes: 1_048_576 },
        Failure::Git { message: message() },
        Failure::Sandbox { message: "tier T3 is wanted".into() },
        Failure::Auth { message: "run `claude /login`".into() },
        Failure::Quota { until: Some(Timestamp(1_700_000_000_000)), message: "5 hours".into() },
        Failure::Quota { until: None, message: "too many requests".into() },
        Failure::Model { message: "overloaded".into() },
        Failure::Budget(Spending {
            scope: BudgetScope::Task(TASK),
            measure: Measure::Tokens,
            used: 1_001,
            cap: 1_000,
        }),
        Failure::Budget(Spending {
            scope: BudgetScope::Plan(PLAN),
            measure: Measure::Cost,
            used: 2_000_000,
            cap: 1_500_000,
        }),
        Failure::LimitStays {
            backend: "claude".into(),
            waits_count: 26,
            waited_ms: 86_400_000,
            message: "usage limit reached".into(),
            cause: HoldCause::Limit,
        },
        Failure::ModelMissing {
            agent: "claude".into(),
            message: "it has no model `small`; its models: big".into(),
        },
        Failure::Hook { hook: "commit-msg".into(), code: Some(1), output: "no ticket".into() },
        Failure::CheckPrograms { missing: vec![missing(None), missing(Some("pytest"))] },
    ]
}

golden!(
    failures_are_stored_as_ever,
    Failure,
    "failure.ndjson",
    [failures(), later_failures()].concat(),
    [
        Checkout,
        Setup,
        AgentMissing,
        AgentExited,
        Protocol,
        NoCompletion,
        GaveUp,
        Timeout,
        Gate,
        ExpectedFiles,
        Checks,
        Conflict,
        Interrupted,
        Cancelled,
        DiskLow,
        Git,
        Sandbox,
        Auth,
        Quota,
        Model,
        Budget,
        LimitStays,
        Command,
        Unreachable,
        ModelMissing,
        Hook,
        CheckPrograms,
    ]
);
