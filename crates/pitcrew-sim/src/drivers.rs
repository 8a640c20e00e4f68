//! Drivers that carry out effects: correctly, with failures, twice, or in part.
//!
//! They keep the contract of the real ones: every effect ends in one result, and a repeated effect
//! finds what the first one did.

mod vault;
mod sessions;
mod failures;

use crate::{counters::Fault, dice::Dice, world::World};
use pitcrew_model::{Effect, EffectId, EffectResult, Failure, OracleAnswer};
use pitcrew_writer::Subject;

/// Whether faults are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mood {
    Any,
    Good,
}

impl World {
    /// Continues one effect. Its result waits to be delivered.
    pub fn drive(&mut self, id: EffectId, dice: &mut Dice, mood: Mood) {
        let Some(running) = self.running.remove(&id) else { return };
        let (effect, cut) = (&running.effect, running.cut);
        if cut && dice.one_in(2) && !matches!(effect, Effect::StartAgent { .. }) {
            self.counters.count(Fault::Cut);
            let by = "orchestrator".into();
            let result = Subject::of(effect).failed_with(Failure::Cancelled { by });
            return self.tell(id, result);
        }
        let fails = mood == Mood::Any && dice.one_in(self.faults_one_in);
        match self.carry_out(id, effect, dice, mood, fails) {
            Some(result) => self.tell(id, result),
            None => drop(self.running.insert(id, running)),
        }
    }

    /// Returns the result; none if it takes longer.
    fn carry_out(
        &mut self,
        id: EffectId,
        effect: &Effect,
        dice: &mut Dice,
        mood: Mood,
        fails: bool,
    ) -> Option<EffectResult> {
        Some(match effect {
            Effect::PreparePlan { plan, .. } => self.prepare_plan(*plan, dice, fails),
            Effect::CheckBase { plan, checks, .. } => self.check_base(*plan, checks, fails),
            Effect::PrepareCheckout { attempt, start, place, .. } => {
                // An effect of an attempt that was cancelled meanwhile does not start.
                let begins = self.state().attempts[*attempt].is_open();
                if let Some(place) = place.as_ref().filter(|_| begins) {
                    self.git.must_be_there(place.parent, *attempt);
                }
                self.prepare_checkout(*attempt, start, dice, fails)
            }
            Effect::StartAgent { worker, attempt, .. } => {
                self.start_agent(*worker, *attempt, dice, fails)
            }
            Effect::Prompt { worker, .. } => return self.prompt(id, *worker, dice, mood),
            Effect::AnswerPermission { worker, call, option } => {
                self.answer_permission(*worker, call, option.as_ref())
            }
            Effect::InterruptTurn { worker } => self.interrupt(id, *worker, dice, fails),
            Effect::StopAgent { worker } => self.stop_agent(*worker),
            Effect::CollectWork { attempt, start, base, .. } => {
                self.git.must_know(start, "start");
                self.git.must_know(base, "base");
                self.collect_work(*attempt, dice, fails)
            }
            Effect::SaveWork { attempt, .. } => self.save_work(*attempt, fails),
            Effect::Verify { attempt, onto, work, checks, .. } => {
                self.git.must_know(work, "work");
                self.verify(*attempt, onto, checks, dice, fails)
            }
            Effect::Integrate { attempt, plan, onto, merged } => {
                self.integrate((*plan, *attempt), onto, merged, dice, fails)
            }
            Effect::Land { plan, head, signed, .. } => {
                // Few schedules reach a landing, so these get conflicts often.
                let fails = mood == Mood::Any && dice.one_in(2);
                self.land((*plan, head), signed.as_ref(), dice, mood, fails)
            }
            Effect::UndoLanding { plan, landed, signed, .. } => {
                self.undo_landing(*plan, landed, signed.as_ref(), fails)
            }
            Effect::Snapshot { attempt, last, .. } => {
                self.snapshot(*attempt, last.as_ref(), dice, fails)
            }
            Effect::Restore { task, number, commit, .. } => {
                self.restore(*task, *number, commit, fails)
            }
            Effect::DropSnapshots { attempt } if fails => {
                EffectResult::SnapshotsNotDropped { attempt: *attempt, reason: "locked".into() }
            }
            Effect::DropSnapshots { attempt } => {
                self.counters.count(Fault::SnapshotsDropped);
                self.git.drop_snapshots(*attempt);
                EffectResult::SnapshotsDropped { attempt: *attempt }
            }
            Effect::PullWork { attempt, task, commit, base, .. } => {
                self.git.must_know(commit, "work");
                self.git.must_know(base, "base");
                self.pull_work(*attempt, *task, commit, fails)
            }
            Effect::TidyVault if fails => EffectResult::VaultNotTidied { reason: "locked".into() },
            Effect::TidyVault => EffectResult::VaultTidied { packed_count: 1 },
            Effect::ConsultOracle { query, symbol, .. } => {
                let answer = any_answer(symbol, dice, fails);
                EffectResult::OracleAnswered { query: *query, answer }
            }
            Effect::RemoveCheckout { attempt, .. } => self.remove_checkout(*attempt, fails),
        })
    }
}

/// Returns an answer of the index: the symbol, its likely path, or nothing.
fn any_answer(symbol: &str, dice: &mut Dice, fails: bool) -> OracleAnswer {
    if fails {
        return OracleAnswer::default();
    }
    if dice.one_in(4) {
        let text = "struct One (core/a:1-3)".into();
        return OracleAnswer { found: true, text, bytes_saved: 400, ..OracleAnswer::default() };
    }
    let places = ["core/a/x", "core/b/y", "core/z", "ui/w", "docs", "coreless/v"];
    // Most workers query the same paths.
    let place = match symbol {
        "One" => Some("core/a/x"),
        "Three" => Some("core/b/y"),
        _ => dice.pick(&places),
    };
    let owner_hint_path = place.map(String::from);
    let nearest = vec!["Won".into()];
    OracleAnswer { nearest, owner_hint_path, ..OracleAnswer::default() }
}
