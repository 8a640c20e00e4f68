//! Measures how long agents wait for an answer while another one floods the orchestrator, compared
//! with the same agents alone.
//!
//! An answer takes the whole way: shim, orchestrator, a durable commit, and back. Prints one flat
//! JSON object. `cargo xtask bench flood` builds the binary and runs this.

#[path = "../support/memory.rs"]
mod memory;
#[path = "../support/mod.rs"]
mod support;

use memory::peak_rss_kib;
use pitcrew_testkit::{Process, Sandbox};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
    thread,
};
use support::{BenchResult, binary};

const WORKERS: usize = 3;
const RATE_MB_PER_S: u32 = 100;
const ROUNDS: usize = 3;

fn main() -> BenchResult<()> {
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        rounds.push((run(Flood::No)?, run(Flood::Yes)?));
    }
    let ratio = |it: &(Round, Round)| it.1.p50_us / it.0.p50_us;
    rounds.sort_by(|one, other| ratio(one).total_cmp(&ratio(other)));
    let (calm, flooded) = &rounds[ROUNDS / 2];
    println!(
        r#"{{"workers":{WORKERS},"flood_mb_per_s":{},"calm_p50_us":{:.0},"flood_p50_us":{:.0},"ratio_p50":{:.2},"calm_p95_us":{:.0},"flood_p95_us":{:.0},"ratio_p95":{:.2},"serve_growth_mb":{},"shim_growth_mb":{}}}"#,
        flooded.rate,
        calm.p50_us,
        flooded.p50_us,
        flooded.p50_us / calm.p50_us,
        calm.p95_us,
        flooded.p95_us,
        flooded.p95_us / calm.p95_us,
        flooded.growth_mb(calm, "serve"),
        flooded.growth_mb(calm, "shim"),
    );
    Ok(())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Flood {
    Yes,
    No,
}

struct Round {
    p50_us: f64,
    p95_us: f64,
    rate: u64,
    /// Keyed by the role of the process.
    peaks_kib: BTreeMap<String, u64>,
}

impl Round {
    fn growth_mb(&self, calm: &Self, role: &str) -> u64 {
        let peak = |it: &Self| it.peaks_kib.get(role).copied().unwrap_or_default();
        peak(self).saturating_sub(peak(calm)) * 1_024 / 1_000_000
    }
}

fn run(flood: Flood) -> BenchResult<Round> {
    let sandbox = Sandbox::new(&binary()?.display().to_string());
    let plan = prepare(&sandbox, flood)?;
    let times = sandbox.root().join("times");
    let peaks_kib = thread::scope(|scope| -> BenchResult<_> {
        let running = scope.spawn(|| sandbox.pitcrew(&["run", &plan, "--yes"]));
        let mut peaks = BTreeMap::new();
        while !running.is_finished() {
            look(&sandbox, &mut peaks);
            if written(&times).len() == WORKERS {
                // All agents except the flood are done.
                fs::write(sandbox.root().join("over"), "")?;
            }
            thread::yield_now();
        }
        running.join().map_err(|_| "the run panicked")?.expect(0);
        Ok(peaks)
    })?;
    let mut us: Vec<f64> = Vec::new();
    for file in written(&times) {
        for line in fs::read_to_string(file)?.lines() {
            us.push(line.parse()?);
        }
    }
    us.sort_by(f64::total_cmp);
    let rate = fs::read_to_string(sandbox.root().join("over.rate")).unwrap_or_default();
    let (p50_us, p95_us) = (us[us.len() / 2], us[us.len() * 95 / 100]);
    Ok(Round { p50_us, p95_us, rate: rate.parse().unwrap_or_default(), peaks_kib })
}

/// Writes the settings and the plan, and returns its path.
fn prepare(sandbox: &Sandbox, flood: Flood) -> BenchResult<String> {
    let agent = sandbox.root().join("agent.py");
    fs::write(&agent, include_str!("agent.py"))?;
    let (python, at) = (python()?, |name: &str| sandbox.root().join(name).display().to_string());
    let settings = format!(
        "[backends.ask]\ncommand = {:?}\n[backends.flood]\ncommand = {:?}\n",
        [&python, &at("agent.py"), "ask", &at("times")],
        [&python, &at("agent.py"), "flood", &at("over"), &RATE_MB_PER_S.to_string()],
    );
    fs::create_dir_all(sandbox.home().join(".config/pitcrew"))?;
    fs::write(sandbox.home().join(".config/pitcrew/config.toml"), settings)?;
    let task = |name: &str, agent: &str| {
        format!(
            "[[task]]\nid = \"{name}\"\nregion = \"{name}\"\nagent = \"{agent}\"\nprompt = \"Measure.\"\n"
        )
    };
    let mut plan = "name = \"flood\"\nmax_attempts = 1\n".to_owned();
    plan.extend((0..WORKERS).map(|it| task(&format!("ask-{it}"), "ask")));
    plan.extend((flood == Flood::Yes).then(|| task("flood", "flood")));
    Ok(sandbox.plan(&plan))
}

fn look(sandbox: &Sandbox, peaks: &mut BTreeMap<String, u64>) {
    for (process, name) in Process::naming(&sandbox.root().display().to_string()) {
        let Some(role) = name.split_whitespace().nth(1) else { continue };
        if let Some(kib) = peak_rss_kib(process).filter(|_| ["serve", "shim"].contains(&role)) {
            let peak = peaks.entry(role.to_owned()).or_default();
            *peak = kib.max(*peak);
        }
    }
}

/// The results that the agents wrote.
fn written(times: &Path) -> Vec<PathBuf> {
    let entries = times.parent().and_then(|it| fs::read_dir(it).ok()).into_iter().flatten();
    let paths = entries.flatten().map(|it| it.path());
    paths.filter(|it| it.file_stem() == times.file_name() && it.extension().is_some()).collect()
}

/// The interpreter itself: the first one on the path may be a wrapper that needs a home.
#[expect(clippy::disallowed_methods, reason = "a bench starts what it measures")]
fn python() -> BenchResult<String> {
    let mut python = Command::new("python3");
    let output = python.args(["-c", "import sys; print(sys.executable)"]).output()?;
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}
