//! Queries: each ends once, within its time and its budgets.

use super::{Ledger, place};
use crate::broken::hold;
use pitcrew_model::{
    AttemptId, EffectId, Event, Message, MessageId, MessageStatus, OracleAnswer, Party, PlanId,
    QueryId, QueryLimits, QueryOutcome, QueryVia, Timestamp, WorkerId, limits,
};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Default)]
pub struct Queries {
    pub limits: QueryLimits,
    pub rows: Vec<Query>,
    /// The answers of owners, until their work changes.
    said: BTreeMap<(WorkerId, String, String), String>,
    pub counts: Counts,
}

#[derive(Debug, Default)]
pub struct Counts {
    pub parked: u64,
    pub indexed: u64,
    pub answered: u64,
    pub cached: u64,
    pub overheard: u64,
    pub late: u64,
    pub passed_on: u64,
    pub over_budget: u64,
    pub timed_out: u64,
    pub withdrawn: u64,
    pub not_available: u64,
}

#[derive(Debug)]
pub struct Query {
    pub worker: WorkerId,
    pub symbol: String,
    pub via: QueryVia,
    pub until: Timestamp,
    pub turn: Option<EffectId>,
    pub oracle: Option<OracleAnswer>,
    pub at: Option<(WorkerId, MessageId)>,
    pub owners: Vec<WorkerId>,
    /// The cost of asking.
    pub question: u64,
    /// The unused reservation.
    pub set_aside: u64,
    pub spent: Option<u64>,
    pub outcome: Option<QueryOutcome>,
}

impl Query {
    /// Returns the likely path of the symbol.
    fn path(&self) -> String {
        self.oracle.as_ref().and_then(|it| it.owner_hint_path.clone()).unwrap_or_default()
    }
}

/// The highest cost of an answer.
const ANSWER_TOKENS: u64 = limits::QUERY_ANSWER_BYTES_MAX as u64 / 4;

impl Ledger {
    pub(super) fn query_event(&mut self, event: &Event) {
        if let Event::QueryLimitsApplied { limits } = event {
            self.queries.limits = *limits;
        } else if let Event::QueryAsked { query, worker, symbol, via, until, nonce, .. } = event {
            self.query_asked(*query, *worker, symbol, *via, *until, nonce);
        } else if let Event::QueryRouted { query, worker, owner, message } = event {
            self.query_routed(*query, *worker, *owner, *message);
        } else if let Event::QueryEnded { query, outcome, text, tokens_spent, .. } = event {
            self.query_ended(*query, *outcome, text, *tokens_spent);
        } else if let Event::QueryAnsweredLate { query, owner, text, tokens_spent, .. } = event {
            self.query_late(*query, *owner, text, *tokens_spent);
        }
    }

    fn query_asked(
        &mut self,
        query: QueryId,
        worker: WorkerId,
        symbol: &str,
        via: QueryVia,
        until: Timestamp,
        nonce: &str,
    ) {
        let row = &self.workers[place(worker.0)];
        let open = self.attempts[place(row.attempt.0)].outcome.is_none();
        hold!(open, "only who works asks", "{query} of {worker}");
        let in_turn = row.turn.is_some() || via != QueryVia::Tool;
        hold!(in_turn, "a call belongs to a turn", "{query} of {worker}");
        let in_time = until == self.at.plus(self.queries.limits.deadline_ms);
        hold!(in_time, "a query has a deadline", "{query}, {nonce}");
        let row = Query {
            worker,
            symbol: symbol.into(),
            via,
            until,
            turn: row.turn,
            oracle: None,
            at: None,
            owners: Vec::new(),
            question: 0,
            set_aside: 0,
            spent: None,
            outcome: None,
        };
        self.queries.rows.push(row);
        let all = self.queries.rows.len() as u64;
        hold!(all == query.0, "ids have no gap", "{query}");
    }

    pub(super) fn oracle_answered(&mut self, query: QueryId, answer: &OracleAnswer) {
        self.queries.rows[place(query.0)].oracle.get_or_insert(answer.clone());
    }

