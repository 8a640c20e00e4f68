//! Which parts of an installation its programs need, depending on the tool that installed it.
//!
//! These are allow-lists: tools keep logins, histories and settings beside their programs, and none
//! of these are listed. A folder of unknown layout exposes only the program itself.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// A tool that keeps programs or downloads in its own folder.
struct Tool {
    /// The variable that contains the folder's path.
    variable: &'static str,
    /// The folder below the home if the variable is not set.
    place: &'static str,
    /// The parts of the folder that are needed. Empty: the whole folder.
    parts: &'static [&'static str],
}

const fn tool(variable: &'static str, place: &'static str, parts: &'static [&'static str]) -> Tool {
    Tool { variable, place, parts }
}

const TOOLS: &[Tool] = &[
    tool("CARGO_HOME", ".cargo", &["bin", "env", "git", "registry"]),
    tool("RUSTUP_HOME", ".rustup", &["settings.toml", "toolchains", "update-hashes"]),
    tool("GOPATH", "go", &["bin", "pkg"]),
    tool("GRADLE_USER_HOME", ".gradle", &["caches", "jdks", "native", "wrapper"]),
    tool("npm_config_cache", ".npm", &["_cacache", "_npx"]),
    tool("PNPM_HOME", ".local/share/pnpm", &["global", "nodejs", ".tools"]),
    tool("NVM_DIR", ".nvm", &["alias", "nvm-exec", "nvm.sh", "versions"]),
    tool("VOLTA_HOME", ".volta", &["bin", "tools"]),
    tool("BUN_INSTALL", ".bun", &["bin", "install"]),
    tool("PYENV_ROOT", ".pyenv", VERSION_MANAGER),
    tool("ASDF_DATA_DIR", ".asdf", SHIM_MANAGER),
    tool("MISE_DATA_DIR", ".local/share/mise", SHIM_MANAGER),
    tool("UV_CACHE_DIR", ".cache/uv", &[]),
    tool("UV_PYTHON_INSTALL_DIR", ".local/share/uv/python", &[]),
    tool("PIP_CACHE_DIR", ".cache/pip", &[]),
    tool("GOCACHE", ".cache/go-build", &[]),
    tool("PRE_COMMIT_HOME", ".cache/pre-commit", &[]),
    tool("PLAYWRIGHT_BROWSERS_PATH", ".cache/ms-playwright", &[]),
    tool("DENO_DIR", ".cache/deno", &[]),
];

/// For pyenv and related tools.
const VERSION_MANAGER: &[&str] =
    &["bin", "libexec", "plugins", "pyenv.d", "shims", "version", "versions"];
/// For asdf and mise.
const SHIM_MANAGER: &[&str] = &["asdf.sh", "bin", "installs", "lib", "libexec", "plugins", "shims"];
const LIBRARIES: &[&str] = &["lib", "lib64", "libexec"];

/// A kind of installation and its parts, recognised by an entry that only this kind has. A trailing
/// `*` matches any ending.
const LAYOUTS: &[(&str, &[&str])] = &[
    // An npm prefix.
    ("lib/node_modules", &["lib/node_modules"]),
    // A Python virtual environment, including those of pipx and uv.
    ("pyvenv.cfg", &["include", "lib", "lib64", "pyvenv.cfg", "share"]),
    // A Python interpreter, or packages installed by `pip install --user`.
    ("lib/python*", &["include/python*", "lib/libpython*", "lib/python*", "lib/tcl*", "lib/tk*"]),
    ("conda-meta", &["conda-meta", "condabin", "include", "lib", "libexec", "share", "ssl"]),
    // A Rust toolchain.
    ("lib/rustlib", &["lib", "libexec", "share"]),
    // A Go toolchain.
    ("pkg/tool", &["VERSION", "go.env", "lib", "misc", "pkg", "src"]),
    // A Java development kit.
    ("lib/jrt-fs.jar", &["conf", "include", "jmods", "legal", "lib", "release"]),
    ("bin/mvn", &["boot", "conf/logging", "lib"]),
    ("bin/gradle", &["lib"]),
    // Homebrew.
    ("Cellar", &["Cellar", "include", "lib", "libexec", "opt", "share"]),
    ("libexec/pyenv", VERSION_MANAGER),
    ("libexec/rbenv", VERSION_MANAGER),
    ("libexec/nodenv", VERSION_MANAGER),
    ("installs", SHIM_MANAGER),
];

