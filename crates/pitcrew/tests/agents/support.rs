//! A crew of real agents without a network.

use pitcrew_testkit::{PATIENCE, RealAgent, crew::Crew, skipped};

/// Runs a test without a network, with these agents as backends; skips it if that is not possible.
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
