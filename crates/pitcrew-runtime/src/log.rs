//! The log file of an orchestrator: one line for every durable event, and for internal problems.

use crate::{clock, redact::Redactor};
use pitcrew_model::{Entry, Event, Timestamp};
use pitcrew_views::{Board, words::stamp};
use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
    sync::{Mutex, PoisonError},
};

const PREFIX: &str = "orchestrator-";
const SUFFIX: &str = ".log";
/// Log files that are kept.
const FILES_MAX: usize = 50;

/// The only writer of log lines. It removes all known secrets.
pub struct Log {
    file: Mutex<File>,
    redactor: Redactor,
}

impl Log {
    /// Opens `orchestrator-YYYY-MM-DDTHH-mm-ss.log` in a folder, and removes the oldest log files
    /// there.
    pub fn open(folder: &Path, redactor: Redactor) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let name = format!("{PREFIX}{}{SUFFIX}", stamp(clock::now()).replace(':', "-"));
        let mut options = OpenOptions::new();
        let file = options.create(true).append(true).mode(0o600).open(folder.join(name))?;
        forget_oldest(folder)?;
        Ok(Self { file: Mutex::new(file), redactor })
    }

    /// Writes durable events, under the name of their component.
    pub fn entries(&self, board: &Board, entries: &[Entry]) {
        for entry in entries {
            if let Some(text) = text(board, entry) {
                self.write(entry.at, &part(&entry.event), &text);
            }
        }
    }

    /// Writes a line about the orchestrator itself.
    pub fn line(&self, part: &str, text: &str) {
        self.write(clock::now(), part, text);
    }

    fn write(&self, at: Timestamp, part: &str, text: &str) {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let text = self.redactor.redact(text).replace(char::is_control, " ");
        // A failed log write must not stop the work.
        writeln!(file, "{} [{part}] {text}", stamp(at)).ok();
    }
}

/// The events that users see, and every step of a worker, which helps to diagnose problems.
fn text(board: &Board, entry: &Entry) -> Option<String> {
    if let Event::WorkerMoved { from, to, reason, .. } = &entry.event {
        return Some(match reason.as_str() {
            "" => format!("{from} -> {to}"),
            reason => format!("{from} -> {to}: {reason}"),
        });
    }
    let line = pitcrew_views::line(board, entry)?;
    Some(format!("{}: {}", line.subject, line.text))
}

/// Each orchestrator process writes its own file, so old ones are removed.
fn forget_oldest(folder: &Path) -> io::Result<()> {
    let names = fs::read_dir(folder)?.filter_map(|it| it.ok()?.file_name().into_string().ok());
    let mut logs: Vec<String> =
        names.filter(|it| it.starts_with(PREFIX) && it.ends_with(SUFFIX)).collect();
    // Sorted by name, which is by time.
    logs.sort_unstable();
    for name in logs.iter().rev().skip(FILES_MAX) {
        fs::remove_file(folder.join(name))?;
    }
    Ok(())
}

