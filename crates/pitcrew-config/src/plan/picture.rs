//! A summary of what a plan will do, shown before the user agrees to it.

use super::graph::{self, CycleError};
use crate::{diagnostic::printable, duration::format_duration};
use pitcrew_model::{Deploy, Effort, Overlap, PlanSpec, Reads, TaskSpec, TaskWork};
use std::{
    collections::BTreeMap,
    fmt::{self, Write},
};

/// Tasks of a level that are listed before the rest is only counted. Code is never left out.
const TASKS_SHOWN_MAX: usize = 40;
/// Tasks with the same code that are named before the rest is only counted.
const KEYS_SHOWN_MAX: usize = 12;

/// A shorter code stands beside the names of its tasks.
const ROW_BYTES_MAX: usize = 74;

/// A plan by levels. The tasks of a level depend only on tasks of earlier levels.
///
/// Levels are only a view: a task starts when its own dependencies are integrated, not when a level
/// is complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanPicture {
    pub name: String,
    pub description: String,
    pub base: Option<String>,
    /// Uncommitted paths that are part of the base even if they look like secrets.
    pub include: Vec<String>,
    pub deploy: Deploy,
    pub overlap: Overlap,
    pub effort: Effort,
    /// The paths that no task may change.
    pub denied: Vec<String>,
    pub reads: Reads,
    pub levels: Vec<Vec<PictureTask>>,
    /// Everything that will be executed, verbatim, in file order.
    pub executed: Vec<Executed>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PictureTask {
    pub key: String,
    pub agent: String,
    /// Empty: the whole repository.
    pub region: Vec<String>,
    pub depends_on: Vec<String>,
    pub checks_count: usize,
    pub attempts_max: u32,
    pub timeout_ms: u64,
}

/// Code that the plan runs on the user's machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Executed {
    /// In every fresh checkout.
    Setup { command: String },
    /// As the work of each of these tasks.
    Command { tasks: Vec<String>, command: String },
    /// As the steps of the built-in agent, for each of these tasks.
    Script { tasks: Vec<String>, script: String },
    /// On the merged tree of each of these tasks.
    Check { tasks: Vec<String>, command: String },
}

/// Describes what a plan will do. Unknown dependencies are left out.
pub fn describe(spec: &PlanSpec) -> Result<PlanPicture, CycleError> {
    let keys: BTreeMap<&str, usize> =
        spec.tasks.iter().enumerate().map(|(index, it)| (it.key.as_str(), index)).collect();
    let known = |task: &TaskSpec| {
        task.depends_on.iter().filter_map(|it| keys.get(it.as_str()).copied()).collect()
    };
    let graph: Vec<Vec<usize>> = spec.tasks.iter().map(known).collect();
    if let Some(cycle) = graph::cycles(&graph).first() {
        let closed = cycle.iter().chain(cycle.first());
        return Err(CycleError { keys: closed.map(|it| spec.tasks[*it].key.clone()).collect() });
    }
    let level = |tasks: Vec<usize>| tasks.iter().map(|it| picture_task(&spec.tasks[*it])).collect();
    Ok(PlanPicture {
        name: spec.head.name.clone(),
        description: spec.head.description.clone(),
        base: spec.head.base.clone(),
        include: spec.head.include.iter().map(ToString::to_string).collect(),
        deploy: spec.head.deploy,
        overlap: spec.head.overlap,
        effort: spec.head.effort,
        denied: spec.head.denied.iter().map(ToString::to_string).collect(),
        reads: spec.head.reads,
        levels: graph::levels(&graph).into_iter().map(level).collect(),
        executed: executed(spec),
    })
}

fn picture_task(task: &TaskSpec) -> PictureTask {
    PictureTask {
        key: task.key.clone(),
        agent: match &task.model {
            Some(model) => format!("{} with {model}", task.agent),
            None => task.agent.to_string(),
        },
        region: task.region.iter().map(ToString::to_string).collect(),
        depends_on: task.depends_on.clone(),
        checks_count: task.checks.len(),
        attempts_max: task.attempts_max,
        timeout_ms: task.timeout_ms,
    }
}

fn executed(spec: &PlanSpec) -> Vec<Executed> {
    let setup = spec.head.setup.iter().map(|it| Executed::Setup { command: it.clone() });
    let scripts = grouped(spec.tasks.iter().filter_map(|task| match &task.work {
        TaskWork::Script { script, .. } => Some((task, script.as_str())),
        TaskWork::Prompt { .. } | TaskWork::Command { .. } => None,
    }));
    let commands = grouped(spec.tasks.iter().filter_map(|task| match &task.work {
        TaskWork::Command { command, .. } => Some((task, command.as_str())),
        TaskWork::Prompt { .. } | TaskWork::Script { .. } => None,
    }));
    let checks = spec.tasks.iter().flat_map(|task| task.checks.iter().map(move |it| (task, it)));
    let checks = grouped(checks.map(|(task, check)| (task, check.as_str())));
    let scripts = scripts.into_iter().map(|(script, tasks)| Executed::Script { tasks, script });
    let commands =
        commands.into_iter().map(|(command, tasks)| Executed::Command { tasks, command });
    let checks = checks.into_iter().map(|(command, tasks)| Executed::Check { tasks, command });
    setup.chain(scripts).chain(commands).chain(checks).collect()
}

