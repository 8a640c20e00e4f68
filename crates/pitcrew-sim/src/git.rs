//! A simple git: the effects of the drivers on the vault, the checkouts and the user's branch.

use crate::broken::hold;
use pitcrew_model::{AttemptId, CommitId, PlanBase, PlanId, TaskId, Unsigned};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Default)]
pub struct Git {
    pub plans: BTreeMap<PlanId, Branch>,
    pub checkouts: BTreeMap<AttemptId, Checkout>,
    commits: BTreeSet<CommitId>,
    snapshots: BTreeMap<AttemptId, Vec<CommitId>>,
    /// Verified commits: the attempt, the base and the merge.
    verified: BTreeSet<(AttemptId, CommitId, CommitId)>,
    next: u64,
}

/// The integration branch of a plan.
#[derive(Debug)]
pub struct Branch {
    pub base: PlanBase,
    pub head: CommitId,
    pub integrated: BTreeSet<TaskId>,
    /// The landed head, and its merge in the user's branch.
    pub landed: Option<(CommitId, CommitId)>,
    /// The merge that waits for a signature, or has one.
    pub to_sign: Option<CommitId>,
}

#[derive(Debug)]
pub struct Checkout {
    /// Changes of the agent.
    pub written: u32,
    /// Those of them that are in the vault.
    pub saved: u32,
    /// The driver tried to save, and reported the result.
    pub tried: bool,
    pub there: bool,
}

impl Git {
    pub fn commit(&mut self, name: &str) -> CommitId {
        self.next += 1;
        let commit = CommitId(format!("{name}.{}", self.next));
        self.commits.insert(commit.clone());
        commit
    }

    pub fn must_know(&self, commit: &CommitId, what: &str) {
        hold!(self.commits.contains(commit), "drivers get commits that exist", "{what} {commit}");
    }

    /// Repeats the result of an earlier effect that was lost.
    pub fn prepare_plan(&mut self, plan: PlanId) -> PlanBase {
        if let Some(branch) = self.plans.get(&plan) {
            return branch.base.clone();
        }
        let start = self.commit("base");
        let base = PlanBase {
            branch: Some("main".into()),
            tip: start.clone(),
            start: start.clone(),
            dirty_count: 0,
            notes: Vec::new(),
            left_behind: pitcrew_model::LeftBehind::default(),
        };
        let branch = Branch {
            base: base.clone(),
            head: start,
            integrated: BTreeSet::new(),
            landed: None,
            to_sign: None,
        };
        self.plans.insert(plan, branch);
        base
    }

    /// Checks that a sub-task starts from its parent's work.
    pub fn must_be_there(&self, parent: AttemptId, child: AttemptId) {
        let there = self.checkouts.get(&parent).is_some_and(|it| it.there);
        hold!(there, "a sub-task begins in its parent's work", "{child} of {parent}");
    }

    pub fn prepare_checkout(&mut self, attempt: AttemptId) {
        let fresh = Checkout { written: 0, saved: 0, tried: false, there: true };
        self.checkouts.entry(attempt).or_insert(fresh).there = true;
    }

    pub fn write(&mut self, attempt: AttemptId) {
        let it = self.checkouts.get_mut(&attempt).filter(|it| it.there);
        hold!(it.is_some(), "no checkout goes under a live agent", "{attempt} writes nowhere");
        if let Some(it) = it {
            it.written += 1;
        }
    }

    pub fn snapshot(&mut self, attempt: AttemptId) -> Option<CommitId> {
        let commit = self.save(attempt, "snapshot")?;
        self.snapshots.entry(attempt).or_default().push(commit.clone());
        Some(commit)
    }

    /// Drops all snapshots of an attempt except the last one.
    pub fn drop_snapshots(&mut self, attempt: AttemptId) {
        let Some(all) = self.snapshots.get_mut(&attempt) else { return };
        let last = all.pop();
        for commit in std::mem::replace(all, last.into_iter().collect()) {
            self.commits.remove(&commit);
        }
    }

