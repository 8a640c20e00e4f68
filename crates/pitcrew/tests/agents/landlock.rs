//! Real agents where no box can be made: tier T2.

use pitcrew_model::Tier;
use pitcrew_process::{LANDLOCK_ABI_MIN, landlock_abi};
use pitcrew_testkit::{
    PATIENCE, RealAgent,
    crew::{Cast, Crew, four_tasks},
    skipped,
};

/// The plan of four tasks, held by Landlock and seccomp alone. Codex cannot make its own sandbox in
/// there, and asks for what is to run outside of it.
#[test]
fn agents_of_different_vendors_work_without_a_box() {
    let test = "landlock::agents_of_different_vendors_work_without_a_box";
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
        // As for everybody: nothing is shared but what agents need.
        crew.sandbox.unset("PITCREW_SANDBOX_WRITE");
        let found = four_tasks(&crew, Cast { fixes: "goose", asks: "codex", strays: "claude" });
        found.hold_all_of_the_plan();
        let tiers = crew.board().workers.into_iter().filter_map(|it| Some(it.confined?.tier));
        let tiers: Vec<Tier> = tiers.collect();
        assert!(tiers.len() >= 4 && tiers.iter().all(|it| *it == Tier::T2), "{tiers:?}");
    });
}
