//! Advances the integration branch of a plan.

use crate::{Vault, names};
use pitcrew_model::{CommitId, Failure, PlanId};
use pitcrew_process::Cancel;

impl Vault {
    /// Moves the integration branch from `onto` to `merged`, and only from there.
    pub fn integrate(
        &self,
        plan: PlanId,
        onto: &CommitId,
        merged: &CommitId,
        cancel: &Cancel,
    ) -> Result<CommitId, Failure> {
        let head = names::head_ref(plan);
        let now = self.resolve(&head, cancel)?;
        if now.as_ref() == Some(merged) {
            return Ok(merged.clone());
        }
        if now.as_ref() != Some(onto) {
            let now = now.map_or_else(|| "nowhere".into(), |it| it.short().to_owned());
            let message = format!("{head} is at {now} and not at {}", onto.short());
            return Err(Failure::Git { message });
        }
        fail::fail_point!("integrate-before", |_| std::process::abort());
        self.update_ref(&[&head, &merged.0, &onto.0])?;
        fail::fail_point!("integrate-moved", |_| std::process::abort());
        Ok(merged.clone())
    }
}
