//! Edits a permissions file; it is replaced only if the new text is valid.
//!
//! The editor opens a draft. A draft with errors is kept, and the next edit opens it again, so
//! neither the person's text nor the current file is lost.

use super::{CommandResult, notes};
use crate::{cli::EditArgs, exit::Exit, output::Output, report::Report, workspace::Workspace};
use pitcrew_config::{
    Diagnostic, PermissionPaths, PermissionText, Permissions, read_permissions, replace_file,
};
use pitcrew_model::Action;
use pitcrew_process::{Cancel, Run, run_attached, run_trusted};
use std::{
    ffi::OsString,
    fmt::Write as _,
    fs,
    io::{self, IsTerminal as _, Write as _},
    path::{Path, PathBuf},
    time::Duration,
};

const SET_EDITOR: &str = "set EDITOR to the command that opens a file and waits until it is closed";

pub fn run(args: &EditArgs, output: Output) -> CommandResult {
    let workspace = Workspace::here()?;
    workspace.make_dirs()?;
    let paths = PermissionPaths::new(&workspace.user, workspace.root());
    let (path, draft) = if args.repository {
        (paths.workspace, "permissions-repository.md")
    } else {
        (paths.user, "permissions.md")
    };
    let session = Session {
        draft: workspace.dirs.state.join(draft),
        path,
        of_repository: args.repository,
        workspace,
    };
    session.run(output)
}

struct Session {
    workspace: Workspace,
    /// The file that is in effect.
    path: PathBuf,
    /// The file that is edited.
    draft: PathBuf,
    of_repository: bool,
}

impl Session {
    fn run(&self, output: Output) -> CommandResult {
        let editor = self.editor(output)?;
        let before = self.begin(output)?;
        loop {
            self.open_editor(&editor)?;
            let text = fs::read_to_string(&self.draft)
                .map_err(|error| failed("read", &self.draft, &error))?;
            if text == before {
                self.remove_draft()?;
                output.line("nothing was changed")?;
                return Ok(Exit::Success);
            }
            let (permissions, errors) = self.look(&text)?;
            if errors.is_empty() {
                self.put(&text)?;
                self.remove_draft()?;
                notes(&permissions, output);
                output.line(&format!("saved: {}", self.path.display()))?;
                output.note("a running orchestrator still uses the old permissions; run `pitcrew stop` to apply the new ones");
                return Ok(Exit::Success);
            }
            for error in errors {
                output.note(&error.to_string());
            }
            if !(output.can_ask && asks_again(output)) {
                let message =
                    format!("`{}` was not changed: the new text has errors", self.path.display());
                return Err(Report::new(Exit::Usage, message).help(format!(
                    "your text is saved in `{}`; `pitcrew permissions edit{}` opens it again",
                    self.draft.display(),
                    if self.of_repository { " --repository" } else { "" }
                )));
            }
        }
    }

    /// Creates the draft. Returns the current text, to detect an edit without changes.
    fn begin(&self, output: Output) -> Result<String, Report> {
        let before = match fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => template(),
            Err(error) => return Err(failed("read", &self.path, &error)),
        };
        if self.draft.exists() {
            output.note("opening your earlier draft, which has errors");
        } else {
            fs::write(&self.draft, &before)
                .map_err(|error| failed("write", &self.draft, &error))?;
        }
        Ok(before)
    }

    /// At a terminal, git's editor. Without one, the editor must be set in the environment, because
    /// git's may wait for input forever.
    fn editor(&self, output: Output) -> Result<String, Report> {
        if io::stdin().is_terminal() && output.is_terminal {
            return self.editor_of_git();
        }
        let names = ["GIT_EDITOR", "VISUAL", "EDITOR"].into_iter();
        let named = names.filter_map(|it| std::env::var(it).ok()).find(|it| !it.trim().is_empty());
        named.ok_or_else(|| {
            let path = self.path.display();
            Report::new(Exit::Usage, format!("`{path}` cannot be edited without a terminal")).help(
                "run this at a terminal, set EDITOR to a command that needs none, or edit the \
                 file yourself and check it with `pitcrew permissions`",
            )
        })
    }

    fn editor_of_git(&self) -> Result<String, Report> {
        let asked = Run::new("git", self.workspace.root())
            .args(["var", "GIT_EDITOR"])
            .timeout(Duration::from_mins(1));
        let found = run_trusted(asked, &Cancel::default())
            .map_err(|error| Report::from_error(Exit::Failure, &error))?;
        let editor = String::from_utf8_lossy(&found.stdout).trim().to_owned();
        if !found.success() || editor.is_empty() {
            return Err(Report::new(Exit::Usage, "no editor is configured").help(SET_EDITOR));
        }
        Ok(editor)
    }

    fn open_editor(&self, editor: &str) -> Result<(), Report> {
        let root = self.workspace.root();
        let script = format!("{editor} \"$@\"");
        let argv: Vec<OsString> =
            ["sh".into(), "-c".into(), script.into(), "editor".into(), self.draft.clone().into()]
                .into();
        match run_attached(&argv, root, Vec::new()) {
            Ok(Some(0)) => Ok(()),
            Ok(_) | Err(_) => {
                let message = format!("the editor `{editor}` failed, and nothing was changed");
                Err(Report::new(Exit::Failure, message).help(SET_EDITOR))
            }
        }
    }

    /// Returns the permissions with this text, and the errors in it.
    fn look(&self, text: &str) -> Result<(Permissions, Vec<Diagnostic>), Report> {
        let (settings, _) = self.workspace.settings()?;
        let user = &self.workspace.user;
        let mut sources = read_permissions(user, self.workspace.root(), &settings.permissions);
        let file = self.path.display().to_string();
        let new = Some(PermissionText { file: file.clone(), text: Ok(text.to_owned()) });
        if self.of_repository {
            sources.workspace = new;
        } else {
            sources.user = new;
        }
        let permissions = Permissions::load(&sources);
        let errors = permissions.errors.iter().filter(|it| it.file == file).cloned().collect();
        Ok((permissions, errors))
    }

    fn put(&self, text: &str) -> Result<(), Report> {
        let folder = self.path.parent().map_or(Ok(()), fs::create_dir_all);
        let written = folder.and_then(|()| replace_file(&self.path, text.as_bytes()));
        written.map_err(|error| {
            failed("write", &self.path, &error)
                .help(format!("your text is saved in `{}`", self.draft.display()))
        })
    }

    fn remove_draft(&self) -> Result<(), Report> {
        fs::remove_file(&self.draft).map_err(|error| failed("remove", &self.draft, &error))
    }
}

/// Reads unbuffered, because the rest of the input belongs to the editor.
fn asks_again(output: Output) -> bool {
    write!(io::stderr(), "{} ", output.err.bold("Edit it again? [y/n]")).ok();
    io::stderr().flush().ok();
    let mut line = String::new();
    io::stdin().read_line(&mut line).is_ok() && crate::ask::is_yes(&line)
}

fn failed(did: &str, path: &Path, error: &io::Error) -> Report {
    Report::new(Exit::Failure, format!("failed to {did} `{}`", path.display()))
        .because(error.to_string())
}

/// A file without rules that lists all actions in a comment.
fn template() -> String {
    let mut text = "---\nversion: 1\n---\n# What my agents may do\n\n<!--\n\
        List actions as `- action` under a heading. Other actions keep their built-in rule:\n\n"
        .to_owned();
    for action in Action::NAMED {
        writeln!(text, "  {:<28} {}", action.name(), action.builtin_rule()).ok();
    }
    text.push_str("-->\n\n## Auto-Approve\n\n## Ask User\n\n## Auto-Deny\n");
    text
}
