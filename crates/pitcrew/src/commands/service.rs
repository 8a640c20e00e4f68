//! Lets systemd start the orchestrator of a repository, so that a plan continues after a reboot.

mod unit;

use super::CommandResult;
use crate::{
    cli::{ServiceCommands, ServiceInstallArgs},
    exit::Exit,
    output::Output,
    report::Report,
    workspace::Workspace,
};
use pitcrew_config::{printable, user_environment};
use pitcrew_process::{Cancel, Finished, Run, RunError, run_trusted};
use serde_json::json;
use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};
use unit::Unit;

/// The variables that locate programs, settings and state. The user's systemd may have different
/// values.
const VARIABLES: &[&str] = &["PATH", "XDG_CONFIG_HOME", "XDG_STATE_HOME"];

/// The prefix of Pitcrew's settings. They may contain a secret and are not written to a unit.
const OURS: &str = "PITCREW_";

pub fn run(command: ServiceCommands, output: Output) -> CommandResult {
    let service = Service::here()?;
    match command {
        ServiceCommands::Install(args) => service.install(&args, output),
        ServiceCommands::Uninstall => service.uninstall(output),
        ServiceCommands::Status(args) => service.status(args.json, output),
    }
}

/// The unit of one repository.
struct Service {
    name: String,
    path: PathBuf,
    text: String,
    workspace: PathBuf,
}

impl Service {
    fn here() -> Result<Self, Report> {
        let workspace = Workspace::here()?;
        let program = std::env::current_exe().map_err(|error| {
            Report::new(Exit::Failure, "failed to find our own program").because(error.to_string())
        })?;
        let environment = user_environment();
        let environment = VARIABLES
            .iter()
            .filter_map(|it| Some(((*it).to_owned(), environment.get(*it)?.clone())))
            .collect();
        let name = format!("pitcrew-{}.service", workspace.dirs.id);
        let config = workspace.user.config.parent().unwrap_or(&workspace.user.config);
        let path = config.join("systemd/user").join(&name);
        let workspace = workspace.root().to_owned();
        let unit = Unit { program, workspace: workspace.clone(), environment };
        Ok(Self { name, path, text: unit.render(), workspace })
    }

    fn install(&self, args: &ServiceInstallArgs, output: Output) -> CommandResult {
        if args.print {
            output.print(&self.text)?;
            output.note(&printable(&format!("it belongs in {}", self.path.display())));
            return Ok(Exit::Success);
        }
        self.require_systemd()?;
        if self.is_current() {
            output.line(&printable(&format!("{} is up to date", self.path.display())))?;
        } else {
            write(&self.path, &self.text).map_err(|error| self.failed("write", &error))?;
            output.line(&printable(&format!("wrote {}", self.path.display())))?;
        }
        self.systemctl(&["daemon-reload"])?;
        self.systemctl(&["enable", &self.name])?;
        output.line(&format!("{} starts with your session and ends when idle", self.name))?;
        self.explain(output);
        Ok(Exit::Success)
    }

    /// Explains what else is needed for a plan to continue after a reboot.
    fn explain(&self, output: Output) {
        if linger().as_deref() != Some("yes") {
            output.note(
                "note: it starts when you log in; to start it at boot, run `loginctl enable-linger`",
            );
        }
        let ours = user_environment().into_keys().filter(|it| it.starts_with(OURS));
        let ours: Vec<String> = ours.collect();
        if !ours.is_empty() {
            output.note(&printable(&format!(
                "note: the unit does not contain {}; set them in the settings file, or with \
                 `systemctl --user edit {}`",
                ours.join(", "),
                self.name
            )));
        }
    }

    fn uninstall(&self, output: Output) -> CommandResult {
        if !self.is_installed() {
            output.line(&printable(&format!("{} is not installed", self.path.display())))?;
            return Ok(Exit::Success);
        }
        let has_systemd = self.require_systemd().is_ok();
        if has_systemd {
            self.systemctl(&["disable", &self.name])?;
        }
        fs::remove_file(&self.path).map_err(|error| self.failed("remove", &error))?;
        if has_systemd {
            self.systemctl(&["daemon-reload"])?;
        }
        output.line(&printable(&format!("removed {}", self.path.display())))?;
        output.note("note: an orchestrator that is running continues; `pitcrew stop` stops it");
        Ok(Exit::Success)
    }

