//! Checks this machine and repository for problems.

use super::CommandResult;
use crate::{
    backends::{BackendStatus, DefaultAgent, Login, default_agent, inspect_backends, versions},
    cli::Json,
    client::Client,
    crew::definitions,
    exit::Exit,
    output::Output,
    render::{Align, Table},
    report::Report,
    workspace::{WORKTREES_HELP, Workspace, current_folder, user_dirs},
};
use pitcrew_config::{SandboxSettings, Settings, printable, private_dir, user_environment};
use pitcrew_git::{GIT_VERSION_MIN, is_new_enough};
use pitcrew_model::{Tier, limits};
use pitcrew_process::{Cancel, Obstacle, Run, is_root, run_trusted};
use pitcrew_runtime::{Confinement, registries};
use rustix::fs::statvfs;
use serde_json::{Value, json};
use std::path::Path;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Health {
    Good,
    /// A feature is not available; the rest works.
    Limited,
    Bad,
}

struct Finding {
    what: &'static str,
    health: Health,
    text: String,
    help: Option<String>,
}

impl Finding {
    fn new(what: &'static str, health: Health, text: impl Into<String>) -> Self {
        Self { what, health, text: text.into(), help: None }
    }

    fn help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }

    fn of_report(what: &'static str, report: &Report) -> Self {
        let text = report.render(crate::render::Style::plain());
        Self::new(what, Health::Bad, text.trim().trim_start_matches("error: "))
    }
}

pub async fn run(args: Json, output: Output) -> CommandResult {
    let mut findings = vec![git()];
    findings.extend(folders());
    let mut sandbox = SandboxSettings::default();
    match current_folder().and_then(|it| Workspace::at(&it)) {
        Ok(workspace) => {
            if let Ok((settings, _)) = workspace.settings() {
                sandbox = settings.sandbox;
            }
            findings.extend(repository(workspace).await);
        }
        Err(report) => findings.push(Finding::of_report("repository", &report)),
    }
    findings.extend(confinement(&sandbox));
    findings.push(packages());
    let is_bad = findings.iter().any(|it| it.health == Health::Bad);
    if args.json {
        let list: Vec<Value> = findings.iter().map(as_json).collect();
        output.json(&json!({ "healthy": !is_bad, "findings": list }))?;
    } else {
        show(&findings, output)?;
    }
    Ok(if is_bad { Exit::Failure } else { Exit::Success })
}

fn git() -> Finding {
    let (major, minor) = GIT_VERSION_MIN;
    let answer = run_trusted(Run::new("git", "/").arg("version"), &Cancel::default());
    let Ok(answer) = answer.map(|it| String::from_utf8_lossy(&it.stdout).trim().to_owned()) else {
        let text = "not found on the PATH";
        return Finding::new("git", Health::Bad, text)
            .help(format!("install git {major}.{minor} or newer"));
    };
    let found = answer.trim_start_matches("git version ").to_owned();
    if is_new_enough(&found) {
        let text = format!("{found}; {major}.{minor} or newer does everything that is needed");
        return Finding::new("git", Health::Good, text);
    }
    let help = format!("version {major}.{minor} or newer is required");
    Finding::new("git", Health::Bad, found).help(help)
}

