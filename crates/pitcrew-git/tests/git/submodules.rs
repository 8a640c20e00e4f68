use crate::lab::{Lab, attempt, read, refusals, write};
use pitcrew_git::Removal;
use pitcrew_model::RefusalKind;
use std::fs;

fn with_submodule() -> Lab {
    let lab = Lab::new();
    let library = lab.folder.path().canonicalize().unwrap().join("library");
    fs::create_dir(&library).unwrap();
    lab.git_in(&library, &["init", "--quiet", "--initial-branch=main"]);
    write(&library.join("lib.c"), "int one;\n");
    lab.git_in(&library, &["add", "."]);
    lab.git_in(&library, &["commit", "--quiet", "-m", "library"]);
    let url = library.to_str().unwrap();
    lab.git(&[
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        url,
        "vendor/my lib",
    ]);
    lab.commit("submodule");
    lab
}

#[test]
fn submodules_are_filled_from_the_users_clones() {
    let lab = with_submodule();
    let vault = lab.vault();
    let base = lab.plan(&vault);
    assert_eq!(base.dirty_count, 0);
    let checkout = lab.checkout(&vault, &attempt(1), &base.start);
    assert_eq!(
        checkout.notes,
        ["changes inside these submodules are not collected: vendor/my lib"]
    );
    let module = checkout.path.join("vendor/my lib");
    assert_eq!(read(&module.join("lib.c")), "int one;\n");
    assert_eq!(lab.git_in(&checkout.path, &["status", "--porcelain"]), "");
    write(&checkout.path.join("a.txt"), "a\n");
    let work = lab.collect(&vault, &attempt(1), &checkout.path, &base.start, &[]).unwrap();
    assert_eq!(work.files_count, 1, "{:?}", work.files);
}

#[test]
fn missing_submodule_is_a_note() {
    let lab = with_submodule();
    lab.git(&["submodule", "--quiet", "deinit", "--force", "--all"]);
    fs::remove_dir_all(lab.user.join(".git/modules")).unwrap();
    let vault = lab.vault();
    let base = lab.plan(&vault);
    let checkout = lab.checkout(&vault, &attempt(1), &base.start);
    assert_eq!(checkout.notes.len(), 1, "{:?}", checkout.notes);
    assert!(checkout.notes[0].contains("vendor/my lib"));
    assert!(checkout.notes[0].contains("git submodule update"));
}

#[test]
fn moved_submodule_is_refused_and_its_checkout_is_kept() {
    let lab = with_submodule();
    let vault = lab.vault();
    let base = lab.plan(&vault);
    let path = lab.checkout(&vault, &attempt(1), &base.start).path;
    let module = path.join("vendor/my lib");
    write(&module.join("lib.c"), "int two;\n");
    let removal =
        vault.remove_checkout(attempt(1).attempt, &path, &lab.policy, &lab.cancel).unwrap();
    assert!(matches!(removal, Removal::Kept { .. }), "{removal:?}");
    lab.git_in(&module, &["commit", "--quiet", "--all", "-m", "two"]);
    let refused = refusals(lab.collect(&vault, &attempt(1), &path, &base.start, &[]));
    assert_eq!(refused, [("vendor/my lib".to_owned(), RefusalKind::Gitlink)]);
}
