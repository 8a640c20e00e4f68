//! Names that some file system treats as another name.

use pitcrew_model::folded_name;

/// Whether a part of a path means `.git` on any file system: by case, ignored characters, dropped
/// endings or its short form.
pub(super) fn is_git(part: &str) -> bool {
    let file = folded_name(part);
    file == ".git" || file.strip_prefix("git~").is_some_and(is_number)
}

/// Whether the name looks like a short name that Windows generates for a longer one: `gitatt~1`,
/// `gi7d29~1`.
pub(super) fn is_short_form(part: &str) -> bool {
    let file = folded_name(part);
    let stem = file.split('.').next().unwrap_or_default();
    stem.len() <= 8 && stem.split_once('~').is_some_and(|it| is_number(it.1))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_folder_is_detected_in_every_disguise() {
        for part in [
            ".git",
            ".GIT",
            ".Git",
            "git~1",
            "GIT~2",
            ".git.",
            ".git ",
            ".git. .",
            ".g\u{200c}it",
            ".git\u{feff}",
            ".git::$INDEX_ALLOCATION",
            ".gİt",
            ".gıt",
            ".\u{200d}GiT",
        ] {
            assert!(is_git(part), "{part:?}");
        }
        for part in [".gitignore", "git", ".github", "git~", "git~a", "digit", ".git2", "a.git"] {
            assert!(!is_git(part), "{part:?}");
        }
    }

    #[test]
    fn short_forms_are_detected() {
        for part in ["GITATT~1", "gitatt~4", "gi7d29~1", "MISE~1.TOM", "lefthoo~1"] {
            assert_eq!(is_short_form(part), part != "lefthoo~1", "{part:?}");
        }
        for part in ["a.rs", "~1", "git~", "notes~old", "file.~1~", "a-long-name~1"] {
            assert_eq!(is_short_form(part), part == "~1", "{part:?}");
        }
    }
}
