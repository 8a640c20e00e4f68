//! The escape suite: programs that try to escape from each tier that claims to stop them, as root
//! and as an ordinary user. Every attempt must succeed without confinement; otherwise it proves
//! nothing.
//!
//! `cargo xtask escape` runs this suite and the tests of what the import gate and the
//! orchestrator's endpoints refuse, and writes a table of the results.
#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

#[path = "../common/program.rs"]
mod program;
mod stage;
mod attempts;

use attempts::{Attempt, attempts};
use pitcrew_process::{Net, Tier};
use pitcrew_testkit::{documented_escapes, escape_stopped};
use stage::{Ended, Stage, User};

#[test]
fn nothing_gets_out_as_the_current_user() {
    try_all(User::Current);
}

#[test]
fn nothing_gets_out_as_an_ordinary_user() {
    // If we are not root, the current user is already an ordinary user.
    if User::Current.is_root() {
        try_all(User::Ordinary);
    }
}

#[test]
fn there_are_more_than_forty_attempts_with_unique_names() {
    let stage = Stage::new(User::Current);
    let names: Vec<&str> = attempts(&stage).iter().map(|it| it.name).collect();
    let unique: std::collections::BTreeSet<&str> = names.iter().copied().collect();
    assert_eq!(unique.len(), names.len());
    assert!(names.len() > 40, "{}", names.len());
}

/// Every attempt that a tier is documented to stop is made here, as every user who could succeed.
#[test]
fn every_documented_escape_is_tried() {
    let stage = Stage::new(User::Current);
    let attempts = attempts(&stage);
    for (name, cells) in documented_escapes() {
        let tried = attempts.iter().find(|it| it.name == name);
        let by = tried.map_or(["", ""], |it| it.by);
        let cells = [&cells[0], &cells[1]].map(|it| it.split(" (").next().unwrap());
        assert_eq!(cells, by, "{name}");
    }
}

fn try_all(user: User) {
    if stage::is_left_out("USER", &user.to_string()) {
        return;
    }
    let stage = Stage::new(user);
    let mut failures = Vec::new();
    for attempt in attempts(&stage) {
        let tiers = [Tier::T3, Tier::T2].into_iter().filter(|it| {
            !stage::is_left_out("TIER", &it.to_string()) && attempt.stopped_by(*it, user).is_some()
        });
        if let Err(report) = check(&stage, &attempt, &tiers.collect::<Vec<_>>()) {
            failures.push(format!("{} as {user}: {report}", attempt.name));
        }
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

/// Checks that an attempt succeeds without confinement and is stopped in the given tiers.
fn check(stage: &Stage, attempt: &Attempt, tiers: &[Tier]) -> Result<(), String> {
    if tiers.is_empty() {
        return Ok(());
    }
    let unconfined = stage.free(&attempt.script);
    if unconfined.code != Some(0) {
        let Ended { code, text } = unconfined;
        return Err(format!("proves nothing: it fails unconfined with {code:?}: {text}"));
    }
    if attempt.changes {
        stage.reset();
    }
    let before = stage.outside();
    for tier in tiers {
        let net = if attempt.recorded.is_some() { stage.proxy() } else { Net::None };
        let confined = stage.held(*tier, net, &attempt.script);
        if !confined.text.contains("trying\n") {
            return Err(format!("did not run in {tier}: {}", confined.text));
        }
        if confined.code == Some(0) {
            return Err(format!("succeeded in {tier}: {}", confined.text));
        }
        if stage.outside() != before {
            return Err(format!("changed something outside in {tier}"));
        }
        let by = attempt.stopped_by(*tier, stage.user).expect("only tiers that stop it are given");
        if let Some(place) = &attempt.recorded {
            let decisions = stage.decisions();
            let is_recorded = |it: &str| it.contains(place) && it.contains("\"allowed\":false");
            if !decisions.lines().any(is_recorded) {
                return Err(format!("was not recorded in {tier}: {decisions} {}", confined.text));
            }
        }
        escape_stopped(attempt.name, &tier.to_string(), &stage.user.to_string(), by);
    }
    if attempt.changes {
        stage.reset();
    }
    Ok(())
}
