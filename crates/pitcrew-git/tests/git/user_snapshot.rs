use crate::lab::{Lab, make_executable, tree_of};
use pitcrew_git::{PreparePlan, Uncommitted, UncommittedFile};
use pitcrew_model::{PlanId, RepoPath, limits};
use std::fs;

/// S1-051: a dirty tree does not block a plan. Its changes are included, and the tree is not
/// changed.
#[test]
fn dirty_tree_is_snapshotted_without_changing_it() {
    let lab = Lab::new();
    lab.write("keep.txt", "kept\n");
    lab.write("doomed.txt", "doomed\n");
    lab.commit("second");
    lab.write("core/lib.rs", "modified\n");
    lab.write("api/lib.rs", "staged\n");
    lab.git(&["add", "api/lib.rs"]);
    lab.write("api/lib.rs", "staged and modified\n");
    lab.write("staged.txt", "only staged\n");
    lab.git(&["add", "staged.txt"]);
    fs::remove_file(lab.user.join("doomed.txt")).unwrap();
    lab.write("new folder/ünïcode.txt", "untracked\n");
    let index = fs::read(lab.user.join(".git/index")).unwrap();
    let tree = tree_of(&lab.user);
    let head = lab.rev("HEAD");

    let vault = lab.vault();
    let base = lab.plan(&vault);

    assert_eq!(fs::read(lab.user.join(".git/index")).unwrap(), index);
    assert_eq!(tree_of(&lab.user), tree);
    assert_eq!(lab.rev("HEAD"), head);
    assert_eq!(base.tip, head);
    assert_ne!(base.start, head);
    assert_eq!(base.dirty_count, 5);
    lab.git(&["reset", "--quiet", "--hard"]);
    lab.git(&["gc", "--quiet", "--prune=now"]);
    lab.vault_git(&vault, &["fsck", "--connectivity-only", &base.start.0]);
    let show = |path: &str| lab.vault_git(&vault, &["show", &format!("{}:{path}", base.start)]);
    assert_eq!(show("core/lib.rs"), "modified");
    assert_eq!(show("api/lib.rs"), "staged and modified");
    assert_eq!(show("staged.txt"), "only staged");
    assert_eq!(show("new folder/ünïcode.txt"), "untracked");
    let names = lab.vault_git(&vault, &["ls-tree", "-r", "--name-only", &base.start.0]);
    assert!(!names.contains("doomed.txt") && names.contains("keep.txt"), "{names}");
}

#[test]
fn staged_file_is_in_the_vault_after_the_users_gc() {
    let lab = Lab::new();
    lab.write("staged.txt", "content that is nowhere else\n");
    lab.git(&["add", "staged.txt"]);
    let vault = lab.vault();
    let base = lab.plan(&vault);
    lab.git(&["reset", "--quiet", "--hard"]);
    lab.git(&["reflog", "expire", "--expire=now", "--all"]);
    lab.git(&["gc", "--quiet", "--prune=now"]);
    let text = lab.vault_git(&vault, &["show", &format!("{}:staged.txt", base.start)]);
    assert_eq!(text, "content that is nowhere else");
}

#[test]
fn users_excludes_and_line_endings_are_kept() {
    let lab = Lab::new();
    fs::create_dir_all(lab.home().join(".config/git")).unwrap();
    fs::write(lab.home().join(".config/git/ignore"), "*.global\n").unwrap();
    fs::write(lab.user.join(".git/info/exclude"), "*.local\n").unwrap();
    lab.git(&["config", "core.autocrlf", "true"]);
    lab.write(".gitignore", "*.ignored\n");
    for name in ["a.global", "a.local", "a.ignored"] {
        lab.write(name, "no\n");
    }
    lab.write("crlf.txt", "one\r\ntwo\r\n");
    let vault = lab.vault();
    let base = lab.plan(&vault);
    let names = lab.vault_git(&vault, &["ls-tree", "-r", "--name-only", &base.start.0]);
    for name in ["a.global", "a.local", "a.ignored"] {
        assert!(!names.contains(name), "{names}");
    }
    let text = lab.vault_git(&vault, &["show", &format!("{}:crlf.txt", base.start)]);
    assert!(!text.contains('\r'));
    let path = lab.checkout(&vault, &crate::lab::attempt(1), &base.start).path;
    assert_eq!(fs::read(path.join("crlf.txt")).unwrap(), b"one\r\ntwo\r\n");
    for name in ["b.global", "b.local", "b.ignored"] {
        fs::write(path.join(name), "no\n").unwrap();
    }
    let work = lab.collect(&vault, &crate::lab::attempt(1), &path, &base.start, &[]).unwrap();
    assert_eq!(work.files_count, 0, "{work:?}");
}

