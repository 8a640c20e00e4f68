//! One login and many agents: nobody is logged out, and nothing else of the user's is touched.

mod server;
mod support;

use pitcrew_testkit::{PATIENCE, Sandbox, eventually};
use rustix::process::Signal;
use server::{HOUR_MS, now_ms};
use std::{fs, path::Path};
use support::{User, picture};

/// Five agents begin with one token that has expired and that can be refreshed once.
#[test]
fn agents_that_begin_together_refresh_a_login_once() {
    let user = User::logged_in(now_ms() - HOUR_MS);
    let before = user.picture();
    user.begin(&vec!["@use\n@use".to_owned(); 5]);
    user.completes(5);
    let known = user.server.known();
    assert_eq!((known.refreshes_count, known.uses_count), (1, 10));
    drop(known);
    user.await_valid(&user.login());
    let after = user.picture();
    assert_eq!(after.len(), before.len(), "nothing was added");
    for (old, new) in before.iter().zip(&after) {
        assert_eq!((&old.0, old.2), (&new.0, new.2));
        assert!(old.1 == new.1 || old.0 == user.login(), "{}", old.0.display());
    }
    no_secret_is_in(&user.sandbox);
}

/// While agents are at work their token comes to its end. Each believes in another end of it, so one
/// of them refreshes, and the others have the new one before they would.
#[test]
fn agents_at_work_do_not_refresh_a_login_at_the_same_time() {
    let user = User::logged_in(now_ms() + HOUR_MS);
    let steps = |it: usize| {
        let gate = |step: &str| user.gate(&format!("{step}{it}")).display().to_string();
        format!("@use\n@wait {}\n@use\n@wait {}\n@use", gate("a"), gate("b"))
    };
    user.begin(&(0..3).map(steps).collect::<Vec<_>>());
    for gate in ["a0", "a1", "a2"] {
        user.await_reached(gate);
    }
    let copies = [1, 2, 3].map(|it| user.home(it).join(".fake/login.json"));
    let mut ends = copies.each_ref().map(|it| expiry(it));
    ends.sort_unstable();
    assert!(ends[2] < expiry(&user.login()), "the user's own agent comes last");
    assert!(ends[0] + 60_000 < ends[1] && ends[1] + 60_000 < ends[2], "{ends:?}");
    // The token of the first has expired for it, and not for the two others.
    user.turn_clock(ends[0] + 1_000 - now_ms());
    for gate in ["a0", "a1", "a2"] {
        user.open_gate(gate);
    }
    for gate in ["b0", "b1", "b2"] {
        user.await_reached(gate);
    }
    assert_eq!(user.server.known().refreshes_count, 1);
    for copy in &copies {
        user.await_valid(copy);
    }
    user.await_valid(&user.login());
    // Now it would have expired for all of them.
    user.turn_clock(ends[2] + 1_000 - now_ms());
    for gate in ["b0", "b1", "b2"] {
        user.open_gate(gate);
    }
    user.completes(3);
    assert_eq!(user.server.known().refreshes_count, 1);
}

fn expiry(login: &Path) -> u64 {
    let login: serde_json::Value =
        serde_json::from_slice(&fs::read(login).expect("a login")).expect("a login");
    login["oauth"]["expiresAt"].as_u64().expect("a time")
}

/// The only valid token is in the home of one agent when the orchestrator is killed.
#[test]
fn a_login_that_was_refreshed_while_nobody_looked_is_not_lost() {
    let user = User::logged_in(now_ms() + HOUR_MS);
    let gate = |it: &str| user.gate(it).display().to_string();
    user.begin(&[format!("@wait {}\n@force\n@wait {}\n@use", gate("a"), gate("b"))]);
    user.await_reached("a");
    let (_, orchestrator) = user.sandbox.orchestrator().expect("an orchestrator");
    orchestrator.signal(Signal::STOP);
    user.open_gate("a");
    user.await_reached("b");
    orchestrator.signal(Signal::KILL);
    assert!(orchestrator.await_end(PATIENCE), "a killed process ends");
    let old = fs::read_to_string(user.login()).expect("a login");
    assert!(old.contains("refresh-secret-2\""), "{old}");
    assert_eq!(user.server.known().number, 3);
    user.sandbox.pitcrew(&["status"]).expect(0).says("running");
    user.await_valid(&user.login());
    assert!(user.home(1).exists(), "the agent lives and needs it");
    user.open_gate("b");
    user.completes(1);
    user.await_valid(&user.login());
}

