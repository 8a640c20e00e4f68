//! Sends a message to a worker, or to the current worker of a task.

use super::{CommandResult, reply};
use crate::{
    cli::MessageArgs,
    client::Client,
    exit::Exit,
    ids::{self, Pick},
    output::Output,
    report::Report,
};
use pitcrew_model::{Command, Party, Priority};
use pitcrew_views::{Ask, OpenRequest};

pub async fn run(args: MessageArgs, output: Output) -> CommandResult {
    if args.text.trim().is_empty() {
        return Err(Report::new(Exit::Usage, "the message is empty"));
    }
    let client = Client::here().await?;
    let to = match args.id.parse() {
        Ok(worker) => Party::Worker(worker),
        Err(_) => Party::Task(ids::task(&client, &args.id, Pick::Only).await?),
    };
    let priority = args.critical.then_some(Priority::Critical);
    let (content, thread, key) = (args.text, args.thread, None);
    let command = Command::SendMessage { to, content, priority, thread, key };
    let accepted = client.command(&command).await?;
    let id = accepted.created.messages.first().map(ToString::to_string).unwrap_or_default();
    let words = format!("{id} is queued for {to}; the agent reads it when its turn ends");
    let exit = reply::accepted(output, args.output, &accepted, &words)?;
    note_open_question(&client, to, output).await?;
    Ok(exit)
}

/// A message is no answer: the agent goes on waiting.
async fn note_open_question(client: &Client, to: Party, output: Output) -> Result<(), Report> {
    let open = client.inbox().await?.open;
    let is_reader = |it: &&OpenRequest| {
        it.task.map(Party::Task) == Some(to) || it.worker.map(Party::Worker) == Some(to)
    };
    let mut questions = open.iter().filter(is_reader);
    if let Some(it) = questions.find(|it| matches!(it.ask, Ask::Question { .. })) {
        let id = it.id;
        output.note(&format!(
            "note: {id} is still open; answer it with `pitcrew answer {id} \"...\"`"
        ));
    }
    Ok(())
}
