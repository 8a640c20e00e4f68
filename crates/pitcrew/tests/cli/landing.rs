//! Signatures and hooks of a landing, and results that were merged by hand.

use crate::support::*;
use pitcrew_testkit::{Sandbox, eventually};
use serde_json::json;
use std::{fs, os::unix::fs::PermissionsExt, path::Path};

/// A plan with one command in each of two regions, which writes the given text.
fn plan_writing(name: &str, text: &str) -> String {
    format!(
        "name = \"{name}\"\n\
         [[task]]\nid = \"{name}-core\"\nregion = \"core\"\ncommand = \"echo {text} > core/{name}\"\n\
         [[task]]\nid = \"{name}-ui\"\nregion = \"ui\"\ncommand = \"echo {text} > ui/{name}\"\n"
    )
}

fn run(sandbox: &Sandbox, name: &str) {
    sandbox.pitcrew(&["run", &sandbox.plan(&plan_writing(name, name)), "--yes"]).expect(0);
}

fn head(sandbox: &Sandbox) -> String {
    sandbox.git(&["rev-parse", "main"])
}

/// A new key of this name.
fn key(sandbox: &Sandbox, name: &str) -> String {
    let path = sandbox.home().join(name).display().to_string();
    let arguments = ["-q", "-t", "ed25519", "-N", "", "-C", name, "-f", &path];
    sandbox.start_program("ssh-keygen", &arguments).wait().expect(0);
    path
}

/// The user's git signs every commit with an SSH key.
fn sign_with_ssh(sandbox: &Sandbox) {
    let key = key(sandbox, "ada");
    let public = fs::read_to_string(format!("{key}.pub")).expect("a public key");
    let signers = sandbox.home().join("signers");
    fs::write(&signers, format!("person@example.org {public}")).expect("a file");
    let signers = signers.display().to_string();
    for (name, value) in [
        ("commit.gpgSign", "true"),
        ("gpg.format", "ssh"),
        ("user.signingKey", &key),
        ("gpg.ssh.allowedSignersFile", &signers),
    ] {
        sandbox.git(&["config", name, value]);
    }
}

/// What git says about the signature of each new commit: `G` is good, `N` is none.
fn signatures(sandbox: &Sandbox, from: &str) -> String {
    sandbox.git(&["log", "--format=%G?", &format!("{from}..main")]).replace('\n', "")
}

fn write_hook(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, format!("#!/bin/sh\n{text}\n")).expect("a file");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("its mode");
}

#[test]
fn every_form_of_history_is_signed_with_the_persons_key() {
    let sandbox = sandbox();
    sign_with_ssh(&sandbox);
    for (name, form, expected) in
        [("one", "--merge", "GGG"), ("two", "--squash", "G"), ("three", "--rebase", "GG")]
    {
        run(&sandbox, name);
        let before = head(&sandbox);
        let landed = sandbox.pitcrew(&["land", name, "--yes", form]).expect(0);
        landed.says("landed on main as ").notes("with your key");
        assert_eq!(signatures(&sandbox, &before), expected, "{form}");
        assert_eq!(sandbox.read(&format!("ui/{name}")), format!("{name}\n"));
        let message = sandbox.git(&["log", "--format=%an <%ae>%n%B", &format!("{before}..main")]);
        assert!(message.contains("Test Person <person@example.org>"), "{message}");
        assert!(message.contains("Pitcrew-"), "the messages are unchanged: {message}");
    }
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    assert_eq!(sandbox.git(&["for-each-ref", "refs/pitcrew"]), "", "nothing is left behind");
}

/// Approving elsewhere cannot sign, so the landing waits for a terminal.
#[test]
fn approved_landing_waits_for_the_signature() {
    let sandbox = sandbox();
    sign_with_ssh(&sandbox);
    run(&sandbox, "one");
    let before = head(&sandbox);
    sandbox.pitcrew(&["land", "plan-1"]).expect(3);
    sandbox.pitcrew(&["approve", "request-1"]).expect(0);
    eventually("it waits for a signature", || {
        let status = sandbox.pitcrew(&["status", "plan-1"]).expect(0);
        status
            .stdout
            .contains("3 commits to sign with your key: `pitcrew land plan-1`")
            .then_some(())
    });
    assert_eq!(head(&sandbox), before, "nothing is landed");
    sandbox.kill_orchestrator();
    sandbox.pitcrew(&["land", "plan-1"]).expect(0).says("plan-1 landed on main as ");
    assert_eq!(signatures(&sandbox, &before), "GGG");
}

