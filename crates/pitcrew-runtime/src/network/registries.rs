//! Finds the package registries that the user's tools are configured with.

mod defaults;

use pitcrew_model::{HostPattern, Place, place_of_url};
use pitcrew_process::{Cancel, Run, find_program, run_trusted};
use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
    time::Duration,
};

type Variables = BTreeMap<String, String>;

/// Tool settings are small.
const FILE_BYTES_MAX: u64 = 1_024 * 1_024;
const ASK_MS_MAX: u64 = 20_000;

/// The registries of one tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registry {
    pub tool: &'static str,
    /// The URLs as found, without credentials.
    pub urls: Vec<String>,
    pub places: Vec<Place>,
    /// Additional hosts, if the tool does not know its exact download host yet.
    pub beside: Vec<HostPattern>,
}

impl Registry {
    pub(super) fn of(tool: &'static str, urls: &[impl AsRef<str>]) -> Self {
        let mut it = Self { tool, urls: Vec::new(), places: Vec::new(), beside: Vec::new() };
        for url in urls.iter().map(AsRef::as_ref) {
            let Some(place) = place_of_url(url) else { continue };
            let url = without_credentials(url);
            if !it.urls.contains(&url) {
                it.urls.push(url);
            }
            if !it.places.contains(&place) {
                it.places.push(place);
            }
        }
        it
    }
}

/// The registries of the user's installed tools.
pub fn registries(user: &Variables) -> Vec<Registry> {
    let found = [
        cargo_registry(user),
        Registry::of("npm", &npm(user)),
        Registry::of("pip", &pip(user)),
        Registry::of("go", &go(user)),
    ];
    found.into_iter().filter(|it| !it.places.is_empty()).collect()
}

/// A cargo that has never fetched anything knows only its index. The index names the download host,
/// which is assumed to be a sibling of the index host.
fn cargo_registry(user: &Variables) -> Registry {
    let index = cargo_home(user).map(|it| it.join("registry/index"));
    let has_fetched =
        index.is_some_and(|it| fs::read_dir(it).is_ok_and(|mut it| it.next().is_some()));
    let built_in = if has_fetched { None } else { defaults::cargo(user) };
    let mut urls = cargo(user);
    urls.extend(built_in.clone());
    let mut registry = Registry::of("cargo", &urls);
    let host = built_in.as_deref().and_then(place_of_url).map(|it| it.host.to_string());
    let domain = host.as_deref().and_then(|it| it.split_once('.')).map(|it| it.1);
    let domain = domain.filter(|it| it.contains('.'));
    registry.beside.extend(domain.and_then(|it| format!("*.{it}:443").parse().ok()));
    registry
}

/// A cargo that has fetched packages has a folder for each index, named after it and containing the
/// download URL. Other indexes are set in a file.
fn cargo(user: &Variables) -> Vec<String> {
    let Some(home) = cargo_home(user) else { return Vec::new() };
    let mut urls = Vec::new();
    for entry in fs::read_dir(home.join("registry/index")).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if let Some((host, _)) = name.to_str().and_then(|it| it.rsplit_once('-')) {
            urls.push(format!("https://{host}"));
        }
        urls.extend(addresses(&read(&entry.path().join("config.json"))));
    }
    for name in ["config.toml", "config"] {
        urls.extend(addresses(&read(&home.join(name))));
    }
    urls
}

pub(super) fn cargo_home(user: &Variables) -> Option<PathBuf> {
    let own = user.get("CARGO_HOME").filter(|it| !it.is_empty()).map(PathBuf::from);
    own.or_else(|| Some(Path::new(user.get("HOME")?).join(".cargo")))
}

