//! Checks a plan file, or shows what it would run.

mod tasks;
mod cost;
mod regions;

use super::{CommandResult, reply};
use crate::{
    cli::{PlanCommands, PlanFileArgs},
    crew::read_crew,
    exit::Exit,
    output::Output,
    render::plural,
    report::Report,
    workspace::Workspace,
};
use cost::uncapped;
use pitcrew_config::{
    Diagnostic, ParsedPlan, PlanDefaults, Settings, Severity, describe, parse_plan_bytes,
};
use pitcrew_model::PlanSpec;
use serde_json::{Value, json};
use std::path::Path;
use tasks::{Impossible, impossible};

/// A problem of a plan that has no location in the file.
pub struct PlanProblem {
    message: String,
    /// How to fix it.
    help: String,
}

pub fn run(command: PlanCommands, output: Output) -> CommandResult {
    match command {
        PlanCommands::Check(args) => check(&args, output),
        PlanCommands::Show(args) => show(&args, output),
    }
}

fn check(args: &PlanFileArgs, output: Output) -> CommandResult {
    let (name, bytes) = reply::read_file(&args.file)?;
    let PlanContext { settings, defaults, workspace } = plan_context()?;
    let mut parsed = parse_plan_bytes(&name, &bytes, &defaults);
    if let Ok(parsed) = &mut parsed {
        resolve(&mut parsed.spec, &defaults);
    }
    if args.output.json {
        let (wrong, doubtful, found) = match &parsed {
            Ok(ParsedPlan { spec, warnings }) => {
                let doubtful = doubtful(spec, &settings, workspace.as_ref());
                (impossible(spec, &defaults), doubtful, warnings)
            }
            Err(errors) => (Vec::new(), Vec::new(), &errors.diagnostics),
        };
        let valid = parsed.is_ok() && wrong.is_empty();
        let wrong = wrong.iter().map(|it| without_place(&it.problem, Severity::Error));
        let doubtful = doubtful.iter().map(|it| without_place(it, Severity::Warning));
        let found = found.iter().map(diagnostic);
        let found: Vec<Value> = wrong.chain(found).chain(doubtful).collect();
        output.json(&json!({ "file": name, "valid": valid, "diagnostics": found }))?;
        return Ok(if valid { Exit::Success } else { Exit::Usage });
    }
    let parsed = parsed.map_err(|errors| Report::diagnostics(errors.to_string()))?;
    let place = format!("{name}: ");
    refuse_impossible(&place, &parsed.spec, &defaults)?;
    warn(&parsed, output);
    warn_doubtful(&place, &parsed.spec, &settings, workspace.as_ref(), output);
    output
        .line(&format!("{name}: {}, no errors", plural(parsed.spec.tasks.len() as u64, "task")))?;
    Ok(Exit::Success)
}

fn show(args: &PlanFileArgs, output: Output) -> CommandResult {
    let defaults = plan_context()?.defaults;
    let mut parsed = read(&args.file, &defaults)?;
    resolve(&mut parsed.spec, &defaults);
    warn(&parsed, output);
    if args.output.json {
        output.json(&parsed.spec)?;
        return Ok(Exit::Success);
    }
    let picture = describe(&parsed.spec);
    let picture = picture.map_err(|error| Report::from_error(Exit::Usage, &error))?;
    output.print(&picture.to_string())?;
    Ok(Exit::Success)
}

/// Reads a plan file that can be submitted.
pub fn read(path: &Path, defaults: &PlanDefaults) -> Result<ParsedPlan, Report> {
    let (name, bytes) = reply::read_file(path)?;
    let parsed = parse_plan_bytes(&name, &bytes, defaults)
        .map_err(|errors| Report::diagnostics(errors.to_string()))?;
    refuse_impossible(&format!("{name}: "), &parsed.spec, defaults)?;
    Ok(parsed)
}

/// Completes agents and models as the orchestrator will, to show them. Tasks that no agent of this
/// machine can do keep the names of the file.
pub fn resolve(spec: &mut PlanSpec, defaults: &PlanDefaults) {
    let Some(crew) = &defaults.crew else { return };
    for task in &mut spec.tasks {
        crew.resolve_task(task, None).ok();
    }
}

/// Fails if a task can only fail. `place` goes before each message.
pub fn refuse_impossible(
    place: &str,
    spec: &PlanSpec,
    defaults: &PlanDefaults,
) -> Result<(), Report> {
    let wrong = impossible(spec, defaults);
    let Some(exit) = wrong.first().map(|it| it.exit) else { return Ok(()) };
    let line = |it: &Impossible| {
        let PlanProblem { message, help } = &it.problem;
        format!("{place}error: {message}\nhelp: {help}\n")
    };
    let mut report = Report::diagnostics(wrong.iter().map(line).collect::<Vec<_>>().join("\n"));
    report.exit = exit;
    Err(report)
}

pub fn warn(parsed: &ParsedPlan, output: Output) {
    for warning in &parsed.warnings {
        output.note(&format!("{warning}\n"));
    }
}

/// What may be a mistake: agents that a cost cap does not apply to, and regions without files.
fn doubtful(
    spec: &PlanSpec,
    settings: &Settings,
    workspace: Option<&Workspace>,
) -> Vec<PlanProblem> {
    let regions = workspace.map(|it| regions::unmatched(spec, it)).unwrap_or_default();
    uncapped(spec, settings).into_iter().chain(regions).collect()
}

/// Warns about what may be a mistake. `place` goes before each message.
pub fn warn_doubtful(
    place: &str,
    spec: &PlanSpec,
    settings: &Settings,
    workspace: Option<&Workspace>,
    output: Output,
) {
    for PlanProblem { message, help } in doubtful(spec, settings, workspace) {
        output.note(&format!("{place}warning: {message}\nhelp: {help}\n"));
    }
}

/// The context that is needed to read a plan file.
#[derive(Default)]
struct PlanContext {
    settings: Settings,
    defaults: PlanDefaults,
    workspace: Option<Workspace>,
}

/// Outside a repository, the built-in settings apply.
fn plan_context() -> Result<PlanContext, Report> {
    let Ok(workspace) = Workspace::here() else { return Ok(PlanContext::default()) };
    let settings = workspace.settings()?.0;
    let crew = read_crew(&settings, &workspace.user, workspace.root());
    let defaults = crew.plan_defaults(&settings, Severity::Warning);
    Ok(PlanContext { settings, defaults, workspace: Some(workspace) })
}

fn diagnostic(it: &Diagnostic) -> Value {
    json!({
        "severity": it.severity.to_string(),
        "line": it.line,
        "column": it.column,
        "message": it.message,
        "help": it.help,
    })
}

/// A diagnostic without a location, because it is about a line of a script or about settings.
fn without_place(it: &PlanProblem, severity: Severity) -> Value {
    json!({
        "severity": severity.to_string(),
        "line": null,
        "column": null,
        "message": it.message,
        "help": it.help,
    })
}
