//! One session: its folder, tools, script position and conversation.

use crate::{
    model::Conversation,
    script::{Answer, Memory, Script, ScriptError, Step},
    tools::Server,
    wire::Reporter,
};
use serde_json::{Map, Value};
use std::{path::PathBuf, sync::Mutex};
use tokio_util::sync::CancellationToken;

pub(crate) struct Session {
    pub cwd: PathBuf,
    pub servers: Vec<Server>,
    pub reporter: Reporter,
    /// The client reads and writes files for us.
    pub has_files: bool,
    /// Variables that no program of the session may see.
    pub withheld: Vec<String>,
    /// Absent while a turn is using it.
    progress: Mutex<Option<Progress>>,
    /// Cancels the open turn.
    cancel: Mutex<CancellationToken>,
}

/// The state that outlives a turn.
#[derive(Default)]
pub(crate) struct Progress {
    script: Option<Running>,
    /// A command that was cancelled: it cannot be resumed, so it runs again.
    pub command: Option<String>,
    /// The text of the latest prompt.
    pub words: String,
    /// A script from a file was started; it runs once.
    pub took_file: bool,
    pub conversation: Conversation,
    /// The cost of the conversation in millionths of a US dollar, if known.
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
        reporter: Reporter,
        has_files: bool,
        withheld: Vec<String>,
    ) -> Self {
        Self {
            cwd,
            servers,
            reporter,
            has_files,
            withheld,
            progress: Mutex::new(Some(Progress::default())),
            cancel: Mutex::default(),
        }
    }

    /// Acquires the right to run a turn; `None` while one is running.
    pub fn begin_turn(&self) -> Option<(Progress, CancellationToken)> {
        let progress = self.progress.lock().expect("no turn panics under the lock").take()?;
        let token = CancellationToken::new();
        *self.cancel.lock().expect("no panic happens under the lock") = token.clone();
        Some((progress, token))
    }

    pub fn end_turn(&self, progress: Progress) {
        *self.progress.lock().expect("no turn panics under the lock") = Some(progress);
    }

    pub fn cancel(&self) {
        self.cancel.lock().expect("no panic happens under the lock").cancel();
    }

    /// Calls a tool of the session's MCP servers, or a file method of the client.
    pub async fn call(&self, tool: &str, arguments: Map<String, Value>) -> Result<Answer, Answer> {
        if tool.starts_with("fs/") {
            return self.reporter.file_method(tool, &arguments, &self.cwd).await;
        }
        match self.servers.iter().find(|it| it.has(tool)) {
            Some(server) => server.call(tool, arguments).await,
            None => {
                let text = format!(
                    "the session has no tool `{tool}`: no MCP server of the client \
                     offers it"
                );
                Err(Answer { text, structured: None })
            }
        }
    }
}

impl Progress {
    /// Starts a script; if the same script is running, it continues.
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

    /// The next step whose condition holds, and the memory of the previous steps.
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