/// The component that an event belongs to.
#[expect(clippy::too_many_lines, reason = "one arm for each kind of event")]
fn part(event: &Event) -> String {
    match event {
        Event::AttemptOpened { .. } | Event::TaskDeployed { .. } | Event::TaskHeld { .. } => {
            "Orchestrator:deploy".into()
        }
        Event::AgentStartAsked { worker }
        | Event::TurnOpened { worker, .. }
        | Event::StopAsked { worker }
        | Event::InterruptAsked { worker }
        | Event::WorkerMoved { worker, .. }
        | Event::AgentExited { worker, .. }
        | Event::AgentReattached { worker, .. }
        | Event::CallTaken { worker, .. }
        | Event::ActivityNoted { worker, .. }
        | Event::UsageNoted { worker, .. }
        | Event::AccessBlocked { worker, .. }
        | Event::ToolDecided { worker, .. }
        | Event::ToolAnswered { worker, .. }
        | Event::AwaitBegun { worker, .. }
        | Event::AwaitEnded { worker, .. }
        | Event::ResultsHanded { worker, .. }
        | Event::QueryAsked { worker, .. }
        | Event::QueryRouted { worker, .. }
        | Event::QueryEnded { worker, .. }
        | Event::QueryAnsweredLate { worker, .. } => format!("WorkerSession:{worker}"),
        Event::EgressDecided(_) | Event::BackendProbed { .. } => "Orchestrator:network".into(),
        Event::MessageQueued(_) | Event::MessageMoved { .. } => "Orchestrator:messages".into(),
        Event::SubtaskAdded { .. }
        | Event::StandaloneSpawned { .. }
        | Event::AgentGroupCreated { .. }
        | Event::AgentGroupMemberCompleted { .. }
        | Event::OutputHanded { .. }
        | Event::PullAsked { .. } => "Orchestrator:subtasks".into(),
        Event::EffectEnded { effect, .. } => format!("Orchestrator:{effect}"),
        Event::SettingsApplied { .. }
        | Event::AgentsMaxSet { .. }
        | Event::PlanCreated { .. }
        | Event::TaskAdded { .. }
        | Event::PlanMoved { .. }
        | Event::PlanOpened { .. }
        | Event::BaseCheckAsked { .. }
        | Event::TaskMoved { .. }
        | Event::RetryGranted { .. }
        | Event::AttemptEnded { .. }
        | Event::BackendHeld { .. }
        | Event::BudgetWarned(_)
        | Event::BackendReleased { .. }
        | Event::CompletionClaimed { .. }
        | Event::CollectAsked { .. }
        | Event::SaveAsked { .. }
        | Event::SnapshotAsked { .. }
        | Event::RestoreAsked { .. }
        | Event::DropAsked { .. }
        | Event::TidyAsked
        | Event::MatrixApplied { .. }
        | Event::CrewApplied { .. }
        | Event::SandboxApplied { .. }
        | Event::TierAccepted { .. }
        | Event::AgentConfined { .. }
        | Event::GrantGiven { .. }
        | Event::GrantRevoked { .. }
        | Event::QueryLimitsApplied { .. }
        | Event::ClientCallTaken { .. }
        | Event::VerifyAsked { .. }
        | Event::IntegrateAsked { .. }
        | Event::RequestOpened { .. }
        | Event::RequestMoved { .. }
        | Event::LandingMoved { .. }
        | Event::LandingPlanned { .. }
        | Event::MergedByHand { .. }
        | Event::Abandoned { .. }
        | Event::RemovalAsked { .. } => "Orchestrator".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S1-089: the file name contains the start time of the orchestrator.
    #[test]
    fn a_log_file_is_named_after_its_start_time_and_old_ones_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        for second in 0..60 {
            let name = format!("orchestrator-2001-01-01T00-00-{second:02}.log");
            fs::write(dir.path().join(name), "old").unwrap();
        }
        fs::write(dir.path().join("notes.txt"), "mine").unwrap();
        let secret = ("MY_TOKEN".to_owned(), "a-secret".to_owned());
        let log = Log::open(dir.path(), Redactor::new([secret], &[])).unwrap();
        log.line("Orchestrator", "one\nline\u{1b}[2J a-secret");
        let mut names: Vec<String> = fs::read_dir(dir.path())
            .unwrap()
            .map(|it| it.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names.len(), FILES_MAX + 1, "{names:?}");
        assert_eq!(names[0], "notes.txt");
        assert_eq!(names[1], "orchestrator-2001-01-01T00-00-11.log");
        let newest = names.last().unwrap();
        let shape: String =
            newest.chars().map(|it| if it.is_ascii_digit() { '0' } else { it }).collect();
        assert_eq!(shape, "orchestrator-0000-00-00T00-00-00.log");
        let text = fs::read_to_string(dir.path().join(newest)).unwrap();
        assert!(text.ends_with(" [Orchestrator] one line [2J [redacted]\n"), "{text:?}");
    }
}
