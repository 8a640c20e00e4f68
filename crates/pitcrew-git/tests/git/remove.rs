use crate::lab::{Lab, attempt, read, write};
use pitcrew_git::{Removal, Vault};
use pitcrew_model::PlanBase;
use rustix::{
    fs::{Mode, OFlags, mkdirat, open, openat},
    process::{Resource, Rlimit, getrlimit, setrlimit},
};
use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

struct Scene {
    lab: Lab,
    vault: Vault,
    base: PlanBase,
    path: PathBuf,
}

fn scene() -> Scene {
    let lab = Lab::new();
    let vault = lab.vault();
    let base = lab.plan(&vault);
    let path = lab.checkout(&vault, &attempt(1), &base.start).path;
    write(&path.join("core/lib.rs"), "work\n");
    Scene { lab, vault, base, path }
}

impl Scene {
    fn remove(&self) -> Removal {
        let attempt = attempt(1).attempt;
        self.vault.remove_checkout(attempt, &self.path, &self.lab.policy, &self.lab.cancel).unwrap()
    }
}

/// S1-053, S4-115: the checkout of collected work is removed, including read-only caches.
#[test]
fn collected_checkout_is_removed() {
    let scene = scene();
    let Scene { lab, vault, base, path } = &scene;
    lab.collect(vault, &attempt(1), path, &base.start, &[]).unwrap();
    let cache = path.join(".git/cache/deep");
    fs::create_dir_all(&cache).unwrap();
    fs::set_permissions(&cache, fs::Permissions::from_mode(0o500)).unwrap();
    assert_eq!(scene.remove(), Removal::Removed);
    assert!(!path.exists());
    assert_eq!(scene.remove(), Removal::Removed, "asked again, it is gone");
    let at = |name: &str| lab.vault_git(vault, &["rev-parse", name]);
    let (saved, work) = (at("refs/pitcrew/saved/attempt-1"), at(&attempt(1).work_ref()));
    assert_eq!(saved, work, "what was collected is not saved a second time");
}

/// Neither the stack nor the open files of the orchestrator grow with the depth of an agent's
/// folders.
#[test]
fn deeply_nested_checkout_is_removed() {
    let scene = scene();
    let Scene { lab, vault, base, path } = &scene;
    lab.collect(vault, &attempt(1), path, &base.start, &[]).unwrap();
    let flags = OFlags::PATH | OFlags::DIRECTORY;
    let mut deepest = open(path.join(".git"), flags, Mode::empty()).unwrap();
    for _ in 0..5_000 {
        mkdirat(&deepest, "d", Mode::RWXU).unwrap();
        deepest = openat(&deepest, "d", flags, Mode::empty()).unwrap();
    }
    let open_files = getrlimit(Resource::Nofile);
    let current = open_files.current.map(|it| it.min(1_024));
    setrlimit(Resource::Nofile, Rlimit { current, ..open_files }).unwrap();
    assert_eq!(scene.remove(), Removal::Removed);
    assert!(!path.exists());
}

/// After a partial removal, the remaining files must not be treated as the agent's work.
#[test]
fn interrupted_removal_is_finished_without_saving_the_rest() {
    let scene = scene();
    let Scene { lab, vault, base, path } = &scene;
    lab.collect(vault, &attempt(1), path, &base.start, &[]).unwrap();
    let aside = path.with_file_name(".removed-attempt-1");
    fs::rename(path, &aside).unwrap();
    fs::remove_dir_all(aside.join("core")).unwrap();
    assert_eq!(scene.remove(), Removal::Removed);
    let left: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
    let work = format!("{}:core/lib.rs", attempt(1).work_ref());
    assert_eq!(lab.vault_git(vault, &["show", &work]), "work");
}