/// The agent has ended as well before anybody comes back.
#[test]
fn a_login_that_outlives_its_agent_and_the_orchestrator_is_not_lost() {
    let mut user = User::logged_in(now_ms() + HOUR_MS);
    user.sandbox.set("PITCREW_LEASE", "1s");
    let gate = |it: &str| user.gate(it).display().to_string();
    user.begin(&[format!("@wait {}\n@force\n@wait {}\n@use", gate("a"), gate("b"))]);
    user.await_reached("a");
    let (_, orchestrator) = user.sandbox.orchestrator().expect("an orchestrator");
    orchestrator.signal(Signal::STOP);
    user.open_gate("a");
    user.await_reached("b");
    orchestrator.signal(Signal::KILL);
    let record = user.home(1).join("../exit.json");
    eventually("the agent has ended", || record.exists().then_some(()));
    fs::remove_file(user.gate("a")).expect("a gate");
    user.sandbox.pitcrew(&["status"]).expect(0);
    user.await_valid(&user.login());
    eventually("its home is gone", || (!user.home(1).exists()).then_some(()));
    user.sandbox.pitcrew(&["cancel", "plan-1"]).expect(0);
}

/// The user logs in while an agent is at work, which then comes with what it made of the old login.
#[test]
fn a_new_login_of_the_user_is_not_overwritten() {
    let user = User::logged_in(now_ms() + HOUR_MS);
    let gate = |it: &str| user.gate(it).display().to_string();
    let steps = format!("@wait {}\n@use\n@backdate\n@wait {}", gate("a"), gate("b"));
    user.begin(&[steps]);
    user.await_reached("a");
    user.log_in(now_ms() + 20 * HOUR_MS);
    let new = fs::read(user.login()).expect("a login");
    user.await_valid(&user.home(1).join(".fake/login.json"));
    user.open_gate("a");
    user.await_reached("b");
    user.open_gate("b");
    user.completes(1);
    assert_eq!(fs::read(user.login()).expect("a login"), new);
    assert_eq!(user.server.known().refreshes_count, 0);
}

#[test]
fn what_an_agent_does_to_its_login_and_its_settings_is_its_own_affair() {
    let user = User::logged_in(now_ms() + HOUR_MS);
    let before = user.picture();
    let steps = ["blank", "truncate", "delete", "backdate", "meddle"];
    user.begin(&steps.map(|it| format!("@use\n@expect the best\n@{it}")));
    user.completes(5);
    assert_eq!(user.picture(), before);
}

/// Another login, a pipe, and a folder that leads to a login elsewhere.
#[test]
fn what_an_agent_plants_is_neither_taken_back_nor_written_through() {
    let user = User::logged_in(now_ms() + HOUR_MS);
    let outside = user.sandbox.root().join("outside");
    fs::create_dir(&outside).expect("a folder");
    // Of the same account: nothing but its place speaks against it.
    let theirs = fs::read_to_string(user.login()).expect("a login").replace("secret", "theirs");
    let theirs = theirs.replace("\"expiresAt\":1", "\"expiresAt\":2");
    fs::write(outside.join("login.json"), &theirs).expect("a file");
    let before = user.picture();
    let gate = user.gate("a");
    user.begin(&[
        "@use\n@plant".to_owned(),
        "@use\n@pipe".to_owned(),
        format!("@use\n@lead_out {}\n@wait {}", outside.display(), gate.display()),
    ]);
    user.await_reached("a");
    user.await_said("not copied back");
    assert_eq!(user.picture(), before);
    // And what is given to agents leads nowhere.
    user.log_in(now_ms() + 20 * HOUR_MS);
    let new = user.picture();
    user.await_said("could not be updated");
    user.open_gate("a");
    user.completes(3);
    assert_eq!(user.picture(), new);
    assert_eq!(fs::read_to_string(outside.join("login.json")).expect("a file"), theirs);
    assert_eq!(fs::read_dir(&outside).expect("a folder").count(), 1);
}

