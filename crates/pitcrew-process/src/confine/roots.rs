//! The paths of the machine that every box can read: the system and the user's tools, without
//! secrets.
//!
//! Inspects folders and links, and reads no file contents.

use super::tools::{parts_of, tool_parts};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

/// The system itself. Entries that are not world-readable are left out.
const SYSTEM: &[&str] =
    &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store"];

/// Entries of `/etc` that programs need. The rest is left out, because `/etc` contains passwords.
const SETTINGS: &[&str] = &[
    "alternatives",
    "bindresvport.blacklist",
    "ca-certificates",
    "ca-certificates.conf",
    "crypto-policies",
    "debian_version",
    "fonts",
    "gai.conf",
    "gnutls",
    "group",
    "host.conf",
    "hosts",
    "inputrc",
    "java",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "locale.alias",
    "locale.conf",
    "localtime",
    "lsb-release",
    "magic",
    "magic.mime",
    "maven",
    "mime.types",
    "networks",
    "nsswitch.conf",
    "os-release",
    "passwd",
    "perl",
    "pki/ca-trust/extracted",
    "pki/tls/cert.pem",
    "pki/tls/certs",
    "pki/tls/openssl.cnf",
    "protocols",
    "python3",
    "redhat-release",
    "rpc",
    "services",
    "shells",
    "ssl/cert.pem",
    "ssl/certs",
    "ssl/openssl.cnf",
    "terminfo",
    "timezone",
];

/// Likewise, for names that end with a version.
const VERSIONED_SETTINGS: &[&str] = &["java-", "php", "python3."];

/// Paths of a home that are never shared, even if a parent folder is.
const SECRETS: &[&str] = &[
    ".ssh",
    ".aws",
    ".azure",
    ".gnupg",
    ".kube",
    ".docker",
    ".netrc",
    ".git-credentials",
    ".pypirc",
    ".password-store",
    ".mozilla",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".config/gcloud",
    ".config/gh",
    ".config/git/credentials",
    ".config/google-chrome",
    ".config/chromium",
    ".local/share/keyrings",
];

/// Folders that are never part of a single installation.
const SHARED: &[&str] = &["/home", "/media", "/mnt", "/opt", "/run", "/srv", "/tmp", "/var"];

/// Names of folders that contain only programs.
const PROGRAM_FOLDERS: &[&str] = &["bin", "sbin", "shims", "condabin", ".bin"];

/// The folder in which programs that update themselves keep their versions.
const VERSIONS: &str = "versions";

/// Limits for the search: folders of programs, and programs in each folder.
const FOLDERS_MAX: usize = 128;
const PROGRAMS_MAX: usize = 4_096;

/// The most programs that are shared one by one from a folder that may contain other files.
const SHOWN_MAX: usize = 128;

/// The paths that a box shares with the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roots {
    pub read: Vec<PathBuf>,
    pub deny: Vec<PathBuf>,
}

impl Roots {
    /// Returns the same roots without the user's repository, because a box has a checkout of it
    /// instead. If the home is inside the repository, removes only paths that would expose the
    /// whole repository.
    #[must_use]
    pub fn without_repository(mut self, repository: &Path, home: Option<&Path>) -> Self {
        let repository = repository.canonicalize().unwrap_or_else(|_| repository.to_owned());
        let has_home = home.is_some_and(|it| it.starts_with(&repository));
        self.read.retain(|path| {
            let real = path.canonicalize().unwrap_or_else(|_| path.clone());
            let is_above = repository.starts_with(&real) && !is_system(&real);
            !is_above && (has_home || !real.starts_with(&repository))
        });
        if !has_home {
            self.deny.push(repository);
        }
        self
    }
}

/// Returns the paths that every box can read: the system, the programs on the `PATH` of this
/// environment, and the parts of their installations whose layout is known.
pub fn roots(environment: &BTreeMap<String, String>) -> Roots {
    let home = environment.get("HOME").map(PathBuf::from).filter(|it| it.is_absolute());
    let mut tools = Tools::new(home.clone());
    let path = environment.get("PATH").map(String::as_str).unwrap_or_default();
    for folder in std::env::split_paths(path).filter(|it| it.is_absolute()) {
        tools.add_folder(&folder);
    }
    tools.found.extend(tool_parts(environment));
    let deny = home.iter().flat_map(|home| SECRETS.iter().map(|it| home.join(it))).collect();
    let system = SYSTEM.iter().map(PathBuf::from).chain(settings(Path::new("/etc")));
    Roots { read: system.chain(tools.found).collect(), deny }
}

/// Returns the paths that a program needs of itself: its file and its installation.
pub fn program_roots(program: &Path, environment: &BTreeMap<String, String>) -> Vec<PathBuf> {
    let mut tools = Tools::new(environment.get("HOME").map(PathBuf::from));
    tools.add_program(program);
    tools.found.into_iter().collect()
}

