//! Programs in a box can read the history of their plan and nothing else of the user's repository.

use crate::lab::{Lab, PLAN, attempt, land_order, read, write};
use pitcrew_git::{LendCheckout, PreparePlan, Vault};
use pitcrew_model::{AttemptId, CommitId, PlanId};
use pitcrew_process::{Run, run_confined};
use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

impl Lab {
    /// The exit code and output of an agent's program in the box of its checkout.
    fn in_box(&self, vault: &Vault, checkout: &Path, script: &str) -> (Option<i32>, String) {
        let mut policy = self.policy.clone().writing(checkout);
        policy.read.extend(vault.shared_folders(checkout));
        let run = Run::shell(script, checkout);
        let finished = run_confined(&policy, run, &self.cancel).expect("a box");
        (finished.code, String::from_utf8_lossy(&finished.stdout).trim_end().to_owned())
    }

    /// Every object that git finds in the checkout from inside its box.
    fn readable(&self, vault: &Vault, checkout: &Path) -> BTreeSet<String> {
        let list = "git cat-file --batch-all-objects --batch-check='%(objectname)'";
        let (code, listed) = self.in_box(vault, checkout, list);
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

/// The checkout has every object that its history needs.
fn require_whole(lab: &Lab, vault: &Vault, checkout: &Path) {
    let (code, said) = lab.in_box(vault, checkout, "git fsck --strict --no-dangling 2>&1");
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn unmerged_branches_and_stashes_cannot_be_read_in_a_box() {
    let lab = Lab::new();
    let private = lab.private_objects();
    let vault = lab.vault();
    let base = lab.plan(&vault);
    let path = lab.checkout(&vault, &attempt(1), &base.start).path;
    let readable = lab.readable(&vault, &path);
    assert!(readable.contains(&base.start.0), "its own history is there");
    assert_eq!(readable.intersection(&private).count(), 0);
    for object in &private {
        let (code, _) = lab.in_box(&vault, &path, &format!("git cat-file -e {object}"));
        assert_ne!(code, Some(0), "{object}");
        lab.vault_git(&vault, &["cat-file", "-e", object]);
    }
    let vaults = vault.layout().vault.join("objects");
    let (code, listed) =
        lab.in_box(&vault, &path, &format!("find '{}' -type f 2>/dev/null", vaults.display()));
    assert!(code != Some(0) && listed.is_empty(), "{listed}");
    assert_eq!(lab.in_box(&vault, &path, "git log --format=%s").1, "first");
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
        let readable = lab.readable(&vault, it);
        assert!(readable.contains(&head.0) && !readable.contains(&others.commit.0));
        assert_eq!(readable.intersection(&private).count(), 0);
        require_whole(&lab, &vault, it);
        let committed = "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m own";
        assert_eq!(lab.in_box(&vault, it, committed).0, Some(0));
        write(&it.join("core/b.rs"), "b\n");
    });
    vault.land(&land_order(&base, &head), &lab.policy, &lab.cancel).expect("landed");
    assert_eq!(lab.git(&["show", "main:core/b.rs"]), "b");
}

/// A sub-task starts from a snapshot that no other checkout can read.
#[test]
fn snapshot_is_readable_only_in_checkouts_that_start_from_it() {
    let lab = Lab::new();
    let vault = lab.vault();
    let (parent, [first, second]) = lab.two_states(&vault);
    let child = lab.checkout(&vault, &attempt(2), &second).path;
    assert_eq!(read(&child.join("api/more.rs")), "more\n");
    assert!(lab.readable(&vault, &child).contains(&second.0));
    assert!(!lab.readable(&vault, &parent).contains(&second.0));
    let start = first;
    let order = LendCheckout {
        attempt: AttemptId(3),
        parent: attempt(1).attempt,
        start: start.clone(),
        present: BTreeSet::new(),
    };
    let lent = vault.lend_checkout(&order, &lab.policy, &lab.cancel, &|_| {}).expect("lent").path;
    assert_eq!(read(&lent.join("core/new.rs")), "new\n");
    let readable = lab.readable(&vault, &lent);
    assert!(readable.contains(&start.0) && !readable.contains(&second.0));
}

fn packs(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder.join("pack")).expect("a folder").flatten();
    let files = files.map(|it| it.path());
    files.filter(|it| it.extension().is_some_and(|it| it == "pack")).collect()
}

fn plan(lab: &Lab, vault: &Vault, number: u64, base: Option<&str>) -> CommitId {
    let (plan, base) = (PlanId(number), base.map(str::to_owned));
    let order = PreparePlan { plan, base, clean_base: false, include: Vec::new() };
    vault.prepare_plan(&order, &lab.cancel).expect("a base").start
}

