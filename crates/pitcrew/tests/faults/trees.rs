//! Agents that leave invalid or hostile trees.

use crate::support::*;
use pitcrew_model::{Failure, Refusal, RefusalKind};
use pitcrew_testkit::Sandbox;

/// A sandbox of tier T1: only the import gate protects.
fn unheld() -> Sandbox {
    let mut sandbox = sandbox();
    sandbox.set("PITCREW_SANDBOX", "T1");
    sandbox
}

#[track_caller]
fn refusals(failure: Failure) -> Vec<Refusal> {
    let Failure::Gate { refusals, .. } = failure else { panic!("{failure:?}") };
    refusals
}

fn refusal(path: &str, kind: RefusalKind) -> Refusal {
    Refusal::new(path, kind)
}

/// S1-043: work outside the zone is never integrated, and the path is reported.
#[test]
fn gate_refuses_work_outside_the_region() {
    let sandbox = unheld();
    let steps = "write core/a.txt <<END\na\nEND\nwrite ui/theirs.txt <<END\nb\nEND\ncomplete it";
    let refused = refusals(failure_beside_a_sibling(&sandbox, &script(steps)));
    assert_eq!(refused, [refusal("ui/theirs.txt", RefusalKind::OutsideZone)]);
    assert_eq!(files_to_land(&sandbox, "plan-1"), ["ui/done.txt"]);
    let board = board(&sandbox);
    let reason = task_of(&board, "faulty").reason.clone().unwrap_or_default();
    assert!(reason.contains("ui/theirs.txt is outside the region"), "{reason}");
}

/// S0-069: the refusal is in the prompt of the next attempt, which starts afresh.
#[test]
fn next_attempt_gets_the_gate_refusal() {
    let sandbox = unheld();
    let steps = "unless \"ui/theirs.txt\" write ui/theirs.txt <<END\nb\nEND\nwrite core/a.txt <<END\na\nEND\ncomplete it";
    assert_completes_beside_a_sibling(&sandbox, &format!("{}\nmax_attempts = 2", script(steps)));
    let mut files = files_to_land(&sandbox, "plan-1");
    files.sort();
    assert_eq!(files, ["core/a.txt", "ui/done.txt"]);
}

/// The work is integrated anyway, because Pitcrew does not depend on the agent's `.git`.
#[test]
fn deleting_the_git_folder_loses_nothing() {
    let sandbox = sandbox();
    let steps = "run rm -rf .git\nwrite core/a.txt <<END\na\nEND\ncomplete it";
    assert_completes_beside_a_sibling(&sandbox, &script(steps));
    let mut files = files_to_land(&sandbox, "plan-1");
    files.sort();
    assert_eq!(files, ["core/a.txt", "ui/done.txt"]);
}

/// Pointing `.git` at another repository does not change that repository.
#[test]
fn redirected_git_folder_changes_nothing_elsewhere() {
    let sandbox = sandbox();
    let before = snapshot_of_the_user(&sandbox);
    let user = sandbox.repo().join(".git");
    let steps = format!(
        "run rm -rf .git && echo 'gitdir: {}' > .git && echo a > core/a.txt\ncomplete it",
        user.display()
    );
    assert_completes_beside_a_sibling(&sandbox, &script(&steps));
    assert_eq!(snapshot_of_the_user(&sandbox), before);
}

/// Git in a tree written by an agent never runs the agent's hooks and filters.
#[test]
fn agent_hooks_and_filters_never_run() {
    let sandbox = sandbox();
    let loot = sandbox.root().join("loot");
    let loot = loot.display();
    let steps = format!(
        r#"run <<END
set -e
mkdir -p .git/hooks
for hook in pre-commit post-commit pre-merge-commit post-checkout post-index-change fsmonitor reference-transaction pre-auto-gc post-rewrite; do
  printf '#!/bin/sh\necho %s >> "{loot}"\n' $hook > .git/hooks/$hook
  chmod +x .git/hooks/$hook
done
git config core.hooksPath .git/hooks
git config core.fsmonitor 'echo fsmonitor >> "{loot}"; false'
git config core.sshCommand 'echo ssh >> "{loot}"'
git config core.pager 'echo pager >> "{loot}"'
git config core.editor 'echo editor >> "{loot}"'
git config filter.evil.clean 'echo clean >> "{loot}"; cat'
git config filter.evil.smudge 'echo smudge >> "{loot}"; cat'
git config filter.evil.required true
git config diff.external 'echo diff >> "{loot}"'
git config diff.evil.textconv 'echo textconv >> "{loot}"; cat'
git config merge.evil.driver 'echo merge >> "{loot}"; false'
git config commit.gpgSign true
git config gpg.program 'echo gpg >> "{loot}"; false'
git config uploadpack.packObjectsHook 'echo pack >> "{loot}"'
git config credential.helper '!echo credential >> "{loot}"'
git config alias.status '!echo alias >> "{loot}"'
echo '* filter=evil diff=evil merge=evil' > .git/info/attributes
rm -f "{loot}"
END
write core/a.txt <<END
a
END
complete it"#
    );
    assert_completes_beside_a_sibling(&sandbox, &script(&steps));
    sandbox.pitcrew(&["diff", "faulty"]).expect(0).says("core/a.txt");
    sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(0);
    assert_eq!(sandbox.read("core/a.txt"), "a\n");
    let ran = std::fs::read_to_string(sandbox.root().join("loot")).unwrap_or_default();
    assert_eq!(ran, "", "these ran");
}

