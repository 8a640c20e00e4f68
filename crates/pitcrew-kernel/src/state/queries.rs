//! Queries about code outside a worker's region, and the kept answers of owners.

use super::{Process, State, Table, Worker};
use alloc::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    string::String,
    vec,
    vec::Vec,
};
use pitcrew_model::{
    AttemptId, CommitId, EffectId, MessageId, OracleAnswer, PlanId, QueryId, QueryLimits,
    QueryOutcome, QueryVia, Timestamp, WorkerId, WorkerStatus, about_tokens, limits,
};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Queries {
    pub limits: QueryLimits,
    /// All queries. Ended ones have no text, except the last ones of each live worker.
    pub asked: Table<QueryId, Query>,
    pub askers: BTreeMap<WorkerId, Asker>,
    /// The query of each message to an owner.
    pub routed: BTreeMap<MessageId, QueryId>,
    /// Messages that owners have read but not answered in time.
    pub late: BTreeMap<MessageId, QueryId>,
    pub deadlines: BTreeSet<(Timestamp, QueryId)>,
    /// Queries that need a decision.
    pub due: BTreeSet<QueryId>,
    /// The cost of the ended queries of a plan.
    pub spent: BTreeMap<PlanId, u64>,
    pub said: OwnerAnswers,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    pub id: QueryId,
    pub worker: WorkerId,
    pub symbol: String,
    pub context: String,
    pub via: QueryVia,
    pub nonce: String,
    pub until: Timestamp,
    /// The turn of the asker.
    pub turn: Option<EffectId>,
    pub stage: QueryStage,
    /// The answer of the index.
    pub oracle: Option<OracleAnswer>,
    /// All owners that were asked.
    pub owners: Vec<WorkerId>,
    /// The cost at the owners before the last one; of an ended query, all of it.
    pub spent: u64,
    /// What the asker did not have to read, in tokens.
    pub saved: u64,
    /// The final answer.
    pub answer: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryStage {
    AtIndex,
    AtOwner { owner: WorkerId, message: MessageId },
    Ended { outcome: QueryOutcome },
}

/// The queries of one worker.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asker {
    pub open: BTreeSet<QueryId>,
    /// The last ended ones, the newest last.
    pub ended: VecDeque<QueryId>,
    /// Their nonces: after a restart the output of an agent is read from its beginning.
    pub nonces: BTreeSet<String>,
    /// The cost of the ended ones.
    pub spent: u64,
}

/// The answers of owners, by name and path. An answer ends with a change of the owner's work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnerAnswers {
    answers: BTreeMap<(String, String), OwnerAnswer>,
    /// Oldest first.
    order: VecDeque<(String, String)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnerAnswer {
    pub owner: WorkerId,
    pub text: String,
    /// The last snapshot of the owner's checkout.
    pub version: Version,
}

pub type Version = (AttemptId, CommitId);

impl OwnerAnswers {
    pub fn get(&self, symbol: &str, path: &str) -> Option<&OwnerAnswer> {
        self.answers.get(&(symbol.into(), path.into()))
    }

    pub(crate) fn keep(&mut self, symbol: &str, path: &str, saying: OwnerAnswer) {
        let key: (String, String) = (symbol.into(), path.into());
        self.order.retain(|it| *it != key);
        if self.order.len() == limits::QUERY_ANSWERS_KEPT_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.answers.remove(&oldest);
        }
        self.order.push_back(key.clone());
        self.answers.insert(key, saying);
    }

    pub fn count(&self) -> usize {
        self.answers.len()
    }
}

impl Query {
    pub fn has_ended(&self) -> bool {
        matches!(self.stage, QueryStage::Ended { .. })
    }

    /// Returns the likely path of the symbol.
    pub fn path(&self) -> Option<&str> {
        self.oracle.as_ref()?.owner_hint_path.as_deref()
    }

    /// Returns the question to an owner.
    pub fn question(&self) -> String {
        let context = if self.context.is_empty() { "none" } else { &self.context };
        alloc::format!(
            "I need the type signature and brief description of `{}`. Context: {context}. \
             Reply with ONLY the signature/definition, no explanation.",
            self.symbol
        )
    }

    /// Estimates the cost of asking an owner, in tokens.
    pub fn question_tokens(&self) -> u64 {
        about_tokens(self.question().len() as u64)
    }

    /// Returns the most that it may cost in total.
    pub fn reserved(&self) -> u64 {
        match self.stage {
            QueryStage::AtIndex | QueryStage::Ended { .. } => self.spent,
            QueryStage::AtOwner { .. } => self.spent + self.asking_tokens_max(),
        }
    }

    /// Returns the most that one owner may cost.
    pub fn asking_tokens_max(&self) -> u64 {
        self.question_tokens() + about_tokens(limits::QUERY_ANSWER_BYTES_MAX as u64)
    }
}

impl State {
    /// Returns the worker's recent query with this nonce.
    pub fn query_named(&self, worker: WorkerId, nonce: &str) -> Option<&Query> {
        let asker = self.queries.askers.get(&worker)?;
        let known = asker.open.iter().chain(&asker.ended).map(|it| &self.queries.asked[*it]);
        known.into_iter().find(|it| it.nonce == nonce)
    }

