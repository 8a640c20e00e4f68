//! Measures the time from a free slot to the first byte of the prompt at the agent, compared with a
//! bare `git worktree add` of the same commit in the same run.
//!
//! With and without a sandbox. The start of the agent program itself is measured separately and
//! subtracted. This program is its own agent and all other programs around it.

mod spawn;

use pitcrew_config::{Dirs, Settings, Sources, WorkspaceId};
use pitcrew_git::{Git, Repository};
use pitcrew_model::{
    Actor, Approval, Command, CreatePlan, Origin, PlanId, TaskId,
    Tier::{self, T1, T3},
};
use pitcrew_process::{Cancel, Run, find_box, play_part, run_trusted};
use pitcrew_runtime::{Orchestrator, Setup, Tokens};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    env,
    error::Error,
    fs,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::ExitCode,
    time::{Duration, UNIX_EPOCH},
};

const ROUNDS: usize = 12;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<ExitCode> {
    if let Some(ended) = play_part(&env::args_os().skip(1).collect::<Vec<_>>()) {
        return Ok(ended);
    }
    let arguments: Vec<String> = env::args().collect();
    match arguments.get(1).map(String::as_str) {
        Some("agent") => agent()?,
        Some("spawn") => {
            for row in tokio::runtime::Runtime::new()?.block_on(spawn::measure(10_000))? {
                println!("{row}");
            }
        }
        _ => {
            for (files, tier) in [(200, T1), (200, T3), (10_000, T1), (10_000, T3)] {
                println!("{}", tokio::runtime::Runtime::new()?.block_on(measure(files, tier))?);
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Sends the required answers, and records when the prompt arrived.
fn agent() -> Outcome<()> {
    let mut out = std::io::stdout();
    for line in std::io::stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line?)?;
        let result = match message["method"].as_str() {
            Some("initialize") => json!({"protocolVersion": 1, "agentCapabilities": {}}),
            Some("session/new") => json!({"sessionId": "1"}),
            Some("session/prompt") => {
                fs::write("../recorded/prompted.part", now().as_nanos().to_string())?;
                fs::rename("../recorded/prompted.part", "../recorded/prompted")?;
                continue;
            }
            _ => continue,
        };
        writeln!(out, "{}", json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))?;
        out.flush()?;
    }
    Ok(())
}

async fn measure(files: usize, tier: Tier) -> Outcome<String> {
    let dir = tempfile::tempdir()?;
    let root = dir.path().join("repository");
    make_repository(&root, files)?;
    let (orchestrator, recorded) = start(dir.path(), &root, tier)?;
    let plan = plan()?;
    orchestrator.handle().command(Actor::Person, plan).await?;
    let has_base = || {
        let view = orchestrator.handle().views().board.plan_view(PlanId(1));
        view.is_some_and(|it| it.base.is_some())
    };
    wait_until(has_base).await?;
    let (mut ours, mut git, mut own) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        let worktree = dir.path().join(format!("worktree-{round}"));
        let bare = timed(|| {
            git_in(
                &root,
                &[
                    "worktree",
                    "add",
                    "-q",
                    "-b",
                    &format!("b{round}"),
                    &worktree.display().to_string(),
                ],
            )
        })?;
        let alone = agent_alone()?;
        let task = TaskId(round as u64 + 1);
        let prompted = recorded.join("prompted");
        let began = now();
        orchestrator.handle().command(Actor::Person, Command::DeployTask { task }).await?;
        wait_until(|| prompted.exists()).await?;
        let ended = Duration::from_nanos(fs::read_to_string(&prompted)?.parse()?);
        fs::remove_file(&prompted)?;
        orchestrator.handle().command(Actor::Person, Command::CancelTask { task }).await?;
        wait_until(|| !orchestrator.handle().is_busy()).await?;
        // The first round is a warm-up and is not counted.
        if round > 0 {
            git.push(bare);
            own.push(alone);
            ours.push(milliseconds(ended.saturating_sub(began)) - alone);
        }
    }
    orchestrator.stop().await;
    let ratio = median(&mut ours) / median(&mut git);
    Ok(format!(
        r#"{{"files":{files},"tier":"{tier}","worktree_add_ms":{:.1},"agent_alone_ms":{:.1},"start_ms":{:.1},"ratio":{ratio:.2}}}"#,
        median(&mut git),
        median(&mut own),
        median(&mut ours),
    ))
}

