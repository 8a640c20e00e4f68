//! The arguments of every command.

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use pitcrew_config::parse_dollars;
use pitcrew_model::{GrantScope, MessageId, MessageStatus, Tier, WorkerId, limits};
use std::{ffi::OsString, path::PathBuf};

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
    /// Print where the checkout of a task is
    #[command(after_help = "Examples:\n  cd \"$(pitcrew path task-3)\"")]
    Path(TaskArgs),

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

    /// The process between the orchestrator and one agent
    #[command(hide = true)]
    Shim { folder: PathBuf },
    /// The way from a box to the network
    #[command(hide = true)]
    Egress { spec: PathBuf },
    /// The other end of it, in the box
    #[command(hide = true)]
    Bridge { spec: String, more: Option<String> },
    /// Takes rights away and becomes the program that shall not have them
    #[command(hide = true)]
    Confine {
        spec: String,
        #[arg(last = true, required = true)]
        argv: Vec<OsString>,
    },
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

#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Keep the repository in this folder, which must not exist
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct RunArgs {
    /// A plan file
    #[arg(required_unless_present = "task", conflicts_with_all = ["task", "region", "check", "agent", "model"])]
    pub file: Option<PathBuf>,
    /// What is to be done, in words
    #[arg(long, value_name = "TEXT")]
    pub task: Option<String>,
    /// A path that the work stays in; may be given several times
    #[arg(long, value_name = "PATH", requires = "task")]
    pub region: Vec<String>,
    /// A command that must succeed on the merged result; may be given several times
    #[arg(long, value_name = "COMMAND", requires = "task")]
    pub check: Vec<String>,
    /// Who does it: a backend such as `claude`
    #[arg(long, value_name = "AGENT", requires = "task")]
    pub agent: Option<String>,
    /// The model that it works with, as the agent calls it
    #[arg(long, value_name = "MODEL", requires = "task")]
    pub model: Option<String>,
    /// Agree to everything that the plan executes, without being asked
    #[arg(long, short)]
    pub yes: bool,
    /// How many agents may work at the same time
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(limits::AGENTS_MAX)))]
    pub max_agents: Option<u32>,
    /// How many tokens the plan may use; at the end of them you are asked
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_tokens: Option<u64>,
    /// How many US dollars the plan may cost, as far as its agents tell
    #[arg(long, value_name = "USD", value_parser = parse_dollars)]
    pub max_cost: Option<u64>,
    /// The branch or commit to start from; HEAD refuses uncommitted changes
    #[arg(long, value_name = "REF")]
    pub base: Option<String>,
    /// Agree to a weaker tier of confinement where there is no stronger one; remembered
    #[arg(long, value_name = "TIER", value_parser = parse_tier)]
    pub accept_tier: Option<Tier>,
    /// Return as soon as the plan runs
    #[arg(long)]
    pub detach: bool,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct PlanArgs {
    #[command(subcommand)]
    pub command: PlanCommands,
}

#[derive(Debug, Subcommand)]
pub enum PlanCommands {
    /// Find everything that is wrong with a plan file
    Check(PlanFileArgs),
    /// Show the order of the tasks, and everything that will be executed
    Show(PlanFileArgs),
}