/// Returns the entries of the settings folder that every box can read. Only world-readable entries:
/// a box that root starts can read no more than others.
fn settings(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = SETTINGS.iter().map(|it| folder.join(it)).collect();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_versioned = |it: &&str| name.to_str().is_some_and(|name| name.starts_with(*it));
        if VERSIONED_SETTINGS.iter().any(is_versioned) {
            found.push(entry.path());
        }
    }
    found.retain(|it| {
        let mode = fs::metadata(it).map_or(0, |it| it.permissions().mode());
        mode & 0o004 != 0
    });
    found
}

/// Collects the installations that programs belong to.
struct Tools {
    home: Option<PathBuf>,
    found: BTreeSet<PathBuf>,
    folders: BTreeSet<PathBuf>,
}

impl Tools {
    fn new(home: Option<PathBuf>) -> Self {
        let home = home.map(|it| it.canonicalize().unwrap_or(it));
        Self { home, found: BTreeSet::new(), folders: BTreeSet::new() }
    }

    /// Adds a folder of programs, with their installations and the targets of links in it. If the
    /// folder may contain other files, adds only the programs.
    fn add_folder(&mut self, folder: &Path) {
        let Ok(real) = folder.canonicalize() else { return };
        if is_system(&real) {
            // Keeps the links on the way to it.
            self.found.insert(folder.to_owned());
            return;
        }
        if self.is_too_much(&real) || self.folders.len() >= FOLDERS_MAX {
            return;
        }
        let has_programs_only = holds_programs(&real);
        if has_programs_only {
            // Both the given path and the real path.
            self.found.insert(folder.to_owned());
        }
        if !self.folders.insert(real.clone()) {
            return;
        }
        if let Some(prefix) = real.parent().filter(|it| has_programs_only && !self.is_too_much(it))
        {
            self.found.extend(parts_of(prefix, self.home.as_deref()));
        }
        let entries = fs::read_dir(&real).into_iter().flatten().flatten().take(PROGRAMS_MAX);
        let mut shown_count = 0;
        for entry in entries.collect::<Vec<_>>() {
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_symlink() {
                self.add_program(&folder.join(entry.file_name()));
            } else if !has_programs_only && is_program(&entry) && shown_count < SHOWN_MAX {
                self.found.insert(folder.join(entry.file_name()));
                shown_count += 1;
            }
        }
    }

    fn add_program(&mut self, program: &Path) {
        let Ok(real) = program.canonicalize() else { return };
        if is_system(&real) || !real.is_file() {
            return;
        }
        self.found.insert(program.to_owned());
        let Some(folder) = real.parent() else { return };
        let modules = real.ancestors().filter(|it| it.ends_with("node_modules")).last();
        let prefix = folder.parent().filter(|it| holds_programs(folder) && !self.is_too_much(it));
        if let Some(modules) = modules {
            self.found.insert(modules.to_owned());
        } else if prefix.is_some_and(|it| !parts_of(it, self.home.as_deref()).is_empty()) {
            self.add_folder(folder);
        } else if let Some(version) = self.version_of(&real) {
            self.found.insert(version.to_owned());
        }
        let beside = folder.join("node_modules");
        if beside.is_dir() {
            self.found.insert(beside);
        }
        self.found.insert(real);
    }

    /// Returns the folder of one version of a program that keeps several in `.local/share` or
    /// `/opt`.
    fn version_of<'a>(&self, program: &'a Path) -> Option<&'a Path> {
        let data = self.home.as_ref().map(|it| it.join(".local/share"));
        let is_data = data.is_some_and(|it| program.starts_with(it));
        let is_version = |it: &&Path| it.parent().is_some_and(|above| above.ends_with(VERSIONS));
        let found = program.ancestors().skip(1).find(is_version);
        found.filter(|_| is_data || program.starts_with("/opt"))
    }

    /// Whether a folder contains more than programs, such as a home or a shared system folder.
    fn is_too_much(&self, folder: &Path) -> bool {
        let holds = |it: &Path| it.starts_with(folder);
        SHARED.iter().any(|it| holds(Path::new(it))) || self.home.as_deref().is_some_and(holds)
    }
}

fn holds_programs(folder: &Path) -> bool {
    PROGRAM_FOLDERS.iter().any(|it| folder.ends_with(it))
}

fn is_program(entry: &fs::DirEntry) -> bool {
    entry.metadata().is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}

