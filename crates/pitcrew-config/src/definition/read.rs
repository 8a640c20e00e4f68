//! Reads definition files.

use super::{Authorship, builtin, parse_definition};
use crate::{Diagnostic, dirs::Dirs, trust::TrustStore};
use pitcrew_model::AgentProfile;
use std::{collections::BTreeMap, fs, path::Path, sync::Arc};

/// The folders of a repository's agents; of two definitions of one agent, the later one counts.
const WORKSPACE_FOLDERS: &[(&str, Authorship)] =
    &[(".github/agents", Authorship::Shared), (".pitcrew/agents", Authorship::Ours)];
const FILE_BYTES_MAX: u64 = 256 * 1_024;
const FILES_MAX: usize = 200;

/// The agents by name, and what could not be used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Definitions {
    pub agents: BTreeMap<String, Arc<AgentProfile>>,
    /// Problems of files, with their locations.
    pub errors: Vec<String>,
    /// Valid files of the repository whose content the person has not trusted.
    pub untrusted: Vec<UntrustedDefinition>,
}

/// A definition that waits for the person's trust.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UntrustedDefinition {
    /// The path in the repository.
    pub path: String,
    /// Identifies the content.
    pub digest: String,
    pub profile: AgentProfile,
    /// The person has seen this content and declined.
    pub is_declined: bool,
}

impl Definitions {
    pub fn get(&self, name: &str) -> Option<&AgentProfile> {
        self.agents.get(name).map(AsRef::as_ref)
    }

    fn take(&mut self, folder: &Path, shown: &str, authorship: Authorship, source: Source) {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut paths: Vec<_> = entries.map(|it| it.path()).filter(|it| is_plain(it)).collect();
        paths.sort();
        for path in paths.iter().take(FILES_MAX) {
            let Some(file) = path.file_name().and_then(|it| it.to_str()) else { continue };
            let Some(name) = file.strip_suffix(".md") else { continue };
            let name = name.strip_suffix(".agent").unwrap_or(name);
            let shown = format!("{shown}/{file}");
            let text = match read_text(path) {
                Ok(text) => text,
                Err(reason) => {
                    self.errors.push(format!("{shown}: {reason}"));
                    continue;
                }
            };
            let reported =
                |it: Vec<Diagnostic>| it.iter().map(ToString::to_string).collect::<Vec<_>>();
            match parse_definition(name, &shown, &text, authorship).map_err(reported) {
                Ok(profile) => self.add(profile, shown, &text, source),
                Err(errors) => self.errors.extend(errors),
            }
        }
    }

    fn add(&mut self, profile: AgentProfile, path: String, text: &str, source: Source) {
        if let Source::Repository(store) = source {
            let digest = TrustStore::digest(&path, text);
            if !store.is_trusted(&digest) {
                let is_declined = store.is_declined(&digest);
                self.untrusted.push(UntrustedDefinition { path, digest, profile, is_declined });
                return;
            }
        }
        self.agents.insert(profile.name.clone(), profile.into());
    }
}

/// Where a file comes from.
#[derive(Clone, Copy)]
enum Source<'a> {
    Person,
    Repository(&'a TrustStore),
}

/// A user's definition overrides the workspace's, which overrides a built-in one.
pub fn read_definitions(dirs: &Dirs, root: &Path, trust: &TrustStore) -> Definitions {
    let mut all = Definitions::default();
    all.agents.extend(builtin::all().map(|it| (it.name.clone(), it.into())));
    for (folder, authorship) in WORKSPACE_FOLDERS {
        if has_links(root, folder) {
            all.errors.push(format!("{folder} is not read, because it is behind a symbolic link"));
            continue;
        }
        all.take(&root.join(folder), folder, *authorship, Source::Repository(trust));
    }
    let own = dirs.config.join("agents");
    all.take(&own, &own.display().to_string(), Authorship::Ours, Source::Person);
    all
}

fn has_links(root: &Path, folder: &str) -> bool {
    let folder = Path::new(folder);
    let parts = folder.ancestors().filter(|it| !it.as_os_str().is_empty());
    parts.map(|it| root.join(it)).any(|it| it.is_symlink())
}

/// A link in a repository could lead anywhere.
fn is_plain(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|it| it.is_file())
}

fn read_text(path: &Path) -> Result<String, String> {
    let size = fs::metadata(path).map_err(|it| it.to_string())?.len();
    if size > FILE_BYTES_MAX {
        return Err(format!("it has more than {FILE_BYTES_MAX} bytes"));
    }
    fs::read_to_string(path).map_err(|it| it.to_string())
}
