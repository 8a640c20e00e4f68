//! Concurrent sessions of real agents, each in the middle of a turn, and the memory of the
//! orchestrator and one shim.
//!
//! Prints one flat JSON object. `cargo xtask bench sessions` builds the binary and runs this.

#[path = "../support/memory.rs"]
mod memory;
#[path = "../support/mod.rs"]
mod support;

use memory::peak_rss_kib;
use pitcrew_testkit::{PATIENCE, Process, RealAgent, crew::Crew, eventually};
use std::fs;
use support::{BenchResult, binary};

const SESSIONS: usize = 20;
const AGENT: &str = "goose";

fn main() -> BenchResult<()> {
    let agent = RealAgent::find(AGENT)?;
    let crew = Crew::new(&binary()?.display().to_string(), &[agent], PATIENCE);
    let Crew { sandbox, model, .. } = &crew;
    fs::create_dir_all(sandbox.home().join(".config/pitcrew"))?;
    let limits = format!("max_agents = {SESSIONS}\nmax_live_agents = {SESSIONS}\n");
    fs::write(sandbox.home().join(".config/pitcrew/config.toml"), limits)?;
    // Each agent has sent a message and made a tool call before it waits.
    let task = |number: usize| {
        let words = "all work and no play ".repeat(200);
        format!(
            "[[task]]\nid = \"t{number}\"\nregion = \"d{number}\"\nagent = \"{AGENT}\"\nprompt = '''\n@say {words}\n@write d{number}/a.txt hello\n@hold h{number}\n@complete wrote it\n'''\n"
        )
    };
    let plan: String = (1..=SESSIONS).map(task).collect();
    let plan = sandbox.plan(&format!("name = \"sessions\"\nmax_attempts = 1\n{plan}"));
    sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
    eventually("all of them are in their turn", || {
        (1..=SESSIONS).all(|it| model.has_held(&format!("h{it}"))).then_some(())
    });
    let mut peaks = [("serve", 0), ("shim", 0)];
    for (process, name) in Process::naming(&sandbox.root().display().to_string()) {
        let role = name.split_whitespace().nth(1).unwrap_or_default();
        for (_, peak) in peaks.iter_mut().filter(|it| it.0 == role) {
            *peak = peak_rss_kib(process).unwrap_or_default().max(*peak);
        }
    }
    for number in 1..=SESSIONS {
        model.release(&format!("h{number}"));
    }
    eventually("all of them have ended", || {
        let board = sandbox.pitcrew(&["status", "--all", "--json"]).expect(0).json();
        let tasks = board["tasks"].as_array()?.iter();
        (tasks.filter(|it| it["status"] == "completed").count() == SESSIONS).then_some(())
    });
    let [serve_mb, shim_mb] = peaks.map(|it| it.1 * 1_024 / 1_000_000);
    println!(
        r#"{{"agent":"{AGENT}","sessions":{SESSIONS},"serve_peak_rss_mb":{serve_mb},"largest_shim_peak_rss_mb":{shim_mb}}}"#
    );
    Ok(())
}
