//! Shows progress: scrolling lines, a live block, and questions that can be answered in place.

use super::OutputFormat;
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
use pitcrew_config::{NotifyChannel, NotifyKind};
use pitcrew_model::{
    Command, Event, Failure, GrantScope, PlanId, PlanStatus, Reason, RequestId, TaskStatus,
    Timestamp, Verdict,
};
use pitcrew_views::{Ask, BoardView, InboxView, OpenRequest, plain};
use std::{collections::BTreeSet, time::Instant};

pub struct ProgressDisplay<'a> {
    client: &'a Client,
    output: Output,
    plans: Vec<PlanId>,
    format: OutputFormat,
    screen: Screen,
    /// Events that have not been shown yet.
    pending: Vec<EventLine>,
    snapshot: Option<Snapshot>,
    /// What the person is being asked.
    current: Option<Asked>,
    /// Requests the person chose to decide later.
    deferred: BTreeSet<RequestId>,
    /// What rings the bell of the terminal.
    bells: BTreeSet<NotifyKind>,
    /// Setup commands whose failure was shown: every task and attempt meets the same one.
    failed_setups: BTreeSet<String>,
}

/// A question at the bottom of the screen, with the answer so far.
struct Asked {
    request: OpenRequest,
    typed: String,
}

impl Asked {
    fn question(&self) -> String {
        let how = match self.request.ask {
            Ask::Question { .. } => "Your answer (leave empty to answer later):",
            Ask::Budget { .. }
            | Ask::ToolUse { .. }
            | Ask::PlanExecution { .. }
            | Ask::BranchMerge { .. } => "Approve? [y/n, leave empty to decide later]:",
        };
        format!("{}: {how}", self.request.id)
    }
}

/// The last fetched board and inbox.
struct Snapshot {
    board: BoardView,
    waiting: Vec<OpenRequest>,
    taken_at: Instant,
}

impl<'a> ProgressDisplay<'a> {
    pub fn new(
        client: &'a Client,
        output: Output,
        plans: Vec<PlanId>,
        format: OutputFormat,
    ) -> Self {
        Self {
            client,
            output,
            plans,
            format,
            screen: Screen::new(),
            pending: Vec::new(),
            snapshot: None,
            current: None,
            deferred: BTreeSet::new(),
            bells: bells(client),
            failed_setups: BTreeSet::new(),
        }
    }

    pub fn draws(&self) -> bool {
        self.format == OutputFormat::Text && self.output.can_redraw && self.snapshot.is_some()
    }

    pub fn take(&mut self, line: EventLine) -> Result<(), Report> {
        match self.format {
            OutputFormat::Json => self.output.json(&EventStreamLine::Event(line)),
            OutputFormat::Text => {
                self.pending.push(line);
                Ok(())
            }
        }
    }

    /// Fetches the board and shows pending events. Returns false if the orchestrator does not
    /// answer. Never starts one: the stream reports whether it was stopped on purpose.
    pub async fn refresh(&mut self, person: &mut Person) -> bool {
        if self.format == OutputFormat::Json {
            return true;
        }
        let board = self.client.peek(&paths::board(self.query())).await;
        let inbox = self.client.peek(paths::INBOX).await;
        let (Some(board), Some(inbox)) = (board, inbox) else { return false };
        self.store(board, inbox);
        let is_open = |snapshot: &Snapshot, id| snapshot.waiting.iter().any(|it| it.id == id);
        if let (Some(current), Some(snapshot)) = (&self.current, &self.snapshot)
            && !is_open(snapshot, current.request.id)
        {
            self.withdraw_question(person);
        }
        self.print_pending();
        self.ask_in_place(person);
        true
    }

    /// The request was decided in another way.
    fn withdraw_question(&mut self, person: &mut Person) {
        self.current = None;
        person.stop_editing();
        if !self.output.can_redraw {
            self.output.note("");
        }
    }

