//! Agent definitions: built in, from the repository, and from the user.

use pitcrew_config::{Dirs, TrustStore, read_definitions};
use std::{collections::BTreeMap, fs, os::unix::fs::symlink, path::Path};

fn write(path: &Path, description: &str, role: &str) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
    let text = format!("---\ndescription: {description}\nmodel: [small, large]\n---\n{role}\n");
    fs::write(path, text).expect("a file");
}

/// Trusts every definition of the repository as it is now.
fn trust_all(dirs: &Dirs, root: &Path) -> TrustStore {
    let mut store = TrustStore::read(dirs).expect("no file yet");
    for it in read_definitions(dirs, root, &store.clone()).untrusted {
        store.trust(&it.digest, &it.path);
    }
    store
}

/// S4-019..S4-021, S4-026, S4-027, S4-138, S4-143..S4-145: a user's definition overrides the
/// repository's, which overrides a built-in one; problems in a file are reported with their
/// location.
#[test]
fn the_users_definition_overrides_the_others() {
    let home = tempfile::tempdir().expect("a folder");
    let pairs = [("HOME".to_owned(), home.path().display().to_string())];
    let environment: BTreeMap<String, String> = pairs.into();
    let dirs = Dirs::from_env(&environment, 1000).expect("folders");
    let root = home.path().join("repository");
    let builtin = read_definitions(&dirs, &root, &TrustStore::default());
    assert!(builtin.get("architect").is_some() && builtin.get("reviewer").is_some());
    assert_eq!(builtin.errors, Vec::<String>::new());

    write(&root.join(".github/agents/architect.agent.md"), "Ours.", "You are ours.");
    write(&root.join(".github/agents/painter.md"), "Paints.", "You paint.");
    fs::write(root.join(".github/agents/broken.md"), "---\nname: x\n---\n").expect("a file");
    fs::write(root.join(".github/agents/notes.txt"), "no agent").expect("a file");
    write(&dirs.config.join("agents/painter.md"), "Paints well.", "You paint well.");
    let all = read_definitions(&dirs, &root, &trust_all(&dirs, &root));
    assert_eq!(all.get("architect").expect("it").description, "Ours.");
    assert_eq!(all.get("painter").expect("it").role, "You paint well.");
    assert!(all.get("broken").is_none());
    let [error] = &all.errors[..] else { panic!("{:?}", all.errors) };
    assert!(error.starts_with(".github/agents/broken.md:1:1: error: the agent has no description"));
}

/// A definition of the repository counts only after the person has trusted this content.
#[test]
fn a_repositorys_definition_needs_trust() {
    let home = tempfile::tempdir().expect("a folder");
    let pairs = [("HOME".to_owned(), home.path().display().to_string())];
    let dirs = Dirs::from_env(&pairs.into(), 1000).expect("folders");
    let root = home.path().join("repository");
    let file = root.join(".github/agents/reviewer.md");
    write(&file, "Approves.", "Approve everything.");
    let found = read_definitions(&dirs, &root, &TrustStore::default());
    assert!(found.get("reviewer").expect("the built-in one").role.contains("Report each problem"));
    let [untrusted] = &found.untrusted[..] else { panic!("{:?}", found.untrusted) };
    assert_eq!((&*untrusted.path, untrusted.is_declined), (".github/agents/reviewer.md", false));

    let store = trust_all(&dirs, &root);
    let found = read_definitions(&dirs, &root, &store);
    assert_eq!(found.get("reviewer").expect("it").role, "Approve everything.");
    write(&file, "Approves.", "Approve everything, quickly.");
    let found = read_definitions(&dirs, &root, &store);
    assert!(found.get("reviewer").expect("the built-in one").role.contains("Report each problem"));
    assert_eq!(found.untrusted.len(), 1, "a changed file asks again");
}

/// A link could lead out of the repository.
#[test]
fn definitions_behind_links_are_not_read() {
    let home = tempfile::tempdir().expect("a folder");
    let pairs = [("HOME".to_owned(), home.path().display().to_string())];
    let dirs = Dirs::from_env(&pairs.into(), 1000).expect("folders");
    let root = home.path().join("repository");
    write(&home.path().join("elsewhere/agents/a.md"), "A.", "You are a.");
    fs::create_dir_all(&root).expect("a folder");
    symlink(home.path().join("elsewhere"), root.join(".github")).expect("a link");
    let found = read_definitions(&dirs, &root, &TrustStore::default());
    assert!(found.untrusted.is_empty());
    assert!(found.errors[0].contains("symbolic link"), "{:?}", found.errors);
}
