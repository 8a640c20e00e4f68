//! One file per command, with its behaviour and output.

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
mod trust;
mod retry;
mod accept;
mod pause;
mod resume;
mod cancel;
mod abandon;
mod land;
mod sign;
mod undo;
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
mod notify;
mod completions;
mod agent;
mod mcp;
mod tool;
mod tool_client;
mod desk;
mod reply;
mod travel;

use crate::{
    cli::{Cli, Commands},
    exit::Exit,
    output::Output,
    report::Report,
};
use std::{ffi::OsString, io::Write, process::ExitCode};

/// The result of a command.
pub type CommandResult = Result<Exit, Report>;

/// How errors are printed on standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Errors {
    Text,
    /// For a command with `--json`.
    Json,
}

pub fn dispatch(cli: Cli, errors: Errors) -> ExitCode {
    let output = Output::of_process();
    let entered = cli.folder.as_deref().map_or(Ok(()), enter);
    match entered.and_then(|()| run(cli.command, output)) {
        Ok(exit) => exit.into(),
        Err(report) => print_error(&report, output, errors),
    }
}

/// Reports a command line that cannot be parsed, or prints the help that it asks for.
pub fn refuse(error: &clap::Error, words: &[OsString]) -> ExitCode {
    let command = words.iter().find(|it| !it.to_string_lossy().starts_with('-'));
    // The `--json` of `tool` is its input.
    let wants_json = words.iter().any(|it| it == "--json") && command.is_none_or(|it| it != "tool");
    if !error.use_stderr() || !wants_json {
        error.exit();
    }
    let text = error.to_string();
    let (message, help) = text.split_once("\n\n").unwrap_or((&text, ""));
    let message = message.trim_start_matches("error: ");
    let report = Report::new(Exit::Usage, message).help(help.trim());
    print_error(&report, Output::of_process(), Errors::Json)
}

fn print_error(report: &Report, output: Output, errors: Errors) -> ExitCode {
    let text = match errors {
        Errors::Text => report.render(output.err),
        Errors::Json => report.json(),
    };
    std::io::stderr().write_all(text.as_bytes()).ok();
    report.exit.into()
}

fn enter(folder: &std::path::Path) -> Result<(), Report> {
    std::env::set_current_dir(folder).map_err(|error| {
        Report::new(Exit::Usage, format!("failed to enter the folder `{}`", folder.display()))
            .because(error.to_string())
    })
}

fn run(command: Commands, output: Output) -> CommandResult {
    match command {
        Commands::Demo(args) => block_on(demo::run(args, output)),
        Commands::Init(args) => init::run(args, output),
        Commands::Run(args) => block_on(run::run(args, output)),
        Commands::Plan(args) => plan::run(args.command, output),
        Commands::Deploy(args) => block_on(deploy::run(args, output)),
        Commands::Status(args) => block_on(status::run(args, output)),
        Commands::Watch(args) => block_on(watch::run(args, output)),
        Commands::Logs(args) => block_on(logs::run(args, output)),
        Commands::Diff(args) => block_on(diff::run(args, output)),
        Commands::Path(args) => block_on(path::run(args, output)),
        Commands::Open(args) => block_on(open::run(args, output)),
        Commands::Inbox(args) => block_on(inbox::run(args, output)),
        Commands::Approve(args) => block_on(decide::approve(args, output)),
        Commands::Deny(args) => block_on(decide::deny(args, output)),
        Commands::Answer(args) => block_on(answer::run(args, output)),
        Commands::Message(args) => block_on(message::run(args, output)),
        Commands::Messages(args) => block_on(messages::run(args, output)),
        Commands::Permissions(args) => block_on(permissions::run(args, output)),
        Commands::Trust(args) => block_on(trust::run(args, output)),
        Commands::Retry(args) => block_on(retry::run(args, output)),
        Commands::Accept(args) => block_on(accept::run(args, output)),
        Commands::Pause(args) => block_on(pause::run(args, output)),
        Commands::Resume(args) => block_on(resume::run(args, output)),
        Commands::Cancel(args) => block_on(cancel::run(args, output)),
        Commands::Abandon(args) => block_on(abandon::run(args, output)),
        Commands::Land(args) => block_on(land::run(args, output)),
        Commands::Undo(args) => block_on(undo::run(args.command, output)),
        Commands::Restore(args) => block_on(restore::run(args, output)),
        Commands::Gc(args) => block_on(gc::run(args, output)),
        Commands::Serve(args) => serve::run(&args),
        Commands::Service(args) => service::run(args.command, output),
        Commands::Stop(args) => block_on(stop::run(args, output)),
        Commands::Audit(args) => block_on(audit::run(args, output)),
        Commands::Export(args) => block_on(export::run(args, output)),
        Commands::Query(args) => block_on(query::run(args, output)),
        Commands::Symbols(args) => symbols::run(&args, output),
        Commands::Backends(args) => block_on(backends::run(args, output)),
        Commands::Doctor(args) => block_on(doctor::run(args, output)),
        Commands::Config(args) => config::run(args.command, output),
        Commands::Notify(args) => block_on(notify::run(args.command, output)),
        Commands::Completions(args) => completions::run(&args, output),
        Commands::Agent { orders, script } => block_on(agent::run(orders, script)),
        Commands::Mcp(args) => block_on(mcp::run(args, output)),
        Commands::Tool(args) => block_on(tool::run(args, output)),
    }
}

/// Runs an asynchronous command to its end.
fn block_on(command: impl Future<Output = CommandResult>) -> CommandResult {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| {
        Report::new(Exit::Failure, "failed to start the runtime").because(error.to_string())
    })?;
    let done = runtime.block_on(command);
    // A thread may still be blocked reading from the terminal.
    runtime.shutdown_background();
    done
}
