//! Follows plans until they end: reads the events, shows what happens, passes answers on.
//!
//! When the orchestrator goes away it is started again and the stream goes on after the last event
//! that was read. What things look like is decided in `render`.

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

/// Events that come together are shown together.
const GATHER: Duration = Duration::from_millis(100);
/// How often a live display shows what agents do, and its times move on.
const TICK: Duration = Duration::from_secs(1);
/// Looking at the board may take one part in this many of the time.
const LOOK_SHARE: u32 = 20;
/// The orchestrator may go away so often without anything having happened in between.
const BREAKS_MAX: usize = 5;

/// What is followed, and how it is told.
pub struct Order {
    pub plans: Vec<PlanId>,
    /// The last event that is known already.
    pub after: Seq,
    pub form: Form,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// For a person, on standard error.
    Text,
    /// Every event of the plans as a line of JSON on standard output.
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// All of the plans have ended.
    Plans,
    Interrupted,
}

/// Follows until every plan has ended, or Ctrl-C. `board` is where the plans stood after `order.after`, or earlier.
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
                    return Err(Report::new(Exit::Unreachable, "the orchestrator ends every time")
                        .because(reason)
                        .help("`pitcrew doctor` may know why"));
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
    /// When what was gathered is shown.
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
                    // A stream that is closed in order was closed because somebody wanted it so.
                    Next::End => {
                        self.show.close();
                        return Err(Report::new(Exit::Unreachable, "the orchestrator was stopped")
                            .help("what was under way goes on with the next command, such as `pitcrew watch`"));
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
                    // A large board is looked at less often.
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
            Report::new(Exit::Failure, "the orchestrator sent an event that cannot be read")
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