#[test]
fn only_the_persons_own_settings_leave_commits_unsigned() {
    let sandbox = sandbox();
    sandbox.write(".pitcrew/config.toml", "[landing]\nsign = \"never\"\n");
    sandbox.commit("how we land");
    sign_with_ssh(&sandbox);
    sandbox.pitcrew(&["config", "show", "--origin"]).expect(0).notes("leave commits unsigned");
    run(&sandbox, "one");
    let before = head(&sandbox);
    sandbox.pitcrew(&["land", "plan-1", "--yes", "--squash"]).expect(0);
    assert_eq!(signatures(&sandbox, &before), "G");
    let own = sandbox.home().join(".config/pitcrew/config.toml");
    fs::create_dir_all(own.parent().expect("a folder")).expect("a folder");
    fs::write(&own, "[landing]\nsign = \"never\"\n").expect("a file");
    sandbox.pitcrew(&["stop"]).expect(0);
    run(&sandbox, "two");
    let before = head(&sandbox);
    sandbox.pitcrew(&["land", "plan-2", "--yes"]).expect(0);
    assert_eq!(signatures(&sandbox, &before), "NNN");
}

/// The program of `gpg.program` is called as git calls it; if it fails, nothing is landed.
#[test]
fn key_that_cannot_sign_lands_nothing() {
    let sandbox = sandbox();
    let program = sandbox.home().join("signs");
    write_hook(&program, "echo 'no card in the reader' >&2\nexit 2");
    sandbox.git(&["config", "gpg.program", &program.display().to_string()]);
    run(&sandbox, "one");
    sandbox.git(&["config", "commit.gpgSign", "true"]);
    let before = head(&sandbox);
    let refused = sandbox.pitcrew(&["land", "plan-1", "--yes", "--squash"]).expect(8);
    refused.notes("no card in the reader").notes("git could not sign");
    assert_eq!(head(&sandbox), before);
    sandbox.pitcrew(&["status"]).expect(0).says("1 commit to sign with your key");
    let signature = "-----BEGIN PGP SIGNATURE-----\\n\\nAAAA\\n-----END PGP SIGNATURE-----";
    write_hook(
        &program,
        &format!(
            "cat >/dev/null\nprintf '\\n[GNUPG:] SIG_CREATED ' >&2\nprintf '%b\\n' '{signature}'"
        ),
    );
    sandbox.pitcrew(&["land", "plan-1", "--yes", "--squash"]).expect(0);
    let raw = sandbox.git(&["cat-file", "commit", "main"]);
    assert!(raw.contains("gpgsig -----BEGIN PGP SIGNATURE-----"), "{raw}");
}

/// Whatever is handed over as signed, only what was prepared is landed.
#[test]
fn signing_cannot_change_what_is_landed() {
    let sandbox = sandbox();
    sign_with_ssh(&sandbox);
    run(&sandbox, "one");
    let before = head(&sandbox);
    sandbox.pitcrew(&["land", "plan-1", "--squash"]).expect(3);
    sandbox.pitcrew(&["approve", "request-1"]).expect(0);
    let prepared = eventually("it waits for a signature", || {
        let board = sandbox.pitcrew(&["status", "plan-1", "--json"]).expect(0).json();
        board["plans"][0]["landing"]["unsigned"]["commit"].as_str().map(str::to_owned)
    });
    let tree = |of: &str| sandbox.git(&["rev-parse", &format!("{of}^{{tree}}")]);
    let commit = |tree: &str, parent: &str, message: &str| {
        sandbox.git(&["commit-tree", "-S", tree, "-p", parent, "-m", message])
    };
    let (ours, base) = (tree(&prepared), tree(&before));
    for other in [
        commit(&base, &before, "another tree"),
        commit(&ours, &before, "another message"),
        sandbox.git(&["commit-tree", &ours, "-p", &before, "-m", "no signature"]),
        prepared.clone(),
    ] {
        sandbox.order(&json!({"command": "land_plan", "plan": "plan-1", "approval": "given",
            "history": "squash", "signed": other}));
        let reason = eventually("it is refused", || {
            let board = sandbox.pitcrew(&["status", "plan-1", "--json"]).expect(0).json();
            let landing = &board["plans"][0]["landing"];
            (landing["status"] == "none").then(|| landing["reason"].to_string())
        });
        assert!(reason.contains("what was signed is not what was prepared"), "{reason}");
        assert_eq!(head(&sandbox), before);
    }
    sandbox.pitcrew(&["land", "plan-1", "--squash", "--yes"]).expect(0);
    assert_eq!(tree("main"), ours);
    assert_eq!(signatures(&sandbox, &before), "G");
}

