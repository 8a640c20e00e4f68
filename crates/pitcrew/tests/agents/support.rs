//! What the tests share: a crew of real agents in a network that ends at this machine.

use pitcrew_testkit::{PATIENCE, RealAgent, crew::Crew, skipped};

/// Runs a test without a network, with these agents as backends; says so where it cannot.
pub fn with_crew(test: &str, agents: &[&str], body: impl FnOnce(&Crew)) {
    let found: Result<Vec<RealAgent>, String> =
        agents.iter().map(|it| RealAgent::find(it)).collect();
    let agents = match found {
        Ok(agents) => agents,
        Err(reason) => return skipped(test, &reason),
    };
    pitcrew_testkit::offline(test, || {
        body(&Crew::new(env!("CARGO_BIN_EXE_pitcrew"), &agents, PATIENCE));
    });
}
