//! The survey compares what programs can reach in each kind of box with a checked-in inventory.
//! `cargo xtask escape --survey` surveys every kind, in every tier, as every user; the tests survey
//! the box of an agent.

mod scene;
mod outside;
mod lines;
mod inventory;
mod leaks;

use inventory::Inventory;
use pitcrew_process::{LANDLOCK_ABI_MIN, landlock_abi};
use pitcrew_testkit::{skipped, within};
use scene::{Scene, User, note};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    time::Duration,
};

/// The kinds of boxes. `nesting` is an agent with its own sandbox, `git-fill` is git filling a new
/// checkout, and `git` is git collecting the work of an agent.
const KINDS: &[&str] = &["agent", "nesting", "setup", "check", "command", "git", "git-fill"];

/// The selected values, as passed by `cargo xtask escape --survey`.
fn wanted(what: &str) -> Option<String> {
    std::env::var(format!("PITCREW_SURVEY_{what}")).ok()
}

/// In T2, an agent without its own sandbox runs in the same box.
fn kinds_of(tier: &str) -> Vec<&'static str> {
    KINDS.iter().copied().filter(|it| tier == "T3" || *it != "nesting").collect()
}

/// The entries found in each of these kinds of box.
fn survey(scene: &Scene, kinds: &[&str]) -> BTreeMap<String, BTreeSet<String>> {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let running = scene.start();
    while !running.is_over() {
        let waiting = within(Duration::from_millis(100), || {
            let mut all = scene.waiting().into_iter();
            all.find(|it| it.join("ready").exists() && !it.join("orders").exists())
        });
        let Some(folder) = waiting else { continue };
        let Some(ready) = note(&folder, "ready") else { continue };
        let [kind, pid, place] = ready.lines().collect::<Vec<_>>()[..] else { continue };
        // The same commands also run in a trial of the plan's base, where setup looks like a check.
        let of_attempt = if kind == "check" { "/scratch/attempt-" } else { "/.worktrees/" };
        let is_wanted =
            kinds.contains(&kind) && !found.contains_key(kind) && place.contains(of_attempt);
        let orders = if is_wanted { scene.orders() } else { "skip\n".to_owned() };
        fs::write(folder.join("orders.new"), orders).expect("a note");
        fs::rename(folder.join("orders.new"), folder.join("orders")).expect("a note");
        let Some(report) = note(&folder, "report") else { continue };
        if is_wanted {
            let mut report: Vec<String> = report.lines().map(str::to_owned).collect();
            report.extend(outside::look(pid, Path::new(place)));
            found.insert(kind.to_owned(), lines::entries(&report, scene, place));
        }
        fs::write(folder.join("done"), "").ok();
    }
    let finished = running.wait();
    let missing: Vec<_> = kinds.iter().filter(|it| !found.contains_key(**it)).collect();
    assert!(missing.is_empty(), "no probe ran as {missing:?}: {finished}");
    found
}

/// Everything found in the box of an agent is in the inventory, and everything that it can write or
/// connect to has a reason. `cargo xtask escape --survey` checks this for every kind of box.
#[test]
fn everything_in_reach_is_in_the_inventory() {
    let all = wanted("ALL").is_some();
    let tiers = ["T3", "T2"].into_iter().filter(|it| match wanted("TIER") {
        Some(tier) => tier == *it,
        None => all || *it == "T3",
    });
    let users = [User::Root, User::Ordinary].into_iter().filter(|it| match wanted("USER") {
        Some(user) => user == it.to_string(),
        None => *it == User::current() || all,
    });
    let users: Vec<User> = users.filter(|it| it.is_possible()).collect();
    let mut findings = Vec::new();
    for tier in tiers {
        if tier == "T2" && landlock_abi() < LANDLOCK_ABI_MIN {
            skipped("the survey of T2", "the kernel has too old a version of Landlock");
            continue;
        }
        for user in &users {
            findings.extend(look_at(tier, *user));
        }
    }
    let remedy = "remove it from the box; or accept it: \
                  `cargo xtask escape --survey --write`, then write the reason";
    assert!(findings.is_empty(), "\n{}\n{remedy}", findings.join("\n"));
}

fn look_at(tier: &str, user: User) -> Vec<String> {
    let mut kinds = kinds_of(tier);
    kinds.retain(|it| match wanted("KIND") {
        Some(kind) => kind == *it,
        None => wanted("ALL").is_some() || *it == "agent",
    });
    if kinds.is_empty() {
        return Vec::new();
    }
    let scene = Scene::new(tier, user);
    let mut findings = Vec::new();
    for (kind, found) in survey(&scene, &kinds) {
        let mut inventory = Inventory::read(&kind, tier);
        if wanted("WRITE").is_some() {
            let others: Vec<Inventory> = KINDS
                .iter()
                .flat_map(|it| ["T3", "T2"].map(|tier| Inventory::read(it, tier)))
                .collect();
            inventory.update(&found, user == User::Root, &others);
            inventory.write();
        }
        let [all, writable, connectable] = inventory.counts();
        println!(
            "{kind} {tier} {user}: {all} entries, {writable} writable, {connectable} connectable"
        );
        findings.extend(inventory.compare(&found, user == User::Root));
        findings.extend(inventory.unexplained());
    }
    findings
}

/// The same leaks in each kind of box, started through the whole product.
#[test]
fn leaks_are_found_in_each_kind_of_box() {
    find_in_boxes(leaks::in_boxes, leaks::found_in_boxes);
}

#[test]
fn visible_processes_are_found_in_each_kind_of_box() {
    find_in_boxes(leaks::processes_in_boxes, |_| leaks::FOUND_PROCESSES);
}

fn find_in_boxes(plant: fn(&Scene), leaks: fn(&str) -> &'static [&'static str]) {
    let (scene, mut kinds) = (Scene::new("T3", User::current()), kinds_of("T3"));
    plant(&scene);
    // As an ordinary user, git fills a checkout without a box.
    kinds.retain(|it| *it != "git-fill" || User::current() == User::Root);
    let found = survey(&scene, &kinds);
    assert_found(&found, "T3", &kinds, leaks);
}

#[test]
fn leaks_are_found_without_a_box() {
    if landlock_abi() < LANDLOCK_ABI_MIN {
        return skipped("leaks in T2", "the kernel has too old a version of Landlock");
    }
    let (mut scene, kinds) = (Scene::new("T2", User::current()), kinds_of("T2"));
    leaks::without_boxes(&mut scene);
    let found = survey(&scene, &kinds);
    assert_found(&found, "T2", &kinds, leaks::found_without_boxes);
}

#[track_caller]
fn assert_found(
    found: &BTreeMap<String, BTreeSet<String>>,
    tier: &str,
    kinds: &[&str],
    leaks: impl Fn(&str) -> &'static [&'static str],
) {
    let mut missed = Vec::new();
    for kind in kinds {
        let findings =
            Inventory::read(kind, tier).compare(&found[*kind], User::current() == User::Root);
        for leak in leaks(kind) {
            let is_found =
                |it: &String| it.starts_with("NEW") && it.ends_with(&format!(": {leak}"));
            if !findings.iter().any(is_found) {
                missed.push(format!("{kind} {tier}: {leak}"));
            }
        }
    }
    assert!(missed.is_empty(), "not found:\n{}\nfound: {found:#?}", missed.join("\n"));
}
