//! What a notification says: names and ids, and never the words of an agent.

use crate::{Redactor, Views};
use pitcrew_config::NotifyKind;
use pitcrew_model::{Entry, Event, PlanId, PlanStatus, RequestId, RequestStatus, TaskId, text};
use pitcrew_views::{Ask, OpenRequest, plain};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Items that one notification lists; the others are counted.
const ITEMS_MAX: usize = 20;
const NAME_BYTES_MAX: usize = 80;
/// The version of the JSON document.
const VERSION: u32 = 1;

/// One thing that a person is notified of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotifyItem {
    pub kind: NotifyKind,
    pub title: String,
    pub plan: PlanId,
    pub task: Option<TaskId>,
    pub request: Option<RequestId>,
}

/// Everything that happened within a few seconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notification {
    pub workspace: String,
    pub items: Vec<NotifyItem>,
    /// Including those that are not listed.
    pub count: usize,
}

impl Notification {
    /// Returns nothing without items.
    pub fn of(workspace: &str, mut items: Vec<NotifyItem>) -> Option<Self> {
        let count = items.len();
        items.truncate(ITEMS_MAX);
        (count > 0).then(|| Self { workspace: workspace.to_owned(), items, count })
    }

    /// One that only shows that the channels work.
    pub fn trial(workspace: &str) -> Self {
        let item = NotifyItem {
            kind: NotifyKind::Waiting,
            title: "a test notification".into(),
            plan: PlanId(0),
            task: None,
            request: None,
        };
        Self { workspace: workspace.to_owned(), items: vec![item], count: 1 }
    }

    /// The most important kind.
    pub fn kind(&self) -> NotifyKind {
        let has = |kind| self.items.iter().any(|it| it.kind == kind);
        if has(NotifyKind::Failed) {
            NotifyKind::Failed
        } else if has(NotifyKind::Waiting) {
            NotifyKind::Waiting
        } else {
            NotifyKind::Ended
        }
    }

    pub fn title(&self) -> String {
        let first = self.items.first().map_or("", |it| it.title.as_str());
        match self.count.saturating_sub(1) {
            0 => first.to_owned(),
            more => format!("{first}, and {more} more"),
        }
    }

    pub fn json(&self) -> Value {
        let items = self.items.iter().map(|it| {
            json!({
                "kind": it.kind.to_string(),
                "title": it.title,
                "plan": it.plan.to_string(),
                "task": it.task.map(|it| it.to_string()),
                "request": it.request.map(|it| it.to_string()),
            })
        });
        json!({
            "version": VERSION,
            "workspace": self.workspace,
            "kind": self.kind().to_string(),
            "title": self.title(),
            "count": self.count,
            "items": items.collect::<Vec<_>>(),
        })
    }
}

/// What happened since the last notification.
#[derive(Debug, Default)]
pub(super) struct News {
    requests: BTreeSet<RequestId>,
    plans: BTreeMap<PlanId, PlanStatus>,
}

impl News {
    pub fn is_empty(&self) -> bool {
        self.requests.is_empty() && self.plans.is_empty()
    }

    pub fn add(&mut self, entries: &[Entry]) {
        for entry in entries {
            if let Event::RequestOpened { request, .. }
            | Event::RequestMoved { request, to: RequestStatus::AtUser, .. } = &entry.event
            {
                self.requests.insert(*request);
            }
            if let Event::PlanMoved { plan, to, .. } = &entry.event {
                self.plans.insert(*plan, *to);
            }
        }
        self.plans.retain(|_, status| kind_of(*status).is_some());
    }

    /// Those that still hold: a person may have answered meanwhile.
    pub fn items(self, views: &Views, redactor: &Redactor) -> Vec<NotifyItem> {
        let name = |text: &str| {
            let line = redactor.redact(&plain::line(text));
            text::cut(&line, NAME_BYTES_MAX).to_owned()
        };
        let waiting = views.inbox.view(&views.board).open;
        let waiting = waiting.into_iter().filter(|it| self.requests.contains(&it.id));
        let waiting = waiting.map(|it| NotifyItem {
            kind: NotifyKind::Waiting,
            title: request_title(&it, name),
            plan: it.plan,
            task: it.task,
            request: Some(it.id),
        });
        let ended = self.plans.iter().filter_map(|(plan, status)| {
            let view = views.board.plan_view(*plan)?;
            Some(NotifyItem {
                kind: kind_of(*status)?,
                title: format!("{plan} {} is {status}", name(&view.name)),
                plan: *plan,
                task: None,
                request: None,
            })
        });
        ended.chain(waiting).collect()
    }
}

/// A person who cancels a plan knows it.
fn kind_of(status: PlanStatus) -> Option<NotifyKind> {
    match status {
        PlanStatus::Completed => Some(NotifyKind::Ended),
        PlanStatus::Partial | PlanStatus::Failed => Some(NotifyKind::Failed),
        PlanStatus::Draft
        | PlanStatus::Clarifying
        | PlanStatus::Decomposing
        | PlanStatus::AwaitingApproval
        | PlanStatus::Active
        | PlanStatus::Paused
        | PlanStatus::Cancelled => None,
    }
}

fn request_title(request: &OpenRequest, name: impl Fn(&str) -> String) -> String {
    let plan = format!("{} {}", request.plan, name(&request.plan_name));
    let asker = || match (&request.task_name, request.task) {
        (Some(task), _) => name(task),
        (None, Some(task)) => {
            let key = request.task_key.as_deref().unwrap_or_default();
            format!("{task} {}", name(key)).trim_end().to_owned()
        }
        (None, None) => plan.clone(),
    };
    let id = request.id;
    match &request.ask {
        Ask::PlanExecution { .. } => format!("{plan} waits for your approval ({id})"),
        Ask::BranchMerge { .. } => format!("{plan} waits for your approval to land ({id})"),
        Ask::ToolUse { .. } => format!("{} asks for a permission ({id})", asker()),
        Ask::Budget { .. } => format!("{} has reached its cap ({id})", asker()),
        Ask::Question { .. } => format!("{} asks a question ({id})", asker()),
    }
}