/// Each different code with its tasks, in file order.
fn grouped<'a>(all: impl Iterator<Item = (&'a TaskSpec, &'a str)>) -> Vec<(String, Vec<String>)> {
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for (task, code) in all {
        let place = *places.entry(code).or_insert_with(|| {
            groups.push((code.to_owned(), Vec::new()));
            groups.len() - 1
        });
        if groups[place].1.last() != Some(&task.key) {
            groups[place].1.push(task.key.clone());
        }
    }
    groups
}

impl fmt::Display for PlanPicture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tasks_count: usize = self.levels.iter().map(Vec::len).sum();
        let tasks = counted(tasks_count, "task");
        let levels = counted(self.levels.len(), "level");
        writeln!(f, "plan \"{}\": {tasks} in {levels}", printable(&self.name))?;
        for line in self.description.lines() {
            writeln!(f, "  {}", printable(line))?;
        }
        let base = printable(self.base.as_deref().unwrap_or("the current branch"));
        writeln!(f, "  starts from {base}; {}", self.rules())?;
        if !self.include.is_empty() {
            let paths = printable(&self.include.join(", "));
            writeln!(f, "  includes uncommitted files even if they look like secrets: {paths}")?;
        }
        if !self.denied.is_empty() {
            writeln!(f, "  no task may change {}", printable(&self.denied.join(", ")))?;
        }
        if self.reads == Reads::Zone {
            writeln!(
                f,
                "  tasks cannot read files outside their zones if the sandbox can hide them"
            )?;
        }
        for (number, level) in (1..).zip(&self.levels) {
            writeln!(f, "\nlevel {number}")?;
            let width = |of: fn(&PictureTask) -> &str| {
                level.iter().map(|it| of(it).chars().count()).max().unwrap_or(0)
            };
            let (keys, agents) = (width(|it| &it.key), width(|it| &it.agent));
            for task in level.iter().take(TASKS_SHOWN_MAX) {
                write_task(f, task, keys, agents)?;
            }
            if let Some(more) = level.len().checked_sub(TASKS_SHOWN_MAX + 1) {
                writeln!(f, "  and {} more", more + 1)?;
            }
        }
        self.write_executed(f)
    }
}

impl PlanPicture {
    fn rules(&self) -> String {
        let deploy = match self.deploy {
            Deploy::Auto => "tasks start automatically",
            Deploy::Manual => "each task waits for `pitcrew deploy`",
        };
        let overlap = match self.overlap {
            Overlap::Wait => "overlapping regions wait for each other",
            Overlap::Allow => "overlapping regions run at the same time",
        };
        format!("{deploy}; {overlap}")
    }

    fn write_executed(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.executed.is_empty() {
            return writeln!(f, "\nno command, script or check will run");
        }
        writeln!(f, "\nthese commands will run exactly as shown")?;
        for executed in &self.executed {
            match executed {
                Executed::Setup { command } => write_code(f, "setup of every checkout", command)?,
                Executed::Command { tasks, command } => {
                    write_code(f, &format!("command of {}", few(tasks)), command)?;
                }
                Executed::Script { tasks, script } => {
                    write_code(f, &format!("script of {}", few(tasks)), script)?;
                }
                Executed::Check { tasks, command } => {
                    write_code(f, &format!("check of {}", few(tasks)), command)?;
                }
            }
        }
        Ok(())
    }
}

fn write_task(
    f: &mut fmt::Formatter<'_>,
    task: &PictureTask,
    key_width: usize,
    agent_width: usize,
) -> fmt::Result {
    let region =
        if task.region.is_empty() { "the whole repository".into() } else { task.region.join(", ") };
    let mut line = format!("  {:key_width$}  {:agent_width$}  {region}", task.key, task.agent);
    if !task.depends_on.is_empty() {
        write!(line, "  after {}", task.depends_on.join(", "))?;
    }
    let checks = counted(task.checks_count, "check");
    let attempts = counted(task.attempts_max as usize, "attempt");
    write!(line, "  ({checks}, {attempts} of {})", format_duration(task.timeout_ms))?;
    writeln!(f, "{}", printable(&line))
}

/// The first keys, and the number of the others.
fn few(tasks: &[String]) -> String {
    match tasks.len().saturating_sub(KEYS_SHOWN_MAX) {
        0 => tasks.join(", "),
        more => format!("{} and {more} more", tasks[..KEYS_SHOWN_MAX].join(", ")),
    }
}

fn write_code(f: &mut fmt::Formatter<'_>, what: &str, code: &str) -> fmt::Result {
    let code = code.trim_end();
    if !code.contains('\n') && what.len() + code.len() <= ROW_BYTES_MAX {
        return writeln!(f, "  {} | {}", printable(what), printable(code));
    }
    writeln!(f, "  {}", printable(what))?;
    for line in code.split('\n') {
        writeln!(f, "    | {}", printable(line))?;
    }
    Ok(())
}

fn counted(count: usize, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}
