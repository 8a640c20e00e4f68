//! An agent may do anything to its checkout. Its work is judged or saved in any case.

use crate::lab::{Lab, attempt, make_executable, read, refusals, tree_of, write};
use pitcrew_git::Removal;
use pitcrew_git::Vault;
use pitcrew_model::{PlanBase, RefusalKind, Work};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::{
    fs,
    os::unix::fs::{PermissionsExt, chown, symlink},
    path::{Path, PathBuf},
    sync::mpsc,
    thread,
    time::Duration,
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
    fn collect(&self) -> Work {
        let Self { lab, vault, base, path } = self;
        lab.collect(vault, &attempt(1), path, &base.start, &["core"]).expect("work")
    }

    fn git(&self, args: &[&str]) -> String {
        self.lab.git_in(&self.path, args)
    }

    #[track_caller]
    fn assert_one_file(&self) {
        let work = self.collect();
        assert_eq!(work.files_count, 1, "{:?}", work.files);
        let text =
            self.lab.vault_git(&self.vault, &["show", &format!("{}:core/lib.rs", work.commit)]);
        assert_eq!(text, "work");
        let parent = self.lab.vault_git(&self.vault, &["rev-parse", &format!("{}^", work.commit)]);
        assert_eq!(parent, self.base.start.0);
    }
}

#[test]
fn deleted_git_folder_does_not_lose_work() {
    let scene = scene();
    fs::remove_dir_all(scene.path.join(".git")).unwrap();
    scene.assert_one_file();
}

#[test]
fn replaced_git_folder_does_not_lose_work() {
    let scene = scene();
    fs::remove_dir_all(scene.path.join(".git")).unwrap();
    scene.git(&["init", "--quiet"]);
    scene.git(&["add", "."]);
    scene.git(&["commit", "--quiet", "-m", "a new history"]);
    scene.assert_one_file();
}

#[test]
fn git_folder_that_points_to_the_users_does_not_lose_work() {
    let scene = scene();
    fs::remove_dir_all(scene.path.join(".git")).unwrap();
    let users = scene.lab.user.join(".git");
    write(&scene.path.join(".git"), format!("gitdir: {}\n", users.display()));
    let index = fs::read(users.join("index")).unwrap();
    scene.assert_one_file();
    assert_eq!(fs::read(users.join("index")).unwrap(), index);
}

#[test]
fn invalid_settings_index_and_head_do_not_lose_work() {
    for file in ["config", "HEAD", "index"] {
        let scene = scene();
        write(&scene.path.join(".git").join(file), "\0garbage[[[\n");
        scene.assert_one_file();
    }
}

#[test]
fn history_rebased_below_the_start_does_not_lose_work() {
    let scene = scene();
    scene.git(&["checkout", "--quiet", "--orphan", "other"]);
    scene.git(&["add", "."]);
    scene.git(&["commit", "--quiet", "-m", "squashed"]);
    scene.assert_one_file();
}

#[test]
fn missing_objects_of_agent_commits_do_not_lose_work() {
    let scene = scene();
    scene.git(&["commit", "--quiet", "--all", "-m", "first"]);
    let blob = scene.git(&["rev-parse", "HEAD:core/lib.rs"]);
    let object = scene.path.join(".git/objects").join(&blob[..2]).join(&blob[2..]);
    fs::remove_file(object).unwrap();
    scene.assert_one_file();
}

#[test]
fn files_hidden_from_the_agents_git_are_collected() {
    let scene = scene();
    scene.git(&["update-index", "--assume-unchanged", "core/lib.rs"]);
    assert_eq!(scene.git(&["status", "--porcelain"]), "");
    scene.assert_one_file();
}

