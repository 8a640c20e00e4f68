//! Programs in a box can read the history of their plan and nothing else of the user's repository.

use crate::lab::{Lab, PLAN, attempt, land_order, read, write};
use pitcrew_git::{LendCheckout, PreparePlan, Vault};
use pitcrew_model::{AttemptId, CommitId, PlanId};
use pitcrew_process::{Run, run_confined};
use std::{collections::BTreeSet, fs, path::Path};

impl Lab {
    /// The exit code and output of an agent's program in the box of its checkout.
    fn in_box(&self, checkout: &Path, script: &str) -> (Option<i32>, String) {
        let policy = self.policy.clone().writing(checkout);
        let run = Run::shell(script, checkout);
        let finished = run_confined(&policy, run, &self.cancel).expect("a box");
        (finished.code, String::from_utf8_lossy(&finished.stdout).trim_end().to_owned())
    }

    /// Every object that git finds in the checkout from inside its box.
    fn readable(&self, checkout: &Path) -> BTreeSet<String> {
        let list = "git cat-file --batch-all-objects --batch-check='%(objectname)'";
        let (code, listed) = self.in_box(checkout, list);
        assert_eq!(code, Some(0), "{listed}");
        listed.lines().map(str::to_owned).collect()
    }

    /// The commits, trees and files of an unmerged branch and a stash.
    fn private_objects(&self) -> BTreeSet<String> {
        let before = self.objects_of("HEAD");
        self.git(&["switch", "--quiet", "--create", "private"]);
        self.write("core/secret.rs", "a secret on a branch\n");
        self.commit("private");
        self.git(&["switch", "--quiet", "main"]);
        self.write("core/lib.rs", "a secret in a stash\n");
        self.git(&["stash", "push", "--quiet"]);
        let private = [self.objects_of("private"), self.objects_of("stash@{0}")].concat();
        let private: BTreeSet<String> =
            private.into_iter().filter(|it| !before.contains(it)).collect();
        assert!(private.len() >= 6, "{private:?}");
        private
    }

    fn objects_of(&self, revision: &str) -> Vec<String> {
        let listed = self.git(&["rev-list", "--objects", "--no-object-names", revision]);
        listed.lines().map(str::to_owned).collect()
    }
}

fn store_git(lab: &Lab, vault: &Vault, args: &[&str]) -> String {
    lab.git_in(&vault.layout().base_store(), args)
}

#[test]
fn unmerged_branches_and_stashes_cannot_be_read_in_a_box() {
    let lab = Lab::new();
    let private = lab.private_objects();
    let vault = lab.vault();
    let base = lab.plan(&vault);
    let path = lab.checkout(&vault, &attempt(1), &base.start).path;
    let readable = lab.readable(&path);
    assert!(readable.contains(&base.start.0), "its own history is there");
    assert_eq!(readable.intersection(&private).count(), 0);
    for object in &private {
        let (code, _) = lab.in_box(&path, &format!("git cat-file -e {object}"));
        assert_ne!(code, Some(0), "{object}");
        lab.vault_git(&vault, &["cat-file", "-e", object]);
    }
    let vaults = vault.layout().vault.join("objects");
    let (code, listed) =
        lab.in_box(&path, &format!("find '{}' -type f 2>/dev/null", vaults.display()));
    assert!(code != Some(0) && listed.is_empty(), "{listed}");
    assert_eq!(lab.in_box(&path, "git log --format=%s").1, "first");
}

/// The next task can read integrated work, but not the concurrent work of other tasks.
#[test]
fn work_is_collected_and_landed_without_vault_access() {
    let lab = Lab::new();
    let private = lab.private_objects();
    let vault = lab.vault();
    let base = lab.plan(&vault);
    let other = lab.checkout(&vault, &attempt(2), &base.start).path;
    write(&other.join("api/other.rs"), "of another\n");
    let others = lab.collect(&vault, &attempt(2), &other, &base.start, &[]).expect("work");
    let head = lab.integrate(&vault, 1, &base.start, |it| write(&it.join("core/a.rs"), "a\n"));
    let head = lab.integrate(&vault, 3, &head, |it| {
        assert_eq!(read(&it.join("core/a.rs")), "a\n");
        let readable = lab.readable(it);
        assert!(readable.contains(&head.0) && !readable.contains(&others.commit.0));
        assert_eq!(readable.intersection(&private).count(), 0);
        let committed = "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m own";
        assert_eq!(lab.in_box(it, committed).0, Some(0));
        write(&it.join("core/b.rs"), "b\n");
    });
    vault.land(&land_order(&base, &head), &lab.policy, &lab.cancel).expect("landed");
    assert_eq!(lab.git(&["show", "main:core/b.rs"]), "b");
    store_git(&lab, &vault, &["fsck", "--strict", "--no-dangling"]);
}

