//! Many live agents: how long until all of them work, and how much memory that takes.
//!
//! Prints one flat JSON object per row. `cargo xtask bench crowd` builds the binary and runs this.

#[path = "../support/memory.rs"]
mod memory;
#[path = "../support/mod.rs"]
mod support;

use memory::peak_rss_kib;
use pitcrew_testkit::{Process, Sandbox, eventually};
use std::{fs, time::Instant};
use support::{BenchResult, binary};

fn main() -> BenchResult<()> {
    for count in [1, 10, 50] {
        measure(count)?;
    }
    Ok(())
}

fn measure(count: usize) -> BenchResult<()> {
    let sandbox = Sandbox::new(&binary()?.display().to_string());
    fs::create_dir_all(sandbox.home().join(".config/pitcrew"))?;
    let settings = format!("max_agents = {count}\nmax_live_agents = {count}\n");
    fs::write(sandbox.home().join(".config/pitcrew/config.toml"), settings)?;
    let gate = sandbox.root().join("gate");
    let task = |number: usize| {
        let gate = gate.display();
        let wait = format!("touch '{gate}.{number}'; until [ -e '{gate}' ]; do sleep 0.2; done");
        format!(
            "[[task]]\nid = \"t{number}\"\nregion = \"d{number}\"\ncommand = \"\"\"{wait}\"\"\"\n"
        )
    };
    let plan: String = (1..=count).map(task).collect();
    let plan = sandbox.plan(&format!("name = \"crowd\"\n{plan}"));
    // The orchestrator and the vault exist before the measurement.
    sandbox.pitcrew(&["status"]).expect(0);
    let began = Instant::now();
    sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
    eventually("all of them are at work", || {
        let entries = fs::read_dir(sandbox.root()).ok()?.flatten();
        let arrived = entries.filter(|it| it.file_name().to_string_lossy().starts_with("gate."));
        (arrived.count() == count).then_some(())
    });
    let ms = began.elapsed().as_millis() as usize;
    let all = Process::naming(&sandbox.root().display().to_string());
    let rss_mb = |role: &str| {
        let of_role = all.iter().filter(|it| it.1.split_whitespace().nth(1) == Some(role));
        of_role.filter_map(|it| peak_rss_kib(it.0)).sum::<u64>() * 1_024 / 1_000_000
    };
    println!(
        r#"{{"agents":{count},"all_work_ms":{ms},"ms_per_agent":{},"serve_rss_mb":{},"shims_rss_mb":{}}}"#,
        ms / count,
        rss_mb("serve"),
        rss_mb("shim"),
    );
    fs::write(&gate, "")?;
    sandbox.pitcrew(&["watch", "plan-1"]).expect(0);
    Ok(())
}
