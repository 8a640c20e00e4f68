//! The built-in defaults of tools, read from their installation: starting a tool only for this
//! would take a second each time.

use super::{Variables, read};
use pitcrew_process::find_program;
use std::{
    fs::{self, File},
    io::{BufRead, Read},
    path::{Path, PathBuf},
};

/// The list of npm's settings, below the folder of its libraries.
const NPM_SETTINGS: &str = "@npmcli/config/lib/definitions/definitions.js";
/// How cargo marks a sparse index, up to the character after the mark.
const INDEX_MARK: &str = "sparse+";
const INDEX_SIGN: u8 = b'+';
const INDEX_SCHEME: &str = "https://";
const PROGRAM_BYTES_MAX: u64 = 256 * 1_024 * 1_024;
/// The indexes of pip, below the folder of Python's packages.
const PIP_INDEXES: &str = "pip/_internal/models/index.py";

/// The default registry of this npm.
pub(super) fn npm(program: &Path) -> Option<String> {
    let program = program.canonicalize().ok()?;
    let libraries = program.ancestors().flat_map(|it| [it.join("node_modules"), it.to_owned()]);
    let settings = libraries.map(|it| it.join(NPM_SETTINGS)).find(|it| it.is_file())?;
    let text = read(&settings);
    let (_, after) =
        text.split_once("Definition('registry'").or(text.split_once("define('registry'"))?;
    let (_, value) = after.split_once("default:")?;
    quoted(value).next().map(str::to_owned)
}

/// The default index of a cargo of this user: its own, or one of rustup's.
pub(super) fn cargo(user: &Variables) -> Option<String> {
    let own = user.get("RUSTUP_HOME").map(PathBuf::from);
    let rustup = own.or_else(|| Some(Path::new(user.get("HOME")?).join(".rustup")));
    let chains = rustup.map(|it| entries(&it.join("toolchains"))).unwrap_or_default();
    let chains = chains.into_iter().map(|it| it.join("bin/cargo"));
    // The cargo on the path may only be a launcher for one of these.
    let mut programs = chains.chain(find_program("cargo", user).map(|it| it.path));
    programs.find_map(|it| index_in(&it))
}

/// The first URL after the index mark in a program.
fn index_in(program: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    File::open(program).ok()?.take(PROGRAM_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    let mut rest = bytes.as_slice();
    // Searches for a rare byte first: programs have many megabytes.
    while rest.skip_until(INDEX_SIGN).ok()? > 0 {
        let (before, after) = bytes.split_at(bytes.len() - rest.len());
        let after = after.strip_prefix(INDEX_SCHEME.as_bytes());
        let Some(after) = after.filter(|_| before.ends_with(INDEX_MARK.as_bytes())) else {
            continue;
        };
        let is_host = |it: &u8| it.is_ascii_alphanumeric() || b".-".contains(it);
        let end = after.iter().position(|it| !is_host(it))?;
        let host = std::str::from_utf8(&after[..end]).ok()?;
        if after[end] == b'/' && host.contains('.') {
            return Some(format!("{INDEX_SCHEME}{host}/"));
        }
    }
    None
}

/// The default index of the pip beside this Python, and its file host.
pub(super) fn pip(python: &Path) -> Vec<String> {
    let real = python.canonicalize().unwrap_or_else(|_| python.to_owned());
    let prefixes = [python, &real].into_iter().filter_map(|it| it.ancestors().nth(2));
    // A launcher for several versions has them in subfolders.
    let prefixes = prefixes.flat_map(|it| [vec![it.to_owned()], entries(&it.join("versions"))]);
    let libraries = prefixes.flatten().flat_map(|it| entries(&it.join("lib")));
    let packages =
        libraries.flat_map(|it| ["site-packages", "dist-packages"].map(|at| it.join(at)));
    let Some(indexes) = packages.map(|it| it.join(PIP_INDEXES)).find(|it| it.is_file()) else {
        return Vec::new();
    };
    let text = read(&indexes);
    let Some((_, after)) = text.split_once("= PackageIndex(") else { return Vec::new() };
    let mut words = quoted(after);
    let (Some(index), Some(files)) = (words.next(), words.next()) else { return Vec::new() };
    vec![format!("{}/simple", index.trim_end_matches('/')), format!("https://{files}")]
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|it| it.path()).collect();
    // Newest first.
    found.sort_by(|one, other| other.cmp(one));
    found
}

/// Every quoted string.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split(['\'', '"', '`']).skip(1).step_by(2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn write(path: PathBuf, text: &str) {
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    #[test]
    fn reads_the_default_registry_of_npm() {
        let folder = tempfile::tempdir().expect("a folder");
        let npm_folder = folder.path().join("lib/node_modules/npm");
        let definitions = "proxy: new Definition('proxy', {\n default: null }),\n\
            registry: new Definition('registry', {\n  default: 'https://npm.example/',\n type: url";
        write(npm_folder.join("node_modules").join(NPM_SETTINGS), definitions);
        write(npm_folder.join("bin/npm-cli.js"), "");
        let program = folder.path().join("npm");
        symlink(npm_folder.join("bin/npm-cli.js"), &program).expect("a link");
        assert_eq!(npm(&program).as_deref(), Some("https://npm.example/"));
        assert_eq!(npm(&folder.path().join("none")), None);
    }

    #[test]
    fn reads_the_default_index_of_cargo() {
        let folder = tempfile::tempdir().expect("a folder");
        let program = folder.path().join("cargo");
        let found = |text: &str| {
            fs::write(&program, text).expect("a file");
            index_in(&program)
        };
        let text = "1+1 sparse+http://no sparse+https:///x sparse+https://here/x\0\
            +https://not.example/ sparse+https://index.example/path sparse+https://later.example/";
        assert_eq!(found(text).as_deref(), Some("https://index.example/"));
        assert_eq!(found("sparse+https://cut.off"), None);
        assert_eq!(found("nothing"), None);
    }

    #[test]
    fn reads_the_default_index_of_pip() {
        let folder = tempfile::tempdir().expect("a folder");
        let text = "class PackageIndex:\n    \"\"\"An index\"\"\"\n\n\
            One = PackageIndex(\"https://one.example/\", file_storage_domain=\"files.example\")\n\
            Two = PackageIndex(\"https://two.example/\", file_storage_domain=\"x.example\")\n";
        let packages = folder.path().join("versions/3.13.0/lib/python3.13/site-packages");
        write(packages.join(PIP_INDEXES), text);
        let expected = ["https://one.example/simple", "https://files.example"];
        assert_eq!(pip(&folder.path().join("shims/python3")), expected);
        assert_eq!(pip(Path::new("/nonexistent/bin/python3")), Vec::<String>::new());
    }
}
