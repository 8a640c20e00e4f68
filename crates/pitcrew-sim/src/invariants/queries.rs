//! No worker waits for an answer that will not come.

use crate::{broken::hold, world::World};
use pitcrew_kernel::{QueryStage, next_due};
use pitcrew_model::{MessageStatus, QueryVia, WorkerStatus};

pub fn check(world: &World) {
    let (state, now) = (world.state(), world.settled_at);
    let rows = world.ledger.queries.rows.iter().zip(1_u64..);
    for (row, number) in rows.filter(|it| it.0.outcome.is_none()) {
        let id = pitcrew_model::QueryId(number);
        let query = &state.queries.asked[id];
        hold!(!query.has_ended(), "the state knows which queries are open", "{id}");
        hold!(!state.is_query_lost(query), "only the living wait for answers", "{id}");
        let waits = row.until > now && next_due(state) <= Some(row.until);
        hold!(waits, "no query outlives its time", "{id} until {} at {now}", row.until);
        let asked = state.open_queries(row.worker).any(|it| it.id == id);
        hold!(asked, "a worker knows what it asked", "{id} of {}", row.worker);
        match query.stage {
            QueryStage::AtIndex => {
                hold!(row.oracle.is_none(), "an answer of the index is looked at", "{id}");
            }
            QueryStage::AtOwner { owner, message } => {
                let status = state.mail.posted[message].status;
                let reads = matches!(status, MessageStatus::Queued | MessageStatus::Delivered);
                hold!(reads, "who is asked will read it", "{id} at {owner}: {status}");
                let ended = state.workers[owner].status.has_ended();
                hold!(!ended, "no query waits for an ended owner", "{id} at {owner}");
                let runs = state.workers[row.worker].status == WorkerStatus::Running;
                let waits = row.via == QueryVia::Tool;
                hold!(!(waits && runs), "who waits has no slot", "{id} of {}", row.worker);
                let circle = state.is_waiting_for(owner, row.worker);
                hold!(!circle, "no wait cycle lasts", "{id} of {} at {owner}", row.worker);
            }
            QueryStage::Ended { .. } => {}
        }
    }
    let open = world.ledger.queries.rows.iter().filter(|it| it.outcome.is_none()).count();
    let known: usize = state.queries.askers.values().map(|it| it.open.len()).sum();
    hold!(open == known, "the state knows which queries are open", "{known}, not {open}");
    let kept = state.queries.said.count();
    let most = pitcrew_model::limits::QUERY_ANSWERS_KEPT_MAX;
    hold!(kept <= most, "what is kept is bounded", "{kept}");
}