/// Of such a login an agent cannot use up what the user needs, so it ends with its access token.
#[test]
fn a_login_that_does_not_say_whose_it_is_cannot_be_renewed_by_agents() {
    let user = User::logged_in(now_ms() + HOUR_MS);
    user.forget_account();
    let before = user.picture();
    user.begin(&["@has_no_refresh_token\n@use\n@plant".to_owned()]);
    user.completes(1);
    assert_eq!(user.picture(), before);
    let user = User::logged_in(now_ms() - HOUR_MS);
    user.forget_account();
    user.begin(&["@use".to_owned()]);
    user.sandbox.pitcrew(&["watch", "plan-1"]);
    let status = user.sandbox.pitcrew(&["status", "--all", "--json"]).stdout;
    assert!(status.contains("the file does not name its account"), "{status}");
    assert_eq!(user.server.known().refreshes_count, 0);
}

/// A key does not expire, so no login is copied that an agent could refresh.
#[test]
fn a_key_in_the_environment_is_used_instead_of_a_login() {
    let mut user = User::logged_in(now_ms() - HOUR_MS);
    user.sandbox.set("FAKE_KEY", "a-key");
    let before = user.picture();
    user.begin(&vec!["@has_no_login\n@expect the best\n@use".to_owned(); 2]);
    user.completes(2);
    assert_eq!(user.picture(), before);
    assert_eq!(user.server.known().refreshes_count, 0);
}

/// What a user has elsewhere is found there, and stays there.
#[test]
fn a_folder_that_the_user_has_moved_is_found() {
    let mut user = User::logged_in(now_ms() - HOUR_MS);
    let moved = user.sandbox.root().join("moved");
    fs::rename(user.folder(), &moved).expect("a folder");
    user.sandbox.set("FAKE_HOME", &moved.display().to_string());
    user.begin(&["@use\n@meddle".to_owned()]);
    user.completes(1);
    user.await_valid(&moved.join("login.json"));
    let settings = fs::read_to_string(moved.join("settings.json")).expect("settings");
    assert!(!settings.contains("changed"), "{settings}");
    assert!(!user.folder().exists());
}

/// Where packages are is for a worker to know; who may fetch them there is not.
#[test]
fn an_agent_has_the_settings_of_tools_without_their_passwords() {
    let user = User::logged_in(now_ms() + HOUR_MS);
    let pip = ".config/pip/pip.conf";
    user.write(pip, "[global]\nindex-url = https://me:a-secret-word@pip.example/simple\n");
    user.write(
        ".config/git/config",
        "[user]\n\tname = Ada\n[http]\n\textraheader = basic a-secret-word\n",
    );
    user.begin(&[format!("@wait {}", user.gate("a").display())]);
    user.await_reached("a");
    let copied = |path: &str| fs::read_to_string(user.home(1).join(path)).expect("a copy");
    assert_eq!(copied(pip), "[global]\nindex-url = https://pip.example/simple\n");
    assert_eq!(copied(".gitconfig"), "[user]\n\tname = \"Ada\"\n");
    user.open_gate("a");
    user.completes(1);
    no_secret_is_in(&user.sandbox);
}

/// Nothing that Pitcrew keeps says a token.
#[track_caller]
fn no_secret_is_in(sandbox: &Sandbox) {
    for (path, bytes, _) in picture(&sandbox.home().join(".local/state")) {
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("-secret-"), "{}", path.display());
    }
    for command in [&["logs", "plan-1"][..], &["status", "--all", "--json"]] {
        assert!(!sandbox.pitcrew(command).stdout.contains("-secret-"), "{command:?}");
    }
}
