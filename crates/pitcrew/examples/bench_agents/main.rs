//! Measures what Pitcrew adds to an agent's own time: one scripted turn, from the start of the
//! agent to a checked commit, compared with a minimal client that does the same in a plain clone.
//!
//! Both sides alternate. Checkouts are made before the clock starts. Prints one flat JSON object
//! per installed agent. `cargo xtask bench agents` builds the binary and runs this.

#[path = "../support/mod.rs"]
mod support;
mod bare;
mod ours;

use pitcrew_config::{BACKEND_BUILTIN, Settings, Sources};
use pitcrew_testkit::{PATIENCE, RealAgent, crew::Crew};
use std::{
    collections::BTreeMap,
    path::Path,
    time::{Duration, Instant},
};
use support::{BenchResult, binary};

/// Rounds that are counted; slow agents get fewer.
const ROUNDS_MAX: usize = 40;
const ROUNDS_MIN: usize = 10;
const TIME_USUAL: Duration = Duration::from_mins(1);

fn main() -> BenchResult<()> {
    // One of the agents hides the folder for temporary files from its commands.
    let place = Path::new("/var/tmp");
    tempfile::env::override_temp_dir(place).map_err(|it| format!("{} is taken", it.display()))?;
    let chosen: Vec<String> = std::env::args().skip(1).collect();
    let mut names: Vec<&str> = chosen.iter().map(String::as_str).collect();
    if names.is_empty() {
        names = [vec![BACKEND_BUILTIN], RealAgent::names()].concat();
    }
    for name in names {
        match (name, RealAgent::find(name)) {
            (BACKEND_BUILTIN, _) => measure(&Setup::new(name, &[])?)?,
            (_, Ok(agent)) => measure(&Setup::new(name, &[agent])?)?,
            (_, Err(reason)) => eprintln!("{name} is left out: {reason}"),
        }
    }
    Ok(())
}

/// The measured setup. Both sides use the same program, model and home.
struct Setup {
    name: String,
    crew: Crew,
    argv: Vec<String>,
    /// Set before the first prompt, as Pitcrew does: the agent's default mode may be read-only.
    mode: Option<String>,
    environment: BTreeMap<String, String>,
}

impl Setup {
    fn new(name: &str, agents: &[RealAgent]) -> BenchResult<Self> {
        let program = binary()?.display().to_string();
        let crew = Crew::new(&program, agents, PATIENCE);
        let mut environment = crew.sandbox.environment();
        let (settings, _) = Settings::load(&Sources::default())?;
        let (argv, mode) = match settings.backends.get(name) {
            Some(backend) => {
                let is_root = rustix::process::geteuid().is_root();
                environment.extend(backend.environment(&environment, is_root));
                (backend.command.clone(), backend.mode.clone())
            }
            None => (vec![program, "agent".into()], None),
        };
        // The orchestrator and the vault exist before the measurement.
        crew.sandbox.pitcrew(&["status"]).expect(0);
        Ok(Self { name: name.to_owned(), crew, argv, mode, environment })
    }
}

#[derive(Clone, Copy)]
enum Side {
    Bare,
    Ours,
}

/// The parts of one turn, in milliseconds.
#[derive(Clone, Copy)]
struct TurnTimes {
    /// Until the agent can be prompted.
    start: f64,
    turn: f64,
    /// Until the work is committed and checked.
    commit: f64,
}

impl TurnTimes {
    fn whole(&self) -> f64 {
        self.start + self.turn + self.commit
    }
}

/// The same number of model and tool calls for both sides: Pitcrew's agent reports its completion,
/// the other one writes the same file once more instead.
fn script(file: &str, side: Side) -> String {
    let last = match side {
        Side::Bare => format!("@write {file} hello"),
        Side::Ours => "@complete wrote it".to_owned(),
    };
    format!("@write {file} hello\n{last}\n@say That was all.\n")
}

fn measure(scene: &Setup) -> BenchResult<()> {
    // The first round warms up and is not counted.
    let (mut rounds, began) = (Vec::new(), Instant::now());
    for round in 0..=ROUNDS_MAX {
        if round > ROUNDS_MIN && began.elapsed() > TIME_USUAL {
            break;
        }
        let bare = bare::run(scene, round)?;
        let ours = ours::run(scene, round)?;
        eprintln!(
            "{} {round}: bare {:.0} + {:.0} + {:.0} ms, ours {:.0} + {:.0} + {:.0} ms",
            scene.name, bare.start, bare.turn, bare.commit, ours.start, ours.turn, ours.commit
        );
        rounds.push((bare, ours));
    }
    let rounds = &rounds[1..];
    let median = |part: &dyn Fn(&(TurnTimes, TurnTimes)) -> f64| {
        let mut all: Vec<f64> = rounds.iter().map(part).collect();
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    };
    println!(
        r#"{{"agent":"{}","rounds":{},"bare_ms":{:.0},"ours_ms":{:.0},"more_ms":{:.0},"more_percent":{:.1},"more_start_ms":{:.0},"more_turn_ms":{:.0},"more_commit_ms":{:.0}}}"#,
        scene.name,
        rounds.len(),
        median(&|it| it.0.whole()),
        median(&|it| it.1.whole()),
        median(&|it| it.1.whole() - it.0.whole()),
        median(&|it| 100.0 * (it.1.whole() / it.0.whole() - 1.0)),
        median(&|it| it.1.start - it.0.start),
        median(&|it| it.1.turn - it.0.turn),
        median(&|it| it.1.commit - it.0.commit),
    );
    Ok(())
}
