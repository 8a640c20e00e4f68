//! Finds a program by its name, on the `PATH` and in the folders of package managers.
//!
//! Runs no package manager: starting one to query its folder takes longer than the whole search.

use rustix::fs::{Access, access};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// A program that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundProgram {
    pub path: PathBuf,
    /// Whether its bare name is enough. If not, programs that it starts may be beside it.
    pub on_path: bool,
}

/// Folders below the home, the most common ones first.
const BELOW_HOME: &[&str] = &[
    ".local/bin",
    ".npm-global/bin",
    ".npm-packages/bin",
    ".npm/bin",
    ".local/share/npm/bin",
    ".local/share/pnpm",
    ".volta/bin",
    ".bun/bin",
    ".yarn/bin",
    ".config/yarn/global/node_modules/.bin",
    ".local/share/fnm/aliases/default/bin",
    ".local/share/mise/shims",
    ".asdf/shims",
    ".cargo/bin",
    ".opencode/bin",
    ".claude/local/node_modules/.bin",
];

const ANYWHERE: &[&str] = &["/usr/local/bin", "/snap/bin"];

/// Finds a program. `environment` contains the user's `PATH` and `HOME`.
pub fn find_program(program: &str, environment: &BTreeMap<String, String>) -> Option<FoundProgram> {
    if program.contains('/') {
        let path = PathBuf::from(program);
        return is_program(&path).then_some(FoundProgram { path, on_path: true });
    }
    let path = environment.get("PATH").map(String::as_str).unwrap_or_default();
    // A relative folder would depend on the current folder, which an agent may have written.
    let on_path = std::env::split_paths(path).filter(|it| it.is_absolute());
    let found = |folders: &mut dyn Iterator<Item = PathBuf>, on_path: bool| {
        let path = folders.map(|it| it.join(program)).find(|it| is_program(it))?;
        Some(FoundProgram { path, on_path })
    };
    found(&mut { on_path }, true).or_else(|| found(&mut places(environment).into_iter(), false))
}

fn is_program(path: &Path) -> bool {
    path.is_file() && access(path, Access::EXEC_OK).is_ok()
}

/// The folders that are searched after the `PATH`.
fn places(environment: &BTreeMap<String, String>) -> Vec<PathBuf> {
    let folder = |name: &str| {
        let folder = environment.get(name).map(PathBuf::from);
        folder.filter(|it| it.is_absolute())
    };
    let prefixes = ["NPM_CONFIG_PREFIX", "npm_config_prefix"].into_iter().filter_map(folder);
    let mut places: Vec<PathBuf> = prefixes.map(|it| it.join("bin")).collect();
    places.extend(["NVM_BIN", "PNPM_HOME"].into_iter().filter_map(folder));
    if let Some(home) = folder("HOME") {
        places.extend(npm_prefix(&home).map(|it| it.join("bin")));
        places.extend(BELOW_HOME.iter().map(|it| home.join(it)));
        let nvm = folder("NVM_DIR").unwrap_or_else(|| home.join(".nvm"));
        places.extend(nvm_folder(&nvm));
    }
    places.extend(ANYWHERE.iter().map(PathBuf::from));
    places
}

/// Returns the `prefix` of the user's `.npmrc`.
fn npm_prefix(home: &Path) -> Option<PathBuf> {
    let text = fs::read_to_string(home.join(".npmrc")).ok()?;
    let lines = text.lines().filter_map(|it| it.split_once('='));
    let (_, value) = lines.into_iter().find(|(key, _)| key.trim() == "prefix")?;
    let value = value.trim().trim_matches('"');
    let below = value.strip_prefix("~/").or_else(|| value.strip_prefix("${HOME}/"));
    let path = below.map_or_else(|| PathBuf::from(value), |it| home.join(it));
    path.is_absolute().then_some(path)
}

