use crate::lab::{Lab, attempt, collect_order, refusals, write, zone};
use pitcrew_git::{AttemptName, CollectWork, LiveCheckout};
use pitcrew_model::{AttemptId, Failure, FileChange, RefusalKind, RepoPath, Zone, limits};
use std::{fs, os::unix::fs::symlink};

#[test]
fn uncommitted_work_is_committed_and_counted() {
    let lab = Lab::new();
    let vault = lab.vault();
    let base = lab.plan(&vault);
    let path = lab.checkout(&vault, &attempt(1), &base.start).path;
    write(&path.join("core/lib.rs"), "one\ntwo\n");
    write(&path.join("core/näw file.rs"), "new\n");
    fs::remove_file(path.join("README.md")).unwrap();
    let work = lab.collect(&vault, &attempt(1), &path, &base.start, &[]).unwrap();
    assert_eq!((work.files_count, work.insertions, work.deletions), (3, 3, 2));
    let change = |path: &str, change| FileChange { path: path.into(), change };
    assert_eq!(
        work.files,
        [change("README.md", 'D'), change("core/lib.rs", 'M'), change("core/näw file.rs", 'A')]
    );
    assert_eq!(
        lab.vault_git(&vault, &["rev-parse", "refs/pitcrew/plans/plan-1/task-1-work/a1"]),
        work.commit.0
    );
    let log = lab.vault_git(&vault, &["log", "-1", "--format=%an|%s|%P", &work.commit.0]);
    assert_eq!(log, format!("Pitcrew worker|did it|{}", base.start));
}

#[test]
fn unchanged_checkout_is_collected_as_the_start() {
    let lab = Lab::new();
    let vault = lab.vault();
    let base = lab.plan(&vault);
    let path = lab.checkout(&vault, &attempt(1), &base.start).path;
    let work = lab.collect(&vault, &attempt(1), &path, &base.start, &["core"]).unwrap();
    assert_eq!((work.commit, work.files_count), (base.start, 0));
}

#[test]
fn agents_commits_are_kept_below_uncommitted_work() {
    let lab = Lab::new();
    let vault = lab.vault();
    let base = lab.plan(&vault);
    let path = lab.checkout(&vault, &attempt(1), &base.start).path;
    lab.git_in(&path, &["checkout", "--quiet", "-b", "its-own-branch"]);
    write(&path.join("core/a.rs"), "a\n");
    lab.git_in(&path, &["add", "."]);
    lab.git_in(&path, &["commit", "--quiet", "-m", "a of the agent"]);
    lab.git_in(&path, &["checkout", "--quiet", "--detach"]);
    write(&path.join("core/b.rs"), "b\n");
    let work = lab.collect(&vault, &attempt(1), &path, &base.start, &["core"]).unwrap();
    assert_eq!(work.files_count, 2);
    let range = format!("{}..{}", base.start, work.commit);
    let log = lab.vault_git(&vault, &["log", "--format=%s", &range]);
    assert_eq!(log, "did it\na of the agent");
}

#[test]
fn paths_outside_the_zone_are_refused_by_name() {
    let lab = Lab::new();
    let vault = lab.vault();
    let base = lab.plan(&vault);
    let path = lab.checkout(&vault, &attempt(1), &base.start).path;
    write(&path.join("core/lib.rs"), "mine\n");
    write(&path.join("api/lib.rs"), "not mine\n");
    write(&path.join("core2/x"), "not mine either\n");
    let refused = refusals(lab.collect(&vault, &attempt(1), &path, &base.start, &["core"]));
    assert_eq!(
        refused,
        [
            ("api/lib.rs".to_owned(), RefusalKind::OutsideZone),
            ("core2/x".to_owned(), RefusalKind::OutsideZone)
        ]
    );
    assert_eq!(
        lab.vault_git(&vault, &["for-each-ref", "refs/pitcrew/plans/plan-1/task-1-work"]),
        ""
    );
}

