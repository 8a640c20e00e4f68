//! Shows progress: scrolling lines, a live block, and questions that can be answered in place.

use super::Form;
use crate::{
    ask::{Person, is_yes},
    client::Client,
    output::{Output, Screen},
    render::{self, Style},
    report::Report,
};
use pitcrew_api::{
    EventLine, EventStreamLine,
    paths::{self, BoardQuery},
};
use pitcrew_model::{Command, GrantScope, PlanId, RequestId, Timestamp, Verdict};
use pitcrew_views::{Ask, BoardView, InboxView, OpenRequest};
use std::{collections::BTreeSet, time::Instant};

pub struct Show<'a> {
    client: &'a Client,
    output: Output,
    plans: Vec<PlanId>,
    form: Form,
    screen: Screen,
    /// Events that have not been shown yet.
    gathered: Vec<EventLine>,
    seen: Option<Seen>,
    /// The request the person is being asked about.
    asked: Option<OpenRequest>,
    /// Requests the person chose to decide later.
    left: BTreeSet<RequestId>,
}

/// The last fetched board and inbox.
struct Seen {
    board: BoardView,
    waiting: Vec<OpenRequest>,
    looked_at: Instant,
}

impl<'a> Show<'a> {
    pub fn new(client: &'a Client, output: Output, plans: Vec<PlanId>, form: Form) -> Self {
        Self {
            client,
            output,
            plans,
            form,
            screen: Screen::new(),
            gathered: Vec::new(),
            seen: None,
            asked: None,
            left: BTreeSet::new(),
        }
    }

    pub fn draws(&self) -> bool {
        self.form == Form::Text && self.output.draws && self.seen.is_some() && self.asked.is_none()
    }

    pub fn take(&mut self, line: EventLine) -> Result<(), Report> {
        match self.form {
            Form::Json => self.output.json(&EventStreamLine::Event(line)),
            Form::Text => {
                self.gathered.push(line);
                Ok(())
            }
        }
    }

    /// Fetches the board and shows pending events. Returns false if the orchestrator does not answer.
    /// Never starts one: the stream reports whether it was stopped on purpose.
    pub async fn refresh(&mut self, person: &mut Person) -> bool {
        if self.form == Form::Json {
            return true;
        }
        let board = self.client.peek(&paths::board(self.query())).await;
        let inbox = self.client.peek(paths::INBOX).await;
        let (Some(board), Some(inbox)) = (board, inbox) else { return false };
        self.see(board, inbox);
        let is_open = |seen: &Seen, id| seen.waiting.iter().any(|it| it.id == id);
        if let (Some(asked), Some(seen)) = (&self.asked, &self.seen) {
            if is_open(seen, asked.id) {
                return true;
            }
            self.output.note("");
            self.asked = None;
        }
        self.tell();
        self.ask_in_place(person);
        true
    }

    /// Updates the live display with the agents' current activity, which is mostly not in events.
    pub async fn glance(&mut self) {
        let board = self.client.glance(self.query()).await;
        if let (Some(board), Some(seen)) = (board, &mut self.seen) {
            seen.board = board;
            seen.looked_at = Instant::now();
        }
        self.draw(&[]);
    }

    /// Handles a line that the person typed.
    pub async fn answered(&mut self, line: &str, person: &mut Person) -> bool {
        let Some(asked) = self.asked.take() else { return true };
        self.left.insert(asked.id);
        let line = line.trim();
        if !line.is_empty() {
            let request = asked.id;
            let command = match asked.ask {
                Ask::Question { .. } => Command::AnswerQuestion { request, text: line.to_owned() },
                Ask::PlanExecution { .. }
                | Ask::BranchMerge { .. }
                | Ask::Budget { .. }
                | Ask::ToolUse { .. } => {
                    let verdict = if is_yes(line) { Verdict::Approve } else { Verdict::Deny };
                    let scope = GrantScope::Once;
                    Command::DecideRequest { request, verdict, reason: None, scope }
                }
            };
            if let Err(report) = self.client.command(&command).await {
                self.output.note(report.render(self.output.err).trim_end());
            }
        }
        self.refresh(person).await
    }

    /// Shows the last events after everything has ended.
    pub async fn finish(&mut self) -> Result<(), Report> {
        if self.form == Form::Text {
            self.look().await?;
            self.tell();
        }
        self.close();
        Ok(())
    }

    /// Removes the live display from the terminal.
    pub fn close(&mut self) {
        if self.asked.take().is_some() {
            self.output.note("");
        }
        if self.form == Form::Text && self.output.draws {
            self.screen.clear();
        }
        self.seen = None;
    }

    /// Notes that the stream broke because the orchestrator went away.
    pub fn tell_break(&mut self) {
        if self.form == Form::Text {
            if self.draws() {
                self.screen.clear();
            }
            self.output.note("       Note the orchestrator went away; starting it again");
        }
    }

    async fn look(&mut self) -> Result<(), Report> {
        let board = self.client.board(self.query()).await?;
        let inbox = self.client.inbox().await?;
        self.see(board, inbox);
        Ok(())
    }

    fn see(&mut self, board: BoardView, inbox: InboxView) {
        let mut waiting = inbox.open;
        waiting.retain(|it| self.plans.contains(&it.plan));
        self.seen = Some(Seen { board, waiting, looked_at: Instant::now() });
    }

    fn query(&self) -> BoardQuery {
        let plan = if let [plan] = self.plans[..] { Some(plan) } else { None };
        BoardQuery { all: false, plan }
    }

    fn tell(&mut self) {
        let Some(seen) = &self.seen else { return };
        let (style, draws) = (self.output.err, self.output.draws);
        let lines: Vec<String> = self
            .gathered
            .drain(..)
            .filter_map(|it| render::happened(&it, &seen.board, &seen.waiting, style, draws))
            .collect();
        if self.output.draws {
            self.draw(&lines);
        } else {
            for line in &lines {
                self.output.note(line);
            }
        }
    }

    fn draw(&mut self, above: &[String]) {
        let Some(seen) = &self.seen else { return };
        let elapsed = u64::try_from(seen.looked_at.elapsed().as_millis()).unwrap_or(u64::MAX);
        let now: Timestamp = seen.board.at.plus(elapsed);
        let style: Style = self.output.err;
        let block = render::live(&seen.board, &self.plans, &seen.waiting, now, style);
        self.screen.draw(above, &block);
    }

    /// Asks about the first request that can be answered with one line.
    fn ask_in_place(&mut self, person: &mut Person) {
        let Some(seen) = self.seen.as_ref().filter(|_| self.output.asks) else { return };
        let is_simple = |it: &&OpenRequest| match it.ask {
            Ask::Question { .. } | Ask::Budget { .. } | Ask::ToolUse { .. } => {
                !self.left.contains(&it.id)
            }
            Ask::PlanExecution { .. } | Ask::BranchMerge { .. } => false,
        };
        let Some(request) = seen.waiting.iter().find(is_simple).cloned() else { return };
        if self.output.draws {
            self.screen.clear();
        }
        let question = match request.ask {
            Ask::Question { .. } => "Your answer (leave empty to answer later):",
            Ask::Budget { .. }
            | Ask::ToolUse { .. }
            | Ask::PlanExecution { .. }
            | Ask::BranchMerge { .. } => "Approve? [y/n, leave empty to decide later]:",
        };
        person.prompt(self.output, &format!("{}: {question}", request.id));
        self.asked = Some(request);
    }
}
