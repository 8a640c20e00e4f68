//! Restores a saved state of a task as a branch, or lists the saved states.

use super::CommandResult;
use crate::{
    cli::RestoreArgs,
    client::{Client, StreamItem},
    exit::Exit,
    ids::{self, Pick},
    output::Output,
    render::{Align, Table, duration, plural},
    report::Report,
};
use pitcrew_api::{EventStreamLine, SnapshotRow, TaskSnapshots, paths};
use pitcrew_model::{
    Command, EffectResult, Event, Failure, KeptKind, Seq, Snapshot, TaskId, Timestamp,
};
use pitcrew_views::plain;
use serde_json::json;

pub async fn run(args: RestoreArgs, output: Output) -> CommandResult {
    let client = Client::here().await?;
    let task = ids::task(&client, &args.task, Pick::Only).await?;
    // Fetched before the command, so that its result cannot be missed.
    let board = client.board(paths::BoardQuery::default()).await?;
    let kept: TaskSnapshots = client.get(&paths::task_snapshots(task)).await?;
    if args.list {
        return list(&kept, board.at, args.output.json, output);
    }
    let number = args.at.or(kept.snapshots.last().map(|it| it.number));
    client.command(&Command::RestoreTask { task, number }).await?;
    let Some(number) = number else {
        return Err(Report::new(
            Exit::Failure,
            format!("the first snapshot of {task} was taken just now"),
        )
        .help("run the command again"));
    };
    let end = tokio::select! {
        end = wait(&client, task, number, board.seq) => end?,
        _ = tokio::signal::ctrl_c() => {
            output.note(&format!("stopped waiting; the restore continues: see `git branch --list 'pitcrew/restore/{task}-*'`"));
            return Ok(Exit::Interrupted);
        }
    };
    let row = kept.snapshots.iter().find(|it| it.number == number);
    match end {
        RestoreResult::Restored(branch, snapshot) if args.output.json => {
            let attempt = row.map(|it| it.attempt);
            let at = row.map(|it| it.at);
            output.json(&json!({
                "task": task, "number": number, "attempt": attempt, "at": at,
                "branch": branch, "snapshot": snapshot,
            }))?;
            Ok(Exit::Success)
        }
        RestoreResult::Restored(branch, snapshot) => {
            let what = row.map(|it| described(it, board.at)).unwrap_or_default();
            let branch = plain::line(&branch);
            let commit = snapshot.commit.short();
            output.line(&format!("restored snapshot {number} of {task} as {branch} ({commit})"))?;
            output.note(&format!("{what}; {}", size(&snapshot)));
            output.note(&format!(
                "review it with `git log -p -1 {branch}`, merge it with `git merge {branch}`"
            ));
            Ok(Exit::Success)
        }
        RestoreResult::NotRestored(failure) => {
            let message = format!("snapshot {number} of {task} was not restored");
            Err(Report::new(Exit::Failure, message)
                .because(failure.to_string())
                .help("your repository was not changed; run the command again"))
        }
    }
}

fn described(row: &SnapshotRow, now: Timestamp) -> String {
    let kind = match row.kind {
        KeptKind::Snapshot => "taken during the attempt",
        KeptKind::Saved => "last state",
        KeptKind::Collected => "submitted work",
    };
    format!("{}, {kind}, {} ago", row.attempt, duration(now.since(row.at)))
}

fn size(snapshot: &Snapshot) -> String {
    let files = plural(snapshot.files_count, "file");
    format!("{files}, +{} -{}", snapshot.insertions, snapshot.deletions)
}

fn list(kept: &TaskSnapshots, now: Timestamp, json: bool, output: Output) -> CommandResult {
    if json {
        output.json(kept)?;
        return Ok(Exit::Success);
    }
    if kept.snapshots.is_empty() {
        output.line(&format!("nothing of {} has been saved yet", kept.task))?;
    }
    let mut table = Table::new(&[Align::Right, Align::Left, Align::Right, Align::Left]);
    for it in &kept.snapshots {
        let lines = format!("+{} -{}", it.insertions, it.deletions);
        let files = plural(it.files_count, "file");
        table.row([it.number.to_string(), described(it, now), files, lines]);
    }
    for line in table.lines("") {
        output.line(&line)?;
    }
    Ok(Exit::Success)
}

enum RestoreResult {
    Restored(String, Snapshot),
    NotRestored(Failure),
}

/// Waits until the branch exists or the restore has failed.
async fn wait(
    client: &Client,
    wanted: TaskId,
    at: u32,
    mut after: Seq,
) -> Result<RestoreResult, Report> {
    loop {
        let query = paths::EventsQuery { after, follow: true };
        let mut lines = client.stream(&paths::events(query)).await?;
        while let StreamItem::Line(line) = lines.next().await {
            let Ok(EventStreamLine::Event(line)) = serde_json::from_slice(&line) else { continue };
            after = line.seq;
            let Some(Event::EffectEnded { result, .. }) = line.entry.known().map(|it| &it.event)
            else {
                continue;
            };
            if let EffectResult::Restored { task, number, branch, snapshot } = result
                && (*task, *number) == (wanted, at)
            {
                return Ok(RestoreResult::Restored(branch.clone(), snapshot.clone()));
            }
            if let EffectResult::NotRestored { task, number, failure } = result
                && (*task, *number) == (wanted, at)
            {
                return Ok(RestoreResult::NotRestored(failure.clone()));
            }
        }
    }
}