/// Whether a path belongs to the system and not to the user's tools.
pub(super) fn is_system(path: &Path) -> bool {
    SYSTEM.iter().chain(&["/etc"]).any(|it| path.starts_with(it))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn program(path: &Path) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }

    /// Creates a home with tools as their installers leave them, and with secrets beside them.
    fn tools_of(home: &Path) -> Vec<PathBuf> {
        for file in [
            ".cargo/bin/cargo",
            ".cargo/registry/index",
            ".cargo/credentials.toml",
            ".gradle/caches/jar",
            ".gradle/gradle.properties",
            ".local/lib/python3.12/site-packages/tool.py",
            ".local/share/keyrings/login",
            ".local/share/tool/versions/2.0/tool",
            ".local/share/tool/auth.json",
            ".local/share/pipx/venvs/app/bin/app",
            ".local/share/pipx/venvs/app/lib/app.py",
            ".local/share/pipx/venvs/app/pyvenv.cfg",
            ".local/share/pipx/venvs/app/.env",
            ".npm-global/lib/node_modules/agent/cli.js",
            ".npm-global/.env",
            ".nvm/versions/node/v22/bin/node",
            ".nvm/versions/node/v22/lib/node_modules/npm/cli.js",
            ".pyenv/shims/python",
            ".pyenv/libexec/pyenv",
            ".pyenv/.env",
            "project/bin/run",
            "project/lib/x",
            "project/.env",
            "scripts/deploy",
            "scripts/.env",
        ] {
            program(&home.join(file));
        }
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(home.join("scripts/deploy"), executable).unwrap();
        for folder in [".local/bin", ".npm-global/bin"] {
            fs::create_dir_all(home.join(folder)).unwrap();
        }
        for (link, target) in [
            (".local/bin/tool", "../share/tool/versions/2.0/tool"),
            (".local/bin/app", "../share/pipx/venvs/app/bin/app"),
            (".local/bin/run", "../../project/bin/run"),
            (".npm-global/bin/agent", "../lib/node_modules/agent/cli.js"),
        ] {
            symlink(target, home.join(link)).unwrap();
        }
        let folders = [
            ".cargo/bin",
            ".local/bin",
            ".npm-global/bin",
            ".nvm/versions/node/v22/bin",
            ".pyenv/shims",
            "scripts",
            "",
            "none",
        ];
        folders.map(|it| home.join(it)).to_vec()
    }

    fn environment(home: &Path, path: Vec<PathBuf>) -> BTreeMap<String, String> {
        let path = std::env::join_paths(path).unwrap().into_string().unwrap();
        [("HOME".to_owned(), home.display().to_string()), ("PATH".to_owned(), path)].into()
    }

    #[test]
    fn only_known_parts_of_an_installation_are_shared() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        let path = tools_of(&home);
        let Roots { read, deny } = roots(&environment(&home, path));
        let mut shown: Vec<_> = read.iter().filter_map(|it| it.strip_prefix(&home).ok()).collect();
        shown.sort();
        shown.dedup();
        let expected = [
            ".cargo/bin",
            ".cargo/registry",
            ".gradle/caches",
            ".local/bin",
            ".local/bin/app",
            ".local/bin/run",
            ".local/bin/tool",
            ".local/lib",
            ".local/lib/python3.12",
            ".local/share/pipx/venvs/app/bin",
            ".local/share/pipx/venvs/app/bin/app",
            ".local/share/pipx/venvs/app/lib",
            ".local/share/pipx/venvs/app/pyvenv.cfg",
            ".local/share/tool/versions/2.0",
            ".local/share/tool/versions/2.0/tool",
            ".npm-global/bin",
            ".npm-global/bin/agent",
            ".npm-global/lib/node_modules",
            ".npm-global/lib/node_modules/agent/cli.js",
            ".nvm/versions",
            ".nvm/versions/node/v22/bin",
            ".nvm/versions/node/v22/lib/node_modules",
            ".pyenv/libexec",
            ".pyenv/shims",
            "project/bin/run",
            "scripts/deploy",
        ];
        let expected = expected.map(Path::new);
        assert_eq!(shown, expected);
        assert!(deny.contains(&home.join(".ssh")));
    }

    #[test]
    fn repository_and_its_parents_are_not_shared() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap().join("home");
        let repository = home.join("shop");
        for file in ["bin/run", "sub/node_modules/.bin/tool", ".env"] {
            program(&repository.join(file));
        }
        fs::create_dir_all(home.join("bin")).unwrap();
        symlink("../shop/bin/run", home.join("bin/run")).unwrap();
        let path = ["shop/bin", "shop/sub/node_modules/.bin", "bin"].map(|it| home.join(it));
        let roots = roots(&environment(&home, path.to_vec()));
        assert!(roots.read.contains(&repository.join("bin")));
        let roots = roots.without_repository(&repository, Some(&home));
        let shown: Vec<_> = roots.read.iter().filter(|it| it.starts_with(&home)).collect();
        assert_eq!(shown, [&home.join("bin")]);
        assert!(roots.deny.contains(&repository));
        let above = Roots { read: vec![home.clone(), "/usr".into()], deny: Vec::new() };
        let above = above.without_repository(&repository, Some(&home));
        assert_eq!(above.read, [PathBuf::from("/usr")]);
        let dotfiles = Roots { read: vec![home.join("bin"), home.clone()], deny: Vec::new() };
        let dotfiles = dotfiles.without_repository(&home, Some(&home));
        assert_eq!((dotfiles.read, dotfiles.deny), (vec![home.join("bin")], Vec::new()));
    }

    #[test]
    fn only_listed_and_world_readable_settings_are_shared() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, mode| {
            let path = folder.path().join(name);
            program(&path);
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            path
        };
        let (hosts, java) = (file("hosts", 0o644), file("java-17/security", 0o644));
        for (name, mode) in [("shadow", 0o640), ("services", 0o600), ("new.conf", 0o644)] {
            file(name, mode);
        }
        let mut found = settings(folder.path());
        found.sort();
        assert_eq!(found, [hosts, java.parent().unwrap().to_owned()]);
    }
}