    fn status(&self, as_json: bool, output: Output) -> CommandResult {
        let (enabled, active) = (self.state("is-enabled"), self.state("is-active"));
        let linger = linger();
        if as_json {
            output.json(&json!({
                "unit": self.name,
                "path": self.path.display().to_string(),
                "installed": self.is_installed(),
                "up_to_date": self.is_current(),
                "enabled": enabled,
                "active": active,
                "linger": linger,
            }))?;
            return Ok(Exit::Success);
        }
        let installed = match (self.is_installed(), self.is_current()) {
            (false, _) => "not installed: run `pitcrew service install`",
            (true, false) => "installed, out of date: run `pitcrew service install` again",
            (true, true) => "installed",
        };
        let unknown = || "unknown".to_owned();
        for (what, text) in [
            ("unit", self.path.display().to_string()),
            ("installed", installed.to_owned()),
            ("enabled", enabled.unwrap_or_else(unknown)),
            ("active", active.unwrap_or_else(unknown)),
            ("linger", linger.unwrap_or_else(unknown)),
        ] {
            output.line(&printable(&format!("{what:<10} {text}")))?;
        }
        Ok(Exit::Success)
    }

    fn is_installed(&self) -> bool {
        fs::symlink_metadata(&self.path).is_ok()
    }

    fn is_current(&self) -> bool {
        fs::read(&self.path).is_ok_and(|it| it == self.text.as_bytes())
    }

    fn require_systemd(&self) -> Result<(), Report> {
        let Err(error) = ask("systemctl", &["--user", "--version"]) else { return Ok(()) };
        let line = format!("pitcrew serve --on-demand --workspace '{}'", self.workspace.display());
        Err(Report::new(Exit::Failure, "this machine has no systemd: `systemctl` cannot be run")
            .because(error.to_string())
            .help(format!(
                "start `{line}` at boot in another way, such as `@reboot` of cron; \
                 `pitcrew service install --print` prints the unit"
            )))
    }

    fn systemctl(&self, arguments: &[&str]) -> Result<(), Report> {
        let all = [&["--user"], arguments].concat();
        let words = all.join(" ");
        let report = Report::new(Exit::Failure, format!("`systemctl {words}` failed"));
        let help = format!("the unit is {}; run the command again", self.path.display());
        match ask("systemctl", &all) {
            Ok(finished) if finished.success() => Ok(()),
            Ok(finished) => {
                let stderr = String::from_utf8_lossy(&finished.stderr).trim().to_owned();
                Err(report.because(stderr).help(help))
            }
            Err(error) => Err(report.because(error.to_string()).help(help)),
        }
    }

    /// Returns systemd's word for the state, such as `enabled`.
    fn state(&self, question: &str) -> Option<String> {
        first_word(&ask("systemctl", &["--user", question, &self.name]).ok()?)
    }

    fn failed(&self, attempted: &str, error: &io::Error) -> Report {
        let message = format!("failed to {attempted} `{}`", self.path.display());
        Report::new(Exit::Failure, message).because(error.to_string())
    }
}

/// Returns systemd's setting that starts the user's units at boot.
fn linger() -> Option<String> {
    let user = rustix::process::getuid().as_raw().to_string();
    first_word(&ask("loginctl", &["show-user", &user, "--property=Linger", "--value"]).ok()?)
}

fn ask(program: &str, arguments: &[&str]) -> Result<Finished, RunError> {
    let run = Run::new(program, "/").args(arguments).timeout(Duration::from_mins(1));
    run_trusted(run, &Cancel::default())
}

fn first_word(answer: &Finished) -> Option<String> {
    let text = String::from_utf8_lossy(&answer.stdout);
    text.split_whitespace().next().map(str::to_owned)
}

/// Writes the file atomically.
fn write(path: &Path, text: &str) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    let new = path.with_extension("new");
    fs::write(&new, text)?;
    fs::rename(&new, path)
}
