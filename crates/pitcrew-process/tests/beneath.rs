//! No path and no link leads out of a folder or into a `.git`.

use pitcrew_model::RepoPath;
use pitcrew_process::{Beneath, BeneathError};
use proptest::prelude::*;
use std::{
    fs,
    io::Read,
    os::unix::{fs::symlink, net::UnixListener},
    path::{Path, PathBuf},
};

fn read(root: &Path, path: &str) -> Result<String, BeneathError> {
    let beneath = Beneath::open(root).expect("a folder");
    let mut text = String::new();
    let place = beneath.locate(path)?;
    beneath.read(&place)?.read_to_string(&mut text).map_err(BeneathError::Io)?;
    Ok(text)
}

fn write(root: &Path, path: &str) -> Result<(), BeneathError> {
    let beneath = Beneath::open(root).expect("a folder");
    beneath.write(&beneath.locate(path)?, b"new")
}

/// Creates a checkout with links of all kinds, and a secret beside it.
fn checkout(home: &Path) -> PathBuf {
    let root = home.join("checkout");
    for folder in ["src", ".git", "sub/.git/hooks"] {
        fs::create_dir_all(root.join(folder)).expect("a folder");
    }
    fs::write(root.join("src/a.rs"), "a").expect("a file");
    fs::write(root.join(".git/config"), "git").expect("a file");
    fs::write(home.join("secret"), "secret").expect("a file");
    for (target, name) in [
        ("../secret", "out"),
        ("..", "up"),
        ("../nowhere", "hanging"),
        (".git", "git"),
        ("src", "in"),
        ("sub/.git", "deep"),
        ("../sub/.git/hooks", "src/hooks"),
        ("loop", "loop"),
        ("src/../src/./a.rs", "around"),
        ("/etc/passwd", "absolute"),
        ("/proc/self/root/etc", "magic"),
        ("later", "inside-hanging"),
    ] {
        symlink(target, root.join(name)).expect("a link");
    }
    symlink(home.join("secret"), root.join("full")).expect("a link");
    root
}

#[test]
fn files_beneath_are_found_by_every_name() {
    let home = tempfile::tempdir().expect("a folder");
    let root = checkout(home.path());
    let beneath = Beneath::open(&root).expect("a folder");
    let absolute = |path: &str| root.join(path).display().to_string();
    for (path, expected) in [
        ("src/a.rs", "src/a.rs"),
        ("./src//a.rs", "src/a.rs"),
        ("src/new/deep.rs", "src/new/deep.rs"),
        ("in/a.rs", "src/a.rs"),
        ("in/new/b.rs", "src/new/b.rs"),
        ("around", "src/a.rs"),
        ("inside-hanging", "later"),
        (&absolute("src/a.rs"), "src/a.rs"),
        (&absolute(""), ""),
        (".", ""),
    ] {
        assert_eq!(beneath.locate(path).expect(path).as_str(), expected, "{path}");
    }
    for path in ["src/a.rs", "in/a.rs", "around"] {
        assert_eq!(read(&root, path).expect(path), "a");
    }
    assert!(matches!(read(&root, "src/none"), Err(BeneathError::Missing)));
    assert!(matches!(read(&root, "src"), Err(BeneathError::NotAFile)));
    assert!(matches!(read(&root, "src/a.rs/b"), Err(BeneathError::NotAFile)));
}

#[test]
fn no_path_leads_outside() {
    let home = tempfile::tempdir().expect("a folder");
    let root = checkout(home.path());
    let absolute = |path: &str| root.join(path).display().to_string();
    for path in [
        "../secret",
        "src/../../secret",
        "/etc/passwd",
        "out",
        "up/secret",
        "up/new",
        "hanging",
        "hanging/x",
        "git/config",
        ".git/config",
        ".GIT/config",
        "deep",
        "deep/config",
        "src/hooks/pre-commit",
        "src/.git/hooks/x",
        "loop",
        "loop/x",
        "absolute",
        "magic/passwd",
        "full",
        "a\0b",
        "",
        &absolute("../secret"),
        &absolute(".git/config"),
    ] {
        assert!(read(&root, path).is_err(), "{path}");
        assert!(write(&root, path).is_err(), "{path}");
    }
    assert_eq!(fs::read_to_string(home.path().join("secret")).expect("it"), "secret");
    assert!(!home.path().join("nowhere").exists() && !home.path().join("new").exists());
    assert_eq!(fs::read_to_string(root.join(".git/config")).expect("it"), "git");
}

