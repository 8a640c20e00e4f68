//! The parts of a checkout that a sandboxed agent may write and see, derived from its zone.
//!
//! Files that git ignores are in no zone: they are never integrated, and builds write there. Links
//! in a checkout are never followed.

use pitcrew_model::{RepoPath, Tier, Zone};
use pitcrew_process::read_plain;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Files that git itself reads in a folder.
const OF_GIT: &[&str] = &[".git", ".gitignore", ".gitattributes", ".gitmodules"];

/// The largest ignore file that is read.
const IGNORE_BYTES_MAX: u64 = 64 * 1_024;

/// The writable paths of a checkout, or `None` if all of it is writable.
pub fn writable(checkout: &Path, zone: &Zone, tier: Tier) -> Option<Vec<PathBuf>> {
    if zone.region.is_empty() || zone.region.iter().any(RepoPath::is_root) {
        return None;
    }
    let ignored = Ignored::of(checkout);
    if tier < Tier::T3 {
        // Without a sandbox, these folders could not be created: that needs write access to the
        // parent folder.
        for name in ignored.folders() {
            fs::create_dir(checkout.join(name)).ok();
        }
    }
    // Shared paths may not exist; a missing one must not make its parent writable.
    let shared = zone.shared.iter().filter(|it| is_there(checkout, it.as_str()));
    let own = zone.region.iter().chain(shared).map(|it| it.as_str().to_owned());
    let of_builds = parents(zone).into_iter().flat_map(|it| ignored.there(checkout, &it));
    let mut paths: Vec<PathBuf> = own.chain(of_builds).map(|it| checkout.join(it)).collect();
    paths.sort();
    paths.dedup();
    Some(paths)
}

/// Folders that builds create. Other ignored files may still be tracked in a repository.
const BUILDS: &[&str] = &[
    ".gradle",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    ".venv",
    "build",
    "coverage",
    "dist",
    "node_modules",
    "out",
    "target",
    "venv",
];

/// Of these, folders with installed packages, which builds only read.
const PACKAGES: &[&str] = &[".venv", "node_modules", "venv"];

/// The writable paths of an agent in a shared checkout: the files it was given, and the build
/// outputs at the top, if the user's repository ignores them. No agent can change that repository.
pub fn leased(checkout: &Path, files: &[RepoPath], root: &Path) -> Vec<PathBuf> {
    let ignored = Ignored::of(root);
    // An empty package folder would look like installed packages, so package folders are created
    // only if an agent has the checkout to itself.
    let make = |it: &&str| files.is_empty() && !PACKAGES.contains(it);
    let builds = BUILDS.iter().filter(|it| ignored.names(it, it));
    let builds = builds.map(|it| if make(it) { format!("{it}/") } else { (*it).to_owned() });
    let given = files.iter().map(|it| it.as_str().to_owned());
    given.chain(builds).map(|it| checkout.join(it)).collect()
}

fn is_there(checkout: &Path, path: &str) -> bool {
    fs::symlink_metadata(checkout.join(path)).is_ok()
}