    /// Updates the live display with the agents' current activity, most of which is not in events.
    pub async fn refresh_activity(&mut self) {
        let board = self.client.glance(self.query()).await;
        if let (Some(board), Some(snapshot)) = (board, &mut self.snapshot) {
            snapshot.board = board;
            snapshot.taken_at = Instant::now();
        }
        self.draw(&[]);
    }

    /// Draws below whatever the terminal shows now.
    pub fn draw_afresh(&mut self) {
        if self.draws() {
            self.screen.forget();
            self.draw(&[]);
        } else if let Some(current) = &self.current {
            Person::prompt_again(self.output, &current.question());
        }
    }

    /// Shows the answer so far.
    pub fn show_typed(&mut self, typed: String) {
        if let Some(current) = &mut self.current {
            current.typed = typed;
        }
        self.draw(&[]);
    }

    /// Handles a line that the person typed.
    pub async fn handle_line(&mut self, line: &str, person: &mut Person) -> bool {
        let Some(current) = self.current.take() else { return true };
        self.deferred.insert(current.request.id);
        let line = line.trim();
        if self.output.can_redraw {
            let question = self.output.err.bold(&current.question());
            self.draw(&[format!("{question} {}", plain::line(line))]);
        }
        if !line.is_empty() {
            let request = current.request.id;
            let command = match current.request.ask {
                Ask::Question { .. } => Command::AnswerQuestion { request, text: line.to_owned() },
                Ask::PlanExecution { tasks, .. } => {
                    decision(request, line, u32::try_from(tasks.len()).ok())
                }
                Ask::BranchMerge { .. } | Ask::Budget { .. } | Ask::ToolUse { .. } => {
                    decision(request, line, None)
                }
            };
            if let Err(report) = self.client.command(&command).await {
                let text = report.render(self.output.err).trim_end().to_owned();
                if self.output.can_redraw { self.draw(&[text]) } else { self.output.note(&text) }
            }
        }
        self.refresh(person).await
    }

    /// Shows the last events after everything has ended.
    pub async fn finish(&mut self) -> Result<(), Report> {
        if self.format == OutputFormat::Text {
            self.fetch().await?;
            self.print_pending();
        }
        self.close();
        Ok(())
    }

    /// Removes the live display from the terminal.
    pub fn close(&mut self) {
        let was_asked = self.current.take().is_some();
        if self.format == OutputFormat::Text && self.output.can_redraw {
            self.screen.clear();
        } else if was_asked {
            self.output.note("");
        }
        self.snapshot = None;
    }

    /// Notes that the stream broke because the orchestrator went away.
    pub fn note_disconnect(&mut self) {
        if self.format == OutputFormat::Text {
            if self.draws() {
                self.screen.clear();
            }
            self.output.note("       Note the orchestrator went away; starting it again");
        }
    }

    async fn fetch(&mut self) -> Result<(), Report> {
        let board = self.client.board(self.query()).await?;
        let inbox = self.client.inbox().await?;
        self.store(board, inbox);
        Ok(())
    }

    fn store(&mut self, board: BoardView, inbox: InboxView) {
        let mut waiting = inbox.open;
        waiting.retain(|it| self.plans.contains(&it.plan));
        self.snapshot = Some(Snapshot { board, waiting, taken_at: Instant::now() });
    }

    fn query(&self) -> BoardQuery {
        let plan = if let [plan] = self.plans[..] { Some(plan) } else { None };
        BoardQuery { all: false, plan }
    }

    fn print_pending(&mut self) {
        let Some(snapshot) = &self.snapshot else { return };
        let (style, draws) = (self.output.err, self.output.can_redraw);
        let is_asked = |id| snapshot.waiting.iter().any(|it| it.id == id);
        let mut kinds = self.pending.iter().filter_map(|it| notify_kind(it, is_asked));
        if kinds.any(|it| self.bells.contains(&it)) {
            self.output.ring();
        }
        let lines: Vec<String> = self
            .pending
            .drain(..)
            .filter(|it| failed_setup(it).is_none_or(|it| self.failed_setups.insert(it)))
            .filter_map(|it| {
                render::progress(&it, &snapshot.board, &snapshot.waiting, style, draws)
            })
            .collect();
        if self.output.can_redraw {
            self.draw(&lines);
        } else if !lines.is_empty() {
            // Below the question, which is repeated.
            let question = self.current.as_ref().map(Asked::question);
            if question.is_some() {
                self.output.note("");
            }
            for line in &lines {
                self.output.note(line);
            }
            if let Some(question) = question {
                Person::prompt_again(self.output, &question);
            }
        }
    }

