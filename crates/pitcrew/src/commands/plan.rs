//! Checks a plan file, or shows what it would do.

mod tasks;

use super::{Done, say};
use crate::{
    backends::plan_defaults,
    cli::{PlanCommands, PlanFileArgs},
    exit::Exit,
    output::Output,
    render::plural,
    report::Report,
    workspace::Workspace,
};
use pitcrew_config::{Diagnostic, ParsedPlan, PlanDefaults, Severity, describe, parse_plan_bytes};
use pitcrew_model::PlanSpec;
use serde_json::{Value, json};
use std::path::Path;
use tasks::{Impossible, impossible};

pub fn run(command: PlanCommands, output: Output) -> Done {
    match command {
        PlanCommands::Check(args) => check(&args, output),
        PlanCommands::Show(args) => show(&args, output),
    }
}

fn check(args: &PlanFileArgs, output: Output) -> Done {
    let bytes = say::read_file(&args.file)?;
    let name = args.file.display().to_string();
    let defaults = defaults()?;
    let parsed = parse_plan_bytes(&name, &bytes, &defaults);
    if args.output.json {
        let (wrong, found) = match &parsed {
            Ok(parsed) => (impossible(&parsed.spec, &defaults), &parsed.warnings),
            Err(errors) => (Vec::new(), &errors.diagnostics),
        };
        let valid = parsed.is_ok() && wrong.is_empty();
        let wrong = wrong.iter().map(without_place);
        let found: Vec<Value> = wrong.chain(found.iter().map(diagnostic)).collect();
        output.json(&json!({ "file": name, "valid": valid, "diagnostics": found }))?;
        return Ok(if valid { Exit::Success } else { Exit::Usage });
    }
    let parsed = parsed.map_err(|errors| Report::diagnostics(errors.to_string()))?;
    refuse_impossible(&format!("{name}: "), &parsed.spec, &defaults)?;
    warn(&parsed, output);
    output
        .line(&format!("{name}: {}, no errors", plural(parsed.spec.tasks.len() as u64, "task")))?;
    Ok(Exit::Success)
}

fn show(args: &PlanFileArgs, output: Output) -> Done {
    let parsed = read(&args.file, &defaults()?)?;
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

/// A plan file that can be handed in.
pub fn read(path: &Path, defaults: &PlanDefaults) -> Result<ParsedPlan, Report> {
    let bytes = say::read_file(path)?;
    let name = path.display().to_string();
    let parsed = parse_plan_bytes(&name, &bytes, defaults)
        .map_err(|errors| Report::diagnostics(errors.to_string()))?;
    refuse_impossible(&format!("{name}: "), &parsed.spec, defaults)?;
    Ok(parsed)
}

/// An error where a task could only fail. `place` goes before each.
pub fn refuse_impossible(
    place: &str,
    spec: &PlanSpec,
    defaults: &PlanDefaults,
) -> Result<(), Report> {
    let wrong = impossible(spec, defaults);
    if wrong.is_empty() {
        return Ok(());
    }
    let told = wrong.iter().map(|it| format!("{place}error: {}\nhelp: {}\n", it.message, it.help));
    Err(Report::diagnostics(told.collect::<Vec<_>>().join("\n")))
}

pub fn warn(parsed: &ParsedPlan, output: Output) {
    for warning in &parsed.warnings {
        output.note(&format!("{warning}\n"));
    }
}

/// A plan can be read outside a repository too; then the built-in settings hold.
fn defaults() -> Result<PlanDefaults, Report> {
    match Workspace::here() {
        Ok(workspace) => Ok(plan_defaults(&workspace.settings()?.0, Severity::Warning).0),
        Err(_) => Ok(PlanDefaults::default()),
    }
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

/// A script has lines of its own, so there is no place in the file to name.
fn without_place(it: &Impossible) -> Value {
    json!({
        "severity": "error",
        "line": null,
        "column": null,
        "message": it.message,
        "help": it.help,
    })
}