/// S1-053: a checkout with unsaved changes is removed only after they are saved.
#[test]
fn changed_checkout_is_kept_and_its_change_is_saved() {
    let scene = scene();
    let Scene { lab, vault, base, path } = &scene;
    lab.collect(vault, &attempt(1), path, &base.start, &[]).unwrap();
    write(&path.join("afterthought.txt"), "by a person\n");
    let Removal::Kept { reason } = scene.remove() else { panic!("it was removed") };
    assert!(reason.contains("changed"), "{reason}");
    assert_eq!(read(&path.join("afterthought.txt")), "by a person\n");
    let saved = "refs/pitcrew/saved/attempt-1:afterthought.txt";
    assert_eq!(lab.vault_git(vault, &["show", saved]), "by a person");
    assert_eq!(scene.remove(), Removal::Removed);
}

#[test]
fn agents_branches_and_stashes_are_saved_at_removal() {
    let scene = scene();
    let Scene { lab, vault, base, path } = &scene;
    lab.git_in(path, &["stash", "--quiet"]);
    lab.git_in(path, &["checkout", "--quiet", "-b", "idea"]);
    write(&path.join("idea.txt"), "idea\n");
    lab.git_in(path, &["add", "."]);
    lab.git_in(path, &["commit", "--quiet", "-m", "idea"]);
    lab.git_in(path, &["checkout", "--quiet", "-"]);
    lab.collect(vault, &attempt(1), path, &base.start, &[]).unwrap();
    assert_eq!(scene.remove(), Removal::Removed);
    let saved = |name: &str| {
        lab.vault_git(vault, &["show", &format!("refs/pitcrew/saved-refs/attempt-1/{name}")])
    };
    assert_eq!(saved("heads/idea:idea.txt"), "idea");
    assert_eq!(saved("stash:core/lib.rs"), "work");
}

impl Scene {
    /// Creates a branch beside the collected one, with one commit of one file.
    fn branch(&self, name: &str) {
        let Self { lab, path, .. } = self;
        lab.git_in(path, &["checkout", "--quiet", "-b", name]);
        write(&path.join("idea.txt"), "idea\n");
        lab.git_in(path, &["add", "idea.txt"]);
        lab.git_in(path, &["commit", "--quiet", "-m", name]);
        lab.git_in(path, &["checkout", "--quiet", "-"]);
    }

    #[track_caller]
    fn assert_kept(&self, why: &str) {
        let Removal::Kept { reason } = self.remove() else { panic!("it was removed") };
        assert!(reason.contains("could not be saved") && reason.contains(why), "{reason}");
        assert_eq!(read(&self.path.join("core/lib.rs")), "work\n");
    }
}

/// A commit that fsck rejects is saved too.
#[test]
fn malformed_commit_on_another_branch_is_saved_at_removal() {
    let scene = scene();
    let Scene { lab, vault, base, path } = &scene;
    let tree = lab.git_in(path, &["rev-parse", "HEAD^{tree}"]);
    let who = "Ada ada@example.org 1 +0000";
    let commit =
        format!("tree {tree}\nparent {}\nauthor {who}\ncommitter {who}\n\nodd\n", base.start);
    let args = ["hash-object", "-t", "commit", "-w", "--literally", "--stdin"];
    let finished = lab.try_git(path, &args, commit);
    let odd = String::from_utf8(finished.stdout).unwrap();
    lab.git_in(path, &["update-ref", "refs/heads/odd", odd.trim()]);
    lab.collect(vault, &attempt(1), path, &base.start, &[]).unwrap();
    assert_eq!(scene.remove(), Removal::Removed);
    let saved = "refs/pitcrew/saved-refs/attempt-1/heads/odd";
    assert_eq!(lab.vault_git(vault, &["rev-parse", saved]), odd.trim());
}

