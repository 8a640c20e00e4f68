//! Checks where a symbolic link points.

use super::disguise;

/// Whether the link at `path` points out of the repository or into its git folder.
///
/// `..` may only be at the beginning of the target: after a name, it is relative to wherever that
/// name links to.
pub(super) fn leaves(path: &[u8], target: &[u8]) -> bool {
    let Ok(target) = std::str::from_utf8(target) else { return true };
    if target.is_empty() || target.starts_with('/') || target.contains(['\0', '\\']) {
        return true;
    }
    let mut depth = path.split(|it| *it == b'/').count() - 1;
    let mut has_name = false;
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." if has_name || depth == 0 => return true,
            ".." => depth -= 1,
            name if disguise::is_git(name) => return true,
            _ => has_name = true,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn link_must_stay_in_the_repository() {
        for (path, target) in
            [("l", "a"), ("l", "./a/b"), ("a/l", "../b"), ("a/b/l", "../../c"), ("a/l", "..")]
        {
            assert!(!leaves(path.as_bytes(), target.as_bytes()), "{path} -> {target}");
        }
        for (path, target) in [
            ("l", "/etc/passwd"),
            ("l", ".."),
            ("a/l", "../../x"),
            ("l", "a/../../x"),
            ("a/b/l", "y/../x"),
            ("l", ".git/config"),
            ("a/l", "../.GIT/hooks"),
            ("l", ""),
            ("l", "a\\..\\..\\x"),
        ] {
            assert!(leaves(path.as_bytes(), target.as_bytes()), "{path} -> {target}");
        }
        assert!(leaves(b"l", b"\xff"));
    }
}
