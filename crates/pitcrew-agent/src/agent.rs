//! The agent's process: handles the client's requests and runs each turn in a task.

use crate::{
    model::{Client, Failure, ModelSetup},
    script::Script,
    session::{Progress, Session},
    tools::{Server, ServerSpec},
    turn::{self, Ended},
    wire::{
        self, Agent, CancelNotification, CloseSessionRequest, CloseSessionResponse, Connection,
        ContentBlock, Error, InitializeRequest, McpServer, NewSessionRequest, NewSessionResponse,
        PromptRequest, PromptResponse, Reporter, Responder, SessionId, Stdio, StopReason,
        on_receive_notification, on_receive_request,
    },
};
use pitcrew_acp::order_in;
use std::{
    collections::BTreeMap,
    path::Path,
    process::ExitCode,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};
use tokio_util::sync::CancellationToken;

/// The start options of the agent.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// A script to run if the client sends no order.
    pub script: Option<String>,
    /// If there is a model, orders are ignored and each prompt is sent to the model.
    pub model: Option<ModelSetup>,
}

impl Options {
    /// Loads the script from a file. Errors are meant for stderr.
    pub fn with_script_file(path: &Path) -> Result<Self, String> {
        let shown = path.display();
        let text = std::fs::read_to_string(path)
            .map_err(|error| format!("failed to read the script `{shown}`: {error}"))?;
        Script::parse(&text).map_err(|error| format!("script `{shown}`: {error}"))?;
        Ok(Self { script: Some(text), model: None })
    }
}

/// Serves ACP on stdin and stdout until the client closes them.
pub async fn agent_main(options: Options) -> ExitCode {
    let model = options.model.map(|setup| {
        let client = Client::new(&setup);
        Model { setup, client }
    });
    let process = Arc::new(Process {
        script: options.script,
        model,
        has_files: AtomicBool::new(false),
        sessions: Mutex::default(),
    });
    let served = serve(&process).await;
    process.close_all();
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("pitcrew agent: the connection failed: {}", error.message);
            ExitCode::FAILURE
        }
    }
}

/// The state of this process.
struct Process {
    script: Option<String>,
    model: Option<Model>,
    /// Whether the client reads and writes files for the agent.
    has_files: AtomicBool,
    sessions: Mutex<Sessions>,
}

/// The model of all sessions. If it cannot be used, each turn reports the reason.
pub(crate) struct Model {
    pub setup: ModelSetup,
    pub client: Result<Client, Failure>,
}

#[derive(Default)]
struct Sessions {
    opened_count: u64,
    by_id: BTreeMap<SessionIdText, Arc<Session>>,
}

type SessionIdText = Arc<str>;

