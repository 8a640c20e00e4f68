//! The final state of a round, and the invariants that always hold.

use super::scene::{Acknowledged, LETTER, PLANS};
use pitcrew_kernel::{State, evolve};
use pitcrew_model::{
    EffectResult, Entry, Event, Message, MessageKind, MessageStatus, Party, PlanStatus,
    RequestStatus, Seq, TaskStatus,
};
use pitcrew_process::{SpoolReader, SpoolRecord};
use pitcrew_store::{Journal, SqliteJournal};
use pitcrew_testkit::Sandbox;
use pitcrew_views::BoardView;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// The result that every round must have.
#[derive(Debug, PartialEq, Eq)]
pub struct Picture {
    /// The tree that was landed.
    pub tree: String,
    /// Every file of the user's working tree.
    pub files: BTreeMap<PathBuf, Vec<u8>>,
    pub refs: Vec<String>,
    /// The landings, newest first.
    pub landings: Vec<String>,
    pub plans: BTreeMap<String, PlanStatus>,
    pub tasks: BTreeMap<String, TaskStatus>,
    /// The sub-tasks of each task's last attempt, and their results.
    pub subtasks: BTreeMap<(String, String), (TaskStatus, String)>,
    /// The messages that were sent and read.
    pub messages: BTreeSet<(MessageKind, String)>,
}

impl Picture {
    pub fn take(sandbox: &Sandbox, board: &BoardView, messages: Read) -> Self {
        let head = sandbox.git(&["symbolic-ref", "HEAD"]);
        let names = sandbox.git(&["for-each-ref", "--format=%(refname)"]);
        let titles = sandbox.git(&["log", "--first-parent", "--format=%s"]);
        let mut landings: Vec<String> = titles.lines().map(str::to_owned).collect();
        // The user chooses which of two plans lands first.
        landings.sort();
        Self {
            tree: sandbox.git(&["rev-parse", "HEAD^{tree}"]),
            files: files(&sandbox.repo()),
            refs: [head.as_str()].into_iter().chain(names.lines()).map(str::to_owned).collect(),
            landings,
            plans: board.plans.iter().map(|it| (it.name.clone(), it.status)).collect(),
            tasks: board.tasks.iter().map(|it| (it.key.clone(), it.status)).collect(),
            subtasks: subtasks(board),
            messages,
        }
    }
}

fn subtasks(board: &BoardView) -> BTreeMap<(String, String), (TaskStatus, String)> {
    let mut found = BTreeMap::new();
    for task in &board.tasks {
        let last = task.attempts.last().map(|it| it.id);
        for part in &board.subtasks {
            let Some(subtask) = &part.subtask else { continue };
            if Some(subtask.parent_attempt) == last {
                let output = subtask.result.as_ref().map(|it| it.output.clone());
                let came_to = (part.status, output.unwrap_or_default());
                found.insert((task.key.clone(), part.key.clone()), came_to);
            }
        }
    }
    found
}

/// The kinds and the text of messages that were read.
pub type Read = BTreeSet<(MessageKind, String)>;

/// Everything in the folder except git's files.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for path in walk(folder, &|it| !it.ends_with(".git")) {
        let bytes = fs::read(&path).expect("a file");
        found.insert(path.strip_prefix(folder).expect("it is below").to_owned(), bytes);
    }
    found
}

fn locks(git_dir: &Path) -> Vec<PathBuf> {
    let is_lock = |it: &PathBuf| it.extension().is_some_and(|it| it == "lock");
    walk(git_dir, &|_| true).into_iter().filter(is_lock).collect()
}

fn walk(folder: &Path, enters: &dyn Fn(&Path) -> bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if !entry.file_type().is_ok_and(|it| it.is_dir()) {
            found.push(path);
        } else if enters(&path) {
            found.extend(walk(&path, enters));
        }
    }
    found
}

