//! Undoes a landing: moves the base branch back to where it was, or adds a commit that reverts the
//! landing, if others have it already or build on it.

use crate::{
    Vault,
    commits::{Signature, new_commits},
    error::GitError,
    git_dir::{Identity, PITCREW},
    history::{shown, subject_of},
    import::Checking,
    land::{Stopped, exchange_ref},
    merge::Merge,
    names,
    user_branch::Moved,
};
use pitcrew_model::{CommitId, Failure, PlanId, Sign, Undo, UndoneBy, Unsigned};
use pitcrew_process::Cancel;

#[derive(Clone, Debug)]
pub struct UndoLanding {
    pub plan: PlanId,
    pub title: String,
    pub branch: String,
    /// The landed commit, and the branch before it.
    pub landed: CommitId,
    pub before: CommitId,
    pub sign: Sign,
    /// What the person has signed.
    pub signed: Option<CommitId>,
}

impl Vault {
    /// Removes a landing from the base branch. A repeated order finds what the first one did.
    pub fn undo_landing(&self, order: &UndoLanding, cancel: &Cancel) -> Result<Undo, Stopped> {
        let UndoLanding { branch, landed, before, .. } = order;
        let name = format!("refs/heads/{branch}");
        let tip = self
            .user
            .resolve(&name, cancel)?
            .ok_or_else(|| Failure::Checkout { message: format!("the branch {branch} is gone") })?;
        let undo =
            |commit: &CommitId, by| Undo { branch: branch.clone(), commit: commit.clone(), by };
        self.bring(&tip, &names::user_ref(order.plan), cancel)?;
        if !self.is_ancestor(landed, &tip, cancel)? {
            // The person has moved the branch back, or an interrupted undo did.
            return Ok(undo(&tip, UndoneBy::Restore));
        }
        let by = match self.is_pushed(landed, cancel)? {
            true => UndoneBy::RevertOfPushed,
            false if tip == *landed => UndoneBy::Restore,
            false => UndoneBy::RevertBelowOthers,
        };
        if let UndoneBy::Restore = by {
            return match self.move_user_branch_back(branch, landed, before, cancel)? {
                Moved::Yes => Ok(undo(before, by)),
                Moved::No(message) => Err(Failure::Checkout { message }.into()),
            };
        }
        let made = undo_ref(order);
        let known = self.resolve(&made, cancel)?;
        if let Some(revert) = &known
            && self.is_ancestor(revert, &tip, cancel)?
        {
            self.forget_landing(order, cancel)?;
            return Ok(undo(&tip, by));
        }
        let revert = self.revert(order, known, &tip, cancel)?;
        let _exchange = self.exchange.lock().expect("no holder of the lock panics");
        let exchange = exchange_ref(order.plan);
        self.give_to_user(&revert, &exchange, Checking::Off, cancel)?;
        let revert = self.signed_revert(order, &tip, revert, cancel)?;
        self.set_ref(&made, &revert)?;
        self.give_to_user(&revert, &exchange, Checking::Off, cancel)?;
        let moved = self.move_user_branch(branch, &tip, &revert, cancel)?;
        self.take_from_user(&exchange)?;
        match moved {
            Moved::Yes => {
                self.forget_landing(order, cancel)?;
                Ok(undo(&revert, by))
            }
            Moved::No(message) => Err(Failure::Checkout { message }.into()),
        }
    }

    /// Whether a branch of a remote repository contains the commit, as far as this one knows.
    fn is_pushed(&self, commit: &CommitId, cancel: &Cancel) -> Result<bool, GitError> {
        let call = self.user.call("for-each-ref").args(["--count=1", "--format=%(refname)"]);
        let call = call.args(["--contains", &commit.0, "refs/remotes"]);
        Ok(!call.output(cancel)?.is_empty())
    }

    /// The commit on top of `tip` that reverts the landing.
    fn revert(
        &self,
        order: &UndoLanding,
        known: Option<CommitId>,
        tip: &CommitId,
        cancel: &Cancel,
    ) -> Result<CommitId, Stopped> {
        if let Some(known) = known
            && self.commit_text(&known, cancel)?.0.parents == [tip.clone()]
        {
            return Ok(known);
        }
        let UndoLanding { plan, title, landed, before, .. } = order;
        let tree = match self.merge(tip, before, Some(landed), None, cancel)? {
            Merge::Clean(tree) => tree,
            Merge::Conflict(paths) => {
                return Err(Failure::Conflict { paths, with: Vec::new() }.into());
            }
        };
        let identity = self.user_identity(cancel)?;
        let identity = identity.as_ref().map_or(PITCREW, |(name, email)| Identity { name, email });
        let message = revert_message(*plan, title, landed);
        let revert = self.commit_tree(&tree, &[tip], &message, identity, cancel)?;
        self.set_ref(&undo_ref(order), &revert)?;
        Ok(revert)
    }

    /// The revert with the signature of the user, if one is needed.
    fn signed_revert(
        &self,
        order: &UndoLanding,
        tip: &CommitId,
        revert: CommitId,
        cancel: &Cancel,
    ) -> Result<CommitId, Stopped> {
        let is_done = !order.sign.is_terminal() || !self.user_signs(cancel)?;
        if is_done || self.commit_text(&revert, cancel)?.1 == Signature::There {
            return Ok(revert);
        }
        let below = vec![tip.clone()];
        if let Some(signed) = &order.signed {
            let commits = new_commits(self.call("rev-list"), &revert, &below, cancel)?;
            let name = format!("refs/pitcrew/signed/{}", order.plan);
            // If the branch has moved meanwhile, another revert was signed.
            if self.take_signed(&name, (&revert, signed), &commits, cancel)?.is_ok() {
                return Ok(signed.clone());
            }
        }
        Err(Stopped::Unsigned(Unsigned { commit: revert, below, commits_count: 1 }))
    }

    /// The branch contains the landing and its revert, so the next landing has to be made anew.
    fn forget_landing(&self, order: &UndoLanding, cancel: &Cancel) -> Result<(), GitError> {
        let all = format!("refs/pitcrew/landings/{}", order.plan);
        let call = self.call("for-each-ref").args(["--format=%(refname)", "--points-at"]);
        let names = call.args([&order.landed.0, &all]).line(cancel)?;
        names.lines().try_for_each(|it| self.delete_ref(it))?;
        self.delete_ref(&undo_ref(order))
    }
}

/// The ref of the revert, until the branch has it. A retry finds it again.
fn undo_ref(order: &UndoLanding) -> String {
    format!("refs/pitcrew/undo/{}/{}", order.plan, order.landed)
}

fn revert_message(plan: PlanId, title: &str, landed: &CommitId) -> String {
    let title = shown(title.trim());
    format!(
        "{}\n\nThis reverts the landing of {plan}, {landed}.\n\nPitcrew-Plan: {plan}",
        subject_of(&format!("Revert \"{title}\""))
    )
}
