//! Repeats the open effects of the last orchestrator, with their cancellations, in the original
//! order.

use crate::{
    order::{Order, Scope, over},
    subject::Subject,
};
use pitcrew_model::{Effect, EffectId, Entry, Seq, WorkerId};

pub struct Reissue {
    effects: Vec<(EffectId, Effect)>,
    /// The scopes that have ended, in the order of the journal.
    over: Vec<(Seq, Scope)>,
}

impl Reissue {
    pub fn new(open_effects: Vec<(EffectId, Effect)>) -> Self {
        Self { effects: open_effects, over: Vec::new() }
    }

    /// Called with every entry of the journal.
    pub fn see(&mut self, entry: &Entry) {
        let is_for = |effect, scope: Scope| scope.cuts(Subject::of(effect).may_be_cut_with());
        if let Some(scope) = over(&entry.event)
            && self.effects.iter().any(|it| is_for(&it.1, scope))
        {
            self.over.push((entry.seq, scope));
        }
    }

    pub fn is_starting(&self, worker: WorkerId) -> bool {
        let is_start = |effect: &Effect| matches!(effect, Effect::StartAgent { worker: started, .. } if *started == worker);
        self.effects.iter().any(|it| is_start(&it.1))
    }

    /// Returns the open turn of the worker.
    pub fn prompt_of(&self, worker: WorkerId) -> Option<EffectId> {
        let is_turn =
            |effect: &Effect| matches!(effect, Effect::Prompt { worker: of, .. } if *of == worker);
        self.effects.iter().find(|it| is_turn(&it.1)).map(|it| it.0)
    }

    /// Sends the open effects. An effect is cancelled only by later events: work that a person
    /// accepted is verified although its attempt has ended.
    pub fn send(self, mut order: impl FnMut(Order)) {
        let mut effects = self.effects.into_iter().peekable();
        let begin = |(id, effect)| Order::Do(id, Box::new(effect));
        for (seq, scope) in self.over {
            while let Some(effect) = effects.next_if(|it| it.0.0 < seq.0) {
                order(begin(effect));
            }
            order(Order::Over(scope));
        }
        effects.map(begin).for_each(order);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pitcrew_model::{
        Actor, AttemptId, CommitId, Event, Outcome, PlanId, PlanStatus, Timestamp,
    };

    fn verify(attempt: u64) -> Effect {
        let commit = CommitId("1".repeat(40));
        Effect::Verify {
            attempt: AttemptId(attempt),
            onto: commit.clone(),
            work: commit,
            title: String::new(),
            setup: Vec::new(),
            checks: Vec::new(),
            expected_files: Vec::new(),
            zone: pitcrew_model::Zone::default(),
        }
    }

    fn check_base(plan: u64) -> Effect {
        let (plan, commit) = (PlanId(plan), CommitId("1".repeat(40)));
        Effect::CheckBase { plan, commit, setup: Vec::new(), checks: Vec::new() }
    }

    fn start(attempt: u64) -> Effect {
        Effect::StartAgent {
            worker: WorkerId(attempt),
            attempt: AttemptId(attempt),
            backend: pitcrew_model::Backend::Builtin,
            path: "/".into(),
            model: None,
            zone: pitcrew_model::Zone::default(),
            sees: Vec::new(),
            reads: pitcrew_model::Reads::Guided,
            stay: pitcrew_model::CheckoutRole::Owner,
        }
    }

    fn ended(attempt: u64) -> Event {
        let (attempt, outcome) = (AttemptId(attempt), Outcome::Partial);
        Event::AttemptEnded { attempt, outcome, failure: None }
    }

    fn moved(plan: u64, to: PlanStatus) -> Event {
        let (from, reason) = (PlanStatus::Active, String::new());
        Event::PlanMoved { plan: PlanId(plan), from, to, reason, actor: Actor::Person }
    }

    fn reissued(effects: Vec<(u64, Effect)>, events: Vec<(u64, Event)>) -> Vec<String> {
        let effects = effects.into_iter().map(|(id, it)| (EffectId(id), it)).collect();
        let mut reissue = Reissue::new(effects);
        for (seq, event) in events {
            reissue.see(&Entry { seq: Seq(seq), at: Timestamp(1), event });
        }
        let mut sent = Vec::new();
        reissue.send(|order| {
            sent.push(match order {
                Order::Do(id, _) => format!("do {}", id.0),
                Order::Over(Scope::Attempt(attempt)) => format!("over {attempt}"),
                Order::Over(Scope::Plan(plan)) => format!("over {plan}"),
                Order::Over(Scope::BaseOf(plan)) => format!("over base of {plan}"),
            });
        });
        sent
    }

    #[test]
    fn an_ended_scope_is_cancelled_right_after_its_effects() {
        let effects = vec![
            (2, check_base(1)),
            (3, check_base(2)),
            (5, verify(1)),
            (6, start(2)),
            (9, verify(3)),
        ];
        let events = vec![
            (1, ended(7)),
            (7, ended(1)),
            (8, ended(2)),
            (10, moved(1, PlanStatus::Cancelled)),
            (11, moved(2, PlanStatus::Paused)),
        ];
        let sent = reissued(effects, events);
        let ordered = ["do 2", "do 3", "do 5", "do 6", "over attempt-1", "over attempt-2", "do 9"];
        assert_eq!(sent, [&ordered[..], &["over plan-1", "over base of plan-2"]].concat());
    }

    /// A person accepted the work of an ended attempt.
    #[test]
    fn an_effect_after_the_end_of_its_attempt_is_not_cancelled() {
        let sent = reissued(vec![(9, verify(1))], vec![(7, ended(1))]);
        assert_eq!(sent, ["over attempt-1", "do 9"]);
    }
}