/// Checks what is left on disk after the orchestrator has stopped.
pub fn check_rest(sandbox: &Sandbox, acknowledged: &Acknowledged) -> Read {
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "", "the user's tree is clean");
    sandbox.git(&["fsck", "--strict", "--no-progress", "--no-dangling"]);
    let state = sandbox.states().pop().expect("there is a workspace");
    let vault = state.join("vault.git");
    if !locks(&vault).is_empty() {
        // A git process that was killed alone left them; the next orchestrator removes them.
        sandbox.pitcrew(&["gc"]).expect(0);
        sandbox.pitcrew(&["stop"]).expect(0);
    }
    for git_dir in [sandbox.repo().join(".git"), vault] {
        assert_eq!(locks(&git_dir), Vec::<PathBuf>::new(), "git's locks are left");
    }
    let journal = SqliteJournal::open(&state).expect("the journal opens");
    let entries = journal.read(Seq(0), usize::MAX).expect("the journal reads");
    let checkouts = walk(&sandbox.root().join(".worktrees"), &|_| true);
    let why = kept(&entries);
    assert!(checkouts.is_empty(), "checkouts are left: {checkouts:?}, because {why:?}");
    let read = check_journal(&journal, &entries, acknowledged);
    check_spools(&state);
    read
}

/// The results that explain why checkouts were not removed.
fn kept(entries: &[Entry]) -> Vec<&EffectResult> {
    let results = entries.iter().filter_map(|it| {
        if let Event::EffectEnded { result, .. } = &it.event { Some(result) } else { None }
    });
    results.filter(|it| matches!(it, EffectResult::CheckoutKept { .. })).collect()
}

fn check_journal(journal: &SqliteJournal, entries: &[Entry], acknowledged: &Acknowledged) -> Read {
    let mut replayed = State::default();
    for entry in entries {
        evolve(&mut replayed, entry);
    }
    let open = journal.open_effects().expect("the outbox reads");
    assert!(open.is_empty(), "effects are open: {open:?}");
    assert!(replayed.effects.is_empty(), "effects are open: {:?}", replayed.effects);
    let once = |what: &str, found: Vec<String>, wanted: usize| {
        let unique: BTreeSet<&String> = found.iter().collect();
        assert_eq!((found.len(), unique.len()), (wanted, wanted), "{what}: {found:?}");
    };
    let of = |pick: &dyn Fn(&Event) -> Option<String>| -> Vec<String> {
        entries.iter().filter_map(|it: &Entry| pick(&it.event)).collect()
    };
    let tasks = of(&|it| match_task_added(it));
    let completed = of(&|it| match_completed(it).filter(|it| tasks.contains(it)));
    once("tasks that are completed", completed, tasks.len());
    once("tasks that are integrated", of(&|it| match_integrated(it)), tasks.len());
    once("plans that are landed", of(&|it| match_landed(it)), PLANS.len());
    let opened = of(&|it| match_attempt_opened(it));
    once("attempts that ended", of(&|it| match_attempt_ended(it)), opened.len());
    for request in &acknowledged.answered {
        let kept = entries.iter().any(|it| {
            matches!(&it.event, Event::RequestMoved { request: of, to, .. }
                if of == request
                    && matches!(to, RequestStatus::Answered | RequestStatus::Approved))
        });
        assert!(kept, "the answer to {request} was acknowledged and is not in the journal");
    }
    let deployed = of(&|it| {
        if let Event::TaskDeployed { task, .. } = it { Some(task.to_string()) } else { None }
    });
    assert!(
        deployed.len() >= acknowledged.deployed.len(),
        "{deployed:?} of {:?}",
        acknowledged.deployed
    );
    check_family(entries);
    check_messages(entries, acknowledged)
}

