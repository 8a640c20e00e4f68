//! Trees of a given size, made of real sources.

use super::{Outcome, fetched};
use pitcrew_symbols::Language;
use std::{
    fs,
    path::{Path, PathBuf},
};
use tempfile::TempDir;

/// Larger files are generated tables. One of them would be most of a tree.
const FILE_BYTES_MAX: u64 = 512 << 10;

/// A source and its path relative to the folder in which it was found.
pub struct Source {
    from: PathBuf,
    path: String,
}

pub struct Tree {
    _folder: TempDir,
    pub root: PathBuf,
    /// Paths relative to the root.
    pub files: Vec<(String, Language)>,
    pub bytes: u64,
}

/// All readable sources that cargo has downloaded, ordered by path.
pub fn sources() -> Outcome<Vec<Source>> {
    let mut sources = Vec::new();
    for registry in fs::read_dir(fetched()?)? {
        let registry = registry?.path();
        let mut folders = vec![registry.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder)? {
                let entry = entry?;
                let (path, kind) = (entry.path(), entry.file_type()?);
                if kind.is_dir() {
                    folders.push(path);
                } else if kind.is_file() && fs::metadata(&path)?.len() <= FILE_BYTES_MAX {
                    sources.extend(source(&registry, path));
                }
            }
        }
    }
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    if sources.is_empty() { Err("cargo has fetched no sources".into()) } else { Ok(sources) }
}

fn source(registry: &Path, from: PathBuf) -> Option<Source> {
    Language::of(&from)?;
    let path = from.strip_prefix(registry).ok()?.to_str()?.to_owned();
    Some(Source { from, path })
}

impl Tree {
    /// Takes every n-th source, or all of them several times with different contents.
    pub fn new(sources: &[Source], count: usize) -> Outcome<Self> {
        let folder = tempfile::tempdir()?;
        let root = folder.path().join("tree");
        let (mut files, mut bytes) = (Vec::new(), 0);
        for number in 0..count {
            let copy = number / sources.len();
            let index = if count < sources.len() {
                number * sources.len() / count
            } else {
                number % sources.len()
            };
            let source = &sources[index];
            let path = format!("part-{copy}/{}", source.path);
            let language = Language::of(&source.from).ok_or("it is a source")?;
            let mut content = fs::read(&source.from)?;
            if copy > 0 {
                content.extend_from_slice(comment(language, copy).as_bytes());
            }
            let place = root.join(&path);
            fs::create_dir_all(place.parent().ok_or("it is in a folder")?)?;
            fs::write(place, &content)?;
            bytes += content.len() as u64;
            files.push((path, language));
        }
        Ok(Self { _folder: folder, root, files, bytes })
    }

    /// The paths of all files in a language.
    pub fn of(&self, language: Language) -> impl Iterator<Item = &str> {
        self.files.iter().filter(move |it| it.1 == language).map(|it| it.0.as_str())
    }
}

fn comment(language: Language, number: usize) -> String {
    let hash = matches!(language, Language::Python | Language::Ruby | Language::Bash);
    let mark = if hash {
        "#"
    } else if language == Language::Lua {
        "--"
    } else {
        "//"
    };
    format!("\n{mark} copy {number}\n")
}