/// Serves until the connection closes.
///
/// A handler blocks all other messages, so slow work is spawned. A spawned task never returns an
/// error, because that would close the connection.
async fn serve(process: &Arc<Process>) -> Result<(), Error> {
    let (for_initialize, for_new_session) = (process.clone(), process.clone());
    let (for_prompt, for_close, for_cancel) = (process.clone(), process.clone(), process.clone());
    Agent
        .v1()
        .name("pitcrew-agent")
        .on_receive_request(
            async move |request: InitializeRequest, responder: Responder<_>, _: Connection| {
                let fs = request.client_capabilities.fs;
                let has_files = fs.read_text_file && fs.write_text_file;
                for_initialize.has_files.store(has_files, Ordering::Relaxed);
                responder.respond(wire::introduction())
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: NewSessionRequest, responder: Responder<_>, cx: Connection| {
                let process = for_new_session.clone();
                let connection = cx.clone();
                cx.spawn(async move {
                    responder.respond_with_result(process.open(request, connection).await).ok();
                    Ok(())
                })
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: PromptRequest, responder: Responder<_>, cx: Connection| {
                let process = for_prompt.clone();
                // Starts the turn before the next message, which may cancel it.
                let turn = process.begin_turn(&request);
                cx.spawn(async move {
                    let ended = match turn {
                        Ok(turn) => process.run_turn(turn, &request).await,
                        Err(error) => Err(error),
                    };
                    responder.respond_with_result(ended).ok();
                    Ok(())
                })
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: CloseSessionRequest, responder: Responder<_>, _: Connection| {
                for_close.close(&request.session_id);
                responder.respond(CloseSessionResponse::new())
            },
            on_receive_request!(),
        )
        .on_receive_notification(
            async move |notification: CancelNotification, _: Connection| {
                if let Ok(session) = for_cancel.session(&notification.session_id) {
                    session.cancel();
                }
                Ok(())
            },
            on_receive_notification!(),
        )
        .connect_to(Stdio::new())
        .await
}

/// A turn that has started, with exclusive access to its session.
struct Turn {
    session: Arc<Session>,
    progress: Progress,
    cancel: CancellationToken,
}

impl Process {
    fn sessions(&self) -> std::sync::MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn session(&self, id: &SessionId) -> Result<Arc<Session>, Error> {
        let session = self.sessions().by_id.get(&id.0).cloned();
        session.ok_or_else(|| wire::invalid(format!("there is no session `{id}`; use session/new")))
    }

    fn close(&self, id: &SessionId) {
        if let Some(session) = self.sessions().by_id.remove(&id.0) {
            session.cancel();
        }
    }

    fn close_all(&self) {
        for session in std::mem::take(&mut self.sessions().by_id).into_values() {
            session.cancel();
        }
    }

    async fn open(
        &self,
        request: NewSessionRequest,
        connection: Connection,
    ) -> Result<NewSessionResponse, Error> {
        if !request.cwd.is_dir() {
            let cwd = request.cwd.display();
            return Err(wire::invalid(format!("the folder `{cwd}` does not exist")));
        }
        let withheld = self.model.as_ref().map_or_else(Vec::new, |it| it.setup.withheld.clone());
        let mut servers = Vec::new();
        for server in request.mcp_servers {
            let spec = spec(server)?;
            let started = Server::start(&spec, &request.cwd, &withheld).await;
            servers.push(started.map_err(|error| wire::invalid(error.to_string()))?);
        }
        let mut sessions = self.sessions();
        sessions.opened_count += 1;
        let id = SessionId::new(format!("session-{}", sessions.opened_count));
        let reporter = Reporter::new(connection, id.clone());
        let has_files = self.has_files.load(Ordering::Relaxed);
        let session = Session::new(request.cwd, servers, reporter, has_files, withheld);
        sessions.by_id.insert(id.0.clone(), Arc::new(session));
        Ok(NewSessionResponse::new(id))
    }

    fn begin_turn(&self, request: &PromptRequest) -> Result<Turn, Error> {
        let session = self.session(&request.session_id)?;
        match session.begin_turn() {
            Some((progress, cancel)) => Ok(Turn { session, progress, cancel }),
            None => Err(wire::invalid("a turn is in progress; cancel it or wait for its end")),
        }
    }

    async fn run_turn(&self, turn: Turn, request: &PromptRequest) -> Result<PromptResponse, Error> {
        let Turn { session, mut progress, cancel } = turn;
        let words = text(&request.prompt);
        let ended = match &self.model {
            Some(model) => turn::talk(&session, &mut progress, &words, model, &cancel).await,
            None => match order_in(request.meta.as_ref()) {
                Ok(order) => {
                    progress.words = words;
                    let script = self.script.as_deref();
                    let stop = turn::run(&session, &mut progress, order, script, &cancel).await;
                    Ok(Ended { stop, usage: None })
                }
                Err(error) => Err(wire::invalid(error.to_string())),
            },
        };
        session.end_turn(progress);
        // The client expects its cancellation to be confirmed, whatever the step returned.
        if cancel.is_cancelled() {
            let usage = ended.ok().and_then(|it| it.usage);
            return Ok(PromptResponse::new(StopReason::Cancelled).usage(usage));
        }
        ended.map(|Ended { stop, usage }| PromptResponse::new(stop).usage(usage))
    }
}

fn spec(server: McpServer) -> Result<ServerSpec, Error> {
    let McpServer::Stdio(it) = server else {
        // The capabilities do not offer any other transport.
        return Err(wire::invalid("only MCP servers on stdio are supported"));
    };
    Ok(ServerSpec {
        name: it.name,
        command: it.command,
        args: it.args,
        env: it.env.into_iter().map(|it| (it.name, it.value)).collect(),
    })
}

/// The text of a prompt. Images are ignored, and links become text.
fn text(prompt: &[ContentBlock]) -> String {
    let texts = prompt.iter().filter_map(|block| match block {
        ContentBlock::Text(text) => Some(text.text.as_str()),
        ContentBlock::ResourceLink(link) => Some(link.uri.as_str()),
        // The library's enum is non-exhaustive.
        ContentBlock::Image(_) | ContentBlock::Audio(_) | ContentBlock::Resource(_) | _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}
