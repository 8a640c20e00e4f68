use crate::lab::{Lab, PLAN, attempt, verify_order, write};
use pitcrew_git::{Vault, Verify};
use pitcrew_model::{CommitId, Failure, RepoPath};
use std::path::Path;

/// The work of attempt `number`, which writes one file.
fn work(
    lab: &Lab,
    vault: &Vault,
    number: u64,
    start: &CommitId,
    file: &str,
    text: &str,
) -> CommitId {
    let path = lab.checkout(vault, &attempt(number), start).path;
    write(&path.join(file), text);
    lab.collect(vault, &attempt(number), &path, start, &[]).expect("work").commit
}

#[test]
fn checks_run_on_the_merge_of_both_sides() {
    let lab = Lab::new();
    lab.write(".gitignore", ".mcp.json\n");
    lab.commit("ignore");
    lab.write(".mcp.json", "{}");
    let vault = lab.vault();
    let base = lab.plan(&vault);
    let one = work(&lab, &vault, 1, &base.start, "core/one.rs", "1\n");
    let two = work(&lab, &vault, 2, &base.start, "api/two.rs", "2\n");
    let order = Verify {
        setup: vec!["touch was-set-up".into()],
        checks: vec!["test -f core/one.rs".into()],
        ..verify_order(&base.start, &one)
    };
    let head = vault.verify(&order, &lab.policy, &lab.cancel).unwrap().merged;
    vault.integrate(PLAN, &base.start, &head, &lab.cancel).unwrap();
    let order = Verify {
        checks: vec![
            "cat core/one.rs api/two.rs && test -f was-set-up && test -f .mcp.json".into(),
            "git status --porcelain".into(),
        ],
        setup: vec!["touch was-set-up".into()],
        ..verify_order(&head, &two)
    };
    let verified = vault.verify(&order, &lab.policy, &lab.cancel).unwrap();
    assert_eq!(verified.checks[0].output, "1\n2\n");
    let parents = lab.vault_git(&vault, &["log", "-1", "--format=%P|%s", &verified.merged.0]);
    assert_eq!(parents, format!("{head} {two}|task-1: do it"));
    let left = || std::fs::read_dir(&vault.layout().scratch).unwrap().flatten();
    // The attribute files of merges are kept for the next merge.
    let is_gone = || left().all(|it| it.file_name() == "attributes");
    pitcrew_testkit::eventually("its checkout is gone", || is_gone().then_some(()));
}

/// The folder for the checks and the box of the first check can be made before there is anything to
/// check.
#[test]
fn work_is_verified_in_the_prepared_folder() {
    let lab = Lab::new();
    let vault = lab.vault();
    let base = lab.plan(&vault);
    let checks = ["pwd; cat core/one.rs", "git status --porcelain"].map(String::from).to_vec();
    for first in ["pwd; cat core/one.rs", "another one"] {
        let is_meant = first == checks[0];
        let number = 1 + u64::from(is_meant);
        let work = work(&lab, &vault, number, &base.start, "core/one.rs", "1\n");
        let left = || std::fs::read_dir(&vault.layout().scratch).unwrap().count();
        pitcrew_testkit::eventually("nothing of the collecting", || (left() == 0).then_some(()));
        let attempt = attempt(number).attempt;
        let ready = vault.get_trial_ready(attempt, first, &lab.policy).expect("a box");
        let places = std::fs::read_dir(&vault.layout().scratch).unwrap().flatten();
        let places: Vec<_> = places.map(|it| it.path().join("shop")).collect();
        let order = verify_order(&base.start, &work);
        let order = Verify { attempt, checks: checks.clone(), ..order };
        let verified = vault.verify_ready(&order, Some(ready), &lab.policy, &lab.cancel).unwrap();
        let (place, rest) = verified.checks[0].output.split_once('\n').unwrap();
        assert_eq!(places.iter().any(|it| it == place.as_ref() as &Path), is_meant, "{place}");
        assert_eq!((rest, verified.checks[1].output.as_str()), ("1\n", ""));
        pitcrew_testkit::eventually("both places are gone", || (left() == 0).then_some(()));
    }
}