/// Opening these files must not block.
#[test]
fn special_files_are_refused() {
    let home = tempfile::tempdir().expect("a folder");
    let root = checkout(home.path());
    let fifo = rustix::fs::FileType::Fifo;
    let mode = rustix::fs::Mode::from_raw_mode(0o666);
    rustix::fs::mknodat(rustix::fs::CWD, root.join("pipe"), fifo, mode, 0).expect("a pipe");
    let _socket = UnixListener::bind(root.join("socket")).expect("a socket");
    for path in ["pipe", "socket", "src"] {
        assert!(matches!(read(&root, path), Err(BeneathError::NotAFile)), "{path}");
        assert!(matches!(write(&root, path), Err(BeneathError::NotAFile)), "{path}");
    }
    assert!(matches!(read(Path::new("/dev"), "null"), Err(BeneathError::NotAFile)));
}

#[test]
fn file_and_its_folders_are_created_or_replaced() {
    let home = tempfile::tempdir().expect("a folder");
    let root = checkout(home.path());
    for path in ["src/a.rs", "in/new/b.rs", "inside-hanging"] {
        write(&root, path).expect(path);
        assert_eq!(read(&root, path).expect(path), "new");
    }
    assert!(root.join("src/new/b.rs").is_file() && root.join("later").is_file());
}

/// A file is not a folder, so no path can go through it, even with `..`.
#[test]
fn no_path_goes_through_a_file() {
    let home = tempfile::tempdir().expect("a folder");
    let root = checkout(home.path());
    symlink("src/a.rs/../a.rs", root.join("through")).expect("a link");
    symlink("src/a.rs/.", root.join("into")).expect("a link");
    for path in ["through", "into", "src/a.rs/.", "src/a.rs/b"] {
        assert!(root.join(path).canonicalize().is_err(), "{path}");
        assert!(matches!(read(&root, path), Err(BeneathError::NotAFile)), "{path}");
        assert!(matches!(write(&root, path), Err(BeneathError::NotAFile)), "{path}");
    }
    assert_eq!(read(&root, "src/./a.rs").expect("it is there"), "a");
    assert!(write(&root, "new/./b.rs").is_ok(), "what is not there is made");
}

#[test]
fn hard_linked_file_is_not_written() {
    let home = tempfile::tempdir().expect("a folder");
    let root = checkout(home.path());
    fs::hard_link(home.path().join("secret"), root.join("src/twin")).expect("a name");
    assert!(matches!(write(&root, "src/twin"), Err(BeneathError::OtherName)));
    assert_eq!(fs::read_to_string(home.path().join("secret")).expect("it"), "secret");
}

/// The checked file is the opened file: a link that replaces it is not followed.
#[test]
fn link_created_after_the_check_is_not_followed() {
    let home = tempfile::tempdir().expect("a folder");
    let root = checkout(home.path());
    let beneath = Beneath::open(&root).expect("a folder");
    let (file, below) = (beneath.locate("src/a.rs"), beneath.locate("src/new/b.rs"));
    let (file, below) = (file.expect("a place"), below.expect("a place"));
    fs::rename(root.join("src"), root.join("old")).expect("a move");
    symlink("..", root.join("src")).expect("a link");
    fs::write(home.path().join("a.rs"), "secret").expect("a file");
    assert!(matches!(beneath.read(&file), Err(BeneathError::Links | BeneathError::NotAFile)));
    assert!(beneath.write(&file, b"x").is_err() && beneath.write(&below, b"x").is_err());
    assert_eq!(fs::read_to_string(home.path().join("a.rs")).expect("it"), "secret");
}