#[test]
fn users_filters_are_applied() {
    let lab = Lab::new();
    lab.git(&["config", "filter.shout.clean", "tr a-z A-Z"]);
    lab.write(".gitattributes", "*.shout filter=shout\n");
    lab.write("a.shout", "hello\n");
    let vault = lab.vault();
    let base = lab.plan(&vault);
    let text = lab.vault_git(&vault, &["show", &format!("{}:a.shout", base.start)]);
    assert_eq!(text, "HELLO");
}

#[test]
fn unusual_files_are_left_out_by_name() {
    let lab = Lab::new();
    lab.write("mine.txt", "mine\n");
    for name in ["embedded", "unborn"] {
        fs::create_dir(lab.user.join(name)).unwrap();
        lab.git_in(&lab.user.join(name), &["init", "--quiet"]);
        lab.write(&format!("{name}/a.txt"), "a\n");
    }
    lab.git_in(&lab.user.join("embedded"), &["add", "."]);
    lab.git_in(&lab.user.join("embedded"), &["commit", "--quiet", "-m", "x"]);
    let big = fs::File::create(lab.user.join("big.bin")).unwrap();
    big.set_len(limits::BLOB_BYTES_MAX + 1).unwrap();
    lab.git(&["config", "core.fileMode", "false"]);
    make_executable(&lab.user.join("README.md"));
    let pipe = pitcrew_process::Run::new("mkfifo", &lab.user).arg("pipe");
    assert!(pitcrew_process::run_trusted(pipe, &lab.cancel).unwrap().success());
    let vault = lab.vault();
    let base = lab.plan(&vault);
    assert_eq!(base.dirty_count, 1, "{:?}", base.notes);
    for name in ["embedded", "unborn", "big.bin"] {
        assert!(base.notes.iter().any(|it| it.contains(name)), "{name}: {:?}", base.notes);
    }
}

#[test]
fn unmerged_index_is_included_and_noted() {
    let lab = Lab::new();
    lab.git(&["checkout", "--quiet", "-b", "other"]);
    lab.write("README.md", "other\n");
    lab.commit("other");
    lab.git(&["checkout", "--quiet", "main"]);
    lab.write("README.md", "main\n");
    lab.commit("main");
    assert!(!lab.try_git(&lab.user, &["merge", "--quiet", "other"], "").success());
    let index = fs::read(lab.user.join(".git/index")).unwrap();
    let base = lab.plan(&lab.vault());
    assert_eq!(fs::read(lab.user.join(".git/index")).unwrap(), index);
    assert!(base.notes.iter().any(|it| it.contains("README.md")), "{:?}", base.notes);
}

#[test]
fn split_and_sparse_indexes_and_linked_worktrees_are_supported() {
    let lab = Lab::new();
    let linked = lab.folder.path().canonicalize().unwrap().join("linked");
    lab.git(&["worktree", "add", "--quiet", linked.to_str().unwrap(), "-b", "other"]);
    let lab = Lab { user: linked, ..lab };
    lab.git(&["update-index", "--split-index"]);
    lab.git(&["sparse-checkout", "set", "--sparse-index", "core"]);
    lab.write("core/new.rs", "new\n");
    let vault = lab.vault();
    let base = lab.plan(&vault);
    assert_eq!((base.branch.as_deref(), base.dirty_count), (Some("other"), 1));
    let names = lab.vault_git(&vault, &["ls-tree", "-r", "--name-only", &base.start.0]);
    assert!(names.contains("api/lib.rs"), "what is sparse is not deleted: {names}");
}