/// A denied path is refused even if the region or the shared paths include it.
#[test]
fn denied_paths_are_refused_inside_the_region() {
    let lab = Lab::new();
    let vault = lab.vault();
    let base = lab.plan(&vault);
    let path = lab.checkout(&vault, &attempt(1), &base.start).path;
    write(&path.join("core/lib.rs"), "mine\n");
    write(&path.join("core/key/x"), "theirs\n");
    let denied = zone(&["core/key"]).region;
    let zone = Zone { shared: denied.clone(), denied, ..zone(&["core"]) };
    let order = CollectWork {
        name: attempt(1),
        path: path.clone(),
        start: base.start.clone(),
        base: base.start.clone(),
        zone,
        message: "did it".into(),
    };
    let refused = refusals(vault.collect(&order, &lab.policy, &lab.cancel));
    assert_eq!(refused, [("core/key/x".to_owned(), RefusalKind::Denied)]);
}

#[test]
fn intermediate_commits_are_judged() {
    let lab = Lab::new();
    let vault = lab.vault();
    let base = lab.plan(&vault);
    let path = lab.checkout(&vault, &attempt(1), &base.start).path;
    write(&path.join("secret.txt"), "for a moment\n");
    write(&path.join("core/lib.rs"), "mine\n");
    lab.git_in(&path, &["add", "."]);
    lab.git_in(&path, &["commit", "--quiet", "-m", "with a secret"]);
    fs::remove_file(path.join("secret.txt")).unwrap();
    let refused = refusals(lab.collect(&vault, &attempt(1), &path, &base.start, &["core"]));
    assert_eq!(refused, [("secret.txt".to_owned(), RefusalKind::OutsideZone)]);
}

#[test]
fn work_of_an_earlier_attempt_is_judged_against_the_base() {
    let lab = Lab::new();
    let vault = lab.vault();
    let base = lab.plan(&vault);
    let path = lab.checkout(&vault, &attempt(1), &base.start).path;
    write(&path.join("api/lib.rs"), "not mine\n");
    let saved = lab.save(&vault, &attempt(1), &path).expect("a commit");
    let again = AttemptName { attempt: AttemptId(2), number: 2, ..attempt(1) };
    let path = lab.checkout(&vault, &again, &saved).path;
    let order = CollectWork {
        name: again,
        path,
        start: saved,
        base: base.start,
        zone: zone(&["core"]),
        message: String::new(),
    };
    let refused = refusals(vault.collect(&order, &lab.policy, &lab.cancel));
    assert_eq!(refused, [("api/lib.rs".to_owned(), RefusalKind::OutsideZone)]);
}

#[test]
fn executing_files_need_a_region_that_names_them() {
    let lab = Lab::new();
    let vault = lab.vault();
    let base = lab.plan(&vault);
    let path = lab.checkout(&vault, &attempt(1), &base.start).path;
    write(&path.join(".github/workflows/ci.yml"), "on: push\n");
    write(&path.join("core/.gitattributes"), "* filter=x\n");
    let refused = refusals(lab.collect(&vault, &attempt(1), &path, &base.start, &[]));
    let kinds: Vec<RefusalKind> = refused.iter().map(|it| it.1).collect();
    assert_eq!(kinds, [RefusalKind::Executes; 2], "{refused:?}");
    let named = [".github/workflows", "core/.gitattributes"];
    let work = lab.collect(&vault, &attempt(1), &path, &base.start, &named).unwrap();
    assert_eq!(work.files_count, 2);
}

/// The files of future programs begin with a dot or are named by their backend.
#[test]
fn configuration_files_need_a_region_that_names_them() {
    let lab = Lab::new();
    let backend = ("opencode".to_owned(), vec!["OpenCode.json".to_owned()]);
    let vault = lab.vault().guarding([backend]);
    let base = lab.plan(&vault);
    let path = lab.checkout(&vault, &attempt(1), &base.start).path;
    let special = [
        ".cargo/config.toml",
        ".github/agents/own.md",
        ".mise.toml",
        ".qwen/settings.json",
        ".yarnrc.yml",
        "azure-pipelines.yaml",
        "core/.tomorrow/hook",
        "core/opencode.json",
        "lefthook.toml",
    ];
    let harmless = [".gitignore", "core/.editorconfig", "core/package.json", "core/CLAUDE.md"];
    for file in special.iter().chain(&harmless) {
        write(&path.join(file), "x\n");
    }
    let collect = |region: &[&str]| lab.collect(&vault, &attempt(1), &path, &base.start, region);
    let failure = collect(&["."]).expect_err("they are refused");
    let Failure::Gate { refusals, .. } = &failure else { panic!("{failure:?}") };
    let paths: Vec<&str> = refusals.iter().map(|it| it.path.as_str()).collect();
    assert_eq!(paths, special);
    assert!(refusals.iter().all(|it| it.kind == RefusalKind::Executes), "{refusals:?}");
    let detail = failure.detail();
    let line = "core/opencode.json: a file that makes other programs execute code (`opencode.json` configures \
                opencode; a task whose `region` names `core/opencode.json` may change it)";
    assert!(detail.contains(line), "{detail}");
    // Each rule names the path that the region has to name.
    let rules = refusals.iter().filter_map(|it| it.rule.as_deref());
    let mut region: Vec<&str> = rules.filter_map(|it| it.split('`').nth(5)).collect();
    region.push(".");
    let work = collect(&region).expect("all are named");
    assert_eq!(usize::try_from(work.files_count), Ok(special.len() + harmless.len()));
}