    pub fn open_queries(&self, worker: WorkerId) -> impl Iterator<Item = &Query> {
        let asker = self.queries.askers.get(&worker).into_iter();
        asker.flat_map(|it| &it.open).map(|it| &self.queries.asked[*it])
    }

    /// Returns whether the worker's next prompt will contain an answer.
    pub fn has_need(&self, worker: WorkerId) -> bool {
        self.open_queries(worker).any(|it| match it.via {
            QueryVia::Need | QueryVia::Question => true,
            QueryVia::Tool | QueryVia::Read => false,
        })
    }

    /// Returns the owners that the worker waits for.
    pub fn owners_asked(&self, worker: WorkerId) -> impl Iterator<Item = (MessageId, WorkerId)> {
        self.open_queries(worker).filter_map(|it| match it.stage {
            QueryStage::AtOwner { owner, message } => Some((message, owner)),
            QueryStage::AtIndex | QueryStage::Ended { .. } => None,
        })
    }

    /// Returns whether a call of its turn waits for an owner.
    pub fn asks_owner(&self, worker: &Worker) -> bool {
        let lives = worker.process == Process::Alive && self.attempts[worker.attempt].is_open();
        let waits = |it: &Query| {
            let is_there = matches!(it.stage, QueryStage::AtOwner { .. });
            it.via == QueryVia::Tool && it.turn == worker.turn && is_there
        };
        lives && worker.turn.is_some() && self.open_queries(worker.id).any(waits)
    }

    /// Returns whether its end may reach the asker now: one that gave up its slot for a query of
    /// this turn needs a slot first.
    pub fn is_query_told(&self, it: &Query) -> bool {
        let worker = &self.workers[it.worker];
        let is_parked = worker.status == WorkerStatus::WaitingInput && worker.turn.is_some();
        it.has_ended() && !(is_parked && worker.turn == it.turn)
    }

    /// Returns the remaining budgets of a worker and of its plan.
    pub fn query_tokens_left(&self, worker: WorkerId) -> (u64, u64) {
        let plan = self.plan_of(&self.attempts[self.workers[worker].attempt]).id;
        let reserved =
            |worker: WorkerId| self.open_queries(worker).map(Query::reserved).sum::<u64>();
        let of_plan =
            |it: &&WorkerId| self.plan_of(&self.attempts[self.workers[**it].attempt]).id == plan;
        let queries = &self.queries;
        let asker = queries.askers.get(&worker).map_or(0, |it| it.spent) + reserved(worker);
        let others: u64 = queries.askers.keys().filter(of_plan).map(|it| reserved(*it)).sum();
        let all = queries.spent.get(&plan).copied().unwrap_or_default() + others;
        let QueryLimits { worker_tokens, plan_tokens, .. } = queries.limits;
        (worker_tokens.saturating_sub(asker), plan_tokens.saturating_sub(all))
    }

    /// Returns the last snapshot of the owner's checkout.
    pub fn version_of(&self, owner: WorkerId) -> Version {
        let attempt = &self.attempts[self.workers[owner].attempt];
        let kept = self.tasks[attempt.task].kept.last_of(attempt.id);
        (attempt.id, kept.map_or(&attempt.start, |it| &it.commit).clone())
    }

    /// Returns a kept answer, as long as it is valid.
    pub fn said(&self, symbol: &str, path: &str) -> Option<&OwnerAnswer> {
        let saying = self.queries.said.get(symbol, path)?;
        let attempt = &self.attempts[self.workers[saying.owner].attempt];
        (attempt.is_open() && self.version_of(saying.owner) == saying.version).then_some(saying)
    }

    /// Returns whether `from` waits for `to`, directly or through others.
    pub fn is_waiting_for(&self, from: WorkerId, to: WorkerId) -> bool {
        let mut seen = BTreeSet::new();
        let mut next = vec![from];
        while let Some(worker) = next.pop() {
            if worker == to {
                return true;
            }
            if !seen.insert(worker) {
                continue;
            }
            next.extend(self.waits_for(worker).map(|it| it.1));
            let open = self.workers[worker].wait.iter().flat_map(|it| &it.open);
            let last = open.filter_map(|it| self.tasks[*it].last_attempt());
            next.extend(last.map(|it| self.attempts[it].worker));
        }
        false
    }

    /// Returns whether the asker no longer waits.
    pub fn is_query_lost(&self, it: &Query) -> bool {
        let worker = &self.workers[it.worker];
        let is_over = worker.status.has_ended() || !self.attempts[worker.attempt].is_open();
        is_over || it.via == QueryVia::Tool && worker.turn != it.turn
    }

    /// Returns whether it needs a decision.
    pub(crate) fn is_query_due(&self, it: &Query) -> bool {
        match it.stage {
            QueryStage::Ended { .. } => false,
            QueryStage::AtIndex => self.is_query_lost(it) || it.oracle.is_some(),
            QueryStage::AtOwner { owner, message } => {
                self.is_query_lost(it)
                    || self.mail.posted[message].status.has_ended()
                    || self.is_waiting_for(owner, it.worker)
            }
        }
    }
}
