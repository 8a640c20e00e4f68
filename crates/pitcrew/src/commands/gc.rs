//! Removes checkouts that are no longer needed.

use super::CommandResult;
use crate::{
    cli::GcArgs,
    client::{Client, StreamItem},
    exit::Exit,
    output::Output,
    render::plural,
    report::Report,
};
use pitcrew_api::{EventStreamLine, GarbagePreview, KeptCheckout, RemovableCheckout, paths};
use pitcrew_model::{AttemptId, Command, EffectResult, Event, Seq, TaskId};
use pitcrew_views::plain;
use serde_json::json;
use std::{collections::BTreeMap, time::Duration};
use tokio::time::{Instant, timeout_at};

/// Removing is quick; a slower disk is reported.
const REMOVAL_TIME_MAX: Duration = Duration::from_mins(5);

pub async fn run(args: GcArgs, output: Output) -> CommandResult {
    let client = Client::here().await?;
    if args.dry_run {
        return show(&client.get(paths::GARBAGE).await?, args.output.json, output);
    }
    // Fetched before the preview, so that no removal is missed.
    let before = client.board(paths::BoardQuery::default()).await?.seq;
    let preview: GarbagePreview = client.get(paths::GARBAGE).await?;
    client.command(&Command::CollectGarbage).await?;
    let ends = wait(&client, &preview.removable, before).await?;
    let (removed, kept) = split(preview.removable, &ends);
    if args.output.json {
        let kept: Vec<&KeptCheckout> = kept.iter().chain(&preview.kept).collect();
        let dropped = &preview.droppable;
        output.json(&json!({ "removed": removed, "kept": kept, "dropped": dropped }))?;
        return Ok(Exit::Success);
    }
    for checkout in &removed {
        output.line(&format!("removed  {}", name(checkout.task, checkout.attempt)))?;
    }
    for checkout in &kept {
        output.line(&format!(
            "kept     {}: {}",
            name(checkout.task, checkout.attempt),
            plain::line(&checkout.reason)
        ))?;
    }
    for it in &preview.droppable {
        let snapshots = plural(it.count.into(), "snapshot");
        output.line(&format!("dropping {snapshots} of {} ({})", it.task, it.attempt))?;
    }
    output.note(&format!("{} removed", plural(removed.len() as u64, "checkout")));
    Ok(Exit::Success)
}

/// Splits the checkouts into removed ones and ones that were kept after all.
fn split(
    removable: Vec<RemovableCheckout>,
    ends: &BTreeMap<AttemptId, RemovalResult>,
) -> (Vec<RemovableCheckout>, Vec<KeptCheckout>) {
    let (mut removed, mut kept) = (Vec::new(), Vec::new());
    for checkout in removable {
        match &ends[&checkout.attempt] {
            RemovalResult::Removed => removed.push(checkout),
            RemovalResult::Kept(reason) => {
                let RemovableCheckout { attempt, task, path } = checkout;
                kept.push(KeptCheckout { attempt, task, path, reason: reason.clone() });
            }
        }
    }
    (removed, kept)
}

fn show(preview: &GarbagePreview, json: bool, output: Output) -> CommandResult {
    if json {
        output.json(preview)?;
        return Ok(Exit::Success);
    }
    for checkout in &preview.removable {
        output.line(&format!("would remove  {}", name(checkout.task, checkout.attempt)))?;
    }
    for checkout in &preview.kept {
        let reason = plain::line(&checkout.reason);
        output
            .line(&format!("would keep    {}: {reason}", name(checkout.task, checkout.attempt)))?;
    }
    for it in &preview.droppable {
        let snapshots = plural(it.count.into(), "snapshot");
        output.line(&format!("would drop    {snapshots} of {} ({})", it.task, it.attempt))?;
    }
    if preview.removable.is_empty() && preview.kept.is_empty() {
        output.line("there are no checkouts")?;
    }
    Ok(Exit::Success)
}

/// The name of a checkout, without its path: people use copies instead.
fn name(task: TaskId, attempt: AttemptId) -> String {
    format!("the checkout of {task} ({attempt})")
}

enum RemovalResult {
    Removed,
    Kept(String),
}

/// Waits until every checkout has been removed or kept, so that the result has an entry for each;
/// then, within the time limit, until the vault is tidy.
async fn wait(
    client: &Client,
    removable: &[RemovableCheckout],
    mut after: Seq,
) -> Result<BTreeMap<AttemptId, RemovalResult>, Report> {
    let (mut ends, mut is_tidy) = (BTreeMap::new(), false);
    let is_open = |ends: &BTreeMap<AttemptId, RemovalResult>| {
        removable.iter().any(|it| !ends.contains_key(&it.attempt))
    };
    let deadline = Instant::now() + REMOVAL_TIME_MAX;
    while !is_tidy || is_open(&ends) {
        let query = paths::EventsQuery { after, follow: true };
        let mut lines = client.stream(&paths::events(query)).await?;
        while !is_tidy || is_open(&ends) {
            let Ok(next) = timeout_at(deadline, lines.next()).await else {
                if !is_open(&ends) {
                    return Ok(ends);
                }
                return Err(Report::new(Exit::Failure, "the checkouts are still being removed")
                    .help("`pitcrew gc --dry-run` shows what is left"));
            };
            let StreamItem::Line(line) = next else { break };
            let Ok(EventStreamLine::Event(line)) = serde_json::from_slice(&line) else { continue };
            after = line.seq;
            if let Some(Event::EffectEnded { result, .. }) = line.entry.known().map(|it| &it.event)
            {
                if let EffectResult::CheckoutRemoved { attempt } = result {
                    ends.insert(*attempt, RemovalResult::Removed);
                } else if let EffectResult::CheckoutKept { attempt, reason } = result {
                    ends.insert(*attempt, RemovalResult::Kept(reason.clone()));
                } else if let EffectResult::VaultTidied { .. }
                | EffectResult::VaultNotTidied { .. } = result
                {
                    is_tidy = true;
                }
            }
        }
    }
    Ok(ends)
}