/// Hooks, filters and monitors in the agent's git folder are not run.
#[test]
fn traps_in_the_git_folder_do_not_spring() {
    let scene = scene();
    let trap = scene.lab.folder.path().join("trap.sh");
    let sprung = scene.lab.folder.path().join("sprung");
    write(&trap, format!("#!/bin/sh\ntouch '{}'\ncat\n", sprung.display()));
    make_executable(&trap);
    let trap = trap.to_str().unwrap();
    for key in
        ["core.fsmonitor", "filter.x.clean", "filter.x.smudge", "diff.external", "core.sshCommand"]
    {
        scene.git(&["config", key, trap]);
    }
    let hooks = scene.path.join(".git/hooks");
    scene.git(&["config", "core.hooksPath", hooks.to_str().unwrap()]);
    for hook in ["pre-commit", "post-commit", "post-index-change", "reference-transaction"] {
        write(&hooks.join(hook), read(Path::new(trap)));
        make_executable(&hooks.join(hook));
    }
    write(&scene.path.join(".git/info/attributes"), "* filter=x\n");
    scene.assert_one_file();
    assert!(!sprung.exists());
    scene.lab.save(&scene.vault, &attempt(1), &scene.path).expect("saved");
    assert!(!sprung.exists());
    scene.git(&["status"]);
    assert!(sprung.exists(), "plain git springs them");
    pitcrew_testkit::escape_stopped(
        "trap our git in the checkout",
        "gate",
        "any",
        "own git folder",
    );
}

#[test]
fn nested_repositories_are_refused_but_saved() {
    let scene = scene();
    let all = ["core/with", "core/without", "core/with/deeper", "core/with/fresh"];
    for name in all {
        write(&scene.path.join(name).join("file.txt"), name);
        scene.lab.git_in(&scene.path.join(name), &["init", "--quiet"]);
    }
    for name in ["core/with/deeper", "core/with"] {
        scene.lab.git_in(&scene.path.join(name), &["add", "file.txt"]);
        scene.lab.git_in(&scene.path.join(name), &["commit", "--quiet", "-m", "nested"]);
    }
    let Scene { lab, vault, base, path } = &scene;
    let refused = refusals(lab.collect(vault, &attempt(1), path, &base.start, &["core"]));
    assert_eq!(
        refused,
        [
            ("core/with".to_owned(), RefusalKind::Gitlink),
            ("core/without".to_owned(), RefusalKind::Gitlink)
        ]
    );
    let saved = lab.save(vault, &attempt(1), path).expect("saved");
    for name in all {
        assert_eq!(lab.vault_git(vault, &["show", &format!("{saved}:{name}/file.txt")]), name);
    }
}

#[test]
fn checkout_that_was_never_made_has_nothing_to_save() {
    let Scene { lab, vault, .. } = scene();
    let order = pitcrew_git::SaveWork { name: attempt(7), path: None };
    assert_eq!(vault.save(&order, &lab.policy, &lab.cancel).unwrap(), None);
}

#[test]
fn missing_checkout_returns_the_last_saved_state() {
    let Scene { lab, vault, path, .. } = scene();
    let saved = lab.save(&vault, &attempt(1), &path);
    assert!(saved.is_some());
    fs::remove_dir_all(&path).unwrap();
    assert_eq!(lab.save(&vault, &attempt(1), &path), saved);
}

