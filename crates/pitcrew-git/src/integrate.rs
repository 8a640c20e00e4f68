//! Advances the integration branch of a plan.

use crate::{Vault, names};
use pitcrew_model::{CommitId, Failure, PlanId};
use pitcrew_process::Cancel;

impl Vault {
    /// Moves the integration branch from `onto` to `merged`. Fails if the branch is not at `onto`.
    pub fn integrate(
        &self,
        plan: PlanId,
        onto: &CommitId,
        merged: &CommitId,
        cancel: &Cancel,
    ) -> Result<CommitId, Failure> {
        let head = names::head_ref(plan);
        fail::fail_point!("integrate-before", |_| std::process::abort());
        // Git moves the branch only from `onto`. If that fails, check whether the branch has
        // already been moved.
        if let Err(error) = self.update_ref(&[&head, &merged.0, &onto.0]) {
            let now = self.resolve(&head, cancel)?;
            if now.as_ref() == Some(onto) {
                return Err(error.into());
            }
            if now.as_ref() != Some(merged) {
                let now = now.map_or_else(|| "nowhere".into(), |it| it.short().to_owned());
                let message = format!("{head} is at {now} and not at {}", onto.short());
                return Err(Failure::Git { message });
            }
        }
        fail::fail_point!("integrate-moved", |_| std::process::abort());
        // If this fails, each checkout that starts here copies the missing objects itself.
        self.publish(merged, cancel).ok();
        Ok(merged.clone())
    }
}