/// All sub-tasks have ended, and no result was delivered twice.
fn check_family(entries: &[Entry]) {
    let (mut open, mut heard) = (BTreeSet::new(), BTreeSet::new());
    for entry in entries {
        if let Event::SubtaskAdded { task, .. } = &entry.event {
            open.insert(*task);
        } else if let Event::TaskMoved { task, to, .. } = &entry.event {
            if to.has_ended() {
                open.remove(task);
            }
        } else if let Event::ResultsHanded { tasks, .. } = &entry.event {
            for task in tasks {
                assert!(heard.insert(*task), "the result of {task} was delivered twice");
            }
        }
    }
    assert!(open.is_empty(), "sub-tasks are left: {open:?}");
    assert!(heard.len() >= 4, "parents heard of {heard:?} only");
}

/// Each message has ended once, and all acknowledged messages are in the journal.
fn check_messages(entries: &[Entry], acknowledged: &Acknowledged) -> Read {
    let (mut queued, mut ended, mut read) = (BTreeMap::new(), BTreeSet::new(), Read::new());
    for entry in entries {
        if let Event::MessageQueued(message) = &entry.event {
            queued.insert(message.id, message);
        } else if let Event::MessageMoved { message, to, .. } = &entry.event
            && to.has_ended()
        {
            assert!(ended.insert(*message), "{message} has ended twice");
            if *to == MessageStatus::Processed {
                let it: &Message = queued.get(message).expect("what is read was queued");
                // The orchestrator's own messages depend on the faults.
                if it.from != Party::Orchestrator {
                    read.insert((it.kind, it.content.clone()));
                }
            }
        }
    }
    let left: Vec<_> = queued.keys().filter(|it| !ended.contains(it)).collect();
    assert!(left.is_empty(), "messages are left: {left:?}");
    let letters = queued.values().filter(|it| it.content == LETTER).count();
    for words in ["Which digit?", "7", "all parts are there", LETTER] {
        assert!(read.iter().any(|it| it.1 == words), "`{words}` was not read: {read:?}");
    }
    let written = acknowledged.written.len();
    assert!(letters >= written, "{letters} of {written} letters are in the journal");
    read
}

fn match_task_added(event: &Event) -> Option<String> {
    if let Event::TaskAdded { task, .. } = event { Some(task.to_string()) } else { None }
}

fn match_completed(event: &Event) -> Option<String> {
    if let Event::TaskMoved { task, to: TaskStatus::Completed, .. } = event {
        Some(task.to_string())
    } else {
        None
    }
}

fn match_attempt_opened(event: &Event) -> Option<String> {
    if let Event::AttemptOpened { attempt, .. } = event { Some(attempt.to_string()) } else { None }
}

fn match_attempt_ended(event: &Event) -> Option<String> {
    if let Event::AttemptEnded { attempt, .. } = event { Some(attempt.to_string()) } else { None }
}

fn match_integrated(event: &Event) -> Option<String> {
    let Event::EffectEnded { result, .. } = event else { return None };
    if let EffectResult::Integrated { attempt, .. } = result {
        Some(attempt.to_string())
    } else {
        None
    }
}

fn match_landed(event: &Event) -> Option<String> {
    let Event::EffectEnded { result, .. } = event else { return None };
    if let EffectResult::Landed { plan, .. } = result { Some(plan.to_string()) } else { None }
}

/// No turn was prompted twice.
fn check_spools(state: &Path) {
    let mut prompts: BTreeMap<u64, PathBuf> = BTreeMap::new();
    for path in walk(&state.join("attempts"), &|_| true) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if !(name.starts_with("spool") && name.ends_with(".ndjson")) {
            continue;
        }
        let mut spool = SpoolReader::open(&path).expect("the spool opens");
        while let Some(record) = spool.read().expect("the spool reads") {
            let SpoolRecord::Input { id, line, .. } = record else { continue };
            let frame: serde_json::Value = serde_json::from_str(&line).expect("a frame is JSON");
            if frame["method"] == "session/prompt" {
                let before = prompts.insert(id, path.clone());
                assert!(before.is_none(), "turn {id} was prompted twice: see {}", path.display());
            }
        }
    }
    assert!(!prompts.is_empty(), "at least one agent was prompted");
}
