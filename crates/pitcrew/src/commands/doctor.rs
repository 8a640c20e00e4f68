//! Checks that everything Pitcrew needs is there.

use super::Done;
use crate::{
    backends::{Chosen, Login, Looked, choose, look, versions},
    cli::Json,
    client::Client,
    exit::Exit,
    output::Output,
    render::{Align, Table},
    report::Report,
    workspace::{Workspace, current_folder, user_dirs},
};
use pitcrew_config::{
    SandboxSettings, Settings, printable, private_dir, read_definitions, user_environment,
};
use pitcrew_git::{GIT_VERSION_MIN, is_new_enough};
use pitcrew_model::{Tier, limits};
use pitcrew_process::{Cancel, Obstacle, Run, run_trusted};
use pitcrew_runtime::{Confinement, registries};
use rustix::fs::statvfs;
use serde_json::{Value, json};
use std::path::Path;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Health {
    Good,
    /// Something cannot be done; the rest can.
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

pub async fn run(args: Json, output: Output) -> Done {
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
        let text = "it is not on the PATH";
        return Finding::new("git", Health::Bad, text).help(format!("install {major}.{minor}"));
    };
    let found = answer.trim_start_matches("git version ").to_owned();
    if is_new_enough(&found) {
        let text = format!("{found}; {major}.{minor} or newer does everything that is needed");
        return Finding::new("git", Health::Good, text);
    }
    let help = format!("at least {major}.{minor} is needed");
    Finding::new("git", Health::Bad, found).help(help)
}

/// Which tier there is, and layer by layer what holds.
fn confinement(settings: &SandboxSettings) -> Vec<Finding> {
    let ours = std::env::current_exe().unwrap_or_default();
    let found = Confinement::by_trying(settings, &user_environment(), &ours);
    let what = "confinement";
    let text = match found.tier {
        Tier::T3 => "T3: a box for each agent, setup, check and git in its trees",
        Tier::T2 => {
            "T2: what is not named cannot be opened, by Landlock and seccomp; there is no box"
        }
        Tier::T1 => {
            "T1: what agents hand in is checked at the gate; their processes are not confined"
        }
    };
    let too_low = settings.min_tier.filter(|it| *it > found.tier);
    let health = match (too_low, found.tier) {
        (Some(_), _) => Health::Bad,
        (None, Tier::T3) => Health::Good,
        (None, Tier::T1 | Tier::T2) => Health::Limited,
    };
    let text = match too_low {
        Some(min_tier) => format!("{text}; {min_tier} is wanted, so nothing starts"),
        None => text.to_owned(),
    };
    let mut findings = vec![Finding::new(what, health, text)];
    let layers = [("box", found.no_box), ("landlock", found.no_landlock)];
    let missing = layers.into_iter().filter_map(|(what, it)| Some((what, it?)));
    findings.extend(missing.map(|(what, Obstacle { reason, remedy })| {
        Finding::new(what, Health::Limited, reason).help(remedy)
    }));
    if found.tier == Tier::T3 {
        let text = "own files, processes, network and IPC; no rights of root; an empty home";
        findings.push(Finding::new("box", Health::Good, text));
    }
    let gate = "what is handed in is compared with the zone of its task, in every tier";
    findings.push(Finding::new("gate", Health::Good, gate));
    findings
}

/// Where the tools of the user get packages: a box lets them through to there.
fn packages() -> Finding {
    let found = registries(&user_environment());
    if found.is_empty() {
        let text = "no registry of cargo, npm, pip or go was found";
        let help = "name what builds fetch from in `egress_allow`";
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

/// The folders of the user: ours alone, and with room.
fn folders() -> Vec<Finding> {
    let dirs = match user_dirs() {
        Ok(dirs) => dirs,
        Err(report) => return vec![Finding::of_report("folders", &report)],
    };
    let folder = |what: &'static str, path: &Path| match private_dir(path) {
        Ok(()) => Finding::new(what, Health::Good, path.display().to_string()),
        Err(error) => Finding::of_report(what, &Report::from_error(Exit::Failure, &error))
            .help("make it writable for you and for nobody else"),
    };
    vec![folder("state", &dirs.state), folder("runtime", &dirs.runtime), room(&dirs.state)]
}

fn room(path: &Path) -> Finding {
    let Ok(found) = statvfs(path) else {
        return Finding::new("disk", Health::Limited, "the free space is not known");
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
        let text = "it is a shallow clone: history before its edge is not in the vault";
        findings.push(Finding::new("history", Health::Limited, text));
    }
    match workspace.settings() {
        Ok((settings, origins)) => {
            let count = origins.ignored.len();
            findings.push(match count {
                0 => Finding::new("settings", Health::Good, "no errors"),
                _ => Finding::new("settings", Health::Limited, format!("{count} do not hold"))
                    .help("pitcrew config show --origin"),
            });
            findings.push(permissions(&workspace, &settings));
            findings.extend(roles(&workspace));
            findings.extend(agents(&settings));
        }
        Err(report) => findings.push(Finding::of_report("settings", &report)),
    }
    findings.push(match Client::running(workspace).await {
        Ok(Some((_, health))) => {
            let (pid, workers) = (health.pid, health.workers_live_count);
            let text = format!("process {pid}, version {}, {workers} at work", health.version);
            Finding::new("orchestrator", Health::Good, text)
        }
        Ok(None) => Finding::new("orchestrator", Health::Good, "starts when it is needed"),
        Err(report) => Finding::of_report("orchestrator", &report),
    });
    findings
}

/// A broken permissions file is not used, so its rules do not hold.
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
            Finding::new("permissions", Health::Limited, format!("{count} do not hold")).help(help)
        }
    }
}

/// A role whose file is broken is nobody's.
fn roles(workspace: &Workspace) -> Vec<Finding> {
    let found = read_definitions(&workspace.user, workspace.root());
    let told = |it: &String| printable(it.lines().next().unwrap_or_default());
    let help = "mend or remove the file: until then nobody plays that role";
    found.errors.iter().map(|it| Finding::new("roles", Health::Bad, told(it)).help(help)).collect()
}

/// Each agent as `pitcrew backends` shows it.
fn agents(settings: &Settings) -> Vec<Finding> {
    let looked = look(settings);
    let versions = versions(&looked);
    let ours = Finding::new("agent", Health::Good, "builtin and command: part of pitcrew");
    let agent = |it: &Looked| match it.missing() {
        Some((reason, help)) => {
            Finding::new("agent", Health::Limited, format!("{}: {reason}", it.name)).help(help)
        }
        None => {
            let version = versions.get(&it.name).map(|it| format!(" {it}")).unwrap_or_default();
            let (name, place, login) = (&it.name, it.place(), it.login_words());
            let text = format!("{name}{version}: {place}, login: {login}");
            match it.login {
                Login::NoSign => Finding::new("agent", Health::Limited, text).help(it.login_help()),
                Login::Found(_) | Login::Unknown => Finding::new("agent", Health::Good, text),
            }
        }
    };
    let default = match choose(settings, &looked) {
        Chosen::Set(agent) | Chosen::Only(agent) => Finding::new(
            "default",
            Health::Good,
            format!("{agent} does the tasks that name no agent"),
        ),
        Chosen::Nobody { help } => {
            Finding::new("default", Health::Limited, "nobody does a task that names no agent")
                .help(help)
        }
    };
    [ours].into_iter().chain(looked.iter().map(agent)).chain([default]).collect()
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
