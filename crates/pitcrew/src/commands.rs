//! One file for each command: what it does, and what it says about it.

mod demo;
mod init;
mod run;
mod plan;
mod deploy;
mod status;
mod watch;
mod logs;
mod diff;
mod path;
mod open;
mod inbox;
mod decide;
mod answer;
mod message;
mod messages;
mod permissions;
mod retry;
mod accept;
mod pause;
mod resume;
mod cancel;
mod abandon;
mod land;
mod restore;
mod gc;
mod serve;
mod service;
mod stop;
mod journal;
mod audit;
mod export;
mod query;
mod symbols;
mod backends;
mod doctor;
mod config;
mod completions;
mod agent;
mod mcp;
mod tool;
mod tool_door;
mod desk;
mod say;

use crate::{cli::Commands, exit::Exit, output::Output, report::Report};
use std::{io::Write, process::ExitCode};

/// What a command ends with.
pub type Done = Result<Exit, Report>;

pub fn dispatch(command: Commands) -> ExitCode {
    let output = Output::of_this_process();
    match carry_out(command, output) {
        Ok(exit) => exit.into(),
        Err(report) => {
            let text = report.render(output.err);
            std::io::stderr().write_all(text.as_bytes()).ok();
            report.exit.into()
        }
    }
}

fn carry_out(command: Commands, output: Output) -> Done {
    match command {
        Commands::Demo(args) => wait_for(demo::run(args, output)),
        Commands::Init(args) => init::run(args, output),
        Commands::Run(args) => wait_for(run::run(args, output)),
        Commands::Plan(args) => plan::run(args.command, output),
        Commands::Deploy(args) => wait_for(deploy::run(args, output)),
        Commands::Status(args) => wait_for(status::run(args, output)),
        Commands::Watch(args) => wait_for(watch::run(args, output)),
        Commands::Logs(args) => wait_for(logs::run(args, output)),
        Commands::Diff(args) => wait_for(diff::run(args, output)),
        Commands::Path(args) => wait_for(path::run(args, output)),
        Commands::Open(args) => wait_for(open::run(args, output)),
        Commands::Inbox(args) => wait_for(inbox::run(args, output)),
        Commands::Approve(args) => wait_for(decide::approve(args, output)),
        Commands::Deny(args) => wait_for(decide::deny(args, output)),
        Commands::Answer(args) => wait_for(answer::run(args, output)),
        Commands::Message(args) => wait_for(message::run(args, output)),
        Commands::Messages(args) => wait_for(messages::run(args, output)),
        Commands::Permissions(args) => wait_for(permissions::run(args, output)),
        Commands::Retry(args) => wait_for(retry::run(args, output)),
        Commands::Accept(args) => wait_for(accept::run(args, output)),
        Commands::Pause(args) => wait_for(pause::run(args, output)),
        Commands::Resume(args) => wait_for(resume::run(args, output)),
        Commands::Cancel(args) => wait_for(cancel::run(args, output)),
        Commands::Abandon(args) => wait_for(abandon::run(args, output)),
        Commands::Land(args) => wait_for(land::run(args, output)),
        Commands::Restore(args) => wait_for(restore::run(args, output)),
        Commands::Gc(args) => wait_for(gc::run(args, output)),
        Commands::Serve(args) => serve::run(&args),
        Commands::Service(args) => service::run(args.command, output),
        Commands::Stop(args) => wait_for(stop::run(args, output)),
        Commands::Audit(args) => wait_for(audit::run(args, output)),
        Commands::Export(args) => wait_for(export::run(args, output)),
        Commands::Query(args) => wait_for(query::run(args, output)),
        Commands::Symbols(args) => symbols::run(&args, output),
        Commands::Backends(args) => wait_for(backends::run(args, output)),
        Commands::Doctor(args) => wait_for(doctor::run(args, output)),
        Commands::Config(args) => config::run(args.command, output),
        Commands::Completions(args) => completions::run(&args, output),
        Commands::Agent { orders, script } => wait_for(agent::run(orders, script)),
        Commands::Mcp(args) => wait_for(mcp::run(args, output)),
        Commands::Tool(args) => wait_for(tool::run(args, output)),
    }
}

/// Runs a command that talks to somebody.
fn wait_for(command: impl Future<Output = Done>) -> Done {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| {
        Report::new(Exit::Failure, "failed to start the runtime").because(error.to_string())
    })?;
    let done = runtime.block_on(command);
    // A thread may still wait for the person to type; nobody waits for it.
    runtime.shutdown_background();
    done
}
