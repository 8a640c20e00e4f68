//! Looks up a symbol in the working tree or in a copy of a task's work.

use super::CommandResult;
use crate::{
    cli::QueryArgs,
    client::Client,
    exit::Exit,
    ids::{self, Pick},
    output::Output,
    report::Report,
    workspace::Workspace,
};
use pitcrew_api::{
    TaskPath,
    paths::{self, BoardQuery},
};
use pitcrew_model::RepoPath;
use pitcrew_runtime::Parsers;
use pitcrew_symbols::{
    Answer, Index, Match, Pool, Question, SkippedFile, Symbol, Visibility, not_indexed,
};
use pitcrew_views::plain;
use serde_json::{Value, json};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

pub async fn run(args: QueryArgs, output: Output) -> CommandResult {
    let (workspace, root, from) = match &args.from {
        Some(task) => of_task(task, output).await?,
        None => of_working_tree()?,
    };
    // Without a cache folder, the index is built again next time.
    workspace.make_dirs().ok();
    let pool = Pool::open(&workspace.dirs.symbols(), Arc::new(parsers()?));
    let index = Index::open(&root, &Arc::new(pool));
    let (symbol, context) = (args.symbol.as_str(), args.context.as_str());
    let answer = index.query(&Question { symbol, context, from: from.as_deref() });
    let found = !answer.matches.is_empty();
    if args.output.json {
        output.json(&as_json(symbol, &answer))?;
    } else if found {
        output.print(&plain::block(&answer.text))?;
    } else {
        return Err(not_found(&answer));
    }
    Ok(if found { Exit::Success } else { Exit::Failure })
}

/// The copy of a task's work; results near its region come first.
async fn of_task(
    task: &str,
    output: Output,
) -> Result<(Workspace, PathBuf, Option<String>), Report> {
    let client = Client::here().await?;
    let task = ids::task(&client, task, Pick::Newest(output)).await?;
    let found: TaskPath = client.get(&paths::task_path(task)).await?;
    let root = PathBuf::from(&found.path);
    if !root.is_dir() {
        let message = format!("the copy of {task} no longer exists: `{}`", found.path);
        return Err(Report::new(Exit::Refused, message)
            .help("leave out `--from` to search the files of this repository"));
    }
    let board = client.board(BoardQuery { all: true, plan: None }).await?;
    let region = board.tasks.iter().find(|it| it.id == task).map(|it| &it.region);
    let region: Vec<&str> = region.into_iter().flatten().map(RepoPath::as_str).collect();
    Ok((client.workspace, root, Some(region.join(","))))
}

/// The user's files; results near the current folder come first.
fn of_working_tree() -> Result<(Workspace, PathBuf, Option<String>), Report> {
    let workspace = Workspace::here()?;
    let root = workspace.root().to_owned();
    let here = std::env::current_dir().and_then(|it| it.canonicalize()).ok();
    let below = here.and_then(|it| Some(it.strip_prefix(&root).ok()?.to_str()?.to_owned()));
    Ok((workspace, root, below.filter(|it| !it.is_empty())))
}

fn not_found(answer: &Answer) -> Report {
    let message = answer.text.lines().next().unwrap_or_default();
    let report = Report::new(Exit::Failure, message);
    let skipped = not_indexed(&answer.skipped);
    let report = if skipped.is_empty() { report } else { report.because(skipped.trim_end()) };
    if answer.nearest.is_empty() {
        return report.help("`pitcrew symbols FILE` lists what a file defines");
    }
    report.help(format!("the nearest names are {}", answer.nearest.join(", ")))
}

fn as_json(symbol: &str, answer: &Answer) -> Value {
    let matches: Vec<Value> = answer.matches.iter().map(match_as_json).collect();
    let skipped = |it: &SkippedFile| json!({"path": it.path, "reason": it.why.word()});
    let skipped: Vec<Value> = answer.skipped.iter().map(skipped).collect();
    json!({
        "symbol": symbol,
        "matches": matches,
        "more_count": answer.more_count,
        "nearest": answer.nearest,
        "skipped": skipped,
        "bytes_saved": answer.bytes_saved,
        "text": answer.text,
    })
}

fn match_as_json(found: &Match) -> Value {
    let mut value = symbol_as_json(&found.symbol);
    value["path"] = json!(found.path);
    value["digest"] = json!(found.digest);
    value
}

pub fn symbol_as_json(symbol: &Symbol) -> Value {
    let members: Vec<Value> =
        symbol.members.iter().map(|it| json!({"kind": it.kind.word(), "text": it.text})).collect();
    let visibility = match symbol.visibility {
        Visibility::Public => "public",
        Visibility::Restricted => "restricted",
        Visibility::Private => "private",
    };
    json!({
        "kind": symbol.kind.word(),
        "name": symbol.name,
        "qualified": symbol.qualified(),
        "container": symbol.container.as_deref(),
        "signature": symbol.signature,
        "members": members,
        "doc": symbol.doc,
        "visibility": visibility,
        "language": symbol.language.name(),
        "first_line": symbol.lines.0,
        "last_line": symbol.lines.1,
    })
}

/// Parses in processes of our own program.
pub fn parsers() -> Result<Parsers, Report> {
    let program = std::env::current_exe().map_err(|error| {
        Report::new(Exit::Failure, "failed to find our own program").because(error.to_string())
    })?;
    Ok(Parsers::new(&program))
}

/// The path of a file relative to the root of the repository.
pub fn within(root: &Path, file: &Path) -> Option<String> {
    let here = std::env::current_dir().ok()?;
    let whole = here.join(file);
    let folder = whole.parent()?.canonicalize().ok()?;
    let inside = folder.join(whole.file_name()?).strip_prefix(root).ok()?.to_str()?.to_owned();
    Some(inside)
}
