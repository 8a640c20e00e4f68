//! A summary of what a plan will do, shown before the user agrees to it.

use super::graph::{self, CycleError};
use crate::{diagnostic::printable, duration::format_duration};
use pitcrew_model::{Deploy, Effort, Overlap, PlanSpec, Reads, TaskSpec, TaskWork};
use std::{
    collections::BTreeMap,
    fmt::{self, Write},
};

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
    /// As the work of a task.
    Command { task: String, command: String },
    /// As the steps of the built-in agent.
    Script { task: String, script: String },
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
    let work = spec.tasks.iter().filter_map(|task| match &task.work {
        TaskWork::Prompt { .. } => None,
        TaskWork::Script { script, .. } => {
            Some(Executed::Script { task: task.key.clone(), script: script.clone() })
        }
        TaskWork::Command { command, .. } => {
            Some(Executed::Command { task: task.key.clone(), command: command.clone() })
        }
    });
    let mut checks: Vec<(String, Vec<String>)> = Vec::new();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for task in &spec.tasks {
        for check in &task.checks {
            let place = *places.entry(check).or_insert_with(|| {
                checks.push((check.clone(), Vec::new()));
                checks.len() - 1
            });
            if checks[place].1.last() != Some(&task.key) {
                checks[place].1.push(task.key.clone());
            }
        }
    }
    let checks = checks.into_iter().map(|(command, tasks)| Executed::Check { tasks, command });
    setup.chain(work).chain(checks).collect()
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
            for task in level {
                write_task(f, task, keys, agents)?;
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
                Executed::Command { task, command } => {
                    write_code(f, &format!("command of {task}"), command)?;
                }
                Executed::Script { task, script } => {
                    write_code(f, &format!("script of {task}"), script)?;
                }
                Executed::Check { tasks, command } => {
                    write_code(f, &format!("check of {}", tasks.join(", ")), command)?;
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

fn write_code(f: &mut fmt::Formatter<'_>, what: &str, code: &str) -> fmt::Result {
    writeln!(f, "  {}", printable(what))?;
    for line in code.trim_end().split('\n') {
        writeln!(f, "    | {}", printable(line))?;
    }
    Ok(())
}

fn counted(count: usize, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}