    fn query_routed(&mut self, id: QueryId, worker: WorkerId, owner: WorkerId, message: MessageId) {
        let row = &self.queries.rows[place(id.0)];
        hold!(row.outcome.is_none(), "an ended query asks no owner", "{id}");
        hold!(row.worker == worker, "a query is of its asker", "{id}");
        hold!(owner != worker, "no worker is asked its own query", "{id}");
        hold!(!row.owners.contains(&owner), "an owner is asked once", "{id}, {owner}");
        let unknown = row.oracle.as_ref().is_some_and(|it| !it.found);
        hold!(unknown, "the index is asked first", "{id}");
        let may_disturb = !matches!(row.via, QueryVia::Read | QueryVia::Question);
        hold!(may_disturb, "a read and a question to the house disturb no owner", "{id}");
        let path = row.path();
        let attempt = self.workers[place(owner.0)].attempt;
        let task = &self.tasks[place(self.attempts[place(attempt.0)].task.0)];
        let owns = task.files.iter().any(|it| it.contains(&path));
        hold!(owns, "who is asked owns the place", "{id}: {path} is not of {owner}");
        hold!(!self.waits_for(owner, worker), "no wait cycle begins", "{id}: {owner}, {worker}");
        let mut unused = 0;
        if let Some((before, letter)) = row.at {
            let letter = &self.mail.letters[place(letter.0)];
            let over = letter.status.has_ended();
            hold!(over, "a query is at one owner at a time", "{id} at {before} and {owner}");
            self.queries.counts.passed_on += 1;
            // An unread question costs nothing.
            unused = ANSWER_TOKENS + if letter.tries_count == 0 { row.question } else { 0 };
        }
        let row = &mut self.queries.rows[place(id.0)];
        row.set_aside -= unused;
        row.at = Some((owner, message));
        row.owners.push(owner);
    }

    /// Checks that a question and its longest answer fit into both budgets.
    pub(super) fn query_sent(&mut self, message: &Message) {
        let id = message.id;
        let at = self.queries.rows.iter().position(|it| it.at.is_some_and(|it| it.1 == id));
        let Some(at) = at else {
            return hold!(false, "a query goes where it was sent", "{id}");
        };
        let to = self.queries.rows[at].at.map(|it| Party::Worker(it.0));
        hold!(to == Some(message.to), "a query goes where it was sent", "{id}");
        let question = (message.content.len() as u64).div_ceil(4);
        self.queries.rows[at].question = question;
        self.queries.rows[at].set_aside += question + ANSWER_TOKENS;
        let worker = self.queries.rows[at].worker;
        let (own, all) = self.query_tokens(worker);
        let QueryLimits { worker_tokens, plan_tokens, .. } = self.queries.limits;
        hold!(own <= worker_tokens, "queries keep to the budget of a worker", "{own} by {id}");
        hold!(all <= plan_tokens, "queries keep to the budget of a plan", "{all} by {id}");
    }

    /// Returns the spent and reserved tokens of a worker and of its plan.
    fn query_tokens(&self, worker: WorkerId) -> (u64, u64) {
        let plan = |it: WorkerId| -> PlanId {
            self.plan_id_of(AttemptId(self.workers[place(it.0)].attempt.0))
        };
        let tokens = |it: &Query| it.spent.unwrap_or(it.set_aside);
        let of = |wanted: &dyn Fn(&Query) -> bool| -> u64 {
            self.queries.rows.iter().filter(|it| wanted(it)).map(tokens).sum()
        };
        let of_plan = plan(worker);
        (of(&|it| it.worker == worker), of(&|it| plan(it.worker) == of_plan))
    }