#[derive(Clone, Debug)]
enum Entry {
    Folder(String),
    File(String),
    Link(String, String),
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => prop::sample::select(vec!["a", "b", "c"]).prop_map(str::to_owned),
        1 => prop::sample::select(vec!["..", ".", ".git", ".Git", "secret", "checkout"])
            .prop_map(str::to_owned),
    ]
}

fn path() -> impl Strategy<Value = String> {
    (prop::collection::vec(name(), 1..5), prop::bool::weighted(0.1)).prop_map(
        |(parts, is_absolute)| format!("{}{}", if is_absolute { "/" } else { "" }, parts.join("/")),
    )
}

fn entry() -> impl Strategy<Value = Entry> {
    prop_oneof![
        path().prop_map(Entry::Folder),
        path().prop_map(Entry::File),
        (path(), path()).prop_map(|(at, to)| Entry::Link(at, to)),
    ]
}

/// Creates the entries beneath `root` that can be created, by their plain names only.
fn make(root: &Path, entries: &[Entry]) {
    for entry in entries {
        let (Entry::Folder(at) | Entry::File(at) | Entry::Link(at, _)) = entry;
        let Ok(place) = RepoPath::parse(at) else { continue };
        let place = root.join(place.as_str());
        match entry {
            Entry::Folder(_) => fs::create_dir_all(&place).ok(),
            Entry::File(_) => {
                let real = place.parent().and_then(|it| it.canonicalize().ok());
                let is_inside = real.is_some_and(|it| it.starts_with(root) && !in_git(root, &it));
                let is_new = place.symlink_metadata().is_err();
                (is_inside && is_new).then(|| fs::write(&place, "inside").ok()).flatten()
            }
            Entry::Link(_, to) => symlink(to, &place).ok(),
        };
    }
}

fn in_git(root: &Path, path: &Path) -> bool {
    let below = path.strip_prefix(root).expect("it is beneath");
    below.iter().any(|it| it.eq_ignore_ascii_case(".git"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// For any tree and any path, only files inside are read, and nothing else is written.
    #[test]
    fn no_tree_leads_outside(entries in prop::collection::vec(entry(), 0..20), asked in path()) {
        let home = tempfile::tempdir().expect("a folder");
        let home = home.path().canonicalize().expect("a folder");
        let root = home.join("checkout");
        fs::create_dir_all(root.join(".git")).expect("a folder");
        fs::write(root.join(".git/a"), "git").expect("a file");
        for name in ["a", "b", "secret"] {
            fs::write(home.join(name), "outside").expect("a file");
        }
        make(&root, &entries);
        let count = |at: &Path| fs::read_dir(at).expect("a folder").count();
        let made_count = count(&home);
        let by_name = root.join(&asked).canonicalize();
        match read(&root, &asked) {
            Ok(text) => {
                prop_assert_eq!(text, "inside");
                let real = by_name.expect("it is there");
                prop_assert!(real.starts_with(&root) && !in_git(&root, &real), "{:?}", real);
            }
            Err(_) => {
                // Files that an ordinary reader finds through links that stay inside are found here
                // too.
                let plain = RepoPath::parse(&asked).is_ok();
                let links_are_relative = entries.iter().all(|it| match it {
                    Entry::Link(_, to) => !to.starts_with('/') && !to.split('/').any(|it| it == ".."),
                    Entry::Folder(_) | Entry::File(_) => true,
                });
                let found = by_name.ok().filter(|it| it.starts_with(&root) && it.is_file());
                if let Some(found) = found.filter(|_| plain && links_are_relative) {
                    prop_assert!(in_git(&root, &found), "{:?} was not found", found);
                }
            }
        }
        write(&root, &asked).ok();
        for name in ["a", "b", "secret"] {
            prop_assert_eq!(fs::read_to_string(home.join(name)).expect("it"), "outside");
        }
        prop_assert_eq!(fs::read_to_string(root.join(".git/a")).expect("it"), "git");
        prop_assert_eq!(count(&home), made_count, "something was made outside");
    }
}
