//! The tools that a model is given: our own for the checkout, and those of the session's servers.
//!
//! Whatever a model asks for ends in a text that it can go on from; nothing here ends a turn by
//! itself. Commands are asked about; files are opened beneath the session's folder only.

mod arguments;
mod border;
mod store;
mod specs;
mod files;
mod look;
mod run;

use super::report::{COMPLETE_TASK, NOTIFY};
use crate::{
    model::{Call, ToolSpec},
    session::Session,
    tools::Server,
    wire::ToolKind,
};
use arguments::Arguments;
use pitcrew_model::{limits, text};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

/// What a tool may give back to the model.
const RESULT_BYTES_MAX: usize = 64 * 1_024;

pub(super) struct Toolbox<'a> {
    session: &'a Session,
    offered: Vec<(ToolSpec, Tool<'a>)>,
}

#[derive(Clone, Copy)]
enum Tool<'a> {
    Read,
    Write,
    Edit,
    Search,
    List,
    Run,
    Served { server: &'a Server, name: &'a str },
}

/// What came of a call.
pub(super) struct Outcome {
    /// What the model is told.
    pub text: String,
    pub after: After,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    GoOn,
    /// It reported or asked: what comes next comes as a prompt.
    EndTurn,
    Cancelled,
}

impl Outcome {
    fn done(text: impl Into<String>) -> Self {
        Self { text: text.into(), after: After::GoOn }
    }

    pub fn failed(reason: &str) -> Self {
        Self::done(format!("error: {reason}"))
    }

    pub fn cancelled() -> Self {
        Self { text: "error: it was cancelled".to_owned(), after: After::Cancelled }
    }
}

impl<'a> Toolbox<'a> {
    pub fn of(session: &'a Session) -> Self {
        let ours = [
            (specs::read(), Tool::Read),
            (specs::write(), Tool::Write),
            (specs::edit(), Tool::Edit),
            (specs::search(), Tool::Search),
            (specs::list(), Tool::List),
            (specs::run(), Tool::Run),
        ];
        let mut toolbox = Self { session, offered: ours.into() };
        for server in &session.servers {
            for tool in &server.tools {
                toolbox.offer(server, tool);
            }
        }
        toolbox
    }

    /// Providers take few characters in a name, and each name once.
    fn offer(&mut self, server: &'a Server, tool: &'a ToolSpec) {
        let plain = |it: &str| {
            let letter = |it: char| if it.is_ascii_alphanumeric() || it == '-' { it } else { '_' };
            let name: String = it.chars().take(64).map(letter).collect();
            name
        };
        let names = [plain(&tool.name), plain(&format!("{}_{}", server.name, tool.name))];
        let taken = |name: &String| self.offered.iter().any(|it| it.0.name == *name);
        if let Some(name) = names.into_iter().find(|it| !it.is_empty() && !taken(it)) {
            let spec = ToolSpec { name, ..tool.clone() };
            self.offered.push((spec, Tool::Served { server, name: &tool.name }));
        }
    }

    pub fn specs(&self) -> Vec<ToolSpec> {
        self.offered.iter().map(|it| it.0.clone()).collect()
    }

    pub async fn call(&self, call: &Call, cancel: &CancellationToken) -> Outcome {
        let found = self.offered.iter().find(|it| it.0.name == call.name);
        let called = match (found, &call.arguments) {
            (None, _) => {
                let names: Vec<&str> = self.offered.iter().map(|it| it.0.name.as_str()).collect();
                Err(format!("there is no such tool; your tools are: {}", names.join(", ")))
            }
            (Some(_), Err(raw)) => {
                let raw = text::cut(raw, 200);
                Err(format!("the arguments must be a JSON object, and are: {raw}"))
            }
            (Some((_, tool)), Ok(arguments)) => self.use_tool(*tool, arguments, cancel).await,
        };
        called.unwrap_or_else(|reason| {
            let title = text::cut(&call.name, limits::NAME_BYTES_MAX);
            let doing = self.session.teller.begin(ToolKind::Other, title, None, Value::Null);
            self.session.teller.failed(&doing, &reason);
            Outcome::failed(&reason)
        })
    }

    /// Uses a tool. An error is about the arguments: nothing was begun.
    async fn use_tool(
        &self,
        tool: Tool<'_>,
        map: &Map<String, Value>,
        cancel: &CancellationToken,
    ) -> Result<Outcome, String> {
        let (session, arguments) = (self.session, Arguments(map));
        match tool {
            Tool::Read => files::read(session, arguments).await,
            Tool::Write => files::write(session, arguments).await,
            Tool::Edit => files::edit(session, arguments).await,
            Tool::Search => look::search(session, arguments, cancel).await,
            Tool::List => look::list(session, arguments, cancel).await,
            Tool::Run => run::command(session, arguments, cancel).await,
            Tool::Served { server, name } => Ok(served(session, server, name, map, cancel).await),
        }
    }
}

async fn served(
    session: &Session,
    server: &Server,
    tool: &str,
    arguments: &Map<String, Value>,
    cancel: &CancellationToken,
) -> Outcome {
    let input = Value::Object(arguments.clone());
    let doing = session.teller.begin(ToolKind::Other, tool, None, input);
    let answer = tokio::select! {
        answer = server.call(tool, arguments.clone()) => answer,
        () = cancel.cancelled() => {
            session.teller.failed(&doing, "cancelled");
            return Outcome::cancelled();
        }
    };
    match answer {
        Ok(answer) => {
            session.teller.done(&doing, text::cut(&answer.text, limits::OUTPUT_TAIL_BYTES));
            let asks = tool == NOTIFY && arguments.get("kind").is_some_and(|it| it == "question");
            let ends = tool == COMPLETE_TASK || asks;
            let after = if ends { After::EndTurn } else { After::GoOn };
            Outcome { text: shortened(&answer.text), after }
        }
        Err(refusal) => {
            session.teller.failed(&doing, text::cut(&refusal.text, limits::OUTPUT_TAIL_BYTES));
            Outcome::failed(&shortened(&refusal.text))
        }
    }
}

/// The beginning and the end of a text that is too long.
fn shortened(whole: &str) -> String {
    if whole.len() <= RESULT_BYTES_MAX {
        return whole.to_owned();
    }
    let head = text::cut(whole, RESULT_BYTES_MAX / 4);
    let tail = text::tail(whole, RESULT_BYTES_MAX * 3 / 4);
    let left_out = whole.len() - head.len() - tail.len();
    format!("{head}\n[{left_out} bytes left out]\n{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_keeps_its_beginning_and_its_end() {
        assert_eq!(shortened("short"), "short");
        let long = format!("first\n{}\nlast", "日本語".repeat(100_000));
        let short = shortened(&long);
        assert!(short.len() < RESULT_BYTES_MAX + 100);
        assert!(short.starts_with("first\n日本語") && short.ends_with("日本語\nlast"));
        assert!(short.contains("bytes left out]"));
    }
}
