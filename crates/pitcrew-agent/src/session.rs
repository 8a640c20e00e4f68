//! One session: its folder, its tools, how far its script has come, and its conversation.

use crate::{
    model::Conversation,
    script::{Answer, Memory, Script, ScriptError, Step},
    tools::Server,
    wire::Teller,
};
use serde_json::{Map, Value};
use std::{path::PathBuf, sync::Mutex};
use tokio_util::sync::CancellationToken;

pub(crate) struct Session {
    pub cwd: PathBuf,
    pub servers: Vec<Server>,
    pub teller: Teller,
    /// The client reads and writes files for us.
    pub has_files: bool,
    /// Variables that no program of the session may see.
    pub withheld: Vec<String>,
    /// Absent while a turn has it.
    progress: Mutex<Option<Progress>>,
    /// Cancels the turn that is going on.
    cancel: Mutex<CancellationToken>,
}

/// What outlives a turn.
#[derive(Default)]
pub(crate) struct Progress {
    script: Option<Running>,
    /// A command that was cancelled: it has no middle, so it is run again.
    pub command: Option<String>,
    /// The words of the latest prompt.
    pub words: String,
    /// A script from a file has been taken: it is run once.
    pub took_file: bool,
    pub conversation: Conversation,
    /// Millionths of a US dollar that the conversation has cost, where that is known.
    pub cost_micros: u64,
}

struct Running {
    source: String,
    script: Script,
    next: usize,
    memory: Memory,
}

impl Session {
    pub fn new(
        cwd: PathBuf,
        servers: Vec<Server>,
        teller: Teller,
        has_files: bool,
        withheld: Vec<String>,
    ) -> Self {
        Self {
            cwd,
            servers,
            teller,
            has_files,
            withheld,
            progress: Mutex::new(Some(Progress::default())),
            cancel: Mutex::default(),
        }
    }

    /// Takes the right to run a turn; nothing while one is going on.
    pub fn begin_turn(&self) -> Option<(Progress, CancellationToken)> {
        let progress = self.progress.lock().expect("no turn panics under the lock").take()?;
        let token = CancellationToken::new();
        *self.cancel.lock().expect("nobody panics under the lock") = token.clone();
        Some((progress, token))
    }

    pub fn end_turn(&self, progress: Progress) {
        *self.progress.lock().expect("no turn panics under the lock") = Some(progress);
    }

    pub fn cancel(&self) {
        self.cancel.lock().expect("nobody panics under the lock").cancel();
    }

    /// Calls a tool of the session's MCP servers, or a method of the client for files.
    pub async fn call(&self, tool: &str, arguments: Map<String, Value>) -> Result<Answer, Answer> {
        if tool.starts_with("fs/") {
            return self.teller.file_method(tool, &arguments, &self.cwd).await;
        }
        match self.servers.iter().find(|it| it.has(tool)) {
            Some(server) => server.call(tool, arguments).await,
            None => {
                let text = format!(
                    "the session has no tool `{tool}`: its client injected no MCP server that \
                     offers it"
                );
                Err(Answer { text, structured: None })
            }
        }
    }
}

impl Progress {
    /// Begins a script; one that is under way and the same goes on.
    pub fn begin(&mut self, source: &str) -> Result<(), ScriptError> {
        self.command = None;
        if self.script.as_ref().is_none_or(|it| it.source != source) {
            self.script = None;
            let script = Script::parse(source)?;
            self.script = Some(Running {
                source: source.to_owned(),
                script,
                next: 0,
                memory: Memory::default(),
            });
        }
        Ok(())
    }

    pub fn is_under_way(&self) -> bool {
        self.script.is_some()
    }

    /// The next step that is to be done, after those whose condition does not hold, and what the
    /// steps before it have left for it.
    pub fn step(&mut self) -> Option<(&Step, &mut Memory)> {
        let running = self.script.as_mut()?;
        let steps = &running.script.steps;
        let is_skipped = |it: &Step| !it.condition.holds(&self.words);
        while steps.get(running.next).is_some_and(is_skipped) {
            running.next += 1;
        }
        Some((steps.get(running.next)?, &mut running.memory))
    }

    pub fn advance(&mut self) {
        if let Some(running) = &mut self.script {
            running.next += 1;
        }
    }

    pub fn finish(&mut self) {
        self.script = None;
        self.command = None;
    }
}