/// A sub-task starts from a snapshot that no other checkout can read.
#[test]
fn snapshot_is_readable_only_in_checkouts_that_start_from_it() {
    let lab = Lab::new();
    let vault = lab.vault();
    let (parent, [first, second]) = lab.two_states(&vault);
    let child = lab.checkout(&vault, &attempt(2), &second).path;
    assert_eq!(read(&child.join("api/more.rs")), "more\n");
    assert!(lab.readable(&child).contains(&second.0));
    assert!(!lab.readable(&parent).contains(&second.0));
    let start = first;
    let order = LendCheckout {
        attempt: AttemptId(3),
        parent: attempt(1).attempt,
        start: start.clone(),
        present: BTreeSet::new(),
    };
    let lent = vault.lend_checkout(&order, &lab.policy, &lab.cancel, &|_| {}).expect("lent").path;
    assert_eq!(read(&lent.join("core/new.rs")), "new\n");
    let readable = lab.readable(&lent);
    assert!(readable.contains(&start.0) && !readable.contains(&second.0));
}

fn packs(vault: &Vault, extension: &str) -> Vec<std::path::PathBuf> {
    let folder = vault.layout().base_store().join("objects/pack");
    let files = fs::read_dir(folder).expect("a folder").flatten().map(|it| it.path());
    files.filter(|it| it.extension().is_some_and(|it| it == extension)).collect()
}

fn plan(lab: &Lab, vault: &Vault, number: u64) -> CommitId {
    let order =
        PreparePlan { plan: PlanId(number), base: None, clean_base: false, include: Vec::new() };
    vault.prepare_plan(&order, &lab.cancel).expect("a base").start
}

#[test]
fn partly_filled_store_is_filled_again() {
    let lab = Lab::new();
    let vault = lab.vault();
    let store = vault.layout().base_store();
    // Killed while the repository was being created.
    write(&store.with_file_name("base.git.new/HEAD"), "");
    lab.plan(&vault);
    drop(vault);
    // Killed after the pack was renamed and before its index was, with a second incomplete pack.
    let vault = lab.vault();
    fs::remove_file(store.join("published.json")).expect("the list");
    for index in packs(&vault, "idx") {
        fs::remove_file(index).expect("an index");
    }
    write(&store.join("objects/pack/tmp_pack_abc"), "half");
    lab.write("core/lib.rs", "pub fn more() {}\n");
    lab.commit("second");
    let vault = lab.vault();
    let start = plan(&lab, &vault, 2);
    assert!(!store.join("objects/pack/tmp_pack_abc").exists());
    assert!(!store.with_file_name("base.git.new").exists());
    let path = lab.checkout(&vault, &attempt(1), &start).path;
    assert_eq!(lab.in_box(&path, "git log --format=%s").1, "second\nfirst");
    store_git(&lab, &vault, &["fsck", "--strict", "--no-dangling"]);
}

#[test]
fn fill_adds_new_objects_and_gathering_keeps_borrowed_ones() {
    let lab = Lab::new();
    let vault = lab.vault();
    let first = plan(&lab, &vault, PLAN.0);
    let path = lab.checkout(&vault, &attempt(1), &first).path;
    lab.write("core/lib.rs", "pub fn more() {}\n");
    lab.commit("second");
    plan(&lab, &vault, 2);
    let counted = store_git(&lab, &vault, &["count-objects", "-v"]);
    let unique = store_git(&lab, &vault, &["cat-file", "--batch-all-objects", "--batch-check"]);
    let in_packs = format!("in-pack: {}", unique.lines().count());
    assert!(counted.lines().any(|it| it == in_packs), "{counted} of {in_packs}");
    assert_eq!(packs(&vault, "pack").len(), 2);
    // More packs than the limit.
    for number in 3..56 {
        lab.git(&["commit", "--quiet", "--allow-empty", "-m", &number.to_string()]);
        plan(&lab, &vault, number);
    }
    assert!(packs(&vault, "pack").len() < 50, "{}", packs(&vault, "pack").len());
    assert_eq!(lab.in_box(&path, "git log --format=%s && git status --short").1, "first");
    store_git(&lab, &vault, &["fsck", "--strict", "--no-dangling"]);
}

#[test]
fn box_sees_only_the_needed_submodule_commits() {
    let lab = Lab::new();
    let library = lab.folder.path().canonicalize().expect("it exists").join("library");
    fs::create_dir(&library).expect("a folder");
    lab.git_in(&library, &["init", "--quiet", "--initial-branch=main"]);
    write(&library.join("lib.c"), "int one;\n");
    lab.git_in(&library, &["add", "."]);
    lab.git_in(&library, &["commit", "--quiet", "-m", "library"]);
    let url = library.to_str().expect("UTF-8");
    let allowed = "protocol.file.allow=always";
    lab.git(&["-c", allowed, "submodule", "--quiet", "add", url, "vendor"]);
    lab.commit("submodule");
    let module = lab.user.join("vendor");
    lab.git_in(&module, &["switch", "--quiet", "--create", "private"]);
    write(&module.join("lib.c"), "int secret;\n");
    lab.git_in(&module, &["commit", "--quiet", "--all", "-m", "private"]);
    let private = lab.git_in(&module, &["rev-parse", "HEAD"]);
    lab.git_in(&module, &["switch", "--quiet", "main"]);
    let vault = lab.vault();
    let base = lab.plan(&vault);
    let path = lab.checkout(&vault, &attempt(1), &base.start).path;
    assert_eq!(lab.in_box(&path, "cd vendor && git log --format=%s").1, "library");
    let (code, _) = lab.in_box(&path, &format!("cd vendor && git cat-file -e {private}"));
    assert_ne!(code, Some(0));
}
