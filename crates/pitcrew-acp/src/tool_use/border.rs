//! Whether a path lies in the checkout. Looks at the file system, and never changes it.

use std::path::{Component, Path, PathBuf};

/// The path relative to `root`, or nothing when it lies elsewhere.
///
/// Symbolic links are followed as far as the path exists, so that a link inside the checkout does
/// not make the outside look like inside. `~` and `~name` are homes to those who expand them, so
/// they are never inside. This informs a decision; it is not the boundary.
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
                    // A link to what does not exist yet: writing through it creates the target.
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