/// S1-043: agents need not be able to commit.
#[test]
fn uncommitted_work_is_committed_with_the_summary() {
    let sandbox = sandbox();
    let steps = "write core/new.txt <<END\nnew\nEND\ndelete core/one.txt\nrun chmod +x core/new.txt\ncomplete moved it over";
    assert_completes_beside_a_sibling(&sandbox, &script(steps));
    sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(0);
    assert_eq!(sandbox.git(&["ls-files", "-s", "core"]).split(' ').next(), Some("100755"));
    assert!(!sandbox.repo().join("core/one.txt").exists());
    let log = sandbox.git(&["log", "--format=%B"]);
    assert!(log.contains("moved it over"), "{log}");
}

#[test]
fn work_on_another_branch_is_collected() {
    let sandbox = sandbox();
    let steps = "run git checkout -q -b somewhere/else && echo a > core/a.txt && git add -A && git commit -qm mine && git checkout -q --detach && echo b > core/b.txt && git add core/b.txt\ncomplete it";
    assert_completes_beside_a_sibling(&sandbox, &script(steps));
    let mut files = files_to_land(&sandbox, "plan-1");
    files.sort();
    assert_eq!(files, ["core/a.txt", "core/b.txt", "ui/done.txt"]);
}

#[test]
fn gate_refuses_a_nested_repository() {
    let sandbox = sandbox();
    let steps = "run git init -q core/inner && cd core/inner && echo a > a.txt && git add -A && git -c user.name=a -c user.email=a@example.org commit -qm inner\ncomplete it";
    let refused = refusals(failure_beside_a_sibling(&sandbox, &script(steps)));
    assert_eq!(refused, [refusal("core/inner", RefusalKind::Gitlink)]);
}

#[test]
fn gate_refuses_a_link_out_of_the_tree() {
    let sandbox = sandbox();
    let steps = "run ln -s one.txt core/stays && ln -s ../../../etc/passwd core/leaves && ln -s /etc/passwd core/absolute\ncomplete it";
    let refused = refusals(failure_beside_a_sibling(&sandbox, &script(steps)));
    let leaves = |path| refusal(path, RefusalKind::SymlinkLeaves);
    assert_eq!(refused, [leaves("core/absolute"), leaves("core/leaves")]);
}

/// A link in place of a folder does not move an agent's file elsewhere.
#[test]
fn link_in_place_of_the_region_exports_nothing() {
    let sandbox = sandbox();
    let elsewhere = sandbox.root().join("elsewhere");
    let steps = format!(
        "run rm -rf core && mkdir '{0}' && ln -s '{0}' core && echo a > core/a.txt\ncomplete it",
        elsewhere.display()
    );
    let refused = refusals(failure_beside_a_sibling(&sandbox, &script(&steps)));
    assert!(refused.contains(&refusal("core", RefusalKind::SymlinkLeaves)), "{refused:?}");
}

#[test]
fn gate_refuses_a_huge_file() {
    let sandbox = sandbox();
    let steps = "run truncate -s 21M core/huge.bin\ncomplete it";
    let refused = refusals(failure_beside_a_sibling(&sandbox, &script(steps)));
    assert_eq!(refused, [refusal("core/huge.bin", RefusalKind::TooLarge)]);
}

#[test]
fn gate_refuses_files_that_execute() {
    let sandbox = sandbox();
    let steps = "write core/.gitattributes <<END\n* filter=x\nEND\nwrite core/.claude/settings.json <<END\n{}\nEND\ncomplete it";
    let refused = refusals(failure_beside_a_sibling(&sandbox, &script(steps)));
    assert!(refused.iter().all(|it| it.kind == RefusalKind::Executes), "{refused:?}");
    assert_eq!(refused.len(), 2, "{refused:?}");
}