/// The sandbox tier, and the state of each layer.
fn confinement(settings: &SandboxSettings) -> Vec<Finding> {
    let ours = std::env::current_exe().unwrap_or_default();
    let found = Confinement::by_trying(settings, &user_environment(), &ours);
    let what = "sandbox";
    let text = match found.tier {
        Tier::T3 => "T3: agents, setup, checks and git in checkouts run in a box",
        Tier::T2 => {
            "T2: Landlock and seccomp restrict agents, setup and checks; no box is available"
        }
        Tier::T1 => "T1: no OS sandbox; agents run unconfined, and only their work is checked",
    };
    let too_low = settings.min_tier.filter(|it| *it > found.tier);
    let health = match (too_low, found.tier) {
        (Some(_), _) => Health::Bad,
        (None, Tier::T3) => Health::Good,
        (None, Tier::T1 | Tier::T2) => Health::Limited,
    };
    let text = match too_low {
        Some(min_tier) => format!("{text}; your settings require {min_tier}, so no agent starts"),
        None => text.to_owned(),
    };
    let mut findings = vec![Finding::new(what, health, text)];
    let layers = [("box", found.no_box), ("landlock", found.no_landlock)];
    let missing = layers.into_iter().filter_map(|(what, it)| Some((what, it?)));
    findings.extend(missing.map(|(what, Obstacle { reason, remedy })| {
        Finding::new(what, Health::Limited, reason).help(remedy)
    }));
    if found.tier == Tier::T2 && is_root() {
        let text =
            "agents run as root, and Landlock does not protect the modes and times of root's files";
        let help = "run pitcrew as an ordinary user, or accept this with `--accept-tier T2`";
        findings.push(Finding::new("root", Health::Limited, text).help(help));
    }
    if found.tier == Tier::T3 {
        let text = "separate files, processes, network and IPC; no root privileges; an empty home";
        findings.push(Finding::new("box", Health::Good, text));
    }
    let gate = "changes outside the zone of a task are refused, in every tier";
    findings.push(Finding::new("gate", Health::Good, gate));
    findings
}

/// The package registries of the user's tools, which a box lets through.
fn packages() -> Finding {
    let found = registries(&user_environment());
    if found.is_empty() {
        let text = "no package registry of cargo, npm, pip or go was found";
        let help = "list the hosts that builds download from in `egress_allow`";
        return Finding::new("packages", Health::Limited, text).help(help);
    }
    let tools = found.iter().map(|it| {
        let places = it.places.iter().map(ToString::to_string);
        let places = places.chain(it.beside.iter().map(ToString::to_string));
        let places: Vec<String> = places.map(|it| printable(&it)).collect();
        format!("{} from {}", it.tool, places.join(", "))
    });
    Finding::new("packages", Health::Good, tools.collect::<Vec<_>>().join("; "))
}

/// The user's folders: they must be private and have free space.
fn folders() -> Vec<Finding> {
    let dirs = match user_dirs() {
        Ok(dirs) => dirs,
        Err(report) => return vec![Finding::of_report("folders", &report)],
    };
    let folder = |what: &'static str, path: &Path| match private_dir(path) {
        Ok(()) => Finding::new(what, Health::Good, path.display().to_string()),
        Err(error) => Finding::of_report(what, &Report::from_error(Exit::Failure, &error))
            .help("make it writable for you and no one else"),
    };
    vec![folder("state", &dirs.state), folder("runtime", &dirs.runtime), room(&dirs.state)]
}

fn room(path: &Path) -> Finding {
    let Ok(found) = statvfs(path) else {
        return Finding::new("disk", Health::Limited, "the free space is unknown");
    };
    let free = found.f_bavail.saturating_mul(found.f_frsize);
    let text = format!("{} MiB free", free / (1_024 * 1_024));
    if free >= limits::FREE_BYTES_MIN {
        return Finding::new("disk", Health::Good, text);
    }
    let floor = limits::FREE_BYTES_MIN / (1_024 * 1_024);
    Finding::new("disk", Health::Bad, text).help(format!("no task starts below {floor} MiB"))
}

async fn repository(workspace: Workspace) -> Vec<Finding> {
    let mut findings =
        vec![Finding::new("repository", Health::Good, workspace.root().display().to_string())];
    if workspace.repository.is_shallow() {
        let text = "shallow clone: older history is not in the vault";
        findings.push(Finding::new("history", Health::Limited, text));
    }
    match workspace.settings() {
        Ok((settings, origins)) => {
            let count = origins.ignored.len();
            findings.push(match count {
                0 => Finding::new("settings", Health::Good, "no errors"),
                _ => Finding::new("settings", Health::Limited, format!("{count} ignored"))
                    .help("pitcrew config show --origin"),
            });
            findings.push(checkouts(&workspace, &settings));
            findings.push(permissions(&workspace, &settings));
            findings.extend(roles(&workspace));
            findings.extend(agents(&settings));
        }
        Err(report) => findings.push(Finding::of_report("settings", &report)),
    }
    findings.push(match Client::running(workspace).await {
        Ok(Some((_, health))) => {
            let (pid, workers) = (health.pid, health.workers_live_count);
            let text = format!("process {pid}, version {}, {workers} live workers", health.version);
            Finding::new("orchestrator", Health::Good, text)
        }
        Ok(None) => Finding::new("orchestrator", Health::Good, "not running; starts when needed"),
        Err(report) => Finding::of_report("orchestrator", &report),
    });
    findings
}

