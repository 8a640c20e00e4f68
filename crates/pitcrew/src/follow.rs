//! Follows plans until they end: reads events, prints progress, forwards answers.
//!
//! If the orchestrator goes away, it is started again, and the stream continues after the last
//! event read. `render` decides what the output looks like.

mod members;
mod display;

use crate::{
    ask::{Input, Person},
    client::{Client, Lines, StreamItem},
    exit::Exit,
    output::Output,
    report::Report,
};
use display::ProgressDisplay;
use members::FollowedIds;
use pitcrew_api::{EventLine, EventStreamLine, paths};
use pitcrew_model::{Event, PlanId, Seq};
use pitcrew_views::BoardView;
use std::{collections::BTreeSet, time::Duration};
use tokio::time::{Instant, sleep_until};

/// Events that arrive within this time are shown together.
const GATHER_TIME: Duration = Duration::from_millis(100);
/// How often the live display is refreshed.
const TICK: Duration = Duration::from_secs(1);
/// Fetching the board may take at most one part in this many of the time.
const LOOK_SHARE: u32 = 20;
/// How often the orchestrator may go away without any event in between.
const BREAKS_MAX: usize = 5;

/// The plans to follow, and how to show them.
pub struct FollowRequest {
    pub plans: Vec<PlanId>,
    /// The last event that is already known.
    pub after: Seq,
    pub format: OutputFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputFormat {
    /// Progress for a person, on standard error.
    Text,
    /// Every event of the plans as a line of JSON, on standard output.
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FollowEnd {
    /// All plans have ended.
    Plans,
    Interrupted,
}

/// Follows the plans until all have ended, or until Ctrl-C. `board` is a view taken at
/// `request.after` or earlier.
pub async fn follow(
    client: &Client,
    output: Output,
    person: &mut Person,
    board: &BoardView,
    request: FollowRequest,
) -> Result<FollowEnd, Report> {
    let end = follow_streams(client, output, person, board, request).await;
    person.stop_editing();
    end
}

async fn follow_streams(
    client: &Client,
    output: Output,
    person: &mut Person,
    board: &BoardView,
    request: FollowRequest,
) -> Result<FollowEnd, Report> {
    let mut follower = Follower {
        members: FollowedIds::of(board, &request.plans),
        open: request.plans.iter().copied().collect(),
        after: request.after,
        display: ProgressDisplay::new(client, output, request.plans, request.format),
        next_show: None,
        next_tick: Instant::now(),
    };
    let mut breaks_count = 0;
    loop {
        let query = paths::EventsQuery { after: follower.after, follow: true };
        let mut lines = client.stream(&paths::events(query)).await?;
        let before = follower.after;
        match follower.read(&mut lines, person).await? {
            StreamEnd::Ended(ended) => return Ok(ended),
            StreamEnd::Broken(reason) => {
                follower.display.note_disconnect();
                let stands_still = follower.after == before;
                breaks_count = if stands_still { breaks_count + 1 } else { 0 };
                if breaks_count == BREAKS_MAX {
                    follower.display.close();
                    return Err(Report::new(Exit::Unreachable, "the orchestrator keeps exiting")
                        .because(reason)
                        .help("run `pitcrew doctor` to find the cause"));
                }
            }
        }
    }
}

struct Follower<'a> {
    members: FollowedIds,
    /// The plans that have not ended.
    open: BTreeSet<PlanId>,
    after: Seq,
    display: ProgressDisplay<'a>,
    /// When to show the pending events.
    next_show: Option<Instant>,
    next_tick: Instant,
}

enum StreamEnd {
    Ended(FollowEnd),
    Broken(String),
}

impl Follower<'_> {
    async fn read(&mut self, lines: &mut Lines, person: &mut Person) -> Result<StreamEnd, Report> {
        loop {
            let show_at = self.next_show.unwrap_or_else(Instant::now);
            tokio::select! {
                next = lines.next() => match next {
                    StreamItem::Line(line) => self.take(&line)?,
                    // A clean end of the stream means that someone stopped the orchestrator.
                    StreamItem::End => {
                        self.display.close();
                        return Err(Report::new(Exit::Unreachable, "the orchestrator was stopped")
                            .help("running plans continue with the next command, such as `pitcrew watch`"));
                    }
                    StreamItem::Broken(reason) => return Ok(StreamEnd::Broken(reason)),
                },
                () = sleep_until(show_at), if self.next_show.is_some() => {
                    let has_seen = self.display.refresh(person).await;
                    self.next_show = (!has_seen).then(|| Instant::now() + GATHER_TIME);
                }
                () = sleep_until(self.next_tick), if self.display.draws() => {
                    let began = Instant::now();
                    self.display.refresh_activity().await;
                    // A large board is fetched less often.
                    let pause = TICK.max(began.elapsed() * LOOK_SHARE);
                    self.next_tick = Instant::now() + pause;
                }
                input = person.answer() => match input {
                    Input::Line(line) => {
                        if !self.display.handle_line(&line, person).await {
                            self.next_show = Some(Instant::now() + GATHER_TIME);
                        }
                    }
                    Input::Typed(typed) => self.display.show_typed(typed),
                    Input::Continued => {
                        self.display.draw_afresh();
                        // A job in the background could not ask.
                        self.next_show = Some(Instant::now());
                    }
                    Input::Interrupt => {
                        self.display.close();
                        return Ok(StreamEnd::Ended(FollowEnd::Interrupted));
                    }
                },
            }
            if self.open.is_empty() {
                self.display.finish().await?;
                return Ok(StreamEnd::Ended(FollowEnd::Plans));
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
        if !self.members.includes(&line) {
            return Ok(());
        }
        self.record_end(&line);
        self.display.take(line)?;
        self.next_show.get_or_insert_with(|| Instant::now() + GATHER_TIME);
        Ok(())
    }

    fn record_end(&mut self, line: &EventLine) {
        if let Some(Event::PlanMoved { plan, to, .. }) = line.entry.known().map(|it| &it.event) {
            if to.has_ended() {
                self.open.remove(plan);
            } else if self.members.follows(*plan) {
                self.open.insert(*plan);
            }
        }
    }
}
