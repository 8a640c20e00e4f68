//! Checks whether a path is in the checkout. Only reads the file system.

use std::path::{Component, Path, PathBuf};

/// The path relative to `root`, or `None` if it is elsewhere.
///
/// Symbolic links are followed as far as the path exists, so that a link inside the checkout does
/// not make an outside file look inside. `~` and `~name` expand to homes, so they are never inside.
/// This informs a decision; it is not a security boundary.
pub fn inside(root: &Path, path: &Path) -> Option<PathBuf> {
    let text = path.to_string_lossy();
    let path = match text.strip_prefix("file://") {
        Some(rest) => PathBuf::from(rest),
        None => path.to_owned(),
    };
    if path.to_string_lossy().starts_with('~') {
        return None;
    }
    let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    let resolved = resolve(&root.join(path));
    resolved.strip_prefix(&root).ok().map(Path::to_owned)
}

fn resolve(path: &Path) -> PathBuf {
    let mut resolved = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                resolved.pop();
            }
            Component::CurDir => {}
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => {
                resolved.push(component);
                if let Ok(real) = resolved.canonicalize() {
                    resolved = real;
                } else if let Ok(target) = resolved.read_link() {
                    // Writing through a dangling link creates its target.
                    resolved.pop();
                    resolved = lexical(&resolved.join(target));
                }
            }
        }
    }
    resolved
}

fn lexical(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => {
                plain.push(component);
            }
        }
    }
    plain
}