#[test]
fn denied_path_applies_in_any_letter_case() {
    let lab = Lab::new();
    let vault = lab.vault();
    let base = lab.plan(&vault);
    let path = lab.checkout(&vault, &attempt(1), &base.start).path;
    write(&path.join("core/KEY/x"), "x\n");
    write(&path.join("Core/key/y"), "x\n");
    let denied = vec![RepoPath::parse("core/key").expect("a path")];
    let order = CollectWork {
        zone: Zone { denied, ..Zone::default() },
        ..collect_order(&attempt(1), &path, &base.start, &[])
    };
    let refused = refusals(vault.collect(&order, &lab.policy, &lab.cancel));
    let denied = |it: &str| (it.to_owned(), RefusalKind::Denied);
    assert_eq!(refused, [denied("Core/key/y"), denied("core/KEY/x")]);
}

#[test]
fn links_out_of_the_tree_and_large_files_are_refused() {
    let lab = Lab::new();
    let vault = lab.vault();
    let base = lab.plan(&vault);
    let path = lab.checkout(&vault, &attempt(1), &base.start).path;
    symlink("/etc/passwd", path.join("core/absolute")).unwrap();
    symlink("../../outside", path.join("core/up")).unwrap();
    symlink("../README.md", path.join("core/inside")).unwrap();
    let large = fs::File::create(path.join("core/large.bin")).unwrap();
    large.set_len(limits::BLOB_BYTES_MAX + 1).unwrap();
    let refused = refusals(lab.collect(&vault, &attempt(1), &path, &base.start, &[]));
    assert_eq!(
        refused,
        [
            ("core/absolute".to_owned(), RefusalKind::SymlinkLeaves),
            ("core/large.bin".to_owned(), RefusalKind::TooLarge),
            ("core/up".to_owned(), RefusalKind::SymlinkLeaves)
        ]
    );
}

#[test]
fn missing_checkout_is_reported() {
    let lab = Lab::new();
    let vault = lab.vault();
    let base = lab.plan(&vault);
    let path = lab.checkout(&vault, &attempt(1), &base.start).path;
    fs::remove_dir_all(&path).unwrap();
    let failure = lab.collect(&vault, &attempt(1), &path, &base.start, &[]).expect_err("it");
    assert!(matches!(failure, Failure::Checkout { .. }), "{failure:?}");
}

#[test]
fn live_checkout_can_be_compared() {
    let lab = Lab::new();
    let vault = lab.vault();
    let base = lab.plan(&vault);
    let path = lab.checkout(&vault, &attempt(1), &base.start).path;
    write(&path.join("core/lib.rs"), "changed\n");
    write(&path.join("api/lib.rs"), "changed\n");
    let live =
        LiveCheckout { attempt: attempt(1).attempt, path: path.clone(), start: base.start.clone() };
    let now = vault.save_live(&live, &lab.policy, &lab.cancel).unwrap();
    let core = RepoPath::parse("core").unwrap();
    let diff = vault.diff(&base.start, &now, &[core], &lab.cancel).unwrap();
    assert!(diff.contains("-pub fn core() {}\n+changed\n") && !diff.contains("api"), "{diff}");
    let work = lab.collect(&vault, &attempt(1), &path, &base.start, &[]).unwrap();
    let stat = vault.diff_stat(&base.start, &work.commit, &lab.cancel).unwrap();
    assert_eq!((stat.files_count, stat.insertions, stat.deletions), (2, 2, 2));
    assert!(stat.files.iter().all(|it| it.lines == Some((1, 1))), "{stat:?}");
}
