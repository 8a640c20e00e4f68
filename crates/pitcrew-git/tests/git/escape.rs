//! Work that must not be integrated, in any tier. The tests first show that plain git accepts all
//! of it. The gate refuses it and names the path, which the orchestrator records.

use crate::{
    evil_trees,
    lab::{Lab, attempt, refusals},
};
use pitcrew_model::RefusalKind;
use pitcrew_process::{Cancel, Policy, Run, run_confined};
use pitcrew_testkit::escape_stopped;

/// The work of an agent with the region `core`, and why it is refused.
const WORK: &[(&str, &str, RefusalKind)] = &[
    ("change a file of another region", "echo x > api/lib.rs", RefusalKind::OutsideZone),
    ("remove a file of another region", "git rm -q api/lib.rs", RefusalKind::OutsideZone),
    ("move work out of the region", "git mv core/lib.rs api/stolen.rs", RefusalKind::OutsideZone),
    (
        "change another region and take it back",
        "echo x > api/lib.rs; git commit -qam one; git revert --no-edit HEAD > /dev/null",
        RefusalKind::OutsideZone,
    ),
    ("leave a link that leads out", "ln -s ../../outside core/l", RefusalKind::SymlinkLeaves),
    ("leave a link to the machine", "ln -s /etc/passwd core/l", RefusalKind::SymlinkLeaves),
    ("leave a repository in the work", INNER, RefusalKind::Gitlink),
    ("leave git attributes", "echo '* filter=x' > core/.gitattributes", RefusalKind::Executes),
    ("leave submodules", "printf '[submodule \"x\"]\\n' > core/.gitmodules", RefusalKind::Executes),
    (
        "leave an agent's settings",
        "mkdir core/.claude; echo {} > core/.claude/settings.json",
        RefusalKind::Executes,
    ),
    ("leave a tool server", "echo {} > core/.mcp.json", RefusalKind::Executes),
    (
        "leave an editor's task",
        "mkdir core/.vscode; echo {} > core/.vscode/tasks.json",
        RefusalKind::Executes,
    ),
    (
        "leave a pipeline",
        "mkdir -p core/.github/workflows; echo x > core/.github/workflows/x.yml",
        RefusalKind::Executes,
    ),
    (
        "leave shared hooks",
        "mkdir core/.husky; echo x > core/.husky/pre-commit",
        RefusalKind::Executes,
    ),
    (
        "leave a file that is too large",
        "head -c 22000000 /dev/zero > core/big",
        RefusalKind::TooLarge,
    ),
];

const INNER: &str = "git init -q core/r && cd core/r && echo x > f && git add f &&
    git -c user.name=a -c user.email=a@b commit -qm in && cd ../.. && git add core/r 2> /dev/null";

#[test]
fn gate_refuses_forbidden_work() {
    for (name, script, kind) in WORK {
        let lab = Lab::new();
        let vault = lab.vault();
        let base = lab.plan(&vault);
        let path = lab.checkout(&vault, &attempt(1), &base.start).path;
        let script = format!("{script}\ngit add -A && git commit -qm work --allow-empty");
        let run = Run::shell(&*script, &path).env("HOME", lab.home());
        let run = ["AUTHOR", "COMMITTER"].iter().fold(run, |run, who| {
            run.env(format!("GIT_{who}_NAME"), "a").env(format!("GIT_{who}_EMAIL"), "a@b")
        });
        let finished = run_confined(&Policy::unconfined(), run, &Cancel::default()).unwrap();
        let said = String::from_utf8_lossy(&finished.stdout).into_owned();
        assert!(finished.success(), "{name} proves nothing, git does not take it: {said}");
        let refused = refusals(lab.collect(&vault, &attempt(1), &path, &base.start, &["core"]));
        assert!(refused.iter().any(|it| it.1 == *kind), "{name}: {kind:?} is not in {refused:?}");
        escape_stopped(name, "gate", "any", &kind.to_string());
    }
}

#[test]
fn gate_refuses_malformed_trees() {
    for (name, mode, file, kind) in [
        ("hide a git folder as .GIT", "40000", ".GIT", RefusalKind::GitDir),
        ("hide a git folder as git~1", "40000", "git~1", RefusalKind::GitDir),
        (
            "hide a git folder behind an invisible character",
            "40000",
            ".g\u{200c}it",
            RefusalKind::GitDir,
        ),
        ("climb out of the tree by name", "100644", "..", RefusalKind::BadName),
        ("turn a name around", "100644", "a\u{202e}txt.exe", RefusalKind::BadName),
        ("give a file a mode of its own", "100664", "a", RefusalKind::BadMode),
    ] {
        evil_trees::try_entry(mode, file, kind);
        escape_stopped(name, "gate", "any", &kind.to_string());
    }
}
