//! Runs a complete example in a temporary repository, with the commands that a person would type.

use super::CommandResult;
use crate::{cli::DemoArgs, exit::Exit, output::Output, report::Report, workspace::Workspace};
use pitcrew_config::{private_dir, user_environment};
use pitcrew_model::{Tier, text};
use pitcrew_process::{Cancel, Run, remove_tree, run_attached, run_trusted};
use pitcrew_runtime::Confinement;
use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
};
use tokio::signal::unix::{SignalKind, signal};

const PLAN: &str = include_str!("../../demo/plan.toml");
const FILES: &[(&str, &str)] = &[
    (".gitignore", include_str!("../../demo/repository/gitignore")),
    ("README.md", include_str!("../../demo/repository/README.md")),
    ("core/lib.rs", include_str!("../../demo/repository/core/lib.rs")),
    ("core/time.rs", include_str!("../../demo/repository/core/time.rs")),
    ("api/lib.rs", include_str!("../../demo/repository/api/lib.rs")),
    ("api/format.rs", include_str!("../../demo/repository/api/format.rs")),
    ("ui/index.html", include_str!("../../demo/repository/ui/index.html")),
    ("ui/style.css", include_str!("../../demo/repository/ui/style.css")),
    ("checks/test.sh", include_str!("../../demo/repository/checks/test.sh")),
    ("checks/format.rs", include_str!("../../demo/repository/checks/format.rs")),
];

pub async fn run(args: DemoArgs, output: Output) -> CommandResult {
    // The child process handles Ctrl-C; this process stays to clean up.
    let _interrupts = signal(SignalKind::interrupt()).map_err(|error| {
        Report::new(Exit::Failure, "failed to listen for Ctrl-C").because(error.to_string())
    })?;
    let demo = Demo::prepare(&args)?;
    let shown = tokio::task::spawn_blocking(move || demo.show(output)).await;
    shown.map_err(|panic| Report::new(Exit::Failure, panic.to_string()))?
}

struct Demo {
    /// The folder of the demo.
    folder: PathBuf,
    repository: PathBuf,
    kept: bool,
    json: bool,
    tier: Tier,
}

impl Demo {
    fn prepare(args: &DemoArgs) -> Result<Self, Report> {
        let (folder, kept) = match &args.keep {
            Some(folder) => (absolute(folder)?, true),
            None => {
                let name = format!("pitcrew-demo-{}", std::process::id());
                (std::env::temp_dir().join(name), false)
            }
        };
        if folder.exists() {
            return Err(Report::new(Exit::Usage, format!("`{}` already exists", folder.display()))
                .help("choose a folder that does not exist yet"));
        }
        private_dir(&folder).map_err(|error| Report::from_error(Exit::Usage, &error))?;
        let repository = folder.join("lap-board");
        let tier = Tier::T1;
        let mut demo = Self { folder, repository, kept, json: args.output.json, tier };
        demo.make_repository().map_err(|error| {
            remove_tree(&demo.folder).ok();
            Report::new(Exit::Failure, "failed to create the demo repository")
                .because(error.to_string())
        })?;
        let (settings, _) = Workspace::at(&demo.repository)?.settings()?;
        let ours = std::env::current_exe().unwrap_or_default();
        demo.tier = Confinement::by_trying(&settings.sandbox, &user_environment(), &ours).tier;
        Ok(demo)
    }

    fn make_repository(&self) -> io::Result<()> {
        for (path, text) in FILES.iter().chain([&("plan.toml", PLAN)]) {
            let path = self.repository.join(path);
            fs::create_dir_all(path.parent().unwrap_or(&self.repository))?;
            fs::write(path, text)?;
        }
        self.git(&["init", "--quiet", "--initial-branch=main"])?;
        self.git(&["config", "user.name", "Pitcrew demo"])?;
        self.git(&["config", "user.email", "demo@pitcrew.invalid"])?;
        self.git(&["add", "."])?;
        self.git(&["commit", "--quiet", "--message", "Add the lap board"])
    }

    fn git(&self, arguments: &[&str]) -> io::Result<()> {
        let run = Run::new("git", &self.repository).args(arguments);
        let done = run_trusted(run, &Cancel::default())
            .map_err(|error| io::Error::other(text::chain(&error)))?;
        if done.success() {
            return Ok(());
        }
        Err(io::Error::other(String::from_utf8_lossy(&done.stderr).trim().to_owned()))
    }

    fn show(self, output: Output) -> CommandResult {
        output.note(&self.introduction());
        let ran = self.steps(output);
        self.clean_up(output);
        ran
    }

    fn introduction(&self) -> String {
        let place = self.repository.display();
        let fate = if self.kept { "kept" } else { "removed at the end; keep it with --keep DIR" };
        format!(
            "A small app with three regions (core/, api/, ui/) and nine tasks, done by the built-in agent without a model.\n\
             Watch api-format: its check fails at first, and the next attempt gets the output.\n\
             Agents run in sandbox tier {}; see `pitcrew doctor`.\n\n  \
             {place} ({fate})",
            self.tier
        )
    }

