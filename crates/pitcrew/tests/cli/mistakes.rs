//! Mistakes in a plan that are reported before an agent works for nothing, and refused changes.

use crate::support::*;
use std::{fs, os::unix::fs::PermissionsExt, path::Path};

fn make_executable(path: &Path) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a file");
}

/// A misspelled region, and regions that tasks are to create.
const REGIONS: &str = r#"
name = "regions"

[[task]]
id = "misspelled"
region = "croe"
command = "true"

[[task]]
id = "creates"
region = "newly/made"
expected_files = ["newly/made/a.txt"]
command = "mkdir -p newly/made; echo 1 > newly/made/a.txt"

[[task]]
id = "continues"
region = "newly/made/deep"
depends_on = ["creates"]
command = "mkdir -p newly/made/deep; echo 1 > newly/made/deep/b.txt"
"#;

#[test]
fn region_without_files_is_a_warning() {
    let sandbox = sandbox();
    let plan = sandbox.plan(REGIONS);
    let warning = "the region `croe` of task `misspelled` matches no file of the repository";
    let checked = sandbox.pitcrew(&["plan", "check", &plan]).expect(0);
    assert!(!checked.stderr.contains("newly"), "{checked}");
    checked.notes(&format!("{plan}: warning: {warning}")).notes("did you mean `core`?");
    let found = sandbox.pitcrew(&["plan", "check", &plan, "--json"]).expect(0).stdout;
    assert!(found.contains(warning), "{found}");
    let ran = sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0);
    let ran = ran
        .notes(warning)
        .notes("did you mean `core`?")
        .says("task-1 misspelled: it changed nothing");
    ran.notes("changed nothing");
    sandbox.pitcrew(&["status"]).expect(0).says("task-1 misspelled: it changed nothing");
}

#[test]
fn refused_changes_are_in_the_summary_and_in_the_status() {
    let sandbox = sandbox();
    let plan = sandbox.plan(
        r#"
name = "refused"

[[task]]
id = "outside"
region = "ui"
max_attempts = 1
script = """
refused fs/write_text_file {"path": "core/auth.rs", "content": "mine"}
run ln -s /etc/passwd ui/link
complete did it
"""
"#,
    );
    let written = "1 change outside its region (ui) was refused: core/auth.rs";
    let linked = "1 change (a symbolic link that leaves the repository) was refused: ui/link";
    let ran = sandbox.pitcrew(&["run", &plan, "--yes"]).expect(5);
    ran.says(written).says(linked);
    let status = sandbox.pitcrew(&["status"]).expect(0);
    let status = status.says(written).says(linked);
    assert_eq!(status.stdout.matches(written).count(), 1, "{status}");
}

/// The sandbox makes files outside the region read-only. The failure names the region.
#[test]
fn write_refused_by_the_sandbox_names_the_region() {
    let mut sandbox = sandbox();
    sandbox.unset("PITCREW_SANDBOX_WRITE");
    sandbox.write("core/there.txt", "there\n");
    sandbox.commit("a file outside the region");
    let plan = sandbox.plan(
        "name = \"refused\"\n[[task]]\nid = \"outside\"\nregion = \"ui\"\nmax_attempts = 1\n\
         command = \"echo mine > core/there.txt\"\n",
    );
    let ran = sandbox.pitcrew(&["run", &plan, "--yes"]).expect(5);
    let ran = ran.says("1 change outside its region (ui) was refused: core/there.txt");
    ran.says("it may write only in its region (ui)");
    let status = sandbox.pitcrew(&["status"]).expect(0);
    status.says("it may write only in its region (ui)");
}

/// Programs are looked up where checks run, after setup, before any agent starts.
#[test]
fn check_without_its_program_stops_the_plan_before_any_agent() {
    let mut sandbox = sandbox();
    let folder = sandbox.root().join("programs");
    fs::create_dir(&folder).expect("a folder");
    let program = folder.join("frobnicate");
    fs::write(&program, "#!/bin/sh\n").expect("a file");
    make_executable(&program);
    sandbox.add_to_path(&folder);
    let task = |checks: &str| {
        format!(
            "name = \"checked\"\nsetup = \"mkdir -p bin; printf '#!/bin/sh\\\\n' > bin/made; \
             chmod +x bin/made\"\n[[task]]\nid = \"a\"\nregion = \"core\"\n\
             command = \"echo 1 > core/new.txt\"\nchecks = {checks}\n"
        )
    };
    let plan = sandbox.plan(&task(r#"["frobnicat --all", "./bin/mode", "./bin/made", "true"]"#));
    let ran = sandbox.pitcrew(&["run", &plan, "--yes"]).expect(5);
    let wrong = "check `frobnicat --all` cannot run: there is no program `frobnicat`, did you mean \
                 `frobnicate`?; check `./bin/mode` cannot run: there is no program `./bin/mode`, did \
                 you mean `./bin/made`?";
    let ran = ran.says(wrong).says("0 attempts");
    assert!(!ran.stderr.contains("Starting"), "{ran}");
    let board = sandbox.pitcrew(&["status", "plan-1", "--json"]).expect(0).json();
    assert_eq!(board["tasks"][0]["attempts"].as_array().map(Vec::len), Some(0), "{board}");

    fs::rename(&program, folder.join("frobnicat")).expect("it is there");
    sandbox.write("bin/mode", "#!/bin/sh\n");
    make_executable(&sandbox.repo().join("bin/mode"));
    sandbox.commit("the other program");
    let plan = sandbox.plan(&task(r#"["frobnicat --all", "./bin/mode", "./bin/made", "true"]"#));
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0).says("1 of 1 completed");
}

/// A check that the task repairs is not worth a word; one that still fails is.
#[test]
fn red_check_is_mentioned_only_if_it_stays_red() {
    let sandbox = sandbox();
    let plan = sandbox.plan(
        r#"
name = "repair"

[[task]]
id = "repairs"
region = "core"
command = "echo 1 > core/fixed.txt"
checks = "[ -e core/fixed.txt ]"

[[task]]
id = "leaves"
region = "ui"
command = "echo 1 > ui/some.txt"
checks = "[ -e ui/fixed.txt ]"
max_attempts = 1
"#,
    );
    let ran = sandbox.pitcrew(&["run", &plan, "--yes"]).expect(4);
    let status = sandbox.pitcrew(&["status"]).expect(0);
    for text in [&ran.stdout, &ran.stderr, &status.stdout] {
        assert!(!text.contains("already fails on the base"), "{text}");
        let about_core = text.lines().find(|it| it.contains("[ -e core/fixed.txt ]"));
        assert_eq!(about_core, None, "{text}");
    }
    let said = "check `[ -e ui/fixed.txt ]` failed with exit code 1 (it also fails on the base)";
    ran.says(said);
}