/// The folder of the checkouts: it must be possible to create it.
fn checkouts(workspace: &Workspace, settings: &Settings) -> Finding {
    let layout = workspace.layout(settings);
    let folder = printable(&layout.checkouts.display().to_string());
    match layout.obstacle() {
        None => Finding::new("checkouts", Health::Good, folder),
        Some(obstacle) => {
            let text = format!("{folder} cannot be created: {}", printable(&obstacle));
            Finding::new("checkouts", Health::Bad, text).help(WORKTREES_HELP)
        }
    }
}

/// A permissions file with errors is not used.
fn permissions(workspace: &Workspace, settings: &Settings) -> Finding {
    let found = workspace.permissions_with(settings);
    let help = "pitcrew permissions";
    if let Some(error) = found.errors.first() {
        let text = format!("{}:{}: {}", error.file, error.line, error.message);
        return Finding::new("permissions", Health::Bad, printable(&text)).help(help);
    }
    match found.ignored.len() + found.warnings.len() {
        0 => Finding::new("permissions", Health::Good, "no errors"),
        count => {
            Finding::new("permissions", Health::Limited, format!("{count} ignored or doubtful"))
                .help(help)
        }
    }
}

/// A role whose file has errors is not available.
fn roles(workspace: &Workspace) -> Vec<Finding> {
    let found = definitions(&workspace.user, workspace.root());
    let first_line = |it: &String| printable(it.lines().next().unwrap_or_default());
    let help = "fix or remove the file; until then the role is not available";
    found
        .errors
        .iter()
        .map(|it| Finding::new("roles", Health::Bad, first_line(it)).help(help))
        .collect()
}

/// The agents, as `pitcrew backends` shows them.
fn agents(settings: &Settings) -> Vec<Finding> {
    let backends = inspect_backends(settings);
    let versions = versions(&backends);
    let ours = Finding::new("agent", Health::Good, "builtin and command: built in");
    let agent = |it: &BackendStatus| match it.missing() {
        Some((reason, help)) => {
            Finding::new("agent", Health::Limited, format!("{}: {reason}", it.name)).help(help)
        }
        None => {
            let version = versions.get(&it.name).map(|it| format!(" {it}")).unwrap_or_default();
            let (name, place, login) = (&it.name, it.place(), it.login_text());
            let text = format!("{name}{version}: {place}, login: {login}");
            match it.login {
                Login::NoSign => Finding::new("agent", Health::Limited, text).help(it.login_help()),
                Login::Found(_) | Login::Unknown => Finding::new("agent", Health::Good, text),
            }
        }
    };
    let default = match default_agent(settings, &backends) {
        DefaultAgent::Set(agent) | DefaultAgent::Only(agent) => {
            Finding::new("default", Health::Good, format!("{agent} does tasks that name no agent"))
        }
        DefaultAgent::Unavailable { help } => {
            Finding::new("default", Health::Limited, "no agent is chosen for tasks that name none")
                .help(help)
        }
    };
    [ours].into_iter().chain(backends.iter().map(agent)).chain([default]).collect()
}

fn as_json(finding: &Finding) -> Value {
    let health = match finding.health {
        Health::Good => "good",
        Health::Limited => "limited",
        Health::Bad => "bad",
    };
    json!({ "what": finding.what, "health": health, "text": finding.text, "help": finding.help })
}

fn show(findings: &[Finding], output: Output) -> Result<(), Report> {
    let style = output.out;
    let mut table = Table::new(&[Align::Left, Align::Left, Align::Left]);
    for finding in findings {
        let mark = match finding.health {
            Health::Good => style.green("ok"),
            Health::Limited => style.yellow("note"),
            Health::Bad => style.red("bad"),
        };
        let help = finding.help.as_ref().map(|it| format!(" ({it})")).unwrap_or_default();
        let text = format!("{}{help}", finding.text.replace('\n', " "));
        table.row([mark, finding.what.to_owned(), text]);
    }
    for line in table.lines("") {
        output.line(&line)?;
    }
    Ok(())
}
