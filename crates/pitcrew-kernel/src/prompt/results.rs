//! The results of sub-tasks in the prompt of their parent, quoted so that none can forge another.

use super::{line, quote::Tag};
use crate::{State, state::Worker};
use alloc::{format, string::String};
use pitcrew_model::{Outcome, SubtaskName, SubtaskResult, limits, text};

/// The most of one result that a prompt contains. A tool returns all of it.
const RESULT_BYTES_MAX: usize = limits::PROMPT_BYTES_MAX / 16;

/// Returns the results that are delivered with this turn; empty if there are none.
pub fn blocks(state: &State, worker: &Worker, tag: &Tag) -> String {
    let mut out = String::new();
    let results = || handed(state, worker);
    let count = results().count();
    if count == 0 {
        return out;
    }
    let well = results().filter(|it| it.status == Outcome::Success).count();
    line(&mut out, &format!("\n## Results of your sub-tasks: {well} of {count} succeeded"));
    out.push_str(&tag.is_data());
    for result in results() {
        block(state, &mut out, &result, tag);
    }
    out
}

/// Returns the nonces of the sub-tasks. The tag depends on them.
pub fn nonces(state: &State, worker: &Worker) -> impl Iterator<Item = String> {
    let tasks = handed(state, worker).map(|it| &state.tasks[it.task]);
    tasks.filter_map(|it| it.delegation.as_ref().map(|it| it.nonce.clone()))
}

fn handed(state: &State, worker: &Worker) -> impl Iterator<Item = SubtaskResult> {
    worker.handed.iter().filter_map(|it| state.result_of(*it))
}

fn block(state: &State, out: &mut String, result: &SubtaskResult, tag: &Tag) {
    let agent = &state.tasks[result.task].spec.agent;
    let (name, whole) = (SubtaskName(result.task), body(result));
    let shown = text::cut(whole.trim_end(), RESULT_BYTES_MAX);
    out.push('\n');
    out.push_str(
        &tag.block(&[("subtask", &name), ("status", &result.status), ("agent", agent)], shown),
    );
    if shown.len() < whole.trim_end().len() {
        line(out, "The output was cut. Call `a2a_get_subtask_results` to read all of it.");
    }
    if let Some(changed) = result.changed() {
        line(
            out,
            &format!(
                "{changed}. Call `a2a_pull_subtask_changes` to bring the changes into your checkout."
            ),
        );
    }
}

fn body(result: &SubtaskResult) -> String {
    let mut body = String::new();
    if let Some(error) = &result.error {
        line(&mut body, &format!("The sub-task did not succeed: {error}"));
    }
    if !result.error_has_output() {
        line(&mut body, result.output.trim());
    }
    if let Some(file) = &result.output_file {
        line(&mut body, &format!("The result is in the file {file}."));
    }
    if !result.permissions_requested.is_empty() {
        let missed = super::join(result.permissions_requested.iter().map(String::as_str));
        line(&mut body, &format!("Permission was missing for: {missed}."));
    }
    if let Some(metadata) = &result.metadata {
        line(&mut body, metadata.trim());
    }
    body
}
