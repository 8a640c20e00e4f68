//! Many agents share one login: no session is logged out, and the user's other files are not
//! changed.

mod server;
mod support;

use pitcrew_testkit::{PATIENCE, Sandbox, eventually};
use rustix::process::Signal;
use server::{HOUR_MS, now_ms};
use std::{fs, path::Path};
use support::{User, snapshot};

/// Five agents start with one expired token that can be refreshed once.
#[test]
fn agents_starting_together_refresh_once() {
    let user = User::logged_in(now_ms() - HOUR_MS);
    let before = user.snapshot();
    user.start_plan(&vec!["@use\n@use".to_owned(); 5]);
    user.assert_completes(5);
    let state = user.server.state();
    assert_eq!((state.refreshes_count, state.uses_count), (1, 10));
    drop(state);
    user.await_valid(&user.login());
    let after = user.snapshot();
    assert_eq!(after.len(), before.len(), "nothing was added");
    for (old, new) in before.iter().zip(&after) {
        assert_eq!((&old.0, old.2), (&new.0, new.2));
        assert!(old.1 == new.1 || old.0 == user.login(), "{}", old.0.display());
    }
    no_secret_is_in(&user.sandbox);
}

/// The token expires while agents work. Each copy has another expiry, so one agent refreshes and
/// the others get the new token in time.
#[test]
fn working_agents_do_not_refresh_at_the_same_time() {
    let user = User::logged_in(now_ms() + HOUR_MS);
    let steps = |it: usize| {
        let gate = |step: &str| user.gate(&format!("{step}{it}")).display().to_string();
        format!("@use\n@wait {}\n@use\n@wait {}\n@use", gate("a"), gate("b"))
    };
    user.start_plan(&(0..3).map(steps).collect::<Vec<_>>());
    for gate in ["a0", "a1", "a2"] {
        user.await_reached(gate);
    }
    let copies = [1, 2, 3].map(|it| user.home(it).join(".fake/login.json"));
    let mut ends = copies.each_ref().map(|it| expiry(it));
    ends.sort_unstable();
    assert!(ends[2] < expiry(&user.login()), "the user's own agent comes last");
    assert!(ends[0] + 60_000 < ends[1] && ends[1] + 60_000 < ends[2], "{ends:?}");
    // The token has expired for the first agent, and not for the other two.
    user.set_clock(ends[0] + 1_000 - now_ms());
    for gate in ["a0", "a1", "a2"] {
        user.open_gate(gate);
    }
    for gate in ["b0", "b1", "b2"] {
        user.await_reached(gate);
    }
    assert_eq!(user.server.state().refreshes_count, 1);
    for copy in &copies {
        user.await_valid(copy);
    }
    user.await_valid(&user.login());
    // Now it would have expired for all of them.
    user.set_clock(ends[2] + 1_000 - now_ms());
    for gate in ["b0", "b1", "b2"] {
        user.open_gate(gate);
    }
    user.assert_completes(3);
    assert_eq!(user.server.state().refreshes_count, 1);
}

fn expiry(login: &Path) -> u64 {
    let login: serde_json::Value =
        serde_json::from_slice(&fs::read(login).expect("a login")).expect("a login");
    login["oauth"]["expiresAt"].as_u64().expect("a time")
}

/// The only valid token is in the home of one agent when the orchestrator is killed.
#[test]
fn login_refreshed_after_a_kill_is_not_lost() {
    let user = User::logged_in(now_ms() + HOUR_MS);
    let gate = |it: &str| user.gate(it).display().to_string();
    user.start_plan(&[format!("@wait {}\n@force\n@wait {}\n@use", gate("a"), gate("b"))]);
    user.await_reached("a");
    let (_, orchestrator) = user.sandbox.orchestrator().expect("an orchestrator");
    orchestrator.signal(Signal::STOP);
    user.open_gate("a");
    user.await_reached("b");
    orchestrator.signal(Signal::KILL);
    assert!(orchestrator.await_end(PATIENCE), "a killed process ends");
    let old = fs::read_to_string(user.login()).expect("a login");
    assert!(old.contains("refresh-secret-2\""), "{old}");
    assert_eq!(user.server.state().number, 3);
    user.sandbox.pitcrew(&["status"]).expect(0).says("running");
    user.await_valid(&user.login());
    assert!(user.home(1).exists(), "the agent lives and needs it");
    user.open_gate("b");
    user.assert_completes(1);
    user.await_valid(&user.login());
}