#[test]
fn checkout_with_unreadable_branches_is_kept() {
    let scene = scene();
    let Scene { lab, vault, base, path } = &scene;
    scene.branch("idea");
    let blob = lab.git_in(path, &["rev-parse", "idea:idea.txt"]);
    let object = path.join(".git/objects").join(&blob[..2]).join(&blob[2..]);
    let content = fs::read(&object).unwrap();
    fs::remove_file(&object).unwrap();
    lab.collect(vault, &attempt(1), path, &base.start, &[]).unwrap();
    scene.assert_kept(&blob);
    fs::write(&object, content).unwrap();
    assert_eq!(scene.remove(), Removal::Removed, "once it can be saved, it is");
}

#[test]
fn checkout_with_branches_that_cannot_be_saved_is_kept() {
    let scene = scene();
    let Scene { lab, vault, base, path } = &scene;
    scene.branch("idea");
    lab.collect(vault, &attempt(1), path, &base.start, &[]).unwrap();
    let in_the_way = "refs/pitcrew/saved-refs/attempt-1";
    lab.vault_git(vault, &["update-ref", in_the_way, &base.start.0]);
    scene.assert_kept(in_the_way);
    lab.vault_git(vault, &["update-ref", "-d", in_the_way]);
    assert_eq!(scene.remove(), Removal::Removed, "once it can be saved, it is");
    let saved = format!("{in_the_way}/heads/idea:idea.txt");
    assert_eq!(lab.vault_git(vault, &["show", &saved]), "idea");
}

#[test]
fn checkout_in_use_by_a_process_is_kept() {
    let scene = scene();
    let Scene { lab, vault, base, path } = &scene;
    lab.collect(vault, &attempt(1), path, &base.start, &[]).unwrap();
    let vault_for_check = &scene.vault;
    let removal = std::thread::scope(|scope| {
        let stop = pitcrew_process::Cancel::default();
        let (place, mut policy, cancel) = (path.clone(), lab.policy.clone(), stop.clone());
        policy.write.push(place.clone());
        let shell = scope.spawn(move || {
            let timeout = std::time::Duration::from_mins(1);
            pitcrew_process::shell(
                &policy,
                "touch .git/here; cat /dev/zero >/dev/null",
                &place,
                timeout,
                &cancel,
            )
        });
        while !path.join(".git/here").exists() {
            std::thread::yield_now();
        }
        let attempt = attempt(1).attempt;
        let removal = vault_for_check.remove_checkout(attempt, path, &lab.policy, &lab.cancel);
        stop.cancel();
        shell.join().unwrap().unwrap();
        removal.unwrap()
    });
    assert!(matches!(removal, Removal::Kept { reason } if reason.contains("process")));
    assert_eq!(scene.remove(), Removal::Removed);
}

#[test]
fn folder_that_is_not_the_attempts_checkout_is_kept() {
    let scene = scene();
    let Scene { lab, vault, .. } = &scene;
    let removal =
        vault.remove_checkout(attempt(1).attempt, &lab.user, &lab.policy, &lab.cancel).unwrap();
    assert!(matches!(removal, Removal::Kept { .. }));
    let removal =
        vault.remove_checkout(attempt(9).attempt, Path::new("/tmp"), &lab.policy, &lab.cancel);
    assert!(matches!(removal, Ok(Removal::Kept { .. })));
}

#[test]
fn checkout_with_too_many_branches_is_kept() {
    let scene = scene();
    let Scene { lab, vault, base, path } = &scene;
    lab.collect(vault, &attempt(1), path, &base.start, &[]).unwrap();
    let tree = format!("{}^{{tree}}", base.start);
    let mine = lab.git_in(path, &["commit-tree", &tree, "-p", &base.start.0, "-m", "mine"]);
    let refs: Vec<String> =
        (0..=10_000).map(|it| format!("{mine} refs/heads/b{it:05}\n")).collect();
    let refs = refs.concat();
    write(&path.join(".git/packed-refs"), format!("# pack-refs with: sorted \n{refs}"));
    let Removal::Kept { reason } = scene.remove() else { panic!("it is removed") };
    assert!(reason.contains("more than 10000 refs"), "{reason}");
}
