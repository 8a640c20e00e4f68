//! Real agents without a box: tier T2.

use pitcrew_model::Tier;
use pitcrew_process::{LANDLOCK_ABI_MIN, landlock_abi};
use pitcrew_testkit::{
    PATIENCE, RealAgent,
    crew::{Cast, Crew, four_tasks},
    skipped,
};

/// The plan of four tasks, confined by Landlock and seccomp alone. There, Codex cannot create its
/// own sandbox and asks before it runs a command outside one.
#[test]
fn agents_of_three_vendors_work_without_a_box() {
    let test = "landlock::agents_of_three_vendors_work_without_a_box";
    if landlock_abi() < LANDLOCK_ABI_MIN {
        return skipped(test, "the kernel has too old a version of Landlock");
    }
    let found: Result<Vec<RealAgent>, String> =
        ["goose", "claude", "codex"].into_iter().map(RealAgent::find).collect();
    let agents = match found {
        Ok(agents) => agents,
        Err(reason) => return skipped(test, &reason),
    };
    pitcrew_testkit::offline(test, || {
        let mut crew = Crew::new(env!("CARGO_BIN_EXE_pitcrew"), &agents, PATIENCE);
        crew.sandbox.set("PITCREW_SANDBOX", "T2");
        // Nothing is shared beyond what agents need.
        crew.sandbox.unset("PITCREW_SANDBOX_WRITE");
        let found = four_tasks(&crew, Cast { fixes: "goose", asks: "codex", strays: "claude" });
        found.hold_all_of_the_plan();
        let tiers = crew.board().workers.into_iter().filter_map(|it| Some(it.confined?.tier));
        let tiers: Vec<Tier> = tiers.collect();
        assert!(tiers.len() >= 4 && tiers.iter().all(|it| *it == Tier::T2), "{tiers:?}");
    });
}
