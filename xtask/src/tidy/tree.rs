//! Reads the files that the rules check.

use crate::program::Failure;
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// A file of the repository.
pub struct SourceFile {
    /// Relative to the root, with `/` as separator.
    pub path: String,
    /// Empty if the file is not UTF-8: no rule checks images.
    pub text: String,
}

impl SourceFile {
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    pub fn has_extension(&self, extension: &str) -> bool {
        self.name().rsplit_once('.').is_some_and(|(stem, it)| !stem.is_empty() && it == extension)
    }
}

/// Our hidden folders. Others belong to editors and tools.
const HIDDEN_FOLDERS: &[&str] = &[".ci", ".cargo", ".github"];
/// Folders with build output or downloads.
const FOREIGN_FOLDERS: &[&str] = &["target", "node_modules"];

/// Reads all files below `root`, sorted by path.
pub fn read(root: &Path) -> Result<Vec<SourceFile>, Failure> {
    let mut files = Vec::new();
    let mut folders = vec![(root.to_owned(), String::new())];
    while let Some((folder, prefix)) = folders.pop() {
        read_folder(&folder, &prefix, &mut files, &mut folders)
            .map_err(|error| Failure(format!("cannot read `{}`: {error}", folder.display())))?;
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

fn read_folder(
    folder: &Path,
    prefix: &str,
    files: &mut Vec<SourceFile>,
    folders: &mut Vec<(PathBuf, String)>,
) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{prefix}{name}");
        let kind = entry.file_type()?;
        if kind.is_dir() {
            if is_ours(&name) {
                folders.push((entry.path(), format!("{path}/")));
            }
        } else if kind.is_file() {
            let text = String::from_utf8(fs::read(entry.path())?).unwrap_or_default();
            files.push(SourceFile { path, text });
        }
    }
    Ok(())
}

fn is_ours(folder: &str) -> bool {
    let hidden = folder.starts_with('.') && !HIDDEN_FOLDERS.contains(&folder);
    !hidden && !FOREIGN_FOLDERS.contains(&folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn build_output_and_tool_folders_are_skipped() {
        let root = std::env::temp_dir().join(format!("pitcrew-tidy-{}", std::process::id()));
        for file in ["a.rs", "b/c.md", ".ci/run", ".git/x", "target/y", ".idea/z", "b/picture"] {
            let path = root.join(file);
            fs::create_dir_all(path.parent().expect("a folder")).expect("mkdir");
            fs::write(path, if file == "b/picture" { &b"\xff\x00"[..] } else { b"text" })
                .expect("write");
        }
        let files = read(&root).expect("the files");
        fs::remove_dir_all(&root).expect("clean up");
        let seen: Vec<(&str, &str)> =
            files.iter().map(|it| (it.path.as_str(), it.text.as_str())).collect();
        assert_eq!(
            seen,
            [(".ci/run", "text"), ("a.rs", "text"), ("b/c.md", "text"), ("b/picture", "")]
        );
    }

    #[test]
    fn an_extension_needs_a_stem() {
        let file = |path: &str| SourceFile { path: path.into(), text: String::new() };
        assert!(file("a/b.rs").has_extension("rs"));
        assert!(!file("a/.rs").has_extension("rs"));
        assert!(!file("a.rs/b").has_extension("rs"));
    }
}
