//! Shell completion: the scripts, and the ids and names they ask for.
//!
//! Never starts an orchestrator: if none is running, the journal is read.

use crate::{
    cli,
    client::Client,
    workspace::{Workspace, settings_here},
};
use clap_complete::{
    CompleteEnv,
    engine::CompletionCandidate,
    env::{EnvCompleter, Shells},
};
use pitcrew_api::paths::{self, BoardQuery};
use pitcrew_config::BACKEND_BUILTIN;
use pitcrew_model::{Seq, Timestamp};
use pitcrew_store::JournalReader;
use pitcrew_views::{Board, BoardView, Inbox, InboxView, Scope, plain};
use std::{ffi::OsStr, fs, io};

/// Set by the scripts when the shell asks for candidates.
const VARIABLE: &str = "PITCREW_COMPLETE";
const CANDIDATES_MAX: usize = 200;
/// A larger journal takes too long to read while a person waits for the shell.
const JOURNAL_BYTES_MAX: u64 = 64 * 1_024 * 1_024;
const READ_BATCH: usize = 1_024;

/// Answers the shell and exits, if the shell asks.
pub fn answer() {
    if std::env::var_os(VARIABLE).is_none() {
        return;
    }
    enter_folder();
    CompleteEnv::with_factory(cli::command).var(VARIABLE).bin("pitcrew").complete();
}

/// The script that makes a shell ask.
pub fn script(shell: &str) -> io::Result<Vec<u8>> {
    let shells = Shells::builtins();
    let shell: &dyn EnvCompleter =
        shells.completer(shell).ok_or_else(|| io::Error::other("there is no such shell"))?;
    let mut script = Vec::new();
    shell.write_registration(VARIABLE, "pitcrew", "pitcrew", "pitcrew", &mut script)?;
    Ok(script)
}

/// Follows `-C DIR` in the line that is being completed.
fn enter_folder() {
    let words: Vec<_> = std::env::args_os().skip_while(|it| it != "--").collect();
    let folder = words.windows(2).find(|it| it[0] == "-C").map(|it| &it[1]);
    if let Some(folder) = folder {
        // An unknown folder has no candidates, as the current one may have none.
        std::env::set_current_dir(folder).ok();
    }
}

/// Ids of plans, or names if that is what was typed.
pub fn plans(typed: &OsStr) -> Vec<CompletionCandidate> {
    candidates(typed, &plan_names(&views().0))
}

/// The same for tasks.
pub fn tasks(typed: &OsStr) -> Vec<CompletionCandidate> {
    candidates(typed, &task_names(&views().0))
}

pub fn plans_and_tasks(typed: &OsStr) -> Vec<CompletionCandidate> {
    let board = views().0;
    let names: Vec<_> = plan_names(&board).into_iter().chain(task_names(&board)).collect();
    candidates(typed, &names)
}

pub fn workers(typed: &OsStr) -> Vec<CompletionCandidate> {
    candidates(typed, &worker_names(&views().0))
}

/// Addressees of a message.
pub fn tasks_and_workers(typed: &OsStr) -> Vec<CompletionCandidate> {
    let board = views().0;
    let names: Vec<_> = task_names(&board).into_iter().chain(worker_names(&board)).collect();
    candidates(typed, &names)
}

/// Whatever can be stopped.
pub fn running(typed: &OsStr) -> Vec<CompletionCandidate> {
    let board = views().0;
    let names = task_names(&board).into_iter().chain(worker_names(&board));
    candidates(typed, &names.chain(plan_names(&board)).collect::<Vec<_>>())
}

/// Open requests.
pub fn requests(typed: &OsStr) -> Vec<CompletionCandidate> {
    let inbox = views().1;
    let name = |it: &pitcrew_views::OpenRequest| Name {
        id: it.id.to_string(),
        word: String::new(),
        about: plain::line(&it.title),
    };
    candidates(typed, &inbox.open.iter().map(name).collect::<Vec<_>>())
}

