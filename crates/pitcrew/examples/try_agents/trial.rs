//! The trials of one agent, each in a process with a time limit.

use crate::{TrialResult, document};
use pitcrew_model::Tier;
use pitcrew_testkit::{
    Process, RealAgent,
    crew::{Cast, Crew, Findings, Kind, PeakMemory, Trouble, four_tasks, starts, trouble},
    offline_command, within,
};
use rustix::process::Signal;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeSet, panic, process::Stdio, time::Duration};

/// The time limit of a trial; what is left of it is killed.
const TRIAL_TIME_MAX: Duration = Duration::from_mins(10);
/// The time limit of a step.
const STEP_TIME_MAX: Duration = Duration::from_secs(150);
const REFUSAL_TIME_MAX: Duration = Duration::from_secs(90);
/// Where trials keep their files. Not below `/tmp`, which the sandbox of Codex hides together with
/// its home.
const KEPT: &str = "/var/tmp";

#[derive(Clone, Copy)]
pub enum Trial {
    Plan,
    Trouble(Trouble),
}

impl Trial {
    const ALL: &[Self] = &[Self::Plan, Self::Trouble(Trouble::Auth), Self::Trouble(Trouble::Quota)];

    fn name(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Trouble(Trouble::Auth) => "auth",
            Self::Trouble(Trouble::Quota) => "quota",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|it| it.name() == name)
    }
}

/// The results of one agent.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct AgentReport {
    pub name: String,
    pub version: String,
    /// The day, and the load of the machine.
    pub date: String,
    pub load: String,
    /// The sandbox of its workers.
    pub tiers: BTreeSet<Tier>,
    /// Why there is no result.
    pub missing: Option<String>,
    pub findings: Findings,
    /// Milliseconds, minimum and maximum.
    pub initialize: Option<(u64, u64)>,
    pub new_session: Option<(u64, u64)>,
    pub peak_mib: u64,
    /// Errors of the trials themselves.
    pub broken: Vec<String>,
}

/// The built-in agent.
pub const BUILTIN: &str = "builtin";

pub fn try_agent(name: &str) -> AgentReport {
    let found = RealAgent::find(name).map(|it| it.version);
    let version = match found {
        Ok(version) => version.to_owned(),
        Err(_) if name == BUILTIN => env!("CARGO_PKG_VERSION").to_owned(),
        Err(reason) => {
            eprintln!("MISSING {name}: {reason}");
            let missing = Some(reason);
            return AgentReport { name: name.to_owned(), missing, ..AgentReport::default() };
        }
    };
    let (date, load) = (document::today(), document::load());
    let mut tried =
        AgentReport { name: name.to_owned(), version, date, load, ..AgentReport::default() };
    for trial in Trial::ALL {
        eprintln!("== {name}: {}", trial.name());
        match run_apart(name, *trial) {
            Ok(part) => {
                tried.findings.0.extend(part.findings.0);
                tried.tiers.extend(part.tiers);
                tried.initialize = tried.initialize.or(part.initialize);
                tried.new_session = tried.new_session.or(part.new_session);
                tried.peak_mib = tried.peak_mib.max(part.peak_mib);
                let broken = part.broken.iter().map(|it| format!("{}: {it}", trial.name()));
                tried.broken.extend(broken);
            }
            Err(error) => tried.broken.push(format!("{}: {error}", trial.name())),
        }
    }
    tried
}

/// Runs a trial in its own process, and returns its output.
fn run_apart(agent: &str, trial: Trial) -> TrialResult<AgentReport> {
    let this = std::env::current_exe()?;
    let folder = tempfile::Builder::new().prefix("t").tempdir_in(KEPT)?;
    let words = [this.to_str().ok_or("a path that is not UTF-8")?, "--trial", agent, trial.name()];
    let mut child =
        offline_command(&words).env("TMPDIR", folder.path()).stdout(Stdio::piped()).spawn()?;
    let mut stdout = child.stdout.take().expect("it is piped");
    let printed = std::thread::spawn(move || std::io::read_to_string(&mut stdout));
    let ended = within(TRIAL_TIME_MAX, || child.try_wait().transpose());
    if ended.is_none() {
        child.kill()?;
        child.wait()?;
    }
    for (process, _) in Process::naming(&folder.path().display().to_string()) {
        process.signal(Signal::KILL);
    }
    let printed = printed.join().map_err(|_| "its output could not be read")??;
    if ended.is_none() {
        return Err(format!("not over after {} s", TRIAL_TIME_MAX.as_secs()).into());
    }
    let line = printed.lines().last().ok_or("it printed nothing")?;
    Ok(serde_json::from_str(line)?)
}

/// The trial itself. Reports errors of the trial, too.
pub fn run_here(name: &str, trial: Trial) -> TrialResult<()> {
    let tried = match panic::catch_unwind(|| measure(name, trial)) {
        Ok(tried) => tried?,
        Err(payload) => {
            let text = payload.downcast_ref::<String>().cloned();
            let text = text.or_else(|| payload.downcast_ref::<&str>().map(ToString::to_string));
            AgentReport { broken: vec![text.unwrap_or_default()], ..AgentReport::default() }
        }
    };
    println!("{}", serde_json::to_string(&tried)?);
    Ok(())
}

fn measure(name: &str, trial: Trial) -> TrialResult<AgentReport> {
    let (agents, kind) = match name {
        BUILTIN => (Vec::new(), Kind::BuiltIn),
        _ => (vec![RealAgent::find(name)?], Kind::Program),
    };
    let patience = match trial {
        Trial::Plan => STEP_TIME_MAX,
        Trial::Trouble(_) => REFUSAL_TIME_MAX,
    };
    let this = std::env::current_exe()?;
    let folder = this.ancestors().nth(2).ok_or("examples are in a folder of the profile")?;
    let binary = folder.join("pitcrew").canonicalize()?;
    let crew = Crew::new(binary.to_str().ok_or("not UTF-8")?, &agents, patience);
    let memory = PeakMemory::watch(&crew.sandbox);
    let findings = match trial {
        Trial::Plan => four_tasks(&crew, Cast { fixes: name, asks: name, strays: name }),
        Trial::Trouble(which) => trouble(&crew, name, which),
    };
    let starts = starts(&crew.sandbox, kind);
    let tiers =
        crew.board().workers.iter().filter_map(|it| Some(it.confined.as_ref()?.tier)).collect();
    let range = |of: &[u64]| Some((*of.iter().min()?, *of.iter().max()?));
    Ok(AgentReport {
        findings,
        tiers,
        initialize: range(&starts.initialize),
        new_session: range(&starts.new_session),
        peak_mib: memory.stop(),
        ..AgentReport::default()
    })
}
