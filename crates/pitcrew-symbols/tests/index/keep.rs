//! The cache is kept between runs and shared between checkouts.

use super::*;
use pitcrew_symbols::{Parsed, Parser, Request, Skipped, SkippedFile};
use std::{
    path::PathBuf,
    sync::atomic::{AtomicUsize, Ordering},
};

const FILES: &[(&str, &str)] =
    &[("a.rs", "pub fn gate() {}\n"), ("b/c.rs", "pub struct Door { pub key: u32 }\n")];

#[test]
fn a_warm_start_parses_nothing() {
    let tree = Tree::new(FILES);
    tree.index().refresh();
    let pool = tree.pool();
    let index = Index::open(tree.root.path(), &pool);
    assert_eq!(places(&asked(&index, "Door")), ["b/c.rs:1"]);
    assert_eq!(pool.parsed_count(), 0);
}

#[test]
fn a_content_is_parsed_once_for_all_checkouts() {
    let tree = Tree::new(FILES);
    let pool = tree.pool();
    let roots: Vec<TempDir> = (0..5).map(|_| TempDir::new().unwrap()).collect();
    for root in &roots {
        for (path, text) in FILES {
            write(root.path(), path, text);
        }
    }
    let indexes: Vec<Index> = roots.iter().map(|it| Index::open(it.path(), &pool)).collect();
    for index in &indexes {
        index.refresh();
        assert_eq!(places(&asked(index, "gate")), ["a.rs:1"]);
    }
    assert_eq!(pool.parsed_count(), FILES.len());
}

/// All files that were written below a folder.
fn kept(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("it can be read") {
            let path = entry.expect("it can be read").path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    files
}

#[test]
fn torn_and_foreign_files_are_replaced() {
    let tree = Tree::new(FILES);
    tree.index().refresh();
    let files = kept(tree.kept.path());
    assert_eq!(files.len(), 2, "{files:?}");
    let whole: Vec<Vec<u8>> = files.iter().map(|it| fs::read(it).unwrap()).collect();
    let damage: &[fn(&mut Vec<u8>)] = &[
        |it| it.truncate(it.len() - 1),
        |it| it.truncate(it.len() / 2),
        |it| it.truncate(3),
        Vec::clear,
        |it| it[0] ^= 1,
        |it| it[14] ^= 1,
        |it| {
            let middle = it.len() / 2;
            it[middle] ^= 1;
        },
        |it| it.extend_from_slice(b"something else"),
        |it| it.fill(0xff),
    ];
    for (file, whole) in files.iter().zip(&whole) {
        for (number, damage) in damage.iter().enumerate() {
            let mut bytes = whole.clone();
            damage(&mut bytes);
            fs::write(file, bytes).unwrap();
            let index = tree.index();
            assert_eq!(places(&asked(&index, "Door")), ["b/c.rs:1"], "{file:?} {number}");
            assert_eq!(places(&asked(&index, "gate")), ["a.rs:1"], "{file:?} {number}");
            tree.write("a.rs", &format!("pub fn gate() {{}}\npub fn round_{number}() {{}}\n"));
            index.refresh();
            drop(index);
            let pool = tree.pool();
            let index = Index::open(tree.root.path(), &pool);
            assert_eq!(places(&asked(&index, &format!("round_{number}"))), ["a.rs:2"]);
            assert_eq!(pool.parsed_count(), 0, "what was learnt since is kept: {file:?} {number}");
        }
    }
}

#[test]
fn an_unwritable_folder_is_not_an_error() {
    let tree = Tree::new(FILES);
    fs::write(tree.kept.path().join("file"), "x").unwrap();
    let pool = Arc::new(Pool::open(&tree.kept.path().join("file/below"), Arc::new(InProcess)));
    let index = Index::open(tree.root.path(), &pool);
    assert_eq!(places(&asked(&index, "gate")), ["a.rs:1"]);
}

/// A parser whose process dies on one file, as a hostile source can cause.
#[derive(Debug, Default)]
struct Dying {
    asked_count: AtomicUsize,
    why: Option<Skipped>,
}

impl Parser for Dying {
    fn parse(&self, request: &Request<'_>) -> Parsed {
        let is_hostile =
            matches!(request, Request::File { content, .. } if content.starts_with(b"hostile"));
        match self.why {
            Some(why) if is_hostile => {
                self.asked_count.fetch_add(1, Ordering::Relaxed);
                Parsed::skipped(request.language(), why)
            }
            Some(_) | None => InProcess.parse(request),
        }
    }
}

/// How often two runs parse a hostile source, each with a question and an outline.
fn tries(why: Skipped) -> usize {
    let tree = Tree::new(FILES);
    tree.write("hostile.rs", "hostile");
    let parser = Arc::new(Dying { why: Some(why), ..Dying::default() });
    for _ in 0..2 {
        let pool = Arc::new(Pool::open(tree.kept.path(), parser.clone()));
        let index = Index::open(tree.root.path(), &pool);
        assert_eq!(places(&asked(&index, "gate")), ["a.rs:1"]);
        let answer = asked(&index, "nowhere");
        let skipped = SkippedFile { path: "hostile.rs".into(), why };
        assert_eq!(answer.skipped, [skipped], "{answer:?}");
        let line = format!("Not indexed: hostile.rs: {}\n", why.reason());
        assert!(answer.text.ends_with(&line), "{answer:?}");
        let outline = index.outline("hostile.rs").expect("it is there");
        assert!(outline.ends_with(&format!("it is not indexed: {}\n", why.reason())), "{outline}");
    }
    parser.asked_count.load(Ordering::Relaxed)
}

#[test]
fn a_source_that_kills_its_parser_is_not_parsed_again() {
    assert_eq!(tries(Skipped::TooMuchMemory), 1, "it is in the file");
    assert_eq!(tries(Skipped::Killed), 2, "it is remembered by each run");
    assert!(tries(Skipped::NoParser) >= 4, "it says nothing about the source");
}