/// What looks like a secret stays behind, also if it is staged or part of a tracked file.
#[test]
fn secrets_are_not_in_the_snapshot() {
    let lab = Lab::new();
    let token =
        |end: &str| format!("key = {}_{}{end}\n", "ghp", "Zk3vQ8sLw1Xn5Rt7Bd9Fh2Jm4Pc6Gy0AeUo");
    lab.write("known.toml", token("I"));
    lab.write("config.toml", "key = none\n");
    lab.write("old.pem", "old\n");
    lab.commit("second");
    lab.write("known.toml", format!("{}more = 1\n", token("I")));
    lab.write("config.toml", token("J"));
    lab.write(".env", "staged secret\n");
    lab.git(&["add", ".env"]);
    lab.write("app/.env.local", "secret\n");
    lab.write("app/plain.txt", "plain\n");
    fs::remove_file(lab.user.join("old.pem")).unwrap();
    let order = |plan, include: &[&str]| PreparePlan {
        plan: PlanId(plan),
        base: None,
        clean_base: false,
        include: include.iter().map(|it| RepoPath::parse(it).unwrap()).collect(),
    };
    let vault = lab.vault();
    let base = vault.prepare_plan(&order(1, &[]), &lab.cancel).unwrap();
    let left = base.left_behind.files.iter().map(|it| (it.path.as_str(), it.sign.as_str()));
    let wanted =
        [(".env", "its name"), ("app/.env.local", "its name"), ("config.toml", "a GitHub token")];
    assert_eq!(left.collect::<Vec<_>>(), wanted);
    assert_eq!((base.left_behind.count, base.dirty_count), (3, 3));
    let names = |start: &str| lab.vault_git(&vault, &["ls-tree", "-r", "--name-only", start]);
    let listed = names(&base.start.0);
    assert!(!listed.contains(".env") && !listed.contains("old.pem"), "{listed}");
    assert!(listed.contains("app/plain.txt"), "{listed}");
    let show = |path: &str| lab.vault_git(&vault, &["show", &format!("{}:{path}", base.start)]);
    assert_eq!(show("config.toml"), "key = none");
    assert!(show("known.toml").ends_with("more = 1"), "a committed secret is no reason");
    // A staged file is an object of the user's repository, and so it is in the vault. What checkouts
    // borrow from has neither.
    let all = ["cat-file", "--batch-all-objects", "--batch-check"];
    let store = vault.layout().bases().join(&base.start.0).join("objects");
    let probe = lab.home().join("probe");
    lab.git(&["init", "-q", "--bare", probe.to_str().unwrap()]);
    fs::write(probe.join("objects/info/alternates"), format!("{}\n", store.display())).unwrap();
    let borrowed = lab.git_in(&probe, &all);
    assert!(borrowed.contains(&base.start.0), "{borrowed}");
    let unstaged = lab.git(&["hash-object", "app/.env.local"]);
    assert!(!borrowed.contains(&lab.git(&["hash-object", ".env"])), "{borrowed}");
    assert!(!borrowed.contains(&unstaged) && !lab.vault_git(&vault, &all).contains(&unstaged));

    let base = vault.prepare_plan(&order(2, &[".env", "app"]), &lab.cancel).unwrap();
    assert_eq!(base.left_behind.count, 1);
    let listed = names(&base.start.0);
    assert!(listed.contains(".env\n") && listed.contains("app/.env.local"), "{listed}");
    // The list for a person and the snapshot agree.
    let include = [RepoPath::parse("app").unwrap(), RepoPath::parse("gone").unwrap()];
    let found = lab.repository().uncommitted(None, &include, &lab.cancel).unwrap();
    let paths = |it: &[UncommittedFile]| it.iter().map(|it| it.path.clone()).collect::<Vec<_>>();
    assert_eq!(paths(&found.left_behind), [".env", "config.toml"]);
    assert_eq!(paths(&found.files), ["known.toml", "old.pem", "app/.env.local", "app/plain.txt"]);
    assert_eq!(found.files[1].bytes, None);
    assert_eq!(found.unmatched, include[1..]);
    let other = lab.repository().uncommitted(Some("other"), &[], &lab.cancel).unwrap();
    assert_eq!(other, Uncommitted::default());
}