/// The topmost paths of a checkout outside a worker's zone.
pub fn foreign(checkout: &Path, zone: &Zone) -> Vec<String> {
    if zone.is_everything() {
        return Vec::new();
    }
    let ignored = Ignored::of(checkout);
    let mut found = Vec::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(checkout.join(&folder)).into_iter().flatten().flatten() {
            // A name that is not UTF-8 is in no zone.
            let Ok(name) = entry.file_name().into_string() else { continue };
            let path = within(&folder, &name);
            let is_folder = entry.file_type().is_ok_and(|it| it.is_dir());
            let holds = |it: &RepoPath| it.as_str() != path && below(&path, it.as_str());
            let mut rules = zone.region.iter().chain(&zone.shared);
            if OF_GIT.contains(&name.as_str()) || ignored.names(&path, &name) {
                continue;
            }
            let is_seen = zone.allows(&path);
            let is_mixed = if is_seen { zone.denied.iter().any(holds) } else { rules.any(holds) };
            if is_mixed && is_folder {
                folders.push(path);
            } else if !is_seen {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn within(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

fn below(folder: &str, path: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|it| it.starts_with('/'))
}

/// The folders above the region, including the root of the checkout.
fn parents(zone: &Zone) -> Vec<String> {
    let above = zone.region.iter().flat_map(|it| Path::new(it.as_str()).ancestors().skip(1));
    let mut above: Vec<String> = above.map(|it| it.display().to_string()).collect();
    above.sort();
    above.dedup();
    above
}

/// The literal entries of the topmost ignore file; patterns are left to git.
struct Ignored(Vec<Line>);

struct Line {
    /// Relative to the checkout if it has a slash, else in any folder.
    path: String,
    anchored: bool,
    is_folder: bool,
}

impl Ignored {
    fn of(checkout: &Path) -> Self {
        let path = checkout.join(".gitignore");
        let bytes = read_plain(&path, IGNORE_BYTES_MAX).map(|it| it.bytes).unwrap_or_default();
        Self(String::from_utf8_lossy(&bytes).lines().filter_map(Line::read).collect())
    }

    /// Top-level folders that builds may create.
    fn folders(&self) -> impl Iterator<Item = &str> {
        let at_top = self.0.iter().filter(|it| it.is_folder && !it.path.contains('/'));
        at_top.map(|it| it.path.as_str())
    }

    fn names(&self, path: &str, name: &str) -> bool {
        self.0.iter().any(|it| if it.anchored { it.path == path } else { it.path == name })
    }

    /// The entries that exist in a folder of the checkout.
    fn there(&self, checkout: &Path, folder: &str) -> Vec<String> {
        let named = self.0.iter().filter(|it| folder.is_empty() || !it.anchored);
        let named = named.map(|it| within(folder, &it.path));
        named.filter(|it| is_there(checkout, it)).collect()
    }
}

impl Line {
    fn read(line: &str) -> Option<Self> {
        let line = line.trim_end();
        let is_name = !line.contains(['*', '?', '[', '\\', '#', '!']);
        let path = RepoPath::parse(line.trim_start_matches('/')).ok().filter(|_| is_name)?;
        let path = (!path.is_root()).then(|| path.as_str().to_owned())?;
        let anchored = line.trim_end_matches('/').contains('/');
        // Build folders are often written without a slash; a name with a dot may be a file.
        let is_folder = line.ends_with('/') || !path.contains('.');
        Some(Self { path, anchored, is_folder })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    fn checkout() -> TempDir {
        let folder = TempDir::new().expect("a folder");
        for path in ["ui/forms", "core/deep", "ui/keys", "web/app/src", "web/node_modules"] {
            fs::create_dir_all(folder.path().join(path)).expect("a folder");
        }
        for path in ["Cargo.toml", "README.md", ".gitattributes", "ui/forms/a", ".env"] {
            fs::write(folder.path().join(path), "").expect("a file");
        }
        let ignore = "# builds\n/target\nnode_modules/\n*.log\n.env\n!kept\nweb/dist/\n";
        fs::write(folder.path().join(".gitignore"), ignore).expect("a file");
        folder
    }

    fn zone(region: &[&str], shared: &[&str], denied: &[&str]) -> Zone {
        let paths =
            |it: &[&str]| it.iter().map(|it| RepoPath::parse_prefix(it).expect("a path")).collect();
        Zone { region: paths(region), shared: paths(shared), denied: paths(denied) }
    }

    fn shown(checkout: &Path, paths: Option<Vec<PathBuf>>) -> Vec<String> {
        let paths = paths.expect("it is held").into_iter();
        let within =
            paths.map(|it| it.strip_prefix(checkout).expect("within").display().to_string());
        within.collect()
    }

    #[test]
    fn shared_paths_and_build_outputs_are_writable_too() {
        let folder = checkout();
        let zone = zone(&["web/app"], &["Cargo.toml", "none"], &[]);
        let of = |tier| shown(folder.path(), writable(folder.path(), &zone, tier));
        assert_eq!(of(Tier::T3), [".env", "Cargo.toml", "web/app", "web/node_modules"]);
        let expected =
            [".env", "Cargo.toml", "node_modules", "target", "web/app", "web/node_modules"];
        assert_eq!(of(Tier::T2), expected);
        assert!(folder.path().join("target").is_dir() && !folder.path().join("web/dist").exists());
    }

    #[test]
    fn a_zone_of_everything_is_not_restricted() {
        let folder = checkout();
        assert_eq!(writable(folder.path(), &zone(&[], &[], &["core"]), Tier::T3), None);
        assert_eq!(writable(folder.path(), &zone(&["."], &[], &[]), Tier::T3), None);
    }

    #[test]
    fn hidden_paths_are_topmost_and_exclude_gits_files() {
        let folder = checkout();
        let of = |zone: &Zone| foreign(folder.path(), zone);
        let ui = zone(&["ui"], &["Cargo.toml"], &["ui/keys"]);
        assert_eq!(of(&ui), ["README.md", "core", "ui/keys", "web"]);
        let app = zone(&["web/app/src"], &[], &[]);
        assert_eq!(of(&app), ["Cargo.toml", "README.md", "core", "ui"]);
        assert!(of(&Zone::default()).is_empty());
    }
}