/// `commit-msg` sees each message and may change it.
#[test]
fn hooks_of_the_user_judge_and_edit_a_landing() {
    let sandbox = sandbox();
    let hooks = sandbox.repo().join(".git/hooks");
    write_hook(&hooks.join("commit-msg"), "printf '\\nTicket: T-7\\n' >> \"$1\"");
    write_hook(
        &hooks.join("pre-merge-commit"),
        "test -e core/one.txt && ! git diff --cached --name-only | grep -q ui/bad",
    );
    run(&sandbox, "bad");
    let before = head(&sandbox);
    let refused = sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(8);
    refused.notes("your git hook pre-merge-commit failed").notes("--no-verify");
    assert_eq!(head(&sandbox), before);
    sandbox.pitcrew(&["land", "plan-1", "--yes", "--no-verify"]).expect(0);
    let messages = sandbox.git(&["log", "--format=%B", &format!("{before}..main")]);
    assert!(!messages.contains("Ticket"), "{messages}");
    run(&sandbox, "good");
    let before = head(&sandbox);
    sandbox.pitcrew(&["land", "plan-2", "--yes"]).expect(0);
    let messages = sandbox.git(&["log", "--format=%B", &format!("{before}..main")]);
    assert_eq!(messages.matches("Ticket: T-7").count(), 3, "{messages}");
    assert_eq!(sandbox.read("ui/good"), "good\n");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
}

/// `core.hooksPath` names a folder of the working tree, as hook managers do.
#[test]
fn failing_hook_names_the_message_that_it_refuses() {
    let sandbox = sandbox();
    write_hook(
        &sandbox.repo().join(".hooks/commit-msg"),
        "grep -q '^one-ui' \"$1\" || exit 0\necho \"no ticket in $(basename \"$1\")\"\nexit 1",
    );
    sandbox.commit("our hooks");
    sandbox.git(&["config", "core.hooksPath", ".hooks"]);
    run(&sandbox, "one");
    let before = head(&sandbox);
    let refused = sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(8);
    let refused = refused.notes("your git hook commit-msg failed with exit code 1");
    refused.notes("in the message `one-ui").notes("no ticket in COMMIT_EDITMSG");
    assert_eq!(head(&sandbox), before);
    sandbox.pitcrew(&["land", "plan-1", "--yes", "--squash", "-m", "T-7: add one"]).expect(0);
}

/// Hooks are confined as checks are: nothing outside their checkout can be changed.
#[test]
fn hooks_cannot_change_the_repository() {
    let mut sandbox = sandbox();
    sandbox.unset("PITCREW_SANDBOX_WRITE");
    let target = sandbox.repo().join("core/one.txt").display().to_string();
    let hook = sandbox.repo().join(".git/hooks/pre-merge-commit");
    write_hook(&hook, &format!("echo changed > core/one.txt\necho changed > '{target}'"));
    sandbox.git(&["config", "core.hooksPath", ".git/hooks"]);
    run(&sandbox, "one");
    let refused = sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(8);
    refused.notes("your git hook pre-merge-commit failed").notes(&target);
    assert_eq!(sandbox.read("core/one.txt"), "one\n");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
}

/// No command asks for it: looking is enough.
#[test]
fn status_recognises_a_result_that_was_merged_by_hand() {
    let sandbox = sandbox();
    run(&sandbox, "one");
    sandbox.write("core/one.txt", "mine\n");
    let beside = sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(10);
    beside.says("plan-1 is on pitcrew/plan-1-one as ");
    sandbox.commit("mine");
    sandbox.pitcrew(&["status"]).expect(0).says("the result is on pitcrew/plan-1-one");
    sandbox.git(&["merge", "--quiet", "--no-edit", "pitcrew/plan-1-one"]);
    sandbox.pitcrew(&["status", "plan-1"]).expect(0).says("landed as ");
    sandbox.pitcrew(&["logs", "plan-1"]).expect(0).says("merged by hand");
    let landed = sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(0);
    landed.says("plan-1 landed on main as ");
    // The merge of the person is later than the result, so a commit reverts it.
    sandbox.pitcrew(&["undo", "land", "plan-1", "--yes"]).expect(0).says("plan-1 is reverted");
    assert_eq!(sandbox.read("core/one.txt"), "mine\n");
    assert!(!sandbox.repo().join("ui/one").exists());
}