pub fn agents(typed: &OsStr) -> Vec<CompletionCandidate> {
    let Ok((settings, _)) = settings_here() else { return Vec::new() };
    let names = settings.backends.keys().map(String::as_str).chain([BACKEND_BUILTIN]);
    let typed = typed.to_string_lossy();
    names.filter(|it| it.starts_with(&*typed)).map(CompletionCandidate::new).collect()
}

struct Name {
    id: String,
    /// Empty if it has only an id.
    word: String,
    about: String,
}

/// The newest come first.
fn plan_names(board: &BoardView) -> Vec<Name> {
    let name = |it: &pitcrew_views::PlanView| Name {
        id: it.id.to_string(),
        about: format!("{}, {}", plain::line(&it.name), it.status),
        word: it.name.clone(),
    };
    board.plans.iter().rev().map(name).collect()
}

fn task_names(board: &BoardView) -> Vec<Name> {
    let name = |it: &pitcrew_views::TaskView| Name {
        id: it.known_as().to_string(),
        about: format!("{}, {}", plain::line(&it.key), it.status),
        word: it.key.clone(),
    };
    board.units().collect::<Vec<_>>().into_iter().rev().map(name).collect()
}

fn worker_names(board: &BoardView) -> Vec<Name> {
    let name = |it: &pitcrew_views::Worker| Name {
        id: it.id.to_string(),
        word: String::new(),
        about: board.task(it.task).map(pitcrew_views::TaskView::name).unwrap_or_default(),
    };
    let at_work = board.workers.iter().filter(|it| !it.status.has_ended());
    at_work.map(name).collect()
}

fn candidates(typed: &OsStr, names: &[Name]) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy();
    let begins = |it: &&Name| it.id.starts_with(&*typed);
    let candidate = |value: &str, about: &str| {
        CompletionCandidate::new(value).help(Some(about.to_owned().into())).display_order(Some(0))
    };
    let ids = names.iter().filter(begins).take(CANDIDATES_MAX);
    let ids: Vec<_> = ids.map(|it| candidate(&it.id, &it.about)).collect();
    if !ids.is_empty() {
        return ids;
    }
    let named = names.iter().filter(|it| !it.word.is_empty() && it.word.starts_with(&*typed));
    named.take(CANDIDATES_MAX).map(|it| candidate(&it.word, &it.id)).collect()
}

/// The board and the inbox; empty if there is nothing to complete.
fn views() -> (BoardView, InboxView) {
    let empty = || of_models(&Board::default(), &Inbox::default());
    let Ok(workspace) = Workspace::here() else { return empty() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let asked = runtime.ok().and_then(|it| it.block_on(ask(workspace.clone())));
    asked.or_else(|| read(&workspace)).unwrap_or_else(empty)
}

/// Asks a running orchestrator.
async fn ask(workspace: Workspace) -> Option<(BoardView, InboxView)> {
    let (client, _) = Client::running(workspace).await.ok()??;
    let board = client.glance(BoardQuery { all: true, plan: None }).await?;
    Some((board, client.peek(paths::INBOX).await?))
}

/// Reads the journal.
fn read(workspace: &Workspace) -> Option<(BoardView, InboxView)> {
    let path = workspace.dirs.journal();
    if fs::metadata(&path).ok()?.len() > JOURNAL_BYTES_MAX {
        return None;
    }
    let journal = JournalReader::open(&path).ok()?;
    let (mut board, mut inbox, mut after) = (Board::default(), Inbox::default(), Seq(0));
    loop {
        let entries = journal.read(after, READ_BATCH).ok()?;
        for entry in &entries {
            after = entry.seq;
            board.fold(entry);
            inbox.fold(entry);
        }
        if entries.len() < READ_BATCH {
            return Some(of_models(&board, &inbox));
        }
    }
}

fn of_models(board: &Board, inbox: &Inbox) -> (BoardView, InboxView) {
    (board.view(Timestamp(0), Scope::All), inbox.view(board))
}