#[test]
fn every_failed_check_is_reported() {
    let lab = Lab::new();
    let vault = lab.vault();
    let base = lab.plan(&vault);
    let work = work(&lab, &vault, 1, &base.start, "core/one.rs", "1\n");
    let checks = ["echo broken; exit 2", "true", "kill -9 $$"].map(String::from).to_vec();
    let order = Verify { checks, ..verify_order(&base.start, &work) };
    let failure = vault.verify(&order, &lab.policy, &lab.cancel).expect_err("a failure");
    let Failure::Checks { failed } = failure else { panic!("{failure:?}") };
    let found: Vec<_> = failed.iter().map(|it| (it.code, it.output.as_str())).collect();
    assert_eq!(found, [(Some(2), "broken\n"), (Some(137), "")]);
}

#[test]
fn conflict_names_the_files() {
    let lab = Lab::new();
    let vault = lab.vault();
    let base = lab.plan(&vault);
    let one = work(&lab, &vault, 1, &base.start, "README.md", "one\n");
    let two = work(&lab, &vault, 2, &base.start, "README.md", "two\n");
    let order = verify_order(&base.start, &one);
    let head = vault.verify(&order, &lab.policy, &lab.cancel).unwrap().merged;
    let failure =
        vault.verify(&verify_order(&head, &two), &lab.policy, &lab.cancel).expect_err("a conflict");
    assert_eq!(failure, Failure::Conflict { paths: vec!["README.md".into()], with: Vec::new() });
}

#[test]
fn attributes_of_the_repository_decide_how_files_merge() {
    let lab = Lab::new();
    lab.write(".gitattributes", "CHANGES merge=union\n");
    lab.write("CHANGES", "start\n");
    lab.commit("changes");
    let vault = lab.vault();
    let base = lab.plan(&vault);
    let one = work(&lab, &vault, 1, &base.start, "CHANGES", "start\none\n");
    let two = work(&lab, &vault, 2, &base.start, "CHANGES", "start\ntwo\n");
    let order = verify_order(&one, &two);
    let merged = vault.verify(&order, &lab.policy, &lab.cancel).expect("a union").merged;
    let text = lab.vault_git(&vault, &["show", &format!("{merged}:CHANGES")]);
    assert_eq!(text, "start\none\ntwo");
}

#[test]
fn expected_files_must_be_touched() {
    let lab = Lab::new();
    let vault = lab.vault();
    let base = lab.plan(&vault);
    let work = work(&lab, &vault, 1, &base.start, "core/one.rs", "1\n");
    let expected = |names: &[&str]| {
        let expected_files = names.iter().map(|it| RepoPath::parse(it).unwrap()).collect();
        let order = Verify { expected_files, ..verify_order(&base.start, &work) };
        vault.verify(&order, &lab.policy, &lab.cancel)
    };
    assert!(expected(&["core/one.rs"]).is_ok());
    assert!(expected(&["core"]).is_ok());
    let missing = vec!["core/on".to_owned(), "README.md".to_owned()];
    assert_eq!(
        expected(&["core/on", "core/one.rs", "README.md"]),
        Err(Failure::ExpectedFiles { missing })
    );
}

#[test]
fn work_that_adds_nothing_returns_the_head() {
    let lab = Lab::new();
    let vault = lab.vault();
    let base = lab.plan(&vault);
    let order = verify_order(&base.start, &base.start);
    let verified = vault.verify(&order, &lab.policy, &lab.cancel).unwrap();
    assert_eq!(verified.merged, base.start);
}