#[derive(Debug, Args)]
pub struct PlanFileArgs {
    /// A plan file
    pub file: PathBuf,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct TaskArgs {
    /// task-3, or its key
    pub task: String,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct PlanIdArgs {
    /// plan-7, or its name
    pub plan: String,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct IdArgs {
    /// A task or a plan
    pub id: String,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct AbandonArgs {
    /// A task or a plan
    pub id: String,
    /// Give up completed work that is not landed without being asked
    #[arg(long, short)]
    pub yes: bool,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct StatusArgs {
    /// plan-7, or its name; without it, everything that is current
    pub plan: Option<String>,
    /// Also plans that are landed, cancelled or given up
    #[arg(long, conflicts_with = "plan")]
    pub all: bool,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct WatchArgs {
    /// plan-7, or its name; without it, every plan that has not ended
    pub plan: Option<String>,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct LogsArgs {
    /// A task or a plan
    pub id: String,
    /// Stay until it has ended
    #[arg(long, short)]
    pub follow: bool,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct InboxArgs {
    /// Also what is decided
    #[arg(long)]
    pub all: bool,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct ApproveArgs {
    /// request-2; or a plan or task of which only one thing waits
    pub id: String,
    /// Why; it is recorded
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    /// How far it reaches: `once`, `task`, `plan` or `always`. The same is not asked again there
    #[arg(long, value_name = "SCOPE", default_value = "once")]
    pub scope: GrantScope,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct DenyArgs {
    /// request-2; or a plan or task of which only one thing waits
    pub id: String,
    /// Why; it is recorded
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct PermissionsArgs {
    #[command(subcommand)]
    pub command: Option<PermissionsCommands>,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Subcommand)]
pub enum PermissionsCommands {
    /// Ask again for what was allowed
    #[command(after_help = "Examples:\n  pitcrew permissions revoke grant-3")]
    Revoke(RevokeArgs),
}

#[derive(Debug, Args)]
pub struct RevokeArgs {
    /// grant-3
    pub grant: String,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct AnswerArgs {
    /// request-2; or a task that has one question
    pub id: String,
    /// The answer
    pub text: String,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct MessageArgs {
    /// A task, or a worker such as worker-4
    #[arg(value_name = "TASK|WORKER")]
    pub id: String,
    /// What it should know
    pub text: String,
    /// Before everything else that waits for it
    #[arg(long)]
    pub critical: bool,
    /// The conversation that it belongs to: any message of it
    #[arg(long, value_name = "MESSAGE")]
    pub thread: Option<MessageId>,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct MessagesArgs {
    /// Those of one worker, for it, or read by it
    #[arg(long, value_name = "WORKER")]
    pub worker: Option<WorkerId>,
    /// Those of one plan
    #[arg(long, value_name = "PLAN")]
    pub plan: Option<String>,
    /// queued, delivered, processed, dead or expired
    #[arg(long, value_name = "STATE", value_parser = message_state)]
    pub state: Option<MessageStatus>,
    /// How many wait, and how long that takes
    #[arg(long)]
    pub metrics: bool,
    #[command(flatten)]
    pub output: Json,
}

fn message_state(text: &str) -> Result<MessageStatus, String> {
    let found = MessageStatus::ALL.iter().find(|it| it.to_string() == text);
    let all = || MessageStatus::ALL.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    found.copied().ok_or_else(|| format!("there are {}", all()))
}

#[derive(Debug, Args)]
pub struct RetryArgs {
    /// Tasks, or plans: all of their tasks that ended without being completed
    #[arg(required = true, action = ArgAction::Append)]
    pub ids: Vec<String>,
    /// Start from the integration head, not from where the last attempt ended
    #[arg(long)]
    pub fresh: bool,
    /// Agree to a weaker tier of confinement where there is no stronger one; remembered
    #[arg(long, value_name = "TIER", value_parser = parse_tier)]
    pub accept_tier: Option<Tier>,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct LandArgs {
    /// plan-7, or its name
    pub plan: String,
    /// Merge without being asked
    #[arg(long, short)]
    pub yes: bool,
    /// Print the events of the landing: how the demo goes on after those of the run
    #[arg(long, hide = true, conflicts_with = "json")]
    pub events: bool,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct RestoreArgs {
    /// The task: its id or its key
    pub task: String,
    /// The number of the snapshot; without it, the last one
    #[arg(long, value_name = "N", conflicts_with = "list")]
    pub at: Option<u32>,
    /// Only show what there is
    #[arg(long)]
    pub list: bool,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct GcArgs {
    /// Only say what would be removed, and what stays and why
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct ServeArgs {
    /// The repository; without it, the one that the current folder is in
    #[arg(long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    /// Leave the session, and end when nobody needs it
    #[arg(long, hide = true)]
    pub on_demand: bool,
}

#[derive(Debug, Args)]
pub struct StopArgs {
    /// What is stopped; without it, the orchestrator
    pub scope: Option<StopScope>,
    /// Which one: subtask-7, worker-3, plan-1
    #[arg(requires = "scope")]
    pub id: Option<String>,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StopScope {
    /// A sub-task, or a task
    #[value(alias = "task")]
    Subtask,
    /// A worker and what it works on
    Worker,
    Plan,
    /// Everything in this repository
    All,
}

#[derive(Debug, Args)]
pub struct AuditArgs {
    /// From then on: `30min`, `2h`, `2026-11-15` or `2026-11-15T09:49` (UTC)
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// By whom: `person`, `orchestrator`, `client` or a worker such as `worker-3`
    #[arg(long)]
    pub actor: Option<String>,
    /// Only what has this in its name, such as `request` or `task_moved`
    #[arg(long)]
    pub kind: Option<String>,
    /// plan-7, or its name
    #[arg(long)]
    pub plan: Option<String>,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct ExportArgs {
    /// plan-7, or its name
    pub plan: String,
    #[arg(long, value_enum, default_value = "md")]
    pub format: ExportFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// One JSON document
    Json,
    /// Markdown
    Md,
}

#[derive(Debug, Args)]
pub struct QueryArgs {
    /// A name, a qualified name, `path:name`, or an import line
    pub symbol: String,
    /// Where it is used: import lines or paths
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub context: String,
    /// Ask the checkout of this task: task-3, or its key
    #[arg(long, value_name = "TASK")]
    pub from: Option<String>,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct SymbolsArgs {
    /// A file of this repository
    pub file: PathBuf,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct BackendsArgs {
    #[command(subcommand)]
    pub command: Option<BackendsCommands>,
    /// Show everything that is known about this one
    pub name: Option<String>,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Subcommand)]
pub enum BackendsCommands {
    /// Start an agent, agree on a session and stop it; no model is called
    Test(BackendsTestArgs),
}

#[derive(Debug, Args)]
pub struct BackendsTestArgs {
    /// Backends; without a name, every one that is installed
    pub names: Vec<String>,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct ConfigArgs {
    #[command(subcommand)]
    pub command: ConfigCommands,
}

#[derive(Debug, Subcommand)]
pub enum ConfigCommands {
    /// Show every setting
    Show(ConfigShowArgs),
}

#[derive(Debug, Args)]
pub struct ConfigShowArgs {
    /// Also where each value was written
    #[arg(long)]
    pub origin: bool,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct CompletionsArgs {
    pub shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub struct McpArgs {
    /// Serve on the loopback instead of standard input and output
    #[arg(long)]
    pub http: bool,
    /// The port; any that is free where not given
    #[arg(long, value_name = "PORT", default_value_t = 0, requires = "http")]
    pub port: u16,
    #[command(flatten)]
    pub output: Json,
}

#[derive(Debug, Args)]
pub struct ToolArgs {
    /// The name of the tool; without one they are listed
    pub name: Option<String>,
    /// Its arguments, as a JSON object
    #[arg(long, value_name = "JSON", default_value = "{}")]
    pub json: String,
}

fn parse_tier(text: &str) -> Result<Tier, &'static str> {
    match text {
        "T1" => Ok(Tier::T1),
        "T2" => Ok(Tier::T2),
        "T3" => Ok(Tier::T3),
        _ => Err("write T1, T2 or T3"),
    }
}
