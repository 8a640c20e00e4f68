//! Delegations, outputs and results of sub-tasks.

use crate::values::{ATTEMPT, TASK, path};
use pitcrew_model::{
    AgentRef, Delegation, Outcome, SubtaskKind, SubtaskResult, SubtaskSpec, TaskOutput, TaskWork,
    WorkspaceMode,
};

pub fn delegation() -> Delegation {
    Delegation {
        parent: ATTEMPT,
        kind: SubtaskKind::Review,
        depth: 1,
        workspace: WorkspaceMode::Isolated,
        target_files: vec![path("src/api/mod.rs")],
        blocking: true,
        expected_output: "a list of findings".into(),
        group: Some(392),
        nonce: "5f3a".into(),
        call: Some("a1".into()),
    }
}

fn plain_delegation() -> Delegation {
    Delegation {
        kind: SubtaskKind::Delegate,
        workspace: WorkspaceMode::ReadOnly,
        target_files: Vec::new(),
        blocking: false,
        group: None,
        call: None,
        ..delegation()
    }
}

pub fn subtask_spec() -> SubtaskSpec {
    SubtaskSpec {
        kind: SubtaskKind::Advisor,
        agent: AgentRef { backend: Some("claude".into()), agent: None },
        work: TaskWork::Prompt { prompt: "Look at the API".into() },
        expected_output: "an opinion".into(),
        model: Some("small".into()),
        workspace: Some(WorkspaceMode::Shared),
        target_files: vec![path("src/api/mod.rs")],
        attempts_max: 1,
        timeout_ms: 60_000,
    }
}

pub fn output() -> TaskOutput {
    TaskOutput {
        file: Some(path("docs/api.md")),
        metadata: Some("{\"n\":1}".into()),
        permissions_requested: vec!["network".into()],
    }
}

fn result() -> SubtaskResult {
    SubtaskResult {
        task: TASK,
        status: Outcome::Partial,
        output: "half".into(),
        output_file: Some(path("docs/api.md")),
        metadata: Some("{\"n\":1}".into()),
        permissions_requested: vec!["network".into()],
        error: None,
        files_count: 3,
    }
}

#[test]
fn delegations_keep_their_form() {
    crate::check("delegation.ndjson", &[delegation(), plain_delegation()]);
}

#[test]
fn outputs_keep_their_form() {
    crate::check("task_output.ndjson", &[output(), TaskOutput::default()]);
}

#[test]
fn specs_of_subtasks_keep_their_form() {
    crate::check("subtask_spec.ndjson", &[subtask_spec()]);
}

/// Omitted fields have defaults.
#[test]
fn a_spec_of_a_subtask_may_omit_fields() {
    let short =
        r#"{"agent":{"backend":"claude","agent":null},"work":{"kind":"prompt","prompt":"Look"}}"#;
    let spec: SubtaskSpec = serde_json::from_str(short).expect("a short one");
    assert_eq!((spec.workspace, spec.kind), (None, SubtaskKind::Delegate));
    assert_eq!((spec.attempts_max, spec.timeout_ms), (1, 3_600_000));
}

#[test]
fn results_of_subtasks_keep_their_form() {
    crate::check("subtask_result.ndjson", &[result()]);
}