fn make_pipe(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::remove_file(path).ok();
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Stops a git that waits on a pipe long before its timeout.
fn without_waiting(scene: &Scene, work: impl FnOnce()) {
    let (done, is_done) = mpsc::channel::<()>();
    let cancel = scene.lab.cancel.clone();
    let guard = thread::spawn(move || {
        if is_done.recv_timeout(Duration::from_mins(1)) == Err(mpsc::RecvTimeoutError::Timeout) {
            cancel.cancel();
        }
    });
    work();
    drop(done);
    guard.join().unwrap();
}

/// There are pipes at paths that git opens: in git folders, as rule files, and in the tree.
#[test]
fn no_git_blocks_on_a_pipe() {
    for pipe in [
        ".git/HEAD",
        ".git/config",
        ".git/packed-refs",
        ".git/refs/heads/other",
        ".git/objects/info/alternates",
        ".gitignore",
        ".gitattributes",
        ".gitmodules",
        "core/.gitignore",
        "core/inner/.git/HEAD",
        "core/lib.rs",
        "core/pipe",
    ] {
        let scene = scene();
        write(&scene.path.join("core/more.rs"), "more\n");
        make_pipe(&scene.path.join(pipe));
        without_waiting(&scene, || {
            let Scene { lab, vault, base, path } = &scene;
            let work = lab.collect(vault, &attempt(1), path, &base.start, &["core"]);
            let work = work.unwrap_or_else(|error| panic!("{pipe}: {error}"));
            let show = |it: &str| lab.vault_git(vault, &["show", &format!("{}:{it}", work.commit)]);
            assert_eq!(show("core/more.rs"), "more", "{pipe}");
            let policy = &lab.policy;
            let removed = vault.remove_checkout(attempt(1).attempt, path, policy, &lab.cancel);
            assert_eq!(removed.unwrap(), Removal::Removed, "{pipe}");
        });
    }
}

/// The files of a nested repository may be anywhere, and so may the agent's own objects.
#[test]
fn no_git_blocks_on_a_pipe_reached_indirectly() {
    let scene = scene();
    scene.git(&["commit", "--quiet", "--all", "-m", "first"]);
    make_pipe(&scene.path.join("core/elsewhere/HEAD"));
    write(&scene.path.join("core/inner/.git"), "gitdir: ../elsewhere\n");
    write(&scene.path.join("core/inner/file"), "x\n");
    make_pipe(&scene.path.join("core/objects/info/alternates"));
    let objects = scene.path.join("core/objects");
    let alternates = scene.path.join(".git/objects/info/alternates");
    let text = read(&alternates);
    write(&alternates, format!("{text}{}\n", objects.display()));
    without_waiting(&scene, || {
        let Scene { lab, vault, path, .. } = &scene;
        let saved = lab.save(vault, &attempt(1), path).expect("saved");
        assert_eq!(lab.vault_git(vault, &["show", &format!("{saved}:core/lib.rs")]), "work");
        let parent = lab.vault_git(vault, &["rev-parse", &format!("{saved}^")]);
        assert_eq!(parent, scene.base.start.0, "its own commits were not looked at");
    });
}

#[test]
fn git_folder_that_points_elsewhere_is_kept_for_a_person() {
    let scene = scene();
    scene.git(&["branch", "more"]);
    symlink("/dev/zero", scene.path.join(".git/packed-refs")).unwrap();
    without_waiting(&scene, || {
        let Scene { lab, vault, base, path } = &scene;
        lab.collect(vault, &attempt(1), path, &base.start, &["core"]).expect("work");
        let removed = vault.remove_checkout(attempt(1).attempt, path, &lab.policy, &lab.cancel);
        let Ok(Removal::Kept { reason }) = removed else { panic!("{removed:?}") };
        assert!(reason.contains("`.git` has links"), "{reason}");
        assert!(path.exists());
    });
}

#[test]
fn unreadable_files_are_collected() {
    let scene = scene();
    write(&scene.path.join("core/closed/deep/file"), "hidden\n");
    write(&scene.path.join("core/secret"), "secret\n");
    set_mode(&scene.path.join("core/lib.rs"), 0);
    set_mode(&scene.path.join("core/secret"), 0);
    set_mode(&scene.path.join("core/closed/deep"), 0);
    set_mode(&scene.path.join("core/closed"), 0);
    let work = scene.collect();
    let Scene { lab, vault, path, .. } = &scene;
    let show = |it: &str| lab.vault_git(vault, &["show", &format!("{}:{it}", work.commit)]);
    assert_eq!(show("core/lib.rs"), "work");
    assert_eq!(show("core/secret"), "secret");
    assert_eq!(show("core/closed/deep/file"), "hidden");
    let removed = vault.remove_checkout(attempt(1).attempt, path, &lab.policy, &lab.cancel);
    assert_eq!(removed.unwrap(), Removal::Removed);
}

/// A file like one that a container has left. Only root can give a file to another user.
#[test]
fn unreadable_paths_are_named_and_kept() {
    let scene = scene();
    let theirs = scene.path.join("core/theirs");
    write(&theirs, "theirs\n");
    set_mode(&theirs, 0o600);
    if chown(&theirs, Some(54_321), Some(54_321)).is_err() {
        return;
    }
    let Scene { lab, vault, base, path } = &scene;
    let collected = lab.collect(vault, &attempt(1), path, &base.start, &["core"]);
    let said = collected.expect_err("not all of it").to_string();
    assert!(said.contains("cannot read `core/theirs`"), "{said}");
    let removed = vault.remove_checkout(attempt(1).attempt, path, &lab.policy, &lab.cancel);
    let Ok(Removal::Kept { reason }) = removed else { panic!("{removed:?}") };
    assert!(reason.contains("core/theirs"), "{reason}");
    assert_eq!(read(&theirs), "theirs\n");
    let saved = lab.vault_git(vault, &["show", "refs/pitcrew/saved/attempt-1:core/lib.rs"]);
    assert_eq!(saved, "work", "the rest is saved");
}

#[test]
fn collected_files_have_no_setuid_or_setgid_bits() {
    let scene = scene();
    let files = [("core/run.sh", 0o4755), ("core/deep/run.sh", 0o6755), ("core/lib.rs", 0o2644)];
    let mode = |name: &str| scene.path.join(name).metadata().unwrap().permissions().mode() & 0o7777;
    for (name, mode) in files {
        write(&scene.path.join(name), "work\n");
        set_mode(&scene.path.join(name), mode);
    }
    let work = scene.collect();
    let listed = scene.lab.vault_git(&scene.vault, &["ls-tree", "-r", &work.commit.0, "core"]);
    let modes: Vec<_> = listed.lines().map(|it| &it[..6]).collect();
    assert_eq!(modes, ["100755", "100644", "100755"], "{listed}");
    for (name, before) in files {
        assert_eq!(mode(name), before & 0o777, "{name}");
    }
    // A snapshot of a running worker drops these bits too.
    set_mode(&scene.path.join("core/run.sh"), 0o4755);
    let order = pitcrew_git::LiveCheckout {
        attempt: attempt(1).attempt,
        path: scene.path.clone(),
        start: scene.base.start.clone(),
    };
    scene.vault.save_live(&order, &scene.lab.policy, &scene.lab.cancel).unwrap();
    assert_eq!(mode("core/run.sh"), 0o755);
}

/// The name of the repository contains a newline, so git's error message has several lines.
#[test]
fn nested_repository_that_cannot_be_saved_is_kept() {
    let scene = scene();
    let inner = scene.path.join("core/two\nlines");
    write(&inner.join("file.txt"), "inner\n");
    scene.lab.git_in(&inner, &["init", "--quiet"]);
    let Scene { lab, vault, path, .. } = &scene;
    let removed = vault.remove_checkout(attempt(1).attempt, path, &lab.policy, &lab.cancel);
    let Ok(Removal::Kept { reason }) = removed else { panic!("{removed:?}") };
    assert!(reason.contains("cannot read `core/two`"), "{reason}");
    assert_eq!(read(&inner.join("file.txt")), "inner\n");
}

/// Makes the agent's git folder point to another place or change its history.
type Redirect = fn(&Scene, &Path);

const REDIRECTS: [(&str, Redirect); 9] = [
    ("a link to the user's", |scene, git| {
        fs::rename(git, scene.path.join("old")).unwrap();
        fs::remove_dir_all(scene.path.join("old")).unwrap();
        symlink(scene.lab.user.join(".git"), git).unwrap();
    }),
    ("the folder of another working tree", |scene, git| {
        write(&git.join("commondir"), scene.lab.user.join(".git").to_str().unwrap());
    }),
    ("objects behind a link", |scene, git| {
        fs::remove_dir_all(git.join("objects")).unwrap();
        symlink(scene.lab.user.join(".git/objects"), git.join("objects")).unwrap();
    }),
    ("objects that are borrowed twice", |scene, git| {
        scene.git(&["commit", "--quiet", "--all", "-m", "first"]);
        let (between, users) = (git.join("between"), scene.lab.user.join(".git/objects"));
        write(&between.join("info/alternates"), users.to_str().unwrap());
        let alternates = git.join("objects/info/alternates");
        write(&alternates, format!("{}{}\n", read(&alternates), between.display()));
    }),
    ("a replaced commit", |scene, _| {
        scene.git(&["commit", "--quiet", "--all", "-m", "first"]);
        scene.git(&["replace", "--graft", "HEAD"]);
    }),
    ("grafts", |scene, git| {
        scene.git(&["commit", "--quiet", "--all", "-m", "first"]);
        write(&git.join("info/grafts"), format!("{}\n", scene.git(&["rev-parse", "HEAD"])));
    }),
    ("a shallow history", |scene, git| {
        scene.git(&["commit", "--quiet", "--all", "-m", "first"]);
        write(&git.join("shallow"), format!("{}\n", scene.git(&["rev-parse", "HEAD"])));
    }),
    ("settings of the working tree", |scene, git| {
        scene.git(&["config", "extensions.worktreeConfig", "true"]);
        let user = scene.lab.user.display();
        write(&git.join("config.worktree"), format!("[core]\n\tworktree = {user}\n"));
    }),
    ("a promisor that runs a program", |scene, git| {
        let program = scene.lab.folder.path().join("program");
        let ran = scene.lab.home().join("ran");
        write(&program, format!("#!/bin/sh\ntouch '{}'\n", ran.display()));
        make_executable(&program);
        scene.git(&["config", "core.repositoryFormatVersion", "1"]);
        scene.git(&["config", "extensions.partialClone", "origin"]);
        scene.git(&["config", "remote.origin.url", git.to_str().unwrap()]);
        scene.git(&["config", "remote.origin.promisor", "true"]);
        scene.git(&["config", "remote.origin.uploadpack", program.to_str().unwrap()]);
        // Git would try to fetch a missing object from a promisor remote.
        scene.git(&["commit", "--quiet", "--all", "-m", "first"]);
        let blob = scene.git(&["rev-parse", "HEAD:core/lib.rs"]);
        scene.git(&["branch", "other"]);
        fs::remove_file(git.join("objects").join(&blob[..2]).join(&blob[2..])).unwrap();
    }),
];

#[test]
fn manipulated_git_folder_affects_neither_work_nor_user() {
    for (name, redirect) in REDIRECTS {
        let scene = scene();
        redirect(&scene, &scene.path.join(".git"));
        let Scene { lab, vault, path, .. } = &scene;
        let before = tree_of(&lab.user.join(".git"));
        let work = scene.collect();
        assert_eq!(work.files_count, 1, "{name}: {:?}", work.files);
        let show = |it: &str| lab.vault_git(vault, &["show", &format!("{}:{it}", work.commit)]);
        assert_eq!(show("core/lib.rs"), "work", "{name}");
        let range = format!("{}..{}", scene.base.start, work.commit);
        let count = lab.vault_git(vault, &["rev-list", "--count", &range]);
        assert_eq!(count, "1", "{name}: nothing but the work is new");
        let removed = vault.remove_checkout(attempt(1).attempt, path, &lab.policy, &lab.cancel);
        removed.unwrap_or_else(|failure| panic!("{name}: {failure}"));
        assert!(tree_of(&lab.user.join(".git")) == before, "{name}");
        assert!(!lab.home().join("ran").exists(), "{name}: a program ran outside of the box");
    }
}
