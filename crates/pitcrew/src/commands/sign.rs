//! Signs the commits of a landing or of a revert with the key of the person.

use crate::{client::Client, exit::Exit, output::Output, render::plural, report::Report};
use pitcrew_model::{CommitId, PlanId, Unsigned};
use pitcrew_process::Cancel;

/// How often new commits are signed because the branch has moved meanwhile.
pub const SIGN_TRIES_MAX: u32 = 3;

/// Signs as the person's own git does, and returns the last signed commit.
pub async fn sign(
    client: &Client,
    plan: PlanId,
    unsigned: &Unsigned,
    output: Output,
) -> Result<CommitId, Report> {
    output.note(&format!("signing {} with your key", plural(unsigned.commits_count, "commit")));
    let (repository, unsigned) = (client.workspace.repository.clone(), unsigned.clone());
    let sign = move || repository.sign(&unsigned, &Cancel::default());
    let signed = tokio::task::spawn_blocking(sign).await;
    let signed = signed.map_err(|error| Report::new(Exit::Failure, error.to_string()))?;
    signed.map_err(|error| {
        Report::from_error(Exit::NotLanded, &error).help(format!(
            "your branch was not changed; check the key that your git settings name, then run the \
             same command again; see `pitcrew status {plan}`"
        ))
    })
}
