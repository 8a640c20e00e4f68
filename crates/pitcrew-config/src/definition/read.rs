//! Reads definition files.

use super::{AgentDefinition, builtin, parse_definition};
use crate::{Diagnostic, dirs::Dirs};
use pitcrew_model::{PlanSpec, TaskWork};
use std::{collections::BTreeMap, fs, path::Path};

/// The folder of a repository's agents.
const WORKSPACE_FOLDER: &str = ".github/agents";
const FILE_BYTES_MAX: u64 = 256 * 1_024;
const FILES_MAX: usize = 200;

/// The agents by name, and the problems of the files that could not be used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Definitions {
    pub agents: BTreeMap<String, AgentDefinition>,
    pub errors: Vec<String>,
}

impl Definitions {
    pub fn get(&self, name: &str) -> Option<&AgentDefinition> {
        self.agents.get(name)
    }

    /// Adds the definition to each task that names a defined agent. The backend resolves other
    /// names.
    pub fn apply(&self, plan: &mut PlanSpec) {
        for task in &mut plan.tasks {
            let Some(it) = task.agent.agent.as_deref().and_then(|it| self.get(it)) else {
                continue;
            };
            if let TaskWork::Prompt { prompt } = &mut task.work {
                *prompt = it.prompt(prompt);
            }
            if task.model.is_none() {
                task.model = it.models.first().cloned();
            }
        }
    }

    fn take(&mut self, folder: &Path, shown: &str) {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut paths: Vec<_> = entries.map(|it| it.path()).filter(|it| it.is_file()).collect();
        paths.sort();
        for path in paths.iter().take(FILES_MAX) {
            let Some(file) = path.file_name().and_then(|it| it.to_str()) else { continue };
            let Some(name) = file.strip_suffix(".md") else { continue };
            let name = name.strip_suffix(".agent").unwrap_or(name);
            let shown = format!("{shown}/{file}");
            let read = read_text(path).map_err(|it| vec![format!("{shown}: {it}")]);
            let reported =
                |it: Vec<Diagnostic>| it.iter().map(ToString::to_string).collect::<Vec<_>>();
            match read.and_then(|text| parse_definition(name, &shown, &text).map_err(reported)) {
                Ok(it) => drop(self.agents.insert(it.name.clone(), it)),
                Err(errors) => self.errors.extend(errors),
            }
        }
    }
}

/// A user's definition overrides the workspace's, which overrides a built-in one.
pub fn read_definitions(dirs: &Dirs, root: &Path) -> Definitions {
    let mut all = Definitions::default();
    all.agents.extend(builtin::all().map(|it| (it.name.clone(), it)));
    all.take(&root.join(WORKSPACE_FOLDER), WORKSPACE_FOLDER);
    let own = dirs.config.join("agents");
    all.take(&own, &own.display().to_string());
    all
}

fn read_text(path: &Path) -> Result<String, String> {
    let size = fs::metadata(path).map_err(|it| it.to_string())?.len();
    if size > FILE_BYTES_MAX {
        return Err(format!("it has more than {FILE_BYTES_MAX} bytes"));
    }
    fs::read_to_string(path).map_err(|it| it.to_string())
}