/// The first one is the default; a file may set others for scopes.
fn npm(user: &Variables) -> Vec<String> {
    let program = find_program("npm", user).map(|it| it.path);
    let own = user.get("HOME").map(|it| Path::new(it).join(".npmrc"));
    let installed = program.as_ref().and_then(|it| it.ancestors().nth(2));
    let installed = installed.map(|it| it.join("etc/npmrc"));
    let files = own.into_iter().chain(installed).chain(["/etc/npmrc".into()]);
    let set = ["npm_config_registry", "NPM_CONFIG_REGISTRY"].iter().filter_map(|it| user.get(*it));
    let (mut urls, mut scoped) = (set.cloned().collect::<Vec<String>>(), Vec::new());
    for line in files.map(|it| read(&it)).collect::<Vec<_>>().iter().flat_map(|it| it.lines()) {
        match line.split_once('=').map(|(key, url)| (key.trim(), url.trim().to_owned())) {
            Some(("registry", url)) => urls.push(url),
            Some((key, url)) if key.ends_with(":registry") => scoped.push(url),
            Some(_) | None => {}
        }
    }
    match program.map(|it| defaults::npm(&it)) {
        Some(Some(url)) => urls.push(url),
        Some(None) => urls.extend(ask(user, &["npm", "config", "get", "registry"])),
        None => {}
    }
    urls.extend(scoped);
    urls
}

/// Prints the default index of pip and its file host.
const PIP_ASK: &str = "import pip._internal.models.index as index
it = next(it for it in vars(index).values() if isinstance(it, index.PackageIndex))
print(it.simple_url)
print('https://' + it.file_storage_domain)";

