//! The escape suite: programs that try to get out, in each tier that says it stops them, as root and
//! as an ordinary user. Every attempt succeeds where nothing holds it, else it would prove nothing.
//!
//! `cargo xtask escape` runs it with what the import gate and the doors of the orchestrator refuse,
//! and makes a table of it.
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
    // Where we are not root the current user is one.
    if User::Current.is_root() {
        try_all(User::Ordinary);
    }
}

#[test]
fn more_than_forty_are_tried_and_each_has_a_name_of_its_own() {
    let stage = Stage::new(User::Current);
    let names: Vec<&str> = attempts(&stage).iter().map(|it| it.name).collect();
    let unlike: std::collections::BTreeSet<&str> = names.iter().copied().collect();
    assert_eq!(unlike.len(), names.len());
    assert!(names.len() > 40, "{}", names.len());
}

/// What a tier is said to stop is tried here, as every user who could do it.
#[test]
fn the_documentation_says_of_no_tier_what_is_not_tried() {
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
    let mut got_out = Vec::new();
    for attempt in attempts(&stage) {
        let tiers = [Tier::T3, Tier::T2].into_iter().filter(|it| {
            !stage::is_left_out("TIER", &it.to_string()) && attempt.stopped_by(*it, user).is_some()
        });
        if let Err(report) = tried(&stage, &attempt, &tiers.collect::<Vec<_>>()) {
            got_out.push(format!("{} as {user}: {report}", attempt.name));
        }
    }
    assert!(got_out.is_empty(), "\n{}", got_out.join("\n"));
}

/// Whether it succeeds freely and is stopped in the tiers that say so.
fn tried(stage: &Stage, attempt: &Attempt, tiers: &[Tier]) -> Result<(), String> {
    if tiers.is_empty() {
        return Ok(());
    }
    let freely = stage.free(&attempt.script);
    if freely.code != Some(0) {
        let Ended { code, text } = freely;
        return Err(format!("proves nothing, freely it ends with {code:?}: {text}"));
    }
    if attempt.changes {
        stage.reset();
    }
    let before = stage.outside();
    for tier in tiers {
        let net = if attempt.recorded.is_some() { stage.proxy() } else { Net::None };
        let held = stage.held(*tier, net, &attempt.script);
        if !held.text.contains("trying\n") {
            return Err(format!("was not run in {tier}: {}", held.text));
        }
        if held.code == Some(0) {
            return Err(format!("succeeded in {tier}: {}", held.text));
        }
        if stage.outside() != before {
            return Err(format!("changed in {tier} what is outside"));
        }
        let by = attempt.stopped_by(*tier, stage.user).expect("it is asked for where there is one");
        if let Some(place) = &attempt.recorded {
            let decisions = stage.decisions();
            let is_recorded = |it: &str| it.contains(place) && it.contains("\"allowed\":false");
            if !decisions.lines().any(is_recorded) {
                return Err(format!("is not recorded in {tier}: {decisions} {}", held.text));
            }
        }
        escape_stopped(attempt.name, &tier.to_string(), &stage.user.to_string(), by);
    }
    if attempt.changes {
        stage.reset();
    }
    Ok(())
}
