use crate::lab::{Lab, attempt, land_order, read, write};
use pitcrew_model::LandedAt;
use std::fs;

#[test]
fn paths_with_spaces_and_unicode_are_landed() {
    let lab = Lab::empty();
    let user = lab.user.parent().unwrap().join("my shöp: \"v2\"");
    fs::create_dir(&user).unwrap();
    let lab = Lab { user, ..lab };
    lab.git(&["init", "--quiet", "--initial-branch=main"]);
    lab.write("ein ordner/grüße.txt", "hallo\n");
    lab.commit("first");
    lab.write("日本語 テスト.txt", "dirty\n");
    let vault = lab.vault();
    let plan = lab.plan(&vault);
    let head = lab.integrate(&vault, 1, &plan.start, |it| {
        assert_eq!(read(&it.join("日本語 テスト.txt")), "dirty\n");
        write(&it.join("ein ordner/neu & \"alt\".txt"), "neu\n");
    });
    let landing = vault.land(&land_order(&plan, &head), &lab.policy, &lab.cancel).unwrap();
    assert_eq!(landing.files_count, 1);
    assert!(matches!(landing.at, LandedAt::Base { .. }), "untracked files are not in the way");
    assert_eq!(read(&lab.user.join("ein ordner/neu & \"alt\".txt")), "neu\n");
}

#[test]
fn case_only_rename_lands() {
    let lab = Lab::new();
    let vault = lab.vault();
    let plan = lab.plan(&vault);
    let head = lab.integrate(&vault, 1, &plan.start, |it| {
        fs::rename(it.join("README.md"), it.join("Readme.md")).unwrap();
    });
    vault.land(&land_order(&plan, &head), &lab.policy, &lab.cancel).unwrap();
    assert_eq!(read(&lab.user.join("Readme.md")), "# shop\n");
    assert!(!lab.user.join("README.md").exists());
}

#[test]
fn ten_thousand_files_are_landed() {
    let lab = Lab::new();
    for number in 0..10_000 {
        lab.write(&format!("many/{}/{number}.txt", number % 100), format!("{number}\n"));
    }
    lab.commit("many");
    let vault = lab.vault();
    let plan = lab.plan(&vault);
    let head = lab.integrate(&vault, 1, &plan.start, |it| {
        for number in 0..2_000 {
            write(&it.join(format!("many/{}/{number}.txt", number % 100)), "changed\n");
        }
    });
    let landing = vault.land(&land_order(&plan, &head), &lab.policy, &lab.cancel).unwrap();
    assert_eq!(landing.files_count, 2_000);
    assert_eq!(lab.git(&["status", "--porcelain"]), "");
}

#[test]
fn sha256_repository_is_supported() {
    let lab = Lab::empty();
    lab.git(&["init", "--quiet", "--initial-branch=main", "--object-format=sha256"]);
    lab.write("a.txt", "a\n");
    lab.commit("first");
    let vault = lab.vault();
    let plan = lab.plan(&vault);
    let head = lab.integrate(&vault, 1, &plan.start, |it| write(&it.join("b.txt"), "b\n"));
    vault.land(&land_order(&plan, &head), &lab.policy, &lab.cancel).unwrap();
    assert_eq!(read(&lab.user.join("b.txt")), "b\n");
}

#[test]
fn borrowed_objects_are_copied_to_the_vault() {
    let lab = Lab::new();
    let shared = lab.folder.path().canonicalize().unwrap().join("shared");
    lab.git(&["clone", "--quiet", "--shared", ".", shared.to_str().unwrap()]);
    let lab = Lab { user: shared, ..lab };
    let vault = lab.vault();
    let plan = lab.plan(&vault);
    assert!(!vault.layout().vault.join("objects/info/alternates").exists());
    lab.vault_git(&vault, &["fsck", "--full"]);
    lab.checkout(&vault, &attempt(1), &plan.start);
}

#[test]
fn attempts_are_prepared_and_collected_concurrently() {
    let lab = Lab::new();
    let vault = lab.vault();
    let plan = lab.plan(&vault);
    std::thread::scope(|scope| {
        for number in 1..=8 {
            let (lab, vault, plan) = (&lab, &vault, &plan);
            scope.spawn(move || {
                let path = lab.checkout(vault, &attempt(number), &plan.start).path;
                write(&path.join(format!("{number}.txt")), "x\n");
                let work = lab.collect(vault, &attempt(number), &path, &plan.start, &[]);
                assert_eq!(work.expect("work").files_count, 1);
            });
        }
    });
}