    pub fn knows(&self, commit: &CommitId) -> bool {
        self.commits.contains(commit)
    }

    /// Saves the work of a checkout in the vault.
    pub fn save(&mut self, attempt: AttemptId, name: &str) -> Option<CommitId> {
        let it = self.checkouts.get_mut(&attempt).filter(|it| it.there)?;
        it.saved = it.written;
        Some(self.commit(name))
    }

    /// Returns whether the vault has everything that was written.
    pub fn is_saved(&self, attempt: AttemptId) -> bool {
        self.checkouts.get(&attempt).is_some_and(|it| it.there && it.saved == it.written)
    }

    pub fn tried_to_save(&mut self, attempt: AttemptId) {
        if let Some(it) = self.checkouts.get_mut(&attempt) {
            it.tried = true;
        }
    }

    pub fn verify(&mut self, attempt: AttemptId, onto: &CommitId) -> CommitId {
        let merged = self.commit("merge");
        self.verified.insert((attempt, onto.clone(), merged.clone()));
        merged
    }

    /// Compare-and-set; a repetition has the same result.
    pub fn integrate(
        &mut self,
        (plan, task, attempt): (PlanId, TaskId, AttemptId),
        onto: &CommitId,
        merged: &CommitId,
    ) {
        let checked = self.verified.contains(&(attempt, onto.clone(), merged.clone()));
        hold!(checked, "only what was verified is integrated", "{attempt}: {merged} on {onto}");
        let branch = self.plans.get_mut(&plan).expect("the plan was prepared");
        if branch.head == *merged {
            return;
        }
        let head = &branch.head;
        hold!(head == onto, "one piece of work is integrated at a time", "{head} is not {onto}");
        branch.head = merged.clone();
        let first = branch.integrated.insert(task);
        hold!(first, "nothing is integrated twice", "{task} in {plan}");
    }

    pub fn land(&mut self, plan: PlanId, head: &CommitId) -> CommitId {
        let branch = &self.plans[&plan];
        let (now, landed) = (&branch.head, head);
        hold!(
            now == landed,
            "what is landed is what is integrated",
            "{now} is the head, not {landed}"
        );
        if let Some((landed, merge)) = &branch.landed
            && landed == head
        {
            return merge.clone();
        }
        let merge = self.commit("landing");
        let landed = Some((head.clone(), merge.clone()));
        self.plans.get_mut(&plan).expect("the plan was prepared").landed = landed;
        merge
    }

    /// Prepares commits, and returns them if the signature is missing.
    pub fn must_be_signed(&mut self, plan: PlanId, signed: Option<&CommitId>) -> Option<Unsigned> {
        let waits = self.plans[&plan].to_sign.clone();
        if waits.is_some() && waits.as_ref() == signed {
            return None;
        }
        let commit = waits.unwrap_or_else(|| self.commit("unsigned"));
        self.plans.get_mut(&plan).expect("the plan was prepared").to_sign = Some(commit.clone());
        Some(Unsigned { commit, below: Vec::new(), commits_count: 1 })
    }

    /// Removes a landing from the branch. A repetition has the same result.
    pub fn undo_landing(&mut self, plan: PlanId, landed: &CommitId) {
        let branch = self.plans.get_mut(&plan).expect("the plan was prepared");
        let is_last = branch.landed.as_ref().is_none_or(|it| it.1 == *landed);
        hold!(is_last, "what is undone is the last landing", "{plan}: {landed}");
        branch.landed = None;
    }

    /// Returns whether the checkout can be removed without a loss.
    pub fn remove(&mut self, attempt: AttemptId) -> bool {
        let Some(it) = self.checkouts.get_mut(&attempt) else { return true };
        let safe = it.saved == it.written;
        it.there &= !safe;
        safe
    }
}
