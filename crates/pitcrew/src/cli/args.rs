//! The commands: the one-line description, help text, examples and arguments of each.

mod work;
mod decide;
mod steer;
mod look;
mod serve;

pub use decide::*;
pub use look::*;
pub use serve::*;
pub use steer::*;
pub use work::*;

use clap::{ArgMatches, Args, Parser, Subcommand, ValueHint};
use pitcrew_model::Tier;
use std::path::PathBuf;

/// Run a crew of coding agents on one git repository.
///
/// You write a plan: tasks, their dependencies and the checks that decide whether they are done. Each
/// task gets an agent in its own checkout. Pitcrew checks the result of each task on top of what is
/// already integrated, and lands the whole plan on your branch as one merge.
#[derive(Debug, Parser)]
#[command(
    name = "pitcrew",
    version,
    arg_required_else_help = true,
    after_help = "Commands take ids such as plan-7, task-3 and request-2; the name of a plan or the key of a task works too.\nRun `pitcrew COMMAND --help` for details and examples. Exit codes and JSON are described in docs/cli.md."
)]
pub struct Cli {
    /// Work on the repository of this folder; other paths are relative to it
    #[arg(short = 'C', value_name = "DIR", global = true, value_hint = ValueHint::DirPath)]
    pub folder: Option<PathBuf>,
    #[command(subcommand)]
    pub command: Commands,
}

