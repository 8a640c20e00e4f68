//! The driver of the vault and the checkouts.

use super::{
    Mood,
    failures::{checks, conflict, failed, gate, git},
};
use crate::{broken::hold, counters::Fault, dice::Dice, world::World};
use pitcrew_model::{
    AttemptId, CheckResult, CommitId, EffectResult, Failure, FileChange, LandedAt, Landing, PlanId,
    Snapshot, TaskId, Undo, UndoneBy, Unsigned, Work,
};

impl World {
    pub(super) fn prepare_plan(
        &mut self,
        plan: PlanId,
        dice: &mut Dice,
        fails: bool,
    ) -> EffectResult {
        if fails {
            self.counters.count(Fault::PlanUnprepared);
            // It may have been done before the failure.
            if dice.one_in(2) {
                self.git.prepare_plan(plan);
            }
            return EffectResult::PlanNotPrepared { plan, failure: git("no such branch") };
        }
        EffectResult::PlanPrepared { plan, base: self.git.prepare_plan(plan) }
    }

    pub(super) fn check_base(
        &mut self,
        plan: PlanId,
        checks: &[String],
        red: bool,
    ) -> EffectResult {
        if red {
            self.counters.count(Fault::BaseRed);
        }
        EffectResult::BaseChecked { plan, checks: results(checks, i32::from(red)) }
    }

    pub(super) fn prepare_checkout(
        &mut self,
        attempt: AttemptId,
        start: &CommitId,
        dice: &mut Dice,
        fails: bool,
    ) -> EffectResult {
        self.git.must_know(start, "start");
        if fails {
            self.counters.count(Fault::CheckoutFailed);
            let text = String::new();
            let failure = match dice.below(3) {
                0 => Failure::Checkout { message: text },
                1 => Failure::Setup { command: text.clone(), code: Some(1), output: text },
                _ => Failure::DiskLow { path: text, free_bytes: 1 },
            };
            return failed(attempt, failure);
        }
        self.git.prepare_checkout(attempt);
        let path = format!("/{attempt}");
        EffectResult::CheckoutPrepared { attempt, path, notes: Vec::new() }
    }

    fn must_be_still(&self, attempt: AttemptId) {
        let lives = self.agents.values().any(|it| it.attempt == attempt && it.alive);
        hold!(!lives, "nothing is taken from under a live agent", "{attempt}");
    }

    pub(super) fn collect_work(
        &mut self,
        attempt: AttemptId,
        dice: &mut Dice,
        fails: bool,
    ) -> EffectResult {
        self.must_be_still(attempt);
        if fails && dice.one_in(2) {
            self.counters.count(Fault::GitLocked);
            return failed(attempt, git("index.lock exists"));
        }
        // Cancelled, and the checkout was removed meanwhile.
        let Some(commit) = self.git.save(attempt, "work") else {
            return failed(attempt, git("no such folder"));
        };
        if fails {
            self.counters.count(Fault::GateRefused);
            return failed(attempt, gate());
        }
        self.git.tried_to_save(attempt);
        let files = vec![FileChange { path: "src/a".into(), change: 'M' }];
        let work = Work { commit, files_count: 1, insertions: 1, deletions: 0, files };
        EffectResult::WorkCollected { attempt, work }
    }

    /// The agent may be writing at the same time.
    pub(super) fn snapshot(
        &mut self,
        attempt: AttemptId,
        last: Option<&CommitId>,
        dice: &mut Dice,
        fails: bool,
    ) -> EffectResult {
        if let Some(last) = last {
            self.git.must_know(last, "last");
        }
        // Nothing was written, or the change was reverted.
        let unchanged = self.git.is_saved(attempt) || dice.one_in(8);
        let kept = if fails || unchanged { None } else { self.git.snapshot(attempt) };
        match kept {
            Some(commit) => EffectResult::SnapshotTaken { attempt, snapshot: snapshot_of(commit) },
            None if unchanged => EffectResult::SnapshotUnchanged { attempt },
            None => {
                self.counters.count(Fault::SnapshotFailed);
                EffectResult::SnapshotNotTaken { attempt, reason: "no room".into() }
            }
        }
    }

    pub(super) fn pull_work(
        &mut self,
        attempt: AttemptId,
        task: TaskId,
        commit: &CommitId,
        fails: bool,
    ) -> EffectResult {
        if fails {
            self.counters.count(Fault::Conflict);
            return EffectResult::WorkNotPulled { attempt, task, failure: conflict() };
        }
        let (commit, files) = (commit.clone(), Vec::new());
        let work = Work { commit, files_count: 1, insertions: 1, deletions: 0, files };
        EffectResult::WorkPulled { attempt, task, work }
    }

    pub(super) fn restore(
        &mut self,
        task: TaskId,
        number: u32,
        commit: &CommitId,
        fails: bool,
    ) -> EffectResult {
        // It may have been dropped meanwhile.
        if fails || !self.git.knows(commit) {
            return EffectResult::NotRestored { task, number, failure: git("no such branch") };
        }
        let (branch, snapshot) = ("restored".into(), snapshot_of(commit.clone()));
        EffectResult::Restored { task, number, branch, snapshot }
    }

    pub(super) fn save_work(&mut self, attempt: AttemptId, fails: bool) -> EffectResult {
        self.must_be_still(attempt);
        self.git.tried_to_save(attempt);
        if fails {
            self.counters.count(Fault::GitLocked);
            return failed(attempt, git("index.lock exists"));
        }
        EffectResult::WorkSaved { attempt, commit: self.git.save(attempt, "saved") }
    }

