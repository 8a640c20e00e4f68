//! Parses a whole plan file: its head, its tasks and their dependencies.

use super::{
    PlanDefaults, advice, head,
    keys::{PLAN_ALIASES, PLAN_FILE_BYTES_MAX, PLAN_KEYS},
    links,
    task::{self, ReadTask},
    zone,
};
use crate::{
    diagnostic::{Diagnostic, Problems},
    document::{Section, Span, article, parse_document},
};
use pitcrew_model::{PlanSpec, limits};
use std::fmt;
use toml_edit::{Item, Value};

/// A valid plan and the warnings about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParsedPlan {
    pub spec: PlanSpec,
    pub warnings: Vec<Diagnostic>,
}

/// All errors of a plan in the order of the text. Never empty.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct PlanErrors {
    pub diagnostics: Vec<Diagnostic>,
}

impl fmt::Display for PlanErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, diagnostic) in self.diagnostics.iter().enumerate() {
            let gap = if index > 0 { "\n\n" } else { "" };
            write!(f, "{gap}{diagnostic}")?;
        }
        Ok(())
    }
}

/// Parses a plan file. `name` is its name in messages.
pub fn parse_plan(
    name: &str,
    text: &str,
    defaults: &PlanDefaults,
) -> Result<ParsedPlan, PlanErrors> {
    let mut problems = Problems::new(name, text);
    let spec = read_plan(text, defaults, &mut problems);
    let failed = problems.has_errors();
    let (errors, warnings) = problems.split();
    match spec {
        Some(spec) if !failed => Ok(ParsedPlan { spec, warnings }),
        Some(_) | None => Err(PlanErrors { diagnostics: errors }),
    }
}

/// Parses the bytes of a plan file.
pub fn parse_plan_bytes(
    name: &str,
    bytes: &[u8],
    defaults: &PlanDefaults,
) -> Result<ParsedPlan, PlanErrors> {
    match std::str::from_utf8(bytes) {
        Ok(text) => parse_plan(name, text, defaults),
        Err(error) => {
            let at = error.valid_up_to();
            let text = String::from_utf8_lossy(bytes);
            let mut problems = Problems::new(name, &text);
            let message = format!("byte {at} is not UTF-8");
            problems.error(&(at..at + 1), message, Some("save the file as UTF-8".into()));
            Err(PlanErrors { diagnostics: problems.split().0 })
        }
    }
}

fn read_plan(text: &str, defaults: &PlanDefaults, problems: &mut Problems) -> Option<PlanSpec> {
    if text.len() > PLAN_FILE_BYTES_MAX {
        let message =
            format!("the plan has {} bytes; at most {PLAN_FILE_BYTES_MAX} are allowed", text.len());
        problems.error(&(0..0), message, Some("split it into several plans".into()));
        return None;
    }
    let document = parse_document(text, problems)?;
    let mut root = Section::root(&document);
    root.check_keys("a plan", PLAN_KEYS, PLAN_ALIASES, problems);
    let defaults = head::plan_wide(&root, defaults, problems);
    let plan_head = head::read(&root, &defaults, problems);
    let tasks: Vec<ReadTask> = task_sections(&root, problems)
        .into_iter()
        .map(|section| task::read(section, &defaults, problems))
        .collect();
    links::check(&tasks, problems);
    if problems.has_errors() {
        return None;
    }
    let head = plan_head?;
    zone::check(&head, &defaults, &tasks, problems);
    advice::give(&root, &head, &tasks, problems);
    Some(PlanSpec { head, tasks: tasks.into_iter().filter_map(ReadTask::into_spec).collect() })
}

/// The `[[task]]` tables, in any TOML syntax.
fn task_sections<'t>(root: &Section<'t>, problems: &mut Problems) -> Vec<Section<'t>> {
    let help =
        || Some("add a task:\n\n    [[task]]\n    id = \"first\"\n    prompt = \"...\"".into());
    let Some((span, item)) = root.item("task") else {
        if root.lacks("task") {
            problems.error(&(0..0), "the plan has no tasks", help());
        }
        return Vec::new();
    };
    let sections = match item {
        Item::ArrayOfTables(tables) => tables
            .iter()
            .map(|table| Section::new(table, table.span().unwrap_or_else(|| span.clone())))
            .collect(),
        Item::Value(Value::Array(array)) if array.is_empty() => {
            problems.error(&span, "the plan has no tasks", help());
            return Vec::new();
        }
        Item::Value(Value::Array(array)) => inline_sections(array, &span, problems),
        Item::None | Item::Value(_) | Item::Table(_) => {
            let message =
                format!("`task` must be a list of tables, not {}", article(item.type_name()));
            problems.error(&root.key_span("task"), message, Some("write `[[task]]`".into()));
            return Vec::new();
        }
    };
    let count = sections.len();
    if count > limits::TASKS_PER_PLAN_MAX {
        let max = limits::TASKS_PER_PLAN_MAX;
        let message = format!("the plan has {count} tasks; at most {max} are allowed");
        problems.error(&sections[max].span, message, Some("split it into several plans".into()));
    }
    sections
}

fn inline_sections<'t>(
    array: &'t toml_edit::Array,
    span: &Span,
    problems: &mut Problems,
) -> Vec<Section<'t>> {
    let mut sections = Vec::new();
    for value in array {
        let span = value.span().unwrap_or_else(|| span.clone());
        if let Some(table) = value.as_inline_table() {
            sections.push(Section::new(table, span));
        } else {
            let message = format!("a task must be a table, not {}", article(value.type_name()));
            problems.error(&span, message, Some("write `[[task]]`".into()));
        }
    }
    sections
}
