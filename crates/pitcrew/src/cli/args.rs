//! The commands, each with its line, its examples and its arguments.

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

use clap::{Args, Parser, Subcommand};
use pitcrew_model::Tier;
use std::path::PathBuf;

/// Runs a crew of coding agents on one git repository.
///
/// You write a plan; each task gets an agent in a checkout of its own. What the agents hand in is
/// checked on the merged result, integrated in the order of the dependencies, and landed as one merge.
#[derive(Debug, Parser)]
#[command(
    name = "pitcrew",
    version,
    arg_required_else_help = true,
    after_help = "A plan is plan-7 or its name, a task is task-3 or its key, a request is request-2.\n`pitcrew COMMAND --help` shows examples. Exit codes and JSON are described in docs/cli.md."
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Commands,
}

#[derive(Debug, Subcommand)]
pub enum Commands {
    /// Show everything on a small repository made for it
    #[command(after_help = "Examples:\n  pitcrew demo\n  pitcrew demo --keep /tmp/pitcrew-demo")]
    Demo(DemoArgs),
    /// Write settings and an example plan into this repository
    #[command(after_help = "Examples:\n  pitcrew init\n\nNothing that exists is overwritten.")]
    Init(Json),
    /// Run a plan file, or a request in words, to its end
    #[command(
        after_help = "Examples:\n  pitcrew run plan.toml\n  pitcrew run plan.toml --yes --max-agents 3\n  pitcrew run --task \"Explain every public function\" --region src --check \"make test\" --agent claude\n  pitcrew run plan.toml --yes --json | jq -r 'select(.text) | .text'\n\nCtrl-C pauses the plan; a second one leaves at once."
    )]
    Run(RunArgs),
    /// Check a plan file, or show what it would do
    #[command(
        after_help = "Examples:\n  pitcrew plan check plan.toml\n  pitcrew plan show plan.toml"
    )]
    Plan(PlanArgs),
    /// Start a task of a plan that deploys by hand
    #[command(after_help = "Examples:\n  pitcrew deploy task-3\n  pitcrew deploy core-types")]
    Deploy(TaskArgs),
    /// Show plans and tasks, and what each of them waits for
    #[command(
        after_help = "Examples:\n  pitcrew status\n  pitcrew status plan-1\n  pitcrew status --all\n  pitcrew status --json | jq '.tasks[] | select(.status == \"failed\")'"
    )]
    Status(StatusArgs),
    /// Follow plans until they end
    #[command(
        after_help = "Examples:\n  pitcrew watch\n  pitcrew watch plan-1\n\nCtrl-C leaves; the plan goes on."
    )]
    Watch(WatchArgs),
    /// Show what the agent of a task said and did, or what happened to a plan
    #[command(
        after_help = "Examples:\n  pitcrew logs task-3\n  pitcrew logs core-types --follow\n  pitcrew logs plan-1"
    )]
    Logs(LogsArgs),
    /// Show what a task, or a whole plan, has changed so far
    #[command(
        after_help = "Examples:\n  pitcrew diff task-3\n  pitcrew diff plan-1\n  pitcrew diff task-3 | git apply"
    )]
    Diff(IdArgs),
    /// Print where a copy of a task's work is
    #[command(
        after_help = "Examples:\n  cd \"$(pitcrew path task-3)\"\n\nThe copy is made for you: its `.git` is not the agent's. What you change in it stays."
    )]
    Path(TaskArgs),
    /// Open a copy of a task's work in your editor, or in a shell
    #[command(after_help = "Examples:\n  pitcrew open task-3\n  pitcrew open task-3 --shell")]
    Open(OpenArgs),

    /// Show what waits for you
    #[command(after_help = "Examples:\n  pitcrew inbox\n  pitcrew inbox --all")]
    Inbox(InboxArgs),
    /// Allow what waits for you
    #[command(
        after_help = "Examples:\n  pitcrew approve request-2\n  pitcrew approve plan-1    # where only one thing of it waits\n  pitcrew approve request-2 --scope plan    # and do not ask for the same again in this plan\n\nWhat is allowed for more than once is shown and revoked with `pitcrew permissions`."
    )]
    Approve(ApproveArgs),
    /// Refuse what waits for you
    #[command(after_help = "Examples:\n  pitcrew deny request-2 --reason \"not on this machine\"")]
    Deny(DenyArgs),
    /// Answer the question of an agent
    #[command(after_help = "Examples:\n  pitcrew answer request-2 \"Use port 8080.\"")]
    Answer(AnswerArgs),
    /// Show what agents may do without asking, and take back what was allowed
    #[command(
        args_conflicts_with_subcommands = true,
        after_help = "Examples:\n  pitcrew permissions\n  pitcrew permissions --json | jq '.rules[] | select(.origin != \"built in\")'\n  pitcrew permissions revoke grant-3\n\nThe files and their grammar are described in docs/permissions.md."
    )]
    Permissions(PermissionsArgs),

    /// Write to an agent: it reads it when its turn ends
    #[command(
        after_help = "Examples:\n  pitcrew message task-3 \"Use port 8080.\"\n  pitcrew message worker-4 \"Stop adding tests.\" --critical\n  pitcrew message core-types \"And no other.\" --thread message-7\n\nWhat is for a task waits for its next worker too; what is for a worker ends with it."
    )]
    Message(MessageArgs),

    /// Give tasks that ended one more attempt
    #[command(
        after_help = "Examples:\n  pitcrew retry task-3\n  pitcrew retry plan-1            # everything of it that is not completed\n  pitcrew retry task-3 --fresh    # not from where the last attempt ended"
    )]
    Retry(RetryArgs),
    /// Take what a task has done although it is only a part
    #[command(after_help = "Examples:\n  pitcrew accept task-3")]
    Accept(TaskArgs),
    /// Hold a plan: no starts, and the agents' turns are interrupted
    #[command(after_help = "Examples:\n  pitcrew pause plan-1")]
    Pause(PlanIdArgs),
    /// Let a paused plan go on
    #[command(
        after_help = "Examples:\n  pitcrew resume plan-1\n  pitcrew resume plan-1 && pitcrew watch plan-1"
    )]
    Resume(PlanIdArgs),
    /// Cancel a task or a plan, with everything below it
    #[command(
        after_help = "Examples:\n  pitcrew cancel task-3\n  pitcrew cancel plan-1\n\nWhat was done stays in the checkouts. `pitcrew retry` takes up a cancelled task as long as\nits plan is not cancelled; a cancelled plan is not taken up again."
    )]
    Cancel(IdArgs),
    /// Give up what ended tasks left in their checkouts
    #[command(
        after_help = "Examples:\n  pitcrew abandon task-3\n  pitcrew abandon plan-1 --yes\n\nTheir last state stays saved; the checkouts are removed.\nA plan that is not landed is no longer shown by `pitcrew status`; `pitcrew land` still merges it."
    )]
    Abandon(AbandonArgs),

    /// Review what a plan has done, and merge it into your branch
    #[command(
        after_help = "Examples:\n  pitcrew land plan-1\n  pitcrew land plan-1 --yes\n\nYour branch is moved only where your checkout of it is clean."
    )]
    Land(LandArgs),
    /// Bring back what a task had done at some moment, as a branch
    #[command(
        after_help = "Examples:\n  pitcrew restore task-3 --list\n  pitcrew restore task-3           # the last state that was kept\n  pitcrew restore task-3 --at 2\n\nYour checkout, index and HEAD stay as they are. Nobody has checked what comes back: look at it first."
    )]
    Restore(RestoreArgs),
    /// Remove checkouts that nobody needs any more
    #[command(after_help = "Examples:\n  pitcrew gc --dry-run\n  pitcrew gc")]
    Gc(GcArgs),

    /// Run the orchestrator in the foreground
    #[command(
        after_help = "Examples:\n  pitcrew serve\n\nEvery other command starts it when it needs it; it ends when nobody does."
    )]
    Serve(ServeArgs),
    /// Let systemd continue plans after a reboot
    #[command(
        after_help = "Examples:\n  pitcrew service install\n  pitcrew service status\n  pitcrew service uninstall"
    )]
    Service(ServiceArgs),
    /// Stop the orchestrator, or at once whatever works on something
    #[command(
        after_help = "Examples:\n  pitcrew stop                  # the orchestrator; the next command that needs it goes on from there\n  pitcrew stop subtask subtask-7\n  pitcrew stop worker worker-3\n  pitcrew stop plan plan-1\n  pitcrew stop all\n\nWith a scope it is the emergency stop: what works there is cancelled with everything below it, and the\ncommand waits until no process of it is left. `worker` cancels what the worker works on, `plan` the\nwhole plan. `all` pauses every plan, so that nothing starts again, and cancels whatever works; the plans\ngo on with `pitcrew resume`, what was cancelled with `pitcrew retry`. What was done stays saved."
    )]
    Stop(StopArgs),
    /// Show who did and decided what
    #[command(
        after_help = "Examples:\n  pitcrew audit\n  pitcrew audit --since 1h --actor person\n  pitcrew audit --plan plan-1 --kind request\n  pitcrew audit --since 2026-11-15T09:00 --json | jq -r .kind | sort | uniq -c"
    )]
    Audit(AuditArgs),
    /// Write down everything about a plan, for whoever looks into it
    #[command(
        after_help = "Examples:\n  pitcrew export plan-1 --format md > plan-1.md\n  pitcrew export plan-1 --format json | jq '.timeline | length'\n\nWhat is known to be secret, or looks like it, is left out. Read it before you pass it on: prompts, paths\nand the words of agents are in it."
    )]
    Export(ExportArgs),
    /// Show what you, the agents and the orchestrator said to each other
    #[command(
        after_help = "Examples:\n  pitcrew messages\n  pitcrew messages --worker worker-4\n  pitcrew messages --plan plan-1 --state dead\n  pitcrew messages --metrics\n  pitcrew messages --json | jq '.metrics.wait.p50_ms'"
    )]
    Messages(MessagesArgs),
    /// Find out what something is called, takes and has, without reading files
    #[command(
        after_help = "Examples:\n  pitcrew query AuthValidator\n  pitcrew query AuthValidator.check\n  pitcrew query core/auth.rs:check\n  pitcrew query \"use core::auth::AuthValidator;\"\n  pitcrew query check --context \"import { check } from '../core/auth'\"\n  pitcrew query AuthValidator --from task-3    # as the agent of that task sees it\n\nAsks the files of this repository as they are now; no plan and no agent is needed."
    )]
    Query(QueryArgs),
    /// Show what a file defines, one line each
    #[command(
        after_help = "Examples:\n  pitcrew symbols src/main.rs\n  pitcrew symbols src/main.rs --json | jq -r '.symbols[].qualified'"
    )]
    Symbols(SymbolsArgs),
    /// Show which agents are there, or try one
    #[command(
        args_conflicts_with_subcommands = true,
        after_help = "Examples:\n  pitcrew backends\n  pitcrew backends claude\n  pitcrew backends test claude    # starts it and says hello; no model is called\n  pitcrew backends --json | jq -r '.backends[] | select(.ready) | .name'"
    )]
    Backends(BackendsArgs),
    /// Check that everything Pitcrew needs is there
    #[command(after_help = "Examples:\n  pitcrew doctor\n  pitcrew doctor --json")]
    Doctor(Json),
    /// Show the settings that hold
    #[command(after_help = "Examples:\n  pitcrew config show\n  pitcrew config show --origin")]
    Config(ConfigArgs),
    /// Print the completions of a shell
    #[command(
        after_help = "Examples:\n  pitcrew completions bash > ~/.local/share/bash-completion/completions/pitcrew\n  pitcrew completions zsh > \"${fpath[1]}/_pitcrew\""
    )]
    Completions(CompletionsArgs),

    /// The built-in agent
    #[command(hide = true)]
    Agent {
        /// Do what blocks in the prompt order, and ask no model
        #[arg(long)]
        orders: bool,
        /// A script that is run when no prompt brings one
        #[arg(long, value_name = "FILE")]
        script: Option<PathBuf>,
    },
    /// Serve the tools over MCP to your own agent
    #[command(after_help = "Examples:\n  pitcrew mcp\n  pitcrew mcp --http --port 7070")]
    Mcp(McpArgs),
    /// Call a tool, or list them
    #[command(after_help = "Examples:\n  pitcrew tool\n  pitcrew tool orchestrator_list_workers")]
    Tool(ToolArgs),
}

/// How the result is printed.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct Json {
    /// Print JSON; streams have one value a line
    #[arg(long)]
    pub json: bool,
}

fn parse_tier(text: &str) -> Result<Tier, &'static str> {
    match text {
        "T1" => Ok(Tier::T1),
        "T2" => Ok(Tier::T2),
        "T3" => Ok(Tier::T3),
        _ => Err("write T1, T2 or T3"),
    }
}
