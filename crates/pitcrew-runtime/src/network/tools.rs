//! The environment of tools in a sandbox: caches of the workspace, certificates of the machine, and
//! read-only tool chains.

use super::registries::{Registry, cargo_home};
use crate::secrets::without_secrets;
use std::{
    collections::BTreeMap,
    fs,
    io::Write,
    path::{Path, PathBuf},
};

/// Variables that name certificate files: a company's proxy or a test has its own.
const CERTIFICATES: &[&str] = &[
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "PIP_CERT",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "CARGO_HTTP_CAINFO",
    "GIT_SSL_CAINFO",
];

/// The owner of a cache. Tools execute cached files, so agents must not be able to write the caches
/// of checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caches {
    /// Agents, and the setup of their checkouts.
    Agents,
    /// Checks, and their setup.
    Checks,
}

impl Caches {
    const ALL: [Self; 2] = [Self::Agents, Self::Checks];

    fn folder(self) -> &'static str {
        match self {
            Self::Agents => "agents",
            Self::Checks => "checks",
        }
    }
}

/// A variable, and the cache folder that it names.
const FOLDERS: &[(&str, &str)] = &[
    ("CARGO_HOME", "cargo"),
    ("npm_config_cache", "npm"),
    ("PIP_CACHE_DIR", "pip"),
    ("UV_CACHE_DIR", "uv"),
    ("GOPATH", "go"),
    ("GOCACHE", "go-build"),
];

/// The files and variables that a sandbox provides for tools.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tools {
    pub env: Vec<(String, String)>,
    pub read: Vec<PathBuf>,
    /// Each with the variable that names it.
    caches: Vec<(Caches, String, PathBuf)>,
}

impl Tools {
    pub(super) fn find(
        user: &BTreeMap<String, String>,
        caches: &Path,
        registries: &[Registry],
    ) -> Self {
        let mut tools = Self::default();
        for of in Caches::ALL {
            let caches = caches.join(of.folder());
            for (name, folder) in FOLDERS {
                let folder = caches.join(folder);
                // If it cannot be created, the tool uses the private home.
                if fs::create_dir_all(&folder).is_ok() {
                    tools.caches.push((of, (*name).into(), folder));
                }
            }
            copy_settings(cargo_home(user).as_deref(), &caches.join("cargo"));
        }
        for name in CERTIFICATES {
            if let Some(path) = user.get(*name).filter(|it| Path::new(it).is_absolute()) {
                tools.env.push(((*name).into(), path.clone()));
                tools.read.push(path.into());
            }
        }
        tools.add_tool_chains(user);
        let url = |tool: &str| registries.iter().find(|it| it.tool == tool)?.urls.first();
        // The settings files themselves are not shared, because they contain passwords.
        if let Some(url) = url("npm") {
            tools.env.push(("npm_config_registry".into(), url.clone()));
        }
        if let Some(url) = url("pip").filter(|_| user.contains_key("PIP_INDEX_URL")) {
            tools.env.push(("PIP_INDEX_URL".into(), url.clone()));
        }
        tools
    }

    /// The caches of this owner, each with the variable that names it.
    pub(super) fn caches(&self, of: Caches) -> impl Iterator<Item = (&str, &Path)> {
        self.caches.iter().filter(move |it| it.0 == of).map(|it| (it.1.as_str(), it.2.as_path()))
    }

    /// The tool chains of rustup are beside the programs on the path.
    fn add_tool_chains(&mut self, user: &BTreeMap<String, String>) {
        let own = user.get("RUSTUP_HOME").map(PathBuf::from);
        let home = own.or_else(|| Some(Path::new(user.get("HOME")?).join(".rustup")));
        if let Some(home) = home.filter(|it| it.is_dir()) {
            self.env.push(("RUSTUP_HOME".into(), home.display().to_string()));
            self.read.push(home);
        }
    }
}

/// The user's cargo settings, without secrets.
fn copy_settings(from: Option<&Path>, to: &Path) {
    let text = from.and_then(|it| fs::read_to_string(it.join("config.toml")).ok());
    let kept = without_secrets(text.as_deref().unwrap_or_default());
    // Sandboxed programs can write there: an existing file or link is not written through.
    let path = to.join("config.toml");
    fs::remove_file(&path).ok();
    let made = fs::OpenOptions::new().write(true).create_new(true).open(path);
    // If this fails, cargo uses its defaults.
    made.and_then(|mut it| it.write_all(kept.as_bytes())).ok();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caches_belong_to_the_workspace_and_secrets_stay_outside() {
        let folder = tempfile::tempdir().expect("a folder");
        let user_home = folder.path().join("home");
        fs::create_dir_all(user_home.join(".cargo")).expect("a folder");
        fs::create_dir_all(user_home.join(".rustup")).expect("a folder");
        let config = "[registries.mine]\nindex = \"https://mine.example\"\ntoken = \"hidden\"\n";
        fs::write(user_home.join(".cargo/config.toml"), config).expect("a file");
        let user = BTreeMap::from([
            ("HOME".to_owned(), user_home.display().to_string()),
            ("SSL_CERT_FILE".to_owned(), "/etc/certs.pem".to_owned()),
            ("PIP_CERT".to_owned(), "relative.pem".to_owned()),
        ]);
        let caches = folder.path().join("caches");
        let registry = Registry::of("npm", &["https://me:hidden@npm.example/all"]);
        // A worker has replaced the settings by a link.
        let cargo = caches.join("agents/cargo");
        fs::create_dir_all(&cargo).expect("a folder");
        let other = folder.path().join("other");
        fs::write(&other, "of the user's\n").expect("a file");
        std::os::unix::fs::symlink(&other, cargo.join("config.toml")).expect("a link");
        let tools = Tools::find(&user, &caches, &[registry]);
        let get = |name: &str| tools.env.iter().find(|it| it.0 == name).map(|it| it.1.as_str());
        let home = |of| tools.caches(of).find(|it| it.0 == "CARGO_HOME").map(|it| it.1.to_owned());
        assert_eq!(home(Caches::Agents), Some(cargo.clone()));
        assert_eq!(home(Caches::Checks), Some(caches.join("checks/cargo")));
        assert_eq!(get("npm_config_registry"), Some("https://npm.example/all"));
        assert_eq!(get("SSL_CERT_FILE"), Some("/etc/certs.pem"));
        assert_eq!(get("PIP_CERT"), None);
        assert_eq!(tools.read, [PathBuf::from("/etc/certs.pem"), user_home.join(".rustup")]);
        let copied = fs::read_to_string(cargo.join("config.toml")).expect("a file");
        assert!(copied.contains("mine.example") && !copied.contains("hidden"), "{copied}");
        assert_eq!(fs::read_to_string(other).expect("a file"), "of the user's\n");
    }
}
