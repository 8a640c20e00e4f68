//! Reads the files of definitions.

use super::{AgentDefinition, builtin, parse_definition};
use crate::{Diagnostic, dirs::Dirs};
use pitcrew_model::{PlanSpec, TaskWork};
use std::{collections::BTreeMap, fs, path::Path};

/// Where a repository has its agents.
const WORKSPACE_FOLDER: &str = ".github/agents";
const FILE_BYTES_MAX: u64 = 256 * 1_024;
const FILES_MAX: usize = 200;

/// Who there is, by name, and what is wrong with the files of those who are not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Definitions {
    pub agents: BTreeMap<String, AgentDefinition>,
    pub errors: Vec<String>,
}

impl Definitions {
    pub fn get(&self, name: &str) -> Option<&AgentDefinition> {
        self.agents.get(name)
    }

    /// Tells each task that names a defined agent who that is. Agents that nobody defines here are
    /// known to their backends.
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
            let told = |it: Vec<Diagnostic>| it.iter().map(ToString::to_string).collect::<Vec<_>>();
            match read.and_then(|text| parse_definition(name, &shown, &text).map_err(told)) {
                Ok(it) => drop(self.agents.insert(it.name.clone(), it)),
                Err(errors) => self.errors.extend(errors),
            }
        }
    }
}

/// Built in < the workspace's < the user's own.
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