    fn query_ended(&mut self, id: QueryId, outcome: QueryOutcome, text: &str, spent: u64) {
        let at = self.at;
        let row = &self.queries.rows[place(id.0)];
        hold!(row.outcome.is_none(), "a query ends once", "{id}");
        let within = spent <= row.set_aside;
        hold!(within, "a query costs no more than was set aside", "{id}: {spent}");
        let worker = &self.workers[place(row.worker.0)];
        let over = self.attempts[place(worker.attempt.0)].outcome.is_some();
        let lost = over
            || worker.status.has_ended()
            || row.via == QueryVia::Tool && worker.turn != row.turn;
        let counts = &mut self.queries.counts;
        let count = match outcome {
            QueryOutcome::Indexed => {
                let found = row.oracle.as_ref().is_some_and(|it| it.found) && spent == 0;
                hold!(found, "what the index knows costs nothing", "{id}");
                &mut counts.indexed
            }
            QueryOutcome::Answered { owner } => {
                let asked = row.at.is_some_and(|it| it.0 == owner);
                hold!(asked && !lost, "who was asked answers", "{id} by {owner}");
                &mut counts.answered
            }
            QueryOutcome::Overheard { owner } => {
                let asked = row.at.is_some_and(|it| it.0 == owner);
                hold!(asked, "who was asked answers", "{id} by {owner}");
                &mut counts.overheard
            }
            QueryOutcome::Cached { owner } => {
                let said = self.queries.said.get(&(owner, row.symbol.clone(), row.path()));
                hold!(said.is_some_and(|it| it == text), "what is kept holds", "{id} of {owner}");
                // The owner may have answered a query of another worker.
                let asking = row.set_aside.saturating_sub(ANSWER_TOKENS);
                hold!(spent <= asking, "what is kept costs nothing", "{id}: {spent}");
                &mut counts.cached
            }
            QueryOutcome::TimedOut { .. } => {
                hold!(row.until <= at, "a query has its time", "{id} until {} at {at}", row.until);
                &mut counts.timed_out
            }
            QueryOutcome::Withdrawn => {
                hold!(lost, "a query is for somebody", "{id}");
                &mut counts.withdrawn
            }
            QueryOutcome::OverBudget { .. } => &mut counts.over_budget,
            QueryOutcome::NotFound | QueryOutcome::NotAvailable { .. } => &mut counts.not_available,
        };
        *count += 1;
        if let QueryOutcome::Answered { owner } = outcome {
            let (symbol, path) = (row.symbol.clone(), row.path());
            self.queries.said.insert((owner, symbol, path), text.into());
            if let Some((_, message)) = row.at {
                self.mail.letters[place(message.0)].answered_by_reader = true;
            }
        }
        let row = &mut self.queries.rows[place(id.0)];
        (row.outcome, row.spent) = (Some(outcome), Some(spent));
    }

    fn query_late(&mut self, id: QueryId, owner: WorkerId, text: &str, spent: u64) {
        let row = &mut self.queries.rows[place(id.0)];
        let ended = matches!(row.outcome, Some(QueryOutcome::TimedOut { .. }));
        let asked = row.at.is_some_and(|it| it.0 == owner);
        hold!(ended && asked, "only a query that timed out is answered late", "{id} by {owner}");
        let (worker, symbol, path) = (row.worker, row.symbol.clone(), row.path());
        *row.spent.get_or_insert(0) += spent;
        self.queries.said.insert((owner, symbol, path), text.into());
        self.queries.counts.late += 1;
        let (own, all) = self.query_tokens(worker);
        let QueryLimits { worker_tokens, plan_tokens, .. } = self.queries.limits;
        // After a limit was lowered the budget may be exceeded already.
        hold!(own <= worker_tokens, "queries keep to the budget of a worker", "{own} by {id}");
        hold!(all <= plan_tokens, "queries keep to the budget of a plan", "{all} by {id}");
    }

    /// Drops the answers of a worker whose work has changed.
    pub(super) fn forget_said(&mut self, attempt: AttemptId) {
        let worker = self.attempts[place(attempt.0)].worker;
        self.queries.said.retain(|it, _| it.0 != worker);
    }

    /// Returns whether one worker waits for another one, directly or through others.
    fn waits_for(&self, from: WorkerId, to: WorkerId) -> bool {
        let mut seen = BTreeSet::new();
        let mut next = vec![from];
        while let Some(worker) = next.pop() {
            if worker == to {
                return true;
            }
            if !seen.insert(worker) {
                continue;
            }
            let letters = self.mail.letters.iter().filter(|it| {
                let open = !it.answered && it.status != MessageStatus::Dead;
                it.kind == pitcrew_model::MessageKind::Question
                    && it.from == Party::Worker(worker)
                    && open
                    && it.status != MessageStatus::Expired
                    && it.status != MessageStatus::Processed
            });
            next.extend(letters.filter_map(|it| match it.to {
                Party::Worker(asked) => Some(asked),
                Party::Person | Party::Orchestrator | Party::Task(_) | Party::Client => None,
            }));
            let open = self.queries.rows.iter().filter(|it| it.outcome.is_none());
            let at = open.filter(|it| it.worker == worker).filter_map(|it| it.at);
            next.extend(at.map(|it| it.0));
        }
        false
    }
}
