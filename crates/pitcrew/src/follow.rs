//! Follows plans until they end: reads events, prints progress, forwards answers.
//!
//! If the orchestrator goes away, it is started again, and the stream continues after the last event
//! read. `render` decides what the output looks like.

mod members;
mod show;

use crate::{
    ask::{Heard, Person},
    client::{Client, Lines, Next},
    exit::Exit,
    output::Output,
    report::Report,
};
use members::Members;
use pitcrew_api::{EventLine, EventStreamLine, paths};
use pitcrew_model::{Event, PlanId, Seq};
use pitcrew_views::BoardView;
use show::Show;
use std::{collections::BTreeSet, time::Duration};
use tokio::time::{Instant, sleep_until};

/// Events that arrive within this time are shown together.
const GATHER: Duration = Duration::from_millis(100);
/// How often the live display is refreshed.
const TICK: Duration = Duration::from_secs(1);
/// Fetching the board may take at most one part in this many of the time.
const LOOK_SHARE: u32 = 20;
/// How often the orchestrator may go away without any event in between.
const BREAKS_MAX: usize = 5;

/// What to follow, and how to show it.
pub struct Order {
    pub plans: Vec<PlanId>,
    /// The last event that is already known.
    pub after: Seq,
    pub form: Form,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Progress for a person, on standard error.
    Text,
    /// Every event of the plans as a line of JSON, on standard output.
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// All plans have ended.
    Plans,
    Interrupted,
}

/// Follows the plans until all have ended, or until Ctrl-C. `board` is a view taken at `order.after` or
/// earlier.
pub async fn follow(
    client: &Client,
    output: Output,
    person: &mut Person,
    board: &BoardView,
    order: Order,
) -> Result<Ended, Report> {
    let mut follower = Follower {
        members: Members::of(board, &order.plans),
        open: order.plans.iter().copied().collect(),
        after: order.after,
        show: Show::new(client, output, order.plans, order.form),
        next_show: None,
        next_tick: Instant::now(),
    };
    let mut breaks_count = 0;
    loop {
        let query = paths::EventsQuery { after: follower.after, follow: true };
        let mut lines = client.stream(&paths::events(query)).await?;
        let before = follower.after;
        match follower.read(&mut lines, person).await? {
            Turn::Ended(ended) => return Ok(ended),
            Turn::Broken(reason) => {
                follower.show.tell_break();
                let stands_still = follower.after == before;
                breaks_count = if stands_still { breaks_count + 1 } else { 0 };
                if breaks_count == BREAKS_MAX {
                    follower.show.close();
                    return Err(Report::new(Exit::Unreachable, "the orchestrator keeps exiting")
                        .because(reason)
                        .help("run `pitcrew doctor` to find the cause"));
                }
            }
        }
    }
}

struct Follower<'a> {
    members: Members,
    /// The plans that have not ended.
    open: BTreeSet<PlanId>,
    after: Seq,
    show: Show<'a>,
    /// When to show the pending events.
    next_show: Option<Instant>,
    next_tick: Instant,
}

enum Turn {
    Ended(Ended),
    Broken(String),
}

impl Follower<'_> {
    async fn read(&mut self, lines: &mut Lines, person: &mut Person) -> Result<Turn, Report> {
        loop {
            let show_at = self.next_show.unwrap_or_else(Instant::now);
            tokio::select! {
                next = lines.next() => match next {
                    Next::Line(line) => self.take(&line)?,
                    // A clean end of the stream means that someone stopped the orchestrator.
                    Next::End => {
                        self.show.close();
                        return Err(Report::new(Exit::Unreachable, "the orchestrator was stopped")
                            .help("running plans continue with the next command, such as `pitcrew watch`"));
                    }
                    Next::Broken(reason) => return Ok(Turn::Broken(reason)),
                },
                () = sleep_until(show_at), if self.next_show.is_some() => {
                    let has_seen = self.show.refresh(person).await;
                    self.next_show = (!has_seen).then(|| Instant::now() + GATHER);
                }
                () = sleep_until(self.next_tick), if self.show.draws() => {
                    let began = Instant::now();
                    self.show.glance().await;
                    // A large board is fetched less often.
                    let pause = TICK.max(began.elapsed() * LOOK_SHARE);
                    self.next_tick = Instant::now() + pause;
                }
                heard = person.answer() => match heard {
                    Heard::Line(line) => {
                        if !self.show.answered(&line, person).await {
                            self.next_show = Some(Instant::now() + GATHER);
                        }
                    }
                    Heard::Interrupt => {
                        self.show.close();
                        return Ok(Turn::Ended(Ended::Interrupted));
                    }
                },
            }
            if self.open.is_empty() {
                self.show.finish().await?;
                return Ok(Turn::Ended(Ended::Plans));
            }
        }
    }

    fn take(&mut self, line: &[u8]) -> Result<(), Report> {
        let line: EventStreamLine = serde_json::from_slice(line).map_err(|error| {
            Report::new(Exit::Failure, "the orchestrator sent an event that cannot be parsed")
                .because(error.to_string())
        })?;
        let EventStreamLine::Event(line) = line else { return Ok(()) };
        self.after = line.seq;
        if !self.members.has(&line) {
            return Ok(());
        }
        self.note_end(&line);
        self.show.take(line)?;
        self.next_show.get_or_insert_with(|| Instant::now() + GATHER);
        Ok(())
    }

    fn note_end(&mut self, line: &EventLine) {
        if let Some(Event::PlanMoved { plan, to, .. }) = line.entry.known().map(|it| &it.event) {
            if to.has_ended() {
                self.open.remove(plan);
            } else if self.members.follows(*plan) {
                self.open.insert(*plan);
            }
        }
    }
}
