//! What every box has to read of the machine: the system and the user's tools, without secrets.
//!
//! Looks at folders and links, and reads no file.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

/// The system itself. What of it not everybody may read stays outside.
const SYSTEM: &[&str] =
    &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store"];

/// What programs need to know about the system, by its name in `/etc`. All else there stays outside:
/// it is where passwords are kept.
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

/// The same, where a name ends with a version.
const VERSIONED_SETTINGS: &[&str] = &["java-", "php", "python3."];

/// What of a home is never shared, whatever above it is.
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

/// What is never a part of one installation.
const SHARED: &[&str] = &["/home", "/media", "/mnt", "/opt", "/run", "/srv", "/tmp", "/var"];

/// Folders of programs that are looked into, and programs in each of them.
const FOLDERS_MAX: usize = 128;
const PROGRAMS_MAX: usize = 4_096;

/// What a box shares with the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roots {
    pub read: Vec<PathBuf>,
    pub deny: Vec<PathBuf>,
}

/// What every box reads: the system, and the programs on the `PATH` of this environment with what
/// they are installed with.
pub fn roots(environment: &BTreeMap<String, String>) -> Roots {
    let home = environment.get("HOME").map(PathBuf::from).filter(|it| it.is_absolute());
    let mut tools = Tools::new(home.clone());
    let path = environment.get("PATH").map(String::as_str).unwrap_or_default();
    for folder in std::env::split_paths(path).filter(|it| it.is_absolute()) {
        tools.add_folder(&folder);
    }
    let deny = home.iter().flat_map(|home| SECRETS.iter().map(|it| home.join(it))).collect();
    let system = SYSTEM.iter().map(PathBuf::from).chain(settings(Path::new("/etc")));
    Roots { read: system.chain(tools.found).collect(), deny }
}

/// What a program reads of itself: the package that it is installed with.
pub fn program_roots(program: &Path, environment: &BTreeMap<String, String>) -> Vec<PathBuf> {
    let mut tools = Tools::new(environment.get("HOME").map(PathBuf::from));
    tools.add_program(program);
    tools.found.into_iter().collect()
}

/// What of the folder of settings every box reads. Only what everybody may read: a box that root
/// starts has no more than others.
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

/// Finds what programs are installed with.
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

    /// A folder of programs, with what is beside it where it is part of an installation, and with
    /// what the links in it lead to.
    fn add_folder(&mut self, folder: &Path) {
        let Ok(real) = folder.canonicalize() else { return };
        if is_system(&real) || self.is_too_much(&real) || self.folders.len() >= FOLDERS_MAX {
            return;
        }
        // As it is called, and as it is.
        self.found.insert(folder.to_owned());
        if !self.folders.insert(real.clone()) {
            return;
        }
        self.add_beside(&real);
        let entries = fs::read_dir(&real).into_iter().flatten().flatten().take(PROGRAMS_MAX);
        let links = entries.filter(|it| it.file_type().is_ok_and(|it| it.is_symlink()));
        for link in links.collect::<Vec<_>>() {
            self.add_program(&link.path());
        }
    }

    fn add_beside(&mut self, folder: &Path) {
        let Some(parent) = folder.parent() else { return };
        let name = folder.file_name().unwrap_or_default();
        let is_installation = name == "bin" || name == "sbin" || name == "shims";
        if !is_installation || self.is_too_much(parent) {
            return;
        }
        // In a home, tools keep their logins beside their programs.
        if name != "shims" && self.is_in_home(parent) {
            let libraries = ["lib", "lib64", "libexec"].map(|it| parent.join(it));
            self.found.extend(libraries.into_iter().filter(|it| it.is_dir()));
        } else {
            self.found.insert(parent.to_owned());
        }
    }

    fn add_program(&mut self, program: &Path) {
        let Ok(real) = program.canonicalize() else { return };
        if is_system(&real) {
            return;
        }
        self.found.insert(program.to_owned());
        let modules = real.ancestors().filter(|it| it.ends_with("node_modules")).last();
        let Some(folder) = modules.or(real.parent()) else { return };
        if folder.ends_with("bin") {
            self.add_folder(folder);
        } else if !self.is_too_much(folder) && !self.is_in_home(folder) {
            self.found.insert(folder.to_owned());
        }
        self.found.insert(real);
    }

    /// Whether a folder is more than programs: there is a home in it, or what everybody uses.
    fn is_too_much(&self, folder: &Path) -> bool {
        let holds = |it: &Path| it.starts_with(folder);
        SHARED.iter().any(|it| holds(Path::new(it))) || self.home.as_deref().is_some_and(holds)
    }

    /// Whether a folder is directly in the home.
    fn is_in_home(&self, folder: &Path) -> bool {
        folder.parent().is_some() && folder.parent() == self.home.as_deref()
    }
}

/// Whether a path belongs to the system, and not to a user's tools.
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

    #[test]
    fn tools_come_with_what_they_are_installed_with_and_without_logins() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let home = root.join("home");
        program(&root.join("node/bin/node"));
        program(&home.join(".cargo/bin/cargo"));
        program(&home.join(".cargo/lib/x"));
        program(&home.join(".pyenv/shims/python"));
        program(&home.join(".local/share/tool/versions/tool"));
        program(&home.join("lib/node_modules/agent/cli.js"));
        fs::create_dir_all(home.join(".local/bin")).unwrap();
        symlink("../share/tool/versions/tool", home.join(".local/bin/tool")).unwrap();
        symlink("../../lib/node_modules/agent/cli.js", home.join(".local/bin/agent")).unwrap();
        let folders = [
            root.join("node/bin"),
            home.join(".cargo/bin"),
            home.join(".pyenv/shims"),
            home.join(".local/bin"),
            home.clone(),
            root.join("none"),
            "/usr/bin".into(),
        ];
        let path = std::env::join_paths(folders).unwrap().into_string().unwrap();
        let environment =
            [("HOME".to_owned(), home.display().to_string()), ("PATH".to_owned(), path)];
        let Roots { read, deny } = roots(&environment.into());
        let expected = [
            root.join("home/.cargo/bin"),
            root.join("home/.cargo/lib"),
            root.join("home/.local/bin"),
            root.join("home/.local/bin/agent"),
            root.join("home/.local/bin/tool"),
            root.join("home/.local/share/tool/versions"),
            root.join("home/.local/share/tool/versions/tool"),
            root.join("home/.pyenv"),
            root.join("home/.pyenv/shims"),
            root.join("home/lib/node_modules"),
            root.join("home/lib/node_modules/agent/cli.js"),
            root.join("node"),
            root.join("node/bin"),
        ];
        let tools: Vec<_> = read.into_iter().filter(|it| it.starts_with(&root)).collect();
        assert_eq!(tools, expected);
        assert!(
            deny.contains(&home.join(".ssh")) && deny.contains(&home.join(".cargo/credentials"))
        );
    }

    #[test]
    fn of_the_settings_only_what_is_listed_and_for_everybody_is_read() {
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