#[derive(Debug, Subcommand)]
pub enum Commands {
    /// Run a complete example in a temporary repository
    ///
    /// Creates a small repository, runs a plan with several tasks on it with the built-in agent, and
    /// lands the result. Needs no account and no network.
    #[command(after_help = "Examples:\n  pitcrew demo\n  pitcrew demo --keep /tmp/pitcrew-demo")]
    Demo(DemoArgs),
    /// Create settings and an example plan in this repository
    ///
    /// Writes `.pitcrew/config.toml`, `.pitcrew/example-plan.toml` and `.pitcrew/.gitignore`. Existing
    /// files are not changed.
    #[command(
        after_help = "Examples:\n  pitcrew init\n  pitcrew init && pitcrew run .pitcrew/example-plan.toml"
    )]
    Init(Json),
    /// Run a plan file, or a single task described in words
    ///
    /// Shows every command that the plan will execute and asks for your approval, then shows progress
    /// until the plan ends. Ctrl-C pauses the plan; a second Ctrl-C exits immediately.
    #[command(
        after_help = "Examples:\n  pitcrew run plan.toml\n  pitcrew run plan.toml --yes --max-agents 3\n  pitcrew run --task \"Document every function\" --region src --check \"make test\" --agent claude\n  pitcrew run plan.toml --yes --json | jq -r 'select(.text) | .text'\n  make-plan | pitcrew run - --yes"
    )]
    Run(RunArgs),
    /// Check a plan file, or show what it would run
    #[command(
        after_help = "Examples:\n  pitcrew plan check plan.toml\n  pitcrew plan show plan.toml"
    )]
    Plan(PlanArgs),
    /// Start a task of a plan with manual deployment
    ///
    /// A plan with `deploy = "manual"` starts only the tasks that you deploy. The task still waits for
    /// its dependencies and for a free slot.
    #[command(after_help = "Examples:\n  pitcrew deploy task-3\n  pitcrew deploy core-types")]
    Deploy(TaskArgs),
    /// Show plans and tasks, and what each task is waiting for
    #[command(
        after_help = "Examples:\n  pitcrew status\n  pitcrew status plan-1\n  pitcrew status --all\n  pitcrew status --json | jq '.tasks[] | select(.status == \"failed\")'"
    )]
    Status(StatusArgs),
    /// Follow running plans until they end
    ///
    /// Shows the same progress as `pitcrew run`. Ctrl-C stops watching; the plans continue.
    #[command(after_help = "Examples:\n  pitcrew watch\n  pitcrew watch plan-1")]
    Watch(WatchArgs),
    /// Show the log of a task or a plan
    ///
    /// For a task: each attempt with its prompt, the agent's output and tool calls, the checks, and the
    /// outcome. For a plan: its events.
    #[command(
        after_help = "Examples:\n  pitcrew logs task-3\n  pitcrew logs core-types --follow\n  pitcrew logs plan-1"
    )]
    Logs(LogsArgs),
    /// Show the changes of a task or a plan
    #[command(
        after_help = "Examples:\n  pitcrew diff task-3\n  pitcrew diff plan-1\n  pitcrew diff task-3 | git apply"
    )]
    Diff(DiffArgs),
    /// Copy a task's work to a folder and print its path
    ///
    /// The copy is safe to enter: it has a fresh `.git`, not the one that the agent could write to.
    /// Your own changes in it are kept.
    #[command(after_help = "Examples:\n  cd \"$(pitcrew path task-3)\"")]
    Path(TaskArgs),
    /// Open a copy of a task's work in your editor or in a shell
    ///
    /// Uses VISUAL, then EDITOR, then a shell. The copy is the one that `pitcrew path` prints.
    #[command(after_help = "Examples:\n  pitcrew open task-3\n  pitcrew open task-3 --shell")]
    Open(OpenArgs),

    /// Show the requests that are waiting for you
    #[command(after_help = "Examples:\n  pitcrew inbox\n  pitcrew inbox --all")]
    Inbox(InboxArgs),
    /// Approve a request
    ///
    /// With a scope of `task`, `plan` or `always` the same action is not asked again there. Use `pitcrew
    /// permissions` to list and revoke such grants.
    ///
    /// If an agent adds tasks to a plan that waits for you, the approval has to say how many tasks you
    /// have seen. `pitcrew inbox` shows them, with the command.
    #[command(
        after_help = "Examples:\n  pitcrew approve request-2\n  pitcrew approve plan-1                    # if the plan has one open request\n  pitcrew approve request-2 --scope plan    # do not ask again in this plan\n  pitcrew approve request-2 --tasks 4       # tasks were added, and you have seen all 4"
    )]
    Approve(ApproveArgs),
    /// Deny a request, or all of a worker
    #[command(
        after_help = "Examples:\n  pitcrew deny request-2 --reason \"not on this machine\"\n  pitcrew deny --all worker-3    # its requests and the plans that it has saved"
    )]
    Deny(DenyArgs),
    /// Answer an agent's question
    #[command(after_help = "Examples:\n  pitcrew answer request-2 \"Use port 8080.\"")]
    Answer(AnswerArgs),
    /// Show what agents may do, and revoke or edit permissions
    ///
    /// Lists each rule with the file and line that it comes from, the limits, and your grants. The files
    /// are described in docs/permissions.md.
    #[command(
        args_conflicts_with_subcommands = true,
        after_help = "Examples:\n  pitcrew permissions\n  pitcrew permissions --json | jq '.rules[] | select(.origin != \"built in\")'\n  pitcrew permissions revoke grant-3"
    )]
    Permissions(PermissionsArgs),
    /// Trust the agent definitions that come with the repository
    ///
    /// Shows what each file adds. A file that changes afterwards must be trusted again.
    #[command(
        after_help = "Examples:\n  pitcrew trust\n  pitcrew trust --yes\n  pitcrew trust --json | jq -r '.untrusted[].path'"
    )]
    Trust(TrustArgs),

    /// Send a message to an agent
    ///
    /// The agent reads the message in its next prompt. A message to a task is kept for its next worker; a
    /// message to a worker expires with that worker.
    #[command(
        after_help = "Examples:\n  pitcrew message task-3 \"Use port 8080.\"\n  pitcrew message worker-4 \"Stop adding tests.\" --critical\n  pitcrew message core-types \"Only this one.\" --thread message-7"
    )]
    Message(MessageArgs),

    /// Retry tasks that failed, were cancelled or are partial
    ///
    /// The next attempt continues from the work of the last one. With a plan id, every task of the plan
    /// that ended without completing is retried.
    #[command(
        after_help = "Examples:\n  pitcrew retry task-3\n  pitcrew retry plan-1            # every task that is not completed\n  pitcrew retry task-3 --fresh    # discard the work of the last attempt"
    )]
    Retry(RetryArgs),
    /// Accept the partial work of a task
    ///
    /// Integrates the work of a task that ended as partial.
    #[command(after_help = "Examples:\n  pitcrew accept task-3")]
    Accept(TaskArgs),
    /// Pause a plan and interrupt its agents
    #[command(after_help = "Examples:\n  pitcrew pause plan-1")]
    Pause(PlanIdArgs),
    /// Resume a paused plan
    #[command(
        after_help = "Examples:\n  pitcrew resume plan-1\n  pitcrew resume plan-1 && pitcrew watch plan-1"
    )]
    Resume(PlanIdArgs),
    /// Cancel a task or a plan, with all sub-tasks
    ///
    /// The work so far is saved. A cancelled task can be retried as long as its plan is not cancelled; a
    /// cancelled plan cannot be resumed.
    #[command(after_help = "Examples:\n  pitcrew cancel task-3\n  pitcrew cancel plan-1")]
    Cancel(IdArgs),
    /// Discard the checkouts of tasks that ended without completing
    ///
    /// The last state of each checkout stays saved; see `pitcrew restore`. An abandoned plan disappears
    /// from `pitcrew status`, but `pitcrew land` can still merge it.
    #[command(after_help = "Examples:\n  pitcrew abandon task-3\n  pitcrew abandon plan-1 --yes")]
    Abandon(AbandonArgs),

    /// Review the result of a plan and merge it into your branch
    ///
    /// Your branch is moved only if it is not checked out or its checkout is clean. Otherwise the merge is
    /// put on a separate branch. If your git signs commits, the new ones are signed here, with your key.
    #[command(
        after_help = "Examples:\n  pitcrew land plan-1\n  pitcrew land plan-1 --yes\n  pitcrew land plan-1 --squash -m \"Add rate limits\""
    )]
    Land(LandArgs),
    /// Undo a landing
    #[command(after_help = "Examples:\n  pitcrew undo land plan-1")]
    Undo(UndoArgs),
    /// Restore a saved state of a task as a branch
    ///
    /// Does not change your checkout, index or HEAD. The restored work is unverified: review it before you
    /// merge it.
    #[command(
        after_help = "Examples:\n  pitcrew restore task-3 --list\n  pitcrew restore task-3           # the last saved state\n  pitcrew restore task-3 --at 2"
    )]
    Restore(RestoreArgs),
    /// Remove checkouts and snapshots that are no longer needed
    #[command(after_help = "Examples:\n  pitcrew gc --dry-run\n  pitcrew gc")]
    Gc(GcArgs),

    /// Run the orchestrator in the foreground
    ///
    /// You rarely need this: other commands start an orchestrator when they need one, and it exits when it
    /// has been idle for a minute.
    #[command(
        after_help = "Examples:\n  pitcrew serve\n  pitcrew serve --workspace ../other-repository"
    )]
    Serve(ServeArgs),
    /// Let systemd continue plans after a reboot
    #[command(
        after_help = "Examples:\n  pitcrew service install\n  pitcrew service status\n  pitcrew service uninstall"
    )]
    Service(ServiceArgs),
    /// Stop the orchestrator, or stop running work immediately
    ///
    /// Without a scope, stops the orchestrator and its agents; the next command starts it again and work
    /// continues.
    ///
    /// With a scope, this is the emergency stop: it cancels the work in that scope with all sub-tasks and
    /// waits until none of its processes is left. `worker` cancels the task that the worker is working on.
    /// `plan` cancels the whole plan. `all` pauses every plan and cancels every running task; continue
    /// with `pitcrew resume` and `pitcrew retry`. The work so far is saved.
    #[command(
        after_help = "Examples:\n  pitcrew stop\n  pitcrew stop subtask subtask-7\n  pitcrew stop worker worker-3\n  pitcrew stop plan plan-1\n  pitcrew stop all"
    )]
    Stop(StopArgs),
    /// Show who did what, and when
    #[command(
        after_help = "Examples:\n  pitcrew audit\n  pitcrew audit --since 1h --actor person\n  pitcrew audit --plan plan-1 --kind request\n  pitcrew audit --since 2026-11-15T09:00 --json | jq -r .kind | sort | uniq -c"
    )]
    Audit(AuditArgs),
    /// Export everything about a plan, for a bug report or a review
    ///
    /// Known and likely secrets are removed. Prompts, paths and agent output are included: read the export
    /// before you share it.
    #[command(
        after_help = "Examples:\n  pitcrew export plan-1 --format md > plan-1.md\n  pitcrew export plan-1 --format json | jq '.timeline | length'"
    )]
    Export(ExportArgs),
    /// Show the messages between you, the agents and the orchestrator
    #[command(
        after_help = "Examples:\n  pitcrew messages\n  pitcrew messages --worker worker-4\n  pitcrew messages --plan plan-1 --state dead\n  pitcrew messages --metrics\n  pitcrew messages --json | jq '.metrics.wait.p50_ms'"
    )]
    Messages(MessagesArgs),
    /// Look up a symbol's signature and members
    ///
    /// Reads the current files of this repository. Needs no plan, no agent and no model.
    #[command(
        after_help = "Examples:\n  pitcrew query AuthValidator\n  pitcrew query AuthValidator.check\n  pitcrew query core/auth.rs:check\n  pitcrew query \"use core::auth::AuthValidator;\"\n  pitcrew query check --context \"import { check } from '../core/auth'\"\n  pitcrew query AuthValidator --from task-3    # in a copy of its work"
    )]
    Query(QueryArgs),
    /// List the symbols that a file defines
    #[command(
        after_help = "Examples:\n  pitcrew symbols src/main.rs\n  pitcrew symbols src/main.rs --json | jq -r '.symbols[].qualified'"
    )]
    Symbols(SymbolsArgs),
    /// List the agent backends on this machine, or test them
    #[command(
        args_conflicts_with_subcommands = true,
        after_help = "Examples:\n  pitcrew backends\n  pitcrew backends claude\n  pitcrew backends test claude\n  pitcrew backends --json | jq -r '.backends[] | select(.ready) | .name'"
    )]
    Backends(BackendsArgs),
    /// Check this machine and repository for problems
    #[command(after_help = "Examples:\n  pitcrew doctor\n  pitcrew doctor --json")]
    Doctor(Json),
    /// Show the effective settings
    #[command(after_help = "Examples:\n  pitcrew config show\n  pitcrew config show --origin")]
    Config(ConfigArgs),
    /// Try the notifications that are set up
    #[command(after_help = "Examples:\n  pitcrew notify test\n  pitcrew notify test --json")]
    Notify(NotifyArgs),
    /// Generate shell completions or man pages
    #[command(
        after_help = "Examples:\n  pitcrew completions bash > ~/.local/share/bash-completion/completions/pitcrew\n  pitcrew completions zsh > \"${fpath[1]}/_pitcrew\"\n  pitcrew completions man --dir ~/.local/share/man/man1"
    )]
    Completions(CompletionsArgs),

    /// Run the built-in agent (started by Pitcrew)
    #[command(hide = true)]
    Agent {
        /// Execute the script blocks in the prompt instead of calling a model
        #[arg(long)]
        orders: bool,
        /// The script to run if the prompt has none
        #[arg(long, value_name = "FILE")]
        script: Option<PathBuf>,
    },
    /// Serve Pitcrew's tools to your own agent over MCP
    ///
    /// Serves standard input and output, or a loopback port with `--http`. The tools are described in
    /// docs/mcp.md.
    #[command(after_help = "Examples:\n  pitcrew mcp\n  pitcrew mcp --http --port 7070")]
    Mcp(McpArgs),
    /// Call one of Pitcrew's tools, or list them
    #[command(
        after_help = "Examples:\n  pitcrew tool\n  pitcrew tool orchestrator_list_workers\n  pitcrew tool orchestrator_complete_task --json '{\"summary\": \"added the parser\"}'"
    )]
    Tool(ToolArgs),
}

/// The output format.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct Json {
    /// Print JSON: one document, or one value per line for streams
    #[arg(long)]
    pub json: bool,
}

fn parse_tier(text: &str) -> Result<Tier, &'static str> {
    match text {
        "T1" => Ok(Tier::T1),
        "T2" => Ok(Tier::T2),
        "T3" => Ok(Tier::T3),
        _ => Err("expected T1, T2 or T3"),
    }
}

/// Whether the command prints JSON. The `--json` of `tool` is its input.
pub fn wants_json(matches: &ArgMatches) -> bool {
    match matches.subcommand() {
        Some((_, below)) if wants_json(below) => true,
        Some(_) | None => matches!(matches.try_get_one::<bool>("json"), Ok(Some(true))),
    }
}