    fn steps(&self, output: Output) -> CommandResult {
        let json: &[&str] = if self.json { &["--json"] } else { &[] };
        // The demo's own commands are trusted.
        let accept: &[&str] = match self.tier {
            Tier::T1 => &["--accept-tier", "T1"],
            Tier::T2 => &["--accept-tier", "T2"],
            Tier::T3 => &[],
        };
        let ran = self.pitcrew(output, &["run", "plan.toml", "--yes"], &[json, accept].concat())?;
        if ran != Exit::Success {
            return Ok(ran);
        }
        let events: &[&str] = if self.json { &["--events"] } else { &[] };
        let landed = self.pitcrew(output, &["land", "plan-1", "--yes"], events)?;
        if landed != Exit::Success || self.json {
            return Ok(landed);
        }
        self.run_shown(output, "git", &["log", "--graph", "--oneline", "-n", "6"].map(Into::into))?;
        output.note(&self.next_steps());
        Ok(Exit::Success)
    }

    fn next_steps(&self) -> String {
        let place = format!("cd {}", self.repository.display());
        let here: &[(&str, &str)] = if self.kept {
            &[
                (&place, "the demo repository"),
                ("pitcrew status --all", "all plans and tasks"),
                ("pitcrew logs api-format", "prompts, tool calls and checks of both attempts"),
                ("pitcrew plan show plan.toml", "the task graph and every command"),
            ]
        } else {
            &[("pitcrew demo --keep lap-board", "run it again and keep the repository")]
        };
        let everywhere = [
            ("pitcrew init", "in your repository: create settings and an example plan"),
            ("pitcrew --help", "all commands"),
        ];
        let line = |(command, what): &(&str, &str)| format!("  {command:<32} # {what}");
        let lines: Vec<String> = here.iter().chain(&everywhere).map(line).collect();
        format!("\nWhat to try next:\n{}\n", lines.join("\n"))
    }

    /// Runs a `pitcrew` command as a person would.
    fn pitcrew(&self, output: Output, arguments: &[&str], more: &[&str]) -> CommandResult {
        let all = arguments.iter().chain(more).map(OsString::from);
        let code = self.run_shown(output, "pitcrew", &all.collect::<Vec<_>>())?;
        Ok(Exit::from_code(code))
    }

    fn run_shown(
        &self,
        output: Output,
        name: &str,
        arguments: &[OsString],
    ) -> Result<Option<i32>, Report> {
        let words: Vec<_> = arguments.iter().map(|it| it.to_string_lossy()).collect();
        output.note(&format!("\n{}", output.err.bold(&format!("$ {name} {}", words.join(" ")))));
        self.attached(name, arguments).map_err(|error| {
            Report::new(Exit::Failure, format!("failed to run `{name}`")).because(error.to_string())
        })
    }

    fn attached(&self, name: &str, arguments: &[OsString]) -> io::Result<Option<i32>> {
        let program = match name {
            "pitcrew" => std::env::current_exe()?.into_os_string(),
            other => other.into(),
        };
        let argv: Vec<OsString> = [program].into_iter().chain(arguments.iter().cloned()).collect();
        run_attached(&argv, &self.repository, self.environment())
    }

    /// Without `--keep`, the demo uses its own state, configuration and runtime folders.
    fn environment(&self) -> Vec<(OsString, OsString)> {
        let own = |(name, folder): (&str, &str)| {
            (OsString::from(name), self.folder.join(folder).into_os_string())
        };
        let mut env = vec![("GIT_PAGER".into(), "cat".into())];
        if !self.kept {
            let names = [
                ("XDG_STATE_HOME", "state"),
                ("XDG_CONFIG_HOME", "config"),
                ("XDG_RUNTIME_DIR", "run"),
            ];
            env.extend(names.map(own));
        }
        env
    }

    /// Stops the orchestrator and removes the folder, unless it is kept.
    fn clean_up(&self, output: Output) {
        if self.kept {
            return;
        }
        let quiet = Run::new(std::env::current_exe().unwrap_or_default(), &self.repository);
        let quiet =
            self.environment().into_iter().fold(quiet, |run, (name, value)| run.env(name, value));
        run_trusted(quiet.arg("stop"), &Cancel::default()).ok();
        if let Err(error) = remove_tree(&self.folder) {
            output.note(&format!("failed to remove `{}`: {error}", self.folder.display()));
        }
    }
}

fn absolute(path: &Path) -> Result<PathBuf, Report> {
    std::path::absolute(path).map_err(|error| {
        Report::new(Exit::Usage, format!("`{}` is not a valid folder", path.display()))
            .because(error.to_string())
    })
}