/// Returns the parts of the user's tool folders that programs need.
pub(super) fn tool_parts(environment: &BTreeMap<String, String>) -> Vec<PathBuf> {
    let home = environment.get("HOME").map(PathBuf::from);
    let place = |it: &Tool| {
        let own = environment.get(it.variable).map(PathBuf::from).filter(|it| it.is_absolute());
        own.or_else(|| home.as_ref().map(|home| home.join(it.place)))
    };
    let parts = |it: &Tool| match (place(it), it.parts) {
        (None, _) => Vec::new(),
        (Some(folder), []) => vec![folder],
        (Some(folder), parts) => parts.iter().map(|it| folder.join(it)).collect(),
    };
    TOOLS.iter().flat_map(parts).filter(|it| it.exists()).collect()
}

/// Returns the variables that point tools to the user's own folders, unless the user sets them.
pub fn tool_variables(environment: &BTreeMap<String, String>) -> Vec<(String, String)> {
    let Some(home) = environment.get("HOME").map(PathBuf::from) else { return Vec::new() };
    let is_there =
        |it: &&Tool| !environment.contains_key(it.variable) && home.join(it.place).is_dir();
    let place = |it: &Tool| (it.variable.to_owned(), home.join(it.place).display().to_string());
    TOOLS.iter().filter(is_there).map(place).collect()
}

/// Returns the parts of an installation that its programs need besides their own folder. Empty if
/// the layout is unknown.
pub(super) fn parts_of(prefix: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let mut parts: Vec<PathBuf> = LAYOUTS
        .iter()
        .filter(|(marker, _)| !named(prefix, marker).is_empty())
        .flat_map(|(_, parts)| parts.iter().flat_map(|it| named(prefix, it)))
        .collect();
    // By the file system standards, both are for installed programs.
    let is_package = prefix.starts_with("/opt");
    if is_package || home.is_some_and(|it| prefix == it.join(".local")) {
        parts.extend(LIBRARIES.iter().flat_map(|it| named(prefix, it)));
    }
    if is_package {
        parts.extend(named(prefix, "share"));
    }
    parts
}

/// Returns the existing entries of a folder that match a name.
fn named(prefix: &Path, name: &str) -> Vec<PathBuf> {
    let path = prefix.join(name);
    let Some(beginning) = name.strip_suffix('*') else {
        return if path.exists() { vec![path] } else { Vec::new() };
    };
    let folder = path.parent().expect("a name is below its prefix");
    let beginning = beginning.rsplit('/').next().unwrap_or_default();
    let begins = |it: &fs::DirEntry| it.file_name().to_string_lossy().starts_with(beginning);
    fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter(begins)
        .map(|it| it.path())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_point_to_existing_tool_folders() {
        let dir = tempfile::tempdir().unwrap();
        for folder in [".cargo", ".rustup"] {
            fs::create_dir(dir.path().join(folder)).unwrap();
        }
        let home = dir.path().display().to_string();
        let user = [("HOME", &*home), ("RUSTUP_HOME", "/opt/rustup")];
        let user = user.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let variables = tool_variables(&user.into());
        assert_eq!(variables, [("CARGO_HOME".to_owned(), format!("{home}/.cargo"))]);
    }

    #[test]
    fn no_part_of_a_tool_is_outside_its_folder() {
        let parts = TOOLS.iter().flat_map(|it| it.parts);
        for part in parts.chain(LAYOUTS.iter().flat_map(|it| it.1)) {
            assert!(!part.is_empty() && !part.starts_with('/') && !part.contains(".."), "{part}");
        }
    }
}