/// Neither the base of another plan, nor its integrated work, nor the user's uncommitted changes in
/// the base of another plan.
#[test]
fn box_cannot_read_what_belongs_to_other_plans() {
    let lab = Lab::new();
    lab.git(&["switch", "--quiet", "--create", "other"]);
    lab.write("core/secret.rs", "of another plan\n");
    lab.commit("other");
    lab.git(&["switch", "--quiet", "main"]);
    let vault = lab.vault();
    let first = plan(&lab, &vault, PLAN.0, None);
    let other = plan(&lab, &vault, 2, Some("other"));
    lab.write("core/draft.rs", "not committed\n");
    let draft = plan(&lab, &vault, 3, None);
    let head = lab.integrate(&vault, 4, &first, |it| write(&it.join("core/a.rs"), "a\n"));
    let early = lab.checkout(&vault, &attempt(1), &first).path;
    let of_other = lab.checkout(&vault, &attempt(2), &other).path;
    let of_draft = lab.checkout(&vault, &attempt(3), &draft).path;
    for (path, own) in [(&early, &first), (&of_other, &other), (&of_draft, &draft)] {
        let readable = lab.readable(&vault, path);
        for commit in [&first, &other, &draft, &head] {
            let is_own = commit == own || *commit == first;
            assert_eq!(readable.contains(&commit.0), is_own, "{commit} in the box of {own}");
        }
        require_whole(&lab, &vault, path);
    }
    let stores = vault.layout().bases();
    for script in ["ls", "find"] {
        let script = format!("{script} '{}' 2>/dev/null | grep -c {other}", stores.display());
        assert_eq!(lab.in_box(&vault, &early, &script).1, "0");
    }
}

#[test]
fn partly_filled_store_is_filled_again() {
    let lab = Lab::new();
    let vault = lab.vault();
    let stores = vault.layout().bases();
    // Killed while a store was being made, and before one was listed.
    write(&stores.join("new/objects/pack/tmp_pack_abc"), "half");
    let first = lab.plan(&vault).start;
    fs::remove_file(stores.join("stores.json")).expect("the list");
    fs::remove_dir_all(stores.join(&first.0).join("objects")).expect("the objects");
    drop(vault);
    let vault = lab.vault();
    let path = lab.checkout(&vault, &attempt(1), &first).path;
    assert_eq!(lab.in_box(&vault, &path, "git log --format=%s").1, "first");
    lab.write("core/lib.rs", "pub fn more() {}\n");
    lab.commit("second");
    let second = plan(&lab, &vault, 2, None);
    let path = lab.checkout(&vault, &attempt(2), &second).path;
    assert_eq!(lab.in_box(&vault, &path, "git log --format=%s").1, "second\nfirst");
    require_whole(&lab, &vault, &path);
}

/// A new store links the packs of the nearest one, and has few packs however many there were.
#[test]
fn store_shares_packs_and_stays_while_a_checkout_borrows() {
    let lab = Lab::new();
    let vault = lab.vault();
    let first = plan(&lab, &vault, PLAN.0, None);
    let path = lab.checkout(&vault, &attempt(1), &first).path;
    let old = packs(&vault.shared_folders(&path)[0]);
    let [pack] = &old[..] else { panic!("{old:?}") };
    for number in 2..60 {
        lab.write("core/lib.rs", format!("pub fn more{number}() {{}}\n"));
        lab.commit(&number.to_string());
        plan(&lab, &vault, number, None);
    }
    let last = lab.rev("HEAD");
    let newest = lab.checkout(&vault, &attempt(2), &last).path;
    let packs = packs(&vault.shared_folders(&newest)[0]);
    assert!(packs.len() <= 17, "{}", packs.len());
    let same = |it: &PathBuf| it.file_name() == pack.file_name();
    let linked = packs.iter().find(|it| same(it)).expect("the first pack");
    assert!(fs::metadata(linked).expect("a file").nlink() > 1);
    require_whole(&lab, &vault, &newest);
    let is_store = |it: &fs::DirEntry| it.path().join("objects").is_dir();
    let stores = || fs::read_dir(vault.layout().bases()).expect("a folder").flatten();
    assert!(stores().filter(is_store).count() <= 13, "{}", stores().filter(is_store).count());
    assert_eq!(lab.in_box(&vault, &path, "git log --format=%s && git status --short").1, "first");
    require_whole(&lab, &vault, &path);
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
    assert_eq!(lab.in_box(&vault, &path, "cd vendor && git log --format=%s").1, "library");
    let (code, _) = lab.in_box(&vault, &path, &format!("cd vendor && git cat-file -e {private}"));
    assert_ne!(code, Some(0));
}
