//! Shows which uncommitted files a plan starts with, before a person agrees to it.

use crate::{exit::Exit, output::Output, render, report::Report, workspace::Workspace};
use pitcrew_git::Uncommitted;
use pitcrew_model::PlanSpec;
use pitcrew_process::Cancel;
use pitcrew_views::{Ask, OpenRequest};

/// The uncommitted files that a new plan would start with. Warns about included paths that name
/// none.
pub fn of_plan(
    workspace: &Workspace,
    spec: &PlanSpec,
    output: Output,
) -> Result<Uncommitted, Report> {
    let head = &spec.head;
    let found = workspace
        .repository
        .uncommitted(head.base.as_deref(), &head.include, &Cancel::default())
        .map_err(|error| Report::from_error(Exit::Failure, &error))?;
    for path in &found.unmatched {
        output.note(&format!(
            "warning: the included path `{path}` names no uncommitted file\nhelp: a file that git \
             ignores is not part of the start of a plan; name it in `.worktreeinclude` to copy it \
             into checkouts\n"
        ));
    }
    Ok(found)
}

/// Lists what a plan that waits for approval would start with now. Nothing for another request.
pub fn of_request(workspace: &Workspace, request: &OpenRequest) -> Option<Vec<String>> {
    let Ask::PlanExecution { start, .. } = &request.ask else { return None };
    if start.clean {
        return None;
    }
    let asked = (start.base.as_deref(), &start.include);
    let found = workspace.repository.uncommitted(asked.0, asked.1, &Cancel::default());
    // The orchestrator reports the error if the plan starts.
    found.ok().map(|it| render::uncommitted(&it)).filter(|it| !it.is_empty())
}