    pub(super) fn verify(
        &mut self,
        attempt: AttemptId,
        onto: &CommitId,
        commands: &[String],
        dice: &mut Dice,
        fails: bool,
    ) -> EffectResult {
        let plan = self.ledger.plan_id_of(attempt);
        let head = &self.git.plans[&plan].head;
        hold!(head == onto, "work is verified on the integration head", "{attempt} on {onto}");
        if fails && dice.one_in(2) {
            self.counters.count(Fault::Conflict);
            return failed(attempt, conflict());
        }
        if let (true, Some(command)) = (fails, commands.first()) {
            self.counters.count(Fault::ChecksRed);
            return failed(attempt, checks(command));
        }
        let merged = self.git.verify(attempt, onto);
        EffectResult::Verified { attempt, merged, checks: results(commands, 0) }
    }

    pub(super) fn integrate(
        &mut self,
        (plan, attempt): (PlanId, AttemptId),
        onto: &CommitId,
        merged: &CommitId,
        dice: &mut Dice,
        fails: bool,
    ) -> EffectResult {
        // The branch was already moved by an effect whose result was lost, so it cannot fail.
        if fails && self.git.plans[&plan].head != *merged {
            let moved = dice.one_in(2);
            self.counters.count(if moved { Fault::MovedHead } else { Fault::GitLocked });
            let words = if moved { "the head is elsewhere" } else { "the ref is locked" };
            return failed(attempt, git(words));
        }
        let task = self.ledger.attempts[usize::try_from(attempt.0).expect("ids fit") - 1].task;
        self.git.integrate((plan, task, attempt), onto, merged);
        EffectResult::Integrated { attempt, head: merged.clone() }
    }

    pub(super) fn land(
        &mut self,
        (plan, head): (PlanId, &CommitId),
        signed: Option<&CommitId>,
        dice: &mut Dice,
        mood: Mood,
        fails: bool,
    ) -> EffectResult {
        if let Some(unsigned) = self.must_be_signed(plan, signed) {
            return EffectResult::Unsigned { plan, unsigned };
        }
        if fails {
            let conflicts = dice.one_in(2);
            let fault = if conflicts { Fault::LandingConflict } else { Fault::LandingFailed };
            self.counters.count(fault);
            let failure = if conflicts { conflict() } else { git("the branch moved") };
            return EffectResult::NotLanded { plan, failure };
        }
        let commit = self.git.land(plan, head);
        let branch = "main".to_owned();
        let at = if mood == Mood::Any && dice.one_in(3) {
            self.counters.count(Fault::MovedHead);
            LandedAt::Side { branch, reason: "the branch moved".into() }
        } else {
            LandedAt::Base { branch }
        };
        let landing = Landing {
            commit,
            at,
            files_count: 1,
            insertions: 1,
            deletions: 0,
            commits_count: 1,
            before: Some(self.git.plans[&plan].base.tip.clone()),
        };
        EffectResult::Landed { plan, landing }
    }

    pub(super) fn undo_landing(
        &mut self,
        plan: PlanId,
        landed: &CommitId,
        signed: Option<&CommitId>,
        fails: bool,
    ) -> EffectResult {
        // The branch was already moved by an effect whose result was lost, so it cannot fail.
        let is_there = self.git.plans[&plan].landed.is_some();
        if is_there && fails {
            self.counters.count(Fault::UndoFailed);
            let failure = Failure::Checkout { message: "it has uncommitted changes".into() };
            return EffectResult::LandingNotUndone { plan, failure };
        }
        if is_there && let Some(unsigned) = self.must_be_signed(plan, signed) {
            return EffectResult::Unsigned { plan, unsigned };
        }
        self.git.undo_landing(plan, landed);
        self.counters.count(Fault::Undone);
        let (branch, commit) = ("main".to_owned(), landed.clone());
        let undo = Undo { branch, commit, by: UndoneBy::Restore };
        EffectResult::LandingUndone { plan, undo }
    }

    /// In some repositories, commits are signed by a person.
    fn must_be_signed(&mut self, plan: PlanId, signed: Option<&CommitId>) -> Option<Unsigned> {
        if !self.signs {
            return None;
        }
        let unsigned = self.git.must_be_signed(plan, signed)?;
        self.counters.count(Fault::Unsigned);
        Some(unsigned)
    }

    pub(super) fn remove_checkout(&mut self, attempt: AttemptId, fails: bool) -> EffectResult {
        self.must_be_still(attempt);
        let unsaved = |it: &crate::git::Checkout| it.saved < it.written && !it.tried;
        let lost = self.git.checkouts.get(&attempt).is_some_and(unsaved);
        hold!(!lost, "work is saved before its checkout goes", "{attempt}");
        if fails || !self.git.remove(attempt) {
            self.counters.count(Fault::RemovalKept);
            return EffectResult::CheckoutKept { attempt, reason: "in use".into() };
        }
        EffectResult::CheckoutRemoved { attempt }
    }
}

fn snapshot_of(commit: CommitId) -> Snapshot {
    Snapshot { commit, files_count: 1, insertions: 1, deletions: 0 }
}

fn results(commands: &[String], code: i32) -> Vec<CheckResult> {
    let result = |it: &String| {
        let (command, output) = (it.clone(), String::new());
        CheckResult { command, code: Some(code), output, took_ms: 1 }
    };
    commands.iter().map(result).collect()
}