    fn draw(&mut self, above: &[String]) {
        let Some(snapshot) = &self.snapshot else { return };
        let elapsed = u64::try_from(snapshot.taken_at.elapsed().as_millis()).unwrap_or(u64::MAX);
        let now: Timestamp = snapshot.board.at.plus(elapsed);
        let style: Style = self.output.err;
        let block = render::live(&snapshot.board, &self.plans, &snapshot.waiting, now, style);
        let asked = self.current.as_ref();
        let asked = asked.map(|it| (style.bold(&it.question()), plain::line(&it.typed)));
        self.screen.draw(above, &block, asked.as_ref().map(|it| (it.0.as_str(), it.1.as_str())));
    }

    /// Asks about the first request that can be answered with one line.
    fn ask_in_place(&mut self, person: &mut Person) {
        if self.current.is_some() || !self.output.can_ask {
            return;
        }
        let Some(snapshot) = &self.snapshot else { return };
        let is_simple = |it: &&OpenRequest| match it.ask {
            Ask::Question { .. } | Ask::Budget { .. } | Ask::ToolUse { .. } => {
                !self.deferred.contains(&it.id)
            }
            Ask::PlanExecution { .. } | Ask::BranchMerge { .. } => false,
        };
        let Some(request) = snapshot.waiting.iter().find(is_simple).cloned() else { return };
        let asked = Asked { request, typed: String::new() };
        if self.output.can_redraw {
            // A job in the background cannot ask.
            if person.edit() {
                self.current = Some(asked);
                self.draw(&[]);
            }
        } else {
            person.prompt(self.output, &asked.question());
            self.current = Some(asked);
        }
    }
}

/// The decision about a request, of which `shown` tasks were printed.
fn decision(request: RequestId, line: &str, shown: Option<u32>) -> Command {
    let verdict = if is_yes(line) { Verdict::Approve } else { Verdict::Deny };
    let (reason, scope) = (None, GrantScope::Once);
    Command::DecideRequest { request, verdict, reason, scope, shown }
}

/// The kinds that ring the bell. Invalid settings were reported when the client started.
fn bells(client: &Client) -> BTreeSet<NotifyKind> {
    let Ok((settings, _)) = client.workspace.settings() else { return BTreeSet::new() };
    let rings = |it: &NotifyKind| settings.notify.wants(*it, NotifyChannel::Bell);
    NotifyKind::ALL.into_iter().filter(rings).collect()
}

/// The setup command that failed, if another attempt follows.
fn failed_setup(line: &EventLine) -> Option<String> {
    let event = &line.entry.known()?.event;
    let Event::TaskMoved { to: TaskStatus::Pending, reason, .. } = event else { return None };
    let Reason::Failure { failure: Failure::Setup { command, .. }, .. } = reason else {
        return None;
    };
    Some(command.clone())
}

fn notify_kind(line: &EventLine, is_asked: impl Fn(RequestId) -> bool) -> Option<NotifyKind> {
    let event = &line.entry.known()?.event;
    if let Event::RequestOpened { request, .. } | Event::RequestMoved { request, .. } = event {
        return is_asked(*request).then_some(NotifyKind::Waiting);
    }
    if let Event::PlanMoved { to, .. } = event {
        return match to {
            PlanStatus::Completed => Some(NotifyKind::Ended),
            PlanStatus::Partial | PlanStatus::Failed => Some(NotifyKind::Failed),
            PlanStatus::Draft
            | PlanStatus::Clarifying
            | PlanStatus::Decomposing
            | PlanStatus::AwaitingApproval
            | PlanStatus::Active
            | PlanStatus::Paused
            | PlanStatus::Cancelled => None,
        };
    }
    None
}