/// Returns the program folder of the version that nvm would choose: its default, or else the
/// newest.
fn nvm_folder(nvm: &Path) -> Option<PathBuf> {
    let versions = fs::read_dir(nvm.join("versions/node")).ok()?.flatten();
    let mut versions: Vec<(Vec<u64>, PathBuf)> = versions
        .filter_map(|it| {
            let name = it.file_name().into_string().ok()?;
            let numbers = name.strip_prefix('v')?.split('.').map(str::parse);
            Some((numbers.collect::<Result<_, _>>().ok()?, it.path()))
        })
        .collect();
    versions.sort();
    let wanted = fs::read_to_string(nvm.join("alias/default")).unwrap_or_default();
    let wanted = wanted.trim().trim_start_matches('v').split('.').map(str::parse::<u64>);
    let wanted: Vec<u64> = wanted.collect::<Result<_, _>>().unwrap_or_default();
    let chosen = versions.iter().rev().find(|(version, _)| version.starts_with(&wanted));
    chosen.or(versions.last()).map(|(_, path)| path.join("bin"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    struct Home(tempfile::TempDir);

    impl Home {
        fn new() -> Self {
            Self(tempfile::tempdir().expect("a folder"))
        }

        fn at(&self, path: &str) -> PathBuf {
            self.0.path().join(path)
        }

        fn program(&self, path: &str) -> PathBuf {
            let path = self.at(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(&path, "").expect("a file");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a program");
            path
        }

        fn find(&self, variables: &[(&str, String)]) -> Option<FoundProgram> {
            let mut environment: BTreeMap<String, String> =
                variables.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
            environment.insert("HOME".into(), self.at("").display().to_string());
            find_program("an-agent-of-ours", &environment)
        }
    }

    #[test]
    fn path_is_searched_first() {
        let home = Home::new();
        assert_eq!(home.find(&[]), None);
        let installed = home.program(".local/bin/an-agent-of-ours");
        let found = home.find(&[]).expect("it is there");
        assert_eq!(found, FoundProgram { path: installed, on_path: false });
        let path = home.program("bin/an-agent-of-ours");
        let folders = format!("relative:{}", home.at("bin").display());
        assert_eq!(home.find(&[("PATH", folders)]), Some(FoundProgram { path, on_path: true }));
    }

    #[test]
    fn npm_prefix_is_read_without_running_npm() {
        let home = Home::new();
        let path = home.program("mine/bin/an-agent-of-ours");
        fs::write(home.at(".npmrc"), "registry=x\nprefix = ~/mine\n").expect("a file");
        assert_eq!(home.find(&[]).map(|it| it.path), Some(path));
        let path = home.program("other/bin/an-agent-of-ours");
        let prefix = ("NPM_CONFIG_PREFIX", home.at("other").display().to_string());
        assert_eq!(home.find(&[prefix]).map(|it| it.path), Some(path), "a variable is stronger");
    }

    #[test]
    fn version_that_nvm_would_choose_is_searched() {
        let home = Home::new();
        let old = home.program(".nvm/versions/node/v9.11.2/bin/an-agent-of-ours");
        let new = home.program(".nvm/versions/node/v22.1.0/bin/an-agent-of-ours");
        let path = || home.find(&[]).map(|it| it.path);
        assert_eq!(path(), Some(new), "22 is newer than 9");
        fs::create_dir_all(home.at(".nvm/alias")).expect("a folder");
        fs::write(home.at(".nvm/alias/default"), "9\n").expect("a file");
        assert_eq!(path(), Some(old));
    }

    #[test]
    fn file_without_execute_permission_is_not_a_program() {
        let home = Home::new();
        fs::create_dir_all(home.at(".local/bin/an-agent-of-ours")).expect("a folder");
        assert_eq!(home.find(&[]), None);
        let path = home.program("agent");
        let absolute = path.display().to_string();
        assert!(find_program(&absolute, &BTreeMap::new()).is_some());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("no program");
        // Even root cannot execute a file without any execute bit.
        assert_eq!(find_program(&absolute, &BTreeMap::new()), None);
    }
}
