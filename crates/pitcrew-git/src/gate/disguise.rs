//! Names that some file system takes for another name.

/// Whether a part of a path is `name` on any file system: by case, by characters that are ignored,
/// by endings that are dropped, or by a short form.
///
/// `name` is lower case and begins with a dot.
pub(super) fn is(part: &str, name: &str) -> bool {
    let folded = fold(part);
    // What follows a colon names a stream of the same file; dots and spaces at the end are dropped.
    let file = folded.split(':').next().unwrap_or_default().trim_end_matches(['.', ' ']);
    file == name || is_short_form(file, &name[1..])
}

fn fold(part: &str) -> String {
    part.chars()
        .filter(|it| !is_ignored(*it))
        .flat_map(char::to_lowercase)
        // What is left of a dotted capital i, and its dotless sibling.
        .filter(|it| *it != '\u{307}')
        .map(|it| if it == 'ı' { 'i' } else { it })
        .collect()
}

/// Characters that some file systems leave out when they compare.
fn is_ignored(character: char) -> bool {
    matches!(
        character,
        '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
    )
}

/// Whether a file is the 8.3 form of a name: `git~1`, `gitatt~1`, or its hashed form `gi1234~1`.
fn is_short_form(file: &str, name: &str) -> bool {
    let Some((stem, number)) = file.split_once('~') else { return false };
    let is_number = !number.is_empty() && number.bytes().all(|it| it.is_ascii_digit());
    let start: String = name.chars().take(6).collect();
    let is_hashed = name.len() > 8
        && stem.len() == 6
        && stem.get(..2) == name.get(..2)
        && stem.bytes().skip(2).all(|it| it.is_ascii_hexdigit());
    is_number && (stem == start || is_hashed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_git_folder_is_known_in_every_disguise() {
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
            assert!(is(part, ".git"), "{part:?}");
        }
        for part in [".gitignore", "git", ".github", "git~", "git~a", "digit", ".git2", "a.git"] {
            assert!(!is(part, ".git"), "{part:?}");
        }
    }

    #[test]
    fn long_names_have_short_forms_too() {
        for part in ["GITATT~1", "gitatt~4", "gi7d29~1", ".gitATTRIBUTES", ".gitattributes."] {
            assert!(is(part, ".gitattributes"), "{part:?}");
        }
        assert!(!is("gitaxx~1", ".gitattributes"));
    }
}
