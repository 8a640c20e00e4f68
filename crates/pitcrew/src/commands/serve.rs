//! The orchestrator's process.

use super::{CommandResult, desk::SettingsDesk};
use crate::{
    cli::ServeArgs,
    client::workspace_token,
    crew::definitions,
    exit::Exit,
    report::Report,
    workspace::{Workspace, current_folder},
};
use pitcrew_model::limits;
use pitcrew_process::leave_session;
use pitcrew_runtime::{Orchestrator, Setup, StartError, StartErrorKind, Tokens};
use pitcrew_server::{Serve, serve};
use pitcrew_store::OpenErrorKind;
use rustix::process::{Resource, getrlimit, setrlimit};
use std::{sync::Arc, time::Duration};
use tokio::signal::unix::{SignalKind, signal};

/// The limit of open files, if the system allows it. Not higher, because programs inherit it and
/// some close every number up to it.
const FILES_MAX: u64 = 8_192;

pub fn run(args: &ServeArgs) -> CommandResult {
    // Only crash-test builds have failpoints.
    let _points = fail::has_failpoints().then(fail::FailScenario::setup);
    if args.on_demand {
        // Fails only if we already lead a process group; then the caller's signals do not reach us
        // anyway.
        leave_session().ok();
    }
    allow_files();
    // Never from the cache: the orchestrator must work with the current state of git.
    let workspace = match &args.workspace {
        Some(path) => Workspace::at(path)?,
        None => Workspace::at(&current_folder()?)?,
    };
    workspace.make_dirs()?;
    let failed = |what: &str, error: &std::io::Error| {
        Report::new(Exit::Failure, what).because(error.to_string())
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| failed("failed to start the runtime", &error))?;
    let served = runtime.block_on(orchestrate(workspace, args));
    // Blocked threads have been asked to stop, and the journal is closed.
    runtime.shutdown_background();
    served
}

async fn orchestrate(workspace: Workspace, args: &ServeArgs) -> CommandResult {
    let (settings, _) = workspace.settings()?;
    let permissions = workspace.permissions_with(&settings);
    for error in &permissions.errors {
        eprintln!("{error}");
    }
    let tokens = Tokens::new(workspace_token(&workspace.dirs)?.reveal().to_owned());
    let program = std::env::current_exe().map_err(|error| {
        Report::new(Exit::Failure, "failed to find the path of the `pitcrew` program")
            .because(error.to_string())
    })?;
    let root = workspace.root().to_owned();
    let socket = workspace.dirs.socket();
    let dirs = workspace.user.clone();
    for error in &definitions(&dirs, &root).errors {
        eprintln!("{error}");
    }
    let desk = Arc::new(SettingsDesk { settings: settings.clone(), dirs, root: root.clone() });
    let setup = Setup {
        program,
        repository: workspace.repository,
        dirs: workspace.dirs,
        settings,
        matrix: permissions.matrix,
        tokens: tokens.clone(),
    };
    let terminate = signal(SignalKind::terminate()).map_err(|error| {
        Report::new(Exit::Failure, "failed to receive signals").because(error.to_string())
    })?;
    let orchestrator = Orchestrator::start(setup).map_err(|error| not_started(&error))?;
    let idle = args.on_demand.then_some(Duration::from_millis(limits::ORCHESTRATOR_IDLE_MS));
    let workspace = root.display().to_string();
    let order =
        Serve { orchestrator, tokens, socket: socket.clone(), workspace, idle, desk, terminate };
    let foreground = !args.on_demand;
    let ready = || {
        if foreground {
            eprintln!("serving {} at {}; press Ctrl-C to stop", root.display(), socket.display());
        }
    };
    serve(order, ready).await.map_err(|error| {
        Report::new(Exit::Failure, format!("failed to serve at `{}`", socket.display()))
            .because(error.to_string())
    })?;
    Ok(Exit::Success)
}

/// Raises the limit of open files, which is low by default.
fn allow_files() {
    let mut limit = getrlimit(Resource::Nofile);
    let wanted = limit.maximum.map_or(FILES_MAX, |it| it.min(FILES_MAX));
    if limit.current.is_some_and(|it| it < wanted) {
        limit.current = Some(wanted);
        // If it cannot be raised, fewer connections are accepted.
        setrlimit(Resource::Nofile, limit).ok();
    }
}

/// The exit code tells the client whether another orchestrator holds the journal, so that it can
/// try again.
fn not_started(error: &StartError) -> Report {
    let locked = matches!(&error.kind, StartErrorKind::Journal(it)
        if matches!(it.kind, OpenErrorKind::Locked { .. }));
    let exit = if locked { Exit::Refused } else { Exit::Failure };
    Report::from_error(exit, error)
}