/// The process that judged the work has the commit in its cache. A restarted process does not.
#[test]
fn merge_from_cache_equals_merge_from_git() {
    let lab = Lab::new();
    let judge = lab.vault();
    let base = lab.plan(&judge);
    let some = work(&lab, &judge, 1, &base.start, "core/one.rs", "1\n");
    let path = lab.checkout(&judge, &attempt(2), &base.start).path;
    lab.git_in(&path, &["commit", "--quiet", "--allow-empty", "--message", "nothing"]);
    let nothing = lab.collect(&judge, &attempt(2), &path, &base.start, &[]).expect("work").commit;
    let merged = |vault: &Vault, work: &CommitId| {
        let order = verify_order(&base.start, work);
        vault.verify(&order, &lab.policy, &lab.cancel).expect("it fits").merged
    };
    let known = merged(&judge, &some);
    assert_eq!((&merged(&judge, &nothing), nothing == base.start), (&base.start, false));
    drop(judge);
    let other = lab.vault();
    assert_eq!(merged(&other, &nothing), base.start);
    let shown =
        |commit: &CommitId| lab.vault_git(&other, &["log", "-1", "--format=%T %P %s", &commit.0]);
    assert_eq!(shown(&known), shown(&merged(&other, &some)));
    let tree = lab.vault_git(&other, &["rev-parse", &format!("{some}^{{tree}}")]);
    assert_eq!(shown(&known), format!("{tree} {} {some} task-1: do it", base.start));
}

#[test]
fn failing_checks_on_the_base_are_not_an_error() {
    let lab = Lab::new();
    let vault = lab.vault();
    let base = lab.plan(&vault);
    let run = |setup: &[&str], checks: &[&str]| {
        let texts = |it: &[&str]| it.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        let (setup, checks) = (texts(setup), texts(checks));
        vault.check_base(PLAN, &base.start, &setup, &checks, &lab.policy, &lab.cancel)
    };
    let codes: Vec<_> = run(&[], &["true", "exit 4"]).iter().map(|it| it.code).collect();
    assert_eq!(codes, [Some(0), Some(4)]);
    let results = run(&["exit 9"], &["true"]);
    assert_eq!((results[0].code, results[0].passed()), (Some(9), false));
    assert!(results[0].output.contains("setup `exit 9`"));
}

#[test]
fn integration_branch_moves_by_compare_and_set() {
    let lab = Lab::new();
    let vault = lab.vault();
    let base = lab.plan(&vault);
    let one = work(&lab, &vault, 1, &base.start, "core/one.rs", "1\n");
    let two = work(&lab, &vault, 2, &base.start, "api/two.rs", "2\n");
    let integrate = |to| vault.integrate(PLAN, &base.start, to, &lab.cancel);
    assert_eq!(integrate(&one), Ok(one.clone()));
    assert_eq!(integrate(&one), Ok(one.clone()), "asked again, it is there");
    let failure = integrate(&two).expect_err("it has moved");
    assert!(failure.to_string().contains(one.short()), "{failure}");
}

/// Programs are looked up in a checkout of the base, after setup if need be.
#[test]
fn missing_programs_of_checks_are_found() {
    let lab = Lab::new();
    lab.write("tool.sh", "exit 0\n");
    lab.commit("a tool");
    let vault = lab.vault();
    let base = lab.plan(&vault);
    let find = |setup: &[&str], checks: &[&str]| {
        let texts = |it: &[&str]| it.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        let (setup, checks) = (texts(setup), texts(checks));
        vault.require_programs(PLAN, &base.start, (&setup, &checks), &lab.policy, &lab.cancel)
    };
    let fine = ["git status", "./tool.sh", "cd core && ls", "[ -e core ]", "nothing-such || true"];
    assert_eq!(find(&[], &fine), Ok(()));
    let Err(Failure::CheckPrograms { missing }) =
        find(&["true"], &["ls", "gti status", "./tol.sh"])
    else {
        panic!("they are missing")
    };
    let near: Vec<_> = missing.iter().map(|it| it.nearest.as_deref()).collect();
    assert_eq!((missing[0].check.as_str(), missing[0].program.as_str()), ("gti status", "gti"));
    assert_eq!(near, [Some("git"), Some("./tool.sh")]);
    assert_eq!(find(&["mkdir bin && touch bin/made"], &["cd bin && ./made"]), Ok(()));
    assert_eq!(find(&["exit 3"], &["./later"]), Ok(()), "attempts report a failing setup");
}