/// The agent has ended as well before the next orchestrator starts.
#[test]
fn login_of_an_ended_agent_is_not_lost() {
    let mut user = User::logged_in(now_ms() + HOUR_MS);
    user.sandbox.set("PITCREW_LEASE", "1s");
    let gate = |it: &str| user.gate(it).display().to_string();
    user.start_plan(&[format!("@wait {}\n@force\n@wait {}\n@use", gate("a"), gate("b"))]);
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

/// The user logs in while an agent is working, which then refreshes the old login.
#[test]
fn new_user_login_is_not_overwritten() {
    let user = User::logged_in(now_ms() + HOUR_MS);
    let gate = |it: &str| user.gate(it).display().to_string();
    let steps = format!("@wait {}\n@use\n@backdate\n@wait {}", gate("a"), gate("b"));
    user.start_plan(&[steps]);
    user.await_reached("a");
    user.log_in(now_ms() + 20 * HOUR_MS);
    let new = fs::read(user.login()).expect("a login");
    user.await_valid(&user.home(1).join(".fake/login.json"));
    user.open_gate("a");
    user.await_reached("b");
    user.open_gate("b");
    user.assert_completes(1);
    assert_eq!(fs::read(user.login()).expect("a login"), new);
    assert_eq!(user.server.state().refreshes_count, 0);
}

#[test]
fn agent_changes_to_login_and_settings_stay_private() {
    let user = User::logged_in(now_ms() + HOUR_MS);
    let before = user.snapshot();
    let steps = ["blank", "truncate", "delete", "backdate", "meddle"];
    user.start_plan(&steps.map(|it| format!("@use\n@expect the best\n@{it}")));
    user.assert_completes(5);
    assert_eq!(user.snapshot(), before);
}

/// A login of another account, a pipe, and a folder that links to a login elsewhere.
#[test]
fn planted_files_are_neither_copied_back_nor_written_through() {
    let user = User::logged_in(now_ms() + HOUR_MS);
    let outside = user.sandbox.root().join("outside");
    fs::create_dir(&outside).expect("a folder");
    // The account is the same; only the location is wrong.
    let theirs = fs::read_to_string(user.login()).expect("a login").replace("secret", "theirs");
    let theirs = theirs.replace("\"expiresAt\":1", "\"expiresAt\":2");
    fs::write(outside.join("login.json"), &theirs).expect("a file");
    let before = user.snapshot();
    let gate = user.gate("a");
    user.start_plan(&[
        "@use\n@plant".to_owned(),
        "@use\n@pipe".to_owned(),
        format!("@use\n@lead_out {}\n@wait {}", outside.display(), gate.display()),
    ]);
    user.await_reached("a");
    user.await_log("not copied back");
    assert_eq!(user.snapshot(), before);
    // No file given to agents links elsewhere.
    user.log_in(now_ms() + 20 * HOUR_MS);
    let new = user.snapshot();
    user.await_log("could not be updated");
    user.open_gate("a");
    user.assert_completes(3);
    assert_eq!(user.snapshot(), new);
    assert_eq!(fs::read_to_string(outside.join("login.json")).expect("a file"), theirs);
    assert_eq!(fs::read_dir(&outside).expect("a folder").count(), 1);
}

/// An agent gets such a login without its refresh token, so it ends with the access token.
#[test]
fn login_without_account_is_not_refreshable_by_agents() {
    let user = User::logged_in(now_ms() + HOUR_MS);
    user.forget_account();
    let before = user.snapshot();
    user.start_plan(&["@has_no_refresh_token\n@use\n@plant".to_owned()]);
    user.assert_completes(1);
    assert_eq!(user.snapshot(), before);
    let user = User::logged_in(now_ms() - HOUR_MS);
    user.forget_account();
    user.start_plan(&["@use".to_owned()]);
    user.sandbox.pitcrew(&["watch", "plan-1"]);
    let status = user.sandbox.pitcrew(&["status", "--all", "--json"]).stdout;
    assert!(status.contains("the file does not name its account"), "{status}");
    assert_eq!(user.server.state().refreshes_count, 0);
}

/// A key does not expire, so no login is copied that an agent could refresh.
#[test]
fn key_in_the_environment_replaces_the_login() {
    let mut user = User::logged_in(now_ms() - HOUR_MS);
    user.sandbox.set("FAKE_KEY", "a-key");
    let before = user.snapshot();
    user.start_plan(&vec!["@has_no_login\n@expect the best\n@use".to_owned(); 2]);
    user.assert_completes(2);
    assert_eq!(user.snapshot(), before);
    assert_eq!(user.server.state().refreshes_count, 0);
}

/// A moved folder is found at its new place, and stays there.
#[test]
fn moved_state_folder_is_found() {
    let mut user = User::logged_in(now_ms() - HOUR_MS);
    let moved = user.sandbox.root().join("moved");
    fs::rename(user.folder(), &moved).expect("a folder");
    user.sandbox.set("FAKE_HOME", &moved.display().to_string());
    user.start_plan(&["@use\n@meddle".to_owned()]);
    user.assert_completes(1);
    user.await_valid(&moved.join("login.json"));
    let settings = fs::read_to_string(moved.join("settings.json")).expect("settings");
    assert!(!settings.contains("changed"), "{settings}");
    assert!(!user.folder().exists());
}

/// A worker gets the addresses of package registries, but not the passwords.
#[test]
fn tool_settings_are_copied_without_passwords() {
    let user = User::logged_in(now_ms() + HOUR_MS);
    let pip = ".config/pip/pip.conf";
    user.write(pip, "[global]\nindex-url = https://me:a-secret-word@pip.example/simple\n");
    user.write(
        ".config/git/config",
        "[user]\n\tname = Ada\n[http]\n\textraheader = basic a-secret-word\n",
    );
    user.start_plan(&[format!("@wait {}", user.gate("a").display())]);
    user.await_reached("a");
    let copied = |path: &str| fs::read_to_string(user.home(1).join(path)).expect("a copy");
    assert_eq!(copied(pip), "[global]\nindex-url = https://pip.example/simple\n");
    assert_eq!(copied(".gitconfig"), "[user]\n\tname = \"Ada\"\n");
    user.open_gate("a");
    user.assert_completes(1);
    no_secret_is_in(&user.sandbox);
}

/// Asserts that no stored file contains a token.
#[track_caller]
fn no_secret_is_in(sandbox: &Sandbox) {
    for (path, bytes, _) in snapshot(&sandbox.home().join(".local/state")) {
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("-secret-"), "{}", path.display());
    }
    for command in [&["logs", "plan-1"][..], &["status", "--all", "--json"]] {
        assert!(!sandbox.pitcrew(command).stdout.contains("-secret-"), "{command:?}");
    }
}
