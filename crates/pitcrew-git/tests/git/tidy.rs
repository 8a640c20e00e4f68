//! Tidying the vault loses nothing.

use crate::lab::{Lab, write};
use std::{fs, path::Path};

/// More loose objects than the limit.
const MANY: usize = 2_100;

fn objects(lab: &Lab, vault: &pitcrew_git::Vault) -> Vec<String> {
    let listed = lab.vault_git(
        vault,
        &["cat-file", "--batch-all-objects", "--batch-check=%(objectname)", "--unordered"],
    );
    let mut listed: Vec<String> = listed.lines().map(str::to_owned).collect();
    listed.sort();
    listed
}

fn packs_count(vault: &Path) -> usize {
    let files = fs::read_dir(vault.join("objects/pack")).unwrap().flatten();
    files.filter(|it| it.path().extension().is_some_and(|it| it == "pack")).count()
}

/// All objects are still there afterwards, in few files.
#[test]
fn only_many_loose_objects_are_packed() {
    let lab = Lab::new();
    let vault = lab.vault();
    let base = lab.plan(&vault);
    assert_eq!(vault.tidy(&lab.cancel).unwrap(), 0, "there is nothing to do");
    let folder = lab.home().join("many");
    let mut paths = String::new();
    for number in 0..MANY {
        let path = folder.join(number.to_string());
        write(&path, format!("{number}\n"));
        paths += &path.display().to_string();
        paths += "\n";
    }
    let place = vault.layout().vault.clone();
    let hashed = lab.try_git(&place, &["hash-object", "-w", "--stdin-paths"], paths);
    assert!(hashed.success(), "{}", String::from_utf8_lossy(&hashed.stderr));
    // Some are referenced, but most are not: an import in progress may have made them.
    let blobs = String::from_utf8(hashed.stdout).unwrap();
    let entries: Vec<String> =
        blobs.lines().take(MANY / 2).map(|it| format!("100644 blob {it}\t{it}\n")).collect();
    let tree = lab.try_git(&place, &["mktree"], entries.concat());
    let tree = String::from_utf8(tree.stdout).unwrap();
    lab.vault_git(&vault, &["update-ref", "refs/pitcrew/kept/many", tree.trim()]);
    let before = objects(&lab, &vault);

    let packed = vault.tidy(&lab.cancel).unwrap();
    assert!(packed >= MANY as u64 / 2, "{packed} went into a pack");
    assert_eq!(objects(&lab, &vault), before, "nothing is forgotten");
    assert!(packs_count(&place) >= 1);
    lab.vault_git(&vault, &["fsck", "--strict", "--no-dangling"]);
    lab.vault_git(&vault, &["cat-file", "-e", &format!("{}^{{commit}}", base.start)]);
}
