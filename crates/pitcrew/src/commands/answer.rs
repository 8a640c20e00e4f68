//! Answers an agent's question.

use super::{CommandResult, reply};
use crate::{cli::AnswerArgs, client::Client, exit::Exit, ids, output::Output, report::Report};
use pitcrew_model::Command;

pub async fn run(args: AnswerArgs, output: Output) -> CommandResult {
    if args.text.trim().is_empty() {
        return Err(Report::new(Exit::Usage, "the answer is empty"));
    }
    let client = Client::here().await?;
    let request = ids::request(&client, &args.id).await?;
    let command = Command::AnswerQuestion { request, text: args.text };
    let accepted = client.command(&command).await?;
    let words = format!("{request} is answered; the agent continues");
    reply::accepted(output, args.output, &accepted, &words)
}
