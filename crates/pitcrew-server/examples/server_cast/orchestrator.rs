//! The orchestrator of a lab; its parameters are files in the lab's folder.

use pitcrew_config::{
    BackendSettings, Dirs, PlanDefaults, Settings, Sources, WorkspaceId, parse_plan,
};
use pitcrew_git::{Git, Repository};
use pitcrew_model::{BackendProfile, Crew, HouseRules, Readiness, text};
use pitcrew_process::Cancel;
use pitcrew_runtime::{Orchestrator, Setup, Tokens};
use pitcrew_server::{Desk, ReadPlan, Serve, serve};
use std::{
    collections::BTreeMap,
    env,
    error::Error,
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

pub fn run(lab: &Path, idle_ms: Option<u64>) -> ExitCode {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let served = runtime.block_on(orchestrate(lab, idle_ms));
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}", text::chain(&*error));
            ExitCode::FAILURE
        }
    }
}

async fn orchestrate(lab: &Path, idle_ms: Option<u64>) -> Result<(), Box<dyn Error>> {
    let program = env::current_exe()?;
    let repository =
        Repository::discover(&Git::default(), &lab.join("repository"), &Cancel::default())?;
    let id = WorkspaceId::new(repository.root_commit(), repository.root());
    let below = |name: &str| lab.join(name).display().to_string();
    let environment: BTreeMap<String, String> =
        [("HOME", "home"), ("XDG_STATE_HOME", "state"), ("XDG_RUNTIME_DIR", "run")]
            .map(|(name, folder)| (name.to_owned(), below(folder)))
            .into();
    let dirs = Dirs::from_env(&environment, 0)?.workspace(&id);
    dirs.make()?;
    let (mut settings, _) = Settings::load(&Sources::default())?;
    settings.backends = backends(&program, lab);
    let ours = ["builtin", "command"].map(str::to_owned);
    let names = settings.backends.keys().cloned().chain(ours).collect();
    // This program cannot launch sandboxes.
    settings.sandbox.tier = Some(pitcrew_model::Tier::T1);
    let tokens = Tokens::new(fs::read_to_string(lab.join("token"))?);
    let socket = dirs.socket();
    fs::write(lab.join("socket"), socket.display().to_string())?;
    let workspace = repository.root().display().to_string();
    let (matrix, own) = (pitcrew_model::Matrix::builtin(), tokens.clone());
    let setup = Setup { program, repository, dirs, settings, matrix, tokens: own };
    let terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    let orchestrator = Orchestrator::start(setup)?;
    let idle = idle_ms.map(Duration::from_millis);
    let desk = Arc::new(LabDesk { backends: names });
    let order = Serve { orchestrator, tokens, socket, workspace, idle, desk, terminate };
    serve(order, || {}).await?;
    Ok(())
}

/// Reads plans with the built-in settings.
struct LabDesk {
    backends: Vec<String>,
}

impl Desk for LabDesk {
    fn read_plan(&self, text: &str) -> Result<ReadPlan, String> {
        let parsed = parse_plan("plan", text, &PlanDefaults::default());
        let parsed = parsed.map_err(|it| it.to_string())?;
        Ok(ReadPlan { spec: parsed.spec, warnings: Vec::new() })
    }

    fn crew(&self) -> Crew {
        let ready = |name: &String| {
            let (title, readiness) = (name.clone(), Readiness::Ready);
            (name.clone(), BackendProfile { title, readiness })
        };
        let backends = self.backends.iter().map(ready).collect();
        Crew { backends, ..Crew::default() }
    }

    fn rules(&self) -> HouseRules {
        HouseRules::default()
    }
}

fn backends(program: &Path, lab: &Path) -> BTreeMap<String, BackendSettings> {
    let program = program.display().to_string();
    let faults = ["exits_at_once", "exits", "garbage", "silent", "hangs"];
    let fault = |kind: &str| vec![program.clone(), "fault".into(), kind.into()];
    let mut commands: BTreeMap<&str, Vec<String>> =
        faults.into_iter().map(|it| (it, fault(it))).collect();
    let deaf = "trap '' TERM; exec \"$0\" fault deaf";
    commands.insert("deaf", vec!["sh".into(), "-c".into(), deaf.into(), program.clone()]);
    let go: PathBuf = lab.join("go");
    commands.insert("late", vec![program, "late".into(), go.display().to_string()]);
    commands.insert("missing", vec![lab.join("no-such-agent").display().to_string()]);
    let settings =
        |(name, command): (&str, _)| (name.to_owned(), BackendSettings::of_command(command));
    commands.into_iter().map(settings).collect()
}