fn start(dir: &Path, root: &Path, tier: Tier) -> Outcome<(Orchestrator, PathBuf)> {
    let path = |name: &str| dir.join(name).display().to_string();
    let environment: BTreeMap<String, String> = [
        ("HOME", path("home")),
        ("XDG_STATE_HOME", path("state")),
        ("XDG_CONFIG_HOME", path("config")),
        ("XDG_RUNTIME_DIR", path("run")),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value))
    .collect();
    fs::create_dir_all(dir.join("run"))?;
    let repository = Repository::discover(&Git::default(), root, &Cancel::default())?;
    let id = WorkspaceId::new(repository.root_commit(), repository.root());
    // The environment sets the runtime folder, so the user id is not needed.
    let dirs = Dirs::from_env(&environment, 0)?.workspace(&id);
    let (mut settings, _) = Settings::load(&Sources::default())?;
    let checkouts = dir.join(".worktrees").join("repository");
    // The agent records the time of its prompt beside its checkout.
    let recorded = checkouts.join("recorded");
    fs::create_dir_all(&recorded)?;
    settings.sandbox.write.push(recorded.clone());
    settings.sandbox.tier = Some(tier);
    if tier == T3 {
        // Without a sandbox the result would be for the wrong tier.
        find_box(&env::vars().collect(), &env::current_exe()?)
            .map_err(|it| format!("no sandbox is available: {}", it.reason))?;
    }
    let tokens = Tokens::new("0".repeat(64));
    let program = env::current_exe()?;
    let matrix = pitcrew_model::Matrix::builtin();
    let setup = Setup { program, repository, dirs, settings, matrix, tokens };
    Ok((Orchestrator::start(setup)?, recorded))
}

fn plan() -> Outcome<Command> {
    let tasks: Vec<String> = (0..=ROUNDS)
        .map(|it| format!("[[task]]\nid = \"t{it}\"\nscript = \"complete done\"\n"))
        .collect();
    let text = format!("name = \"bench\"\ndeploy = \"manual\"\n{}", tasks.concat());
    let (settings, _) = Settings::load(&Sources::default())?;
    let parsed = pitcrew_config::parse_plan("bench.toml", &text, &settings.plan_defaults())?;
    let approval = Approval::Given;
    Ok(Command::CreatePlan(CreatePlan {
        spec: parsed.spec,
        origin: Origin::File,
        clean_base: false,
        approval,
        default_agent: None,
    }))
}

/// The agent program alone: start, two requests, two answers.
fn agent_alone() -> Outcome<f64> {
    timed(|| {
        let questions =
            "{\"id\":1,\"method\":\"initialize\"}\n{\"id\":2,\"method\":\"session/new\"}\n";
        let run = Run::new(env::current_exe()?, env::temp_dir())
            .arg("agent")
            .stdin(questions.as_bytes().to_vec());
        let finished = run_trusted(run, &Cancel::default())?;
        let answers = BufReader::new(finished.stdout.as_slice()).lines().count();
        if answers == 2 { Ok(()) } else { Err(format!("{answers} answers").into()) }
    })
}

fn make_repository(root: &Path, files: usize) -> Outcome<()> {
    for file in 0..files {
        let folder = root.join(format!("part{}", file / 100));
        fs::create_dir_all(&folder)?;
        let lines: Vec<String> =
            (0..40).map(|line| format!("line {line} of file {file}\n")).collect();
        fs::write(folder.join(format!("file{file}.txt")), lines.concat())?;
    }
    git_in(root, &["init", "-q", "-b", "main"])?;
    git_in(root, &["add", "."])?;
    git_in(root, &["-c", "user.name=b", "-c", "user.email=b@b", "commit", "-q", "-m", "start"])
}

fn git_in(root: &Path, arguments: &[&str]) -> Outcome<()> {
    let run = Run::new("git", root).args(arguments);
    let finished = run_trusted(run, &Cancel::default())?;
    if finished.success() { Ok(()) } else { Err(String::from_utf8_lossy(&finished.stderr).into()) }
}

fn timed(work: impl FnOnce() -> Outcome<()>) -> Outcome<f64> {
    let began = now();
    work()?;
    Ok(milliseconds(now().saturating_sub(began)))
}

async fn wait_until(mut condition: impl FnMut() -> bool) -> Outcome<()> {
    for _ in 0..60_000 {
        if condition() {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    Err("the condition did not hold within a minute".into())
}

/// The time since the epoch, so that two processes can compare times.
fn now() -> Duration {
    UNIX_EPOCH.elapsed().unwrap_or_default()
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