fn pip(user: &Variables) -> Vec<String> {
    let names = ["PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "UV_INDEX_URL", "UV_DEFAULT_INDEX"];
    let set = names.iter().filter_map(|it| user.get(*it));
    let mut urls: Vec<String> =
        set.flat_map(|it| it.split_whitespace()).map(str::to_owned).collect();
    urls.extend(pip_files(user).iter().flat_map(|it| set_in_pip(&read(it))));
    let built_in = find_program("python3", user).map(|it| defaults::pip(&it.path));
    match built_in {
        Some(found) if found.is_empty() => urls.extend(ask(user, &["python3", "-c", PIP_ASK])),
        Some(found) => urls.extend(found),
        None => {}
    }
    urls
}

fn pip_files(user: &Variables) -> Vec<PathBuf> {
    let home = user.get("HOME").map(PathBuf::from);
    let own = [".config/pip/pip.conf", ".pip/pip.conf"];
    let own = home.iter().flat_map(|home| own.iter().map(|it| home.join(it)));
    let named = user.get("PIP_CONFIG_FILE").map(PathBuf::from);
    own.chain([PathBuf::from("/etc/pip.conf")]).chain(named).collect()
}

/// The values of the keys that set an index; a value may have several lines.
fn set_in_pip(text: &str) -> Vec<String> {
    let mut urls = Vec::new();
    let mut is_index = false;
    for line in text.lines() {
        let value = match line.split_once('=').filter(|_| !line.starts_with([' ', '\t'])) {
            Some((key, value)) => {
                is_index = ["index-url", "extra-index-url"].contains(&key.trim());
                value
            }
            None => line,
        };
        if is_index {
            urls.extend(value.split_whitespace().map(str::to_owned));
        }
    }
    urls
}

fn go(user: &Variables) -> Vec<String> {
    let said = ask(user, &["go", "env", "GOPROXY", "GOSUMDB"]);
    let words = said.iter().flat_map(|it| it.split([',', '|', ' ']));
    // The checksum database has no scheme.
    let url = |it: &str| if it.contains("://") { it.to_owned() } else { format!("https://{it}") };
    words.filter(|it| it.contains('.')).map(url).collect()
}

/// The output lines of a user's tool; empty if it is not installed or fails.
///
/// It runs in the user's home, so that a repository's registry settings are not used.
fn ask(user: &Variables, words: &[&str]) -> Vec<String> {
    let Some(program) = find_program(words[0], user) else { return Vec::new() };
    let home = user.get("HOME").map_or("/", String::as_str);
    let run = Run::new(program.path, home).args(&words[1..]);
    let run = run.timeout(Duration::from_millis(ASK_MS_MAX));
    let said = match run_trusted(run, &Cancel::default()) {
        Ok(finished) if finished.success() => finished.stdout,
        Ok(_) | Err(_) => return Vec::new(),
    };
    String::from_utf8_lossy(&said).lines().map(|it| it.trim().to_owned()).collect()
}

/// Every quoted URL.
fn addresses(text: &str) -> Vec<String> {
    let quoted = text.lines().filter(|it| !it.trim_start().starts_with('#'));
    let quoted = quoted.flat_map(|it| it.split(['"', '\'']).skip(1).step_by(2));
    quoted.filter(|it| place_of_url(it).is_some()).map(str::to_owned).collect()
}

pub(super) fn read(path: &Path) -> String {
    let mut text = String::new();
    let file = File::open(path).map(|it| it.take(FILE_BYTES_MAX));
    file.and_then(|mut it| it.read_to_string(&mut text)).map(|_| text).unwrap_or_default()
}

fn without_credentials(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority.rsplit('@').next().unwrap_or(authority);
    format!("{scheme}://{host}{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(registry: &Registry) -> Vec<String> {
        registry.places.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn finds_cargo_registries_in_its_folders_and_files() {
        let home = tempfile::tempdir().expect("a folder");
        let index = home.path().join("registry/index/index.example-1949cf8c6b5b557f");
        fs::create_dir_all(&index).expect("a folder");
        let config =
            r#"{"dl": "https://files.example/api/crates", "api": "https://index.example"}"#;
        fs::write(index.join("config.json"), config).expect("a file");
        let config = "[registries.mine]\nindex = \"sparse+https://me:secret@mine.example:8443/index/\"\n# \"https://not.example\"\n";
        fs::write(home.path().join("config.toml"), config).expect("a file");
        let user = Variables::from([("CARGO_HOME".into(), home.path().display().to_string())]);
        let registry = Registry::of("cargo", &cargo(&user));
        let expected = ["index.example:443", "files.example:443", "mine.example:8443"];
        assert_eq!(places(&registry), expected);
        assert!(!format!("{registry:?}").contains("secret"));
    }

    #[test]
    fn finds_the_default_index_of_an_unused_cargo() {
        let home = tempfile::tempdir().expect("a folder");
        let folder = home.path().join("toolchains/stable-x/bin");
        fs::create_dir_all(&folder).expect("a folder");
        let program = b"\x7fELF sparse+https://iints_of\0sparse+https://index.pkg.example/\0more";
        fs::write(folder.join("cargo"), program).expect("a file");
        let place = home.path().display().to_string();
        let user = Variables::from([
            ("CARGO_HOME".into(), place.clone()),
            ("RUSTUP_HOME".into(), place),
            ("PATH".into(), "/nonexistent".into()),
        ]);
        let registry = cargo_registry(&user);
        assert_eq!(places(&registry), ["index.pkg.example:443"]);
        let beside: Vec<String> = registry.beside.iter().map(ToString::to_string).collect();
        assert_eq!(beside, ["*.pkg.example:443"]);
        // A cargo that has fetched packages is not searched.
        fs::create_dir_all(home.path().join("registry/index/other.example-0")).expect("a folder");
        let registry = cargo_registry(&user);
        assert_eq!(
            (places(&registry), registry.beside),
            (vec!["other.example:443".into()], vec![])
        );
    }

    #[test]
    fn a_missing_tool_has_no_registry() {
        let user = Variables::from([("PATH".into(), "/nonexistent".into())]);
        assert_eq!(registries(&user), Vec::new());
    }

    #[test]
    fn finds_indexes_in_the_files_of_pip() {
        let text = "[global]\ntimeout = 5\nindex-url = https://one.example/simple\nextra-index-url =\n    https://two.example/a\n    https://three.example/b\n[install]\nuser = yes\n";
        let expected =
            ["https://one.example/simple", "https://two.example/a", "https://three.example/b"];
        assert_eq!(&set_in_pip(text)[..3], expected);
    }

    #[test]
    fn finds_all_extra_indexes_of_pip() {
        let user = Variables::from([
            ("PATH".into(), "/nonexistent".into()),
            ("PIP_INDEX_URL".into(), "https://u:p@one.example/simple".into()),
            ("PIP_EXTRA_INDEX_URL".into(), "https://two.example/a http://three.example/b".into()),
        ]);
        let registry = Registry::of("pip", &pip(&user));
        assert_eq!(places(&registry), ["one.example:443", "two.example:443", "three.example:80"]);
        assert_eq!(registry.urls[0], "https://one.example/simple");
    }
}
