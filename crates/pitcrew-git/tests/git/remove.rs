use crate::lab::{Lab, attempt, read, write};
use pitcrew_git::{Removal, Vault};
use pitcrew_model::PlanBase;
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

/// S1-053, S4-115: a checkout whose work was collected is cleaned up, write-protected caches too.
#[test]
fn a_collected_checkout_is_removed() {
    let scene = scene();
    let Scene { lab, vault, base, path } = &scene;
    lab.collect(vault, &attempt(1), path, &base.start, &[]).unwrap();
    let cache = path.join(".git/cache/deep");
    fs::create_dir_all(&cache).unwrap();
    fs::set_permissions(&cache, fs::Permissions::from_mode(0o500)).unwrap();
    assert_eq!(scene.remove(), Removal::Removed);
    assert!(!path.exists());
    assert_eq!(scene.remove(), Removal::Removed, "asked again, it is gone");
}

#[test]
fn a_changed_checkout_is_kept_and_its_change_is_saved() {
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
fn other_branches_and_stashes_of_the_agent_outlive_its_checkout() {
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

#[test]
fn a_checkout_that_a_process_is_in_is_kept() {
    let scene = scene();
    let Scene { lab, vault, base, path } = &scene;
    lab.collect(vault, &attempt(1), path, &base.start, &[]).unwrap();
    let vault_for_check = &scene.vault;
    let removal = std::thread::scope(|scope| {
        let stop = pitcrew_process::Cancel::default();
        let (place, policy, cancel) = (path.clone(), lab.policy.clone(), stop.clone());
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
fn a_folder_that_is_no_checkout_of_the_attempt_is_kept() {
    let scene = scene();
    let Scene { lab, vault, .. } = &scene;
    let removal =
        vault.remove_checkout(attempt(1).attempt, &lab.user, &lab.policy, &lab.cancel).unwrap();
    assert!(matches!(removal, Removal::Kept { .. }));
    let removal =
        vault.remove_checkout(attempt(9).attempt, Path::new("/tmp"), &lab.policy, &lab.cancel);
    assert!(matches!(removal, Ok(Removal::Kept { .. })));
}
