//! The HTTP server on 127.0.0.1.

use super::{
    conversation::{Conversation, Delivery},
    dialect::{self, Dialect},
    response::{ModelResponse, response},
    script::{Failure, Tokens},
};
use axum::{
    Json, Router,
    body::{Body, Bytes},
    extract::{DefaultBodyLimit, Path, Query, State},
    http::{HeaderName, HeaderValue, Method, StatusCode, Uri, header},
    response::{IntoResponse, Response},
    routing::{any, get, post},
};
use futures::stream;
use serde_json::{Value, json};
use std::{
    collections::{BTreeSet, HashMap},
    convert::Infallible,
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::JoinHandle,
    time::{Duration, Instant},
};
use tokio::{
    net::TcpListener,
    sync::{oneshot, watch},
};

/// A running server. It stops when dropped.
pub struct ModelServer {
    address: SocketAddr,
    seen: Seen,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// The recorded requests.
#[derive(Clone, Default)]
struct Seen {
    log: Arc<Mutex<Log>>,
    /// The holds that were released.
    released: Arc<watch::Sender<BTreeSet<String>>>,
}

#[derive(Default)]
struct Log {
    requests: Vec<(String, Value)>,
    /// When each failure occurred first.
    failed: HashMap<u64, Instant>,
    /// The holds that a response has reached.
    held: BTreeSet<String>,
    /// The responses to prompts with a script, with the number of completed steps.
    answers: Vec<(String, usize, Tokens)>,
}

impl Log {
    /// A failure that occurs once ends after its first occurrence, and a quota failure after its
    /// time.
    fn fails(&mut self, place: u64, failure: &Failure) -> bool {
        let is_new = !self.failed.contains_key(&place);
        let first = *self.failed.entry(place).or_insert_with(Instant::now);
        match failure.reset_s {
            _ if failure.once => is_new,
            Some(seconds) => first.elapsed() < Duration::from_secs(seconds),
            None => true,
        }
    }
}

impl Seen {
    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn decide(&self, path: &str, request: Value, conversation: &Conversation) -> ModelResponse {
        let response = response(conversation, |place, failure| self.log().fails(place, failure));
        let mut log = self.log();
        log.requests.push((path.to_owned(), request));
        if let Some((prompt, done_count)) = &response.place {
            let tokens = response.answer.as_ref().map(|it| it.tokens).unwrap_or_default();
            log.answers.push((prompt.clone(), *done_count, tokens));
        }
        log.held.extend(response.hold.clone());
        response
    }

    /// Waits as long as the response requires.
    async fn hold_back(&self, response: &ModelResponse) {
        tokio::time::sleep(response.delay).await;
        let Some(name) = &response.hold else { return };
        self.released.subscribe().wait_for(|it| it.contains(name)).await.ok();
    }
}

impl ModelServer {
    /// Starts one on a free port.
    pub fn start() -> Self {
        Self::at_port(0).expect("a free port on 127.0.0.1")
    }

    /// Starts one on this port; 0 means any free port.
    pub fn at_port(port: u16) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, port)))?;
        let address = listener.local_addr()?;
        let (stop, stopped) = oneshot::channel::<()>();
        let seen = Seen::default();
        let router = router(seen.clone());
        let serve = async move {
            tokio::select! {
                served = axum::serve(listener, router) => served.expect("it serves"),
                _ = stopped => {}
            }
        };
        let thread = std::thread::spawn(move || runtime.block_on(serve));
        Ok(Self { address, seen, stop: Some(stop), thread: Some(thread) })
    }

    /// Its address: `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The number of model calls.
    pub fn calls_count(&self) -> usize {
        self.seen.log().requests.len()
    }

    /// Every model call: the path and the body.
    pub fn calls(&self) -> Vec<(String, Value)> {
        self.seen.log().requests.clone()
    }

    /// Whether a response has reached this `@hold`.
    pub fn has_held(&self, name: &str) -> bool {
        self.seen.log().held.contains(name)
    }

    /// Releases the responses at this `@hold`.
    pub fn release(&self, name: &str) {
        self.seen.released.send_modify(|it| {
            it.insert(name.to_owned());
        });
    }

    /// How often a script started whose prompt contains this text: an agent that is prompted twice
    /// starts it twice.
    pub fn begun_count(&self, text: &str) -> usize {
        let log = self.seen.log();
        log.answers.iter().filter(|it| it.0.contains(text) && it.1 == 0).count()
    }

    /// The tokens that responses to prompts with this text reported: input and output. A step that
    /// is requested twice counts once: some agents repeat requests for their own purposes.
    pub fn tokens_reported(&self, text: &str) -> (u64, u64) {
        let log = self.seen.log();
        let matching = log.answers.iter().filter(|it| it.0.contains(text));
        let mut steps: HashMap<(&str, usize), Tokens> = HashMap::new();
        for (prompt, done_count, tokens) in matching {
            steps.entry((prompt, *done_count)).or_insert(*tokens);
        }
        steps.values().fold((0, 0), |sum, it| (sum.0 + it.input, sum.1 + it.output))
    }

    /// Waits for its end, which never comes by itself.
    pub fn wait(mut self) {
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

fn router(seen: Seen) -> Router {
    let chat = post(|state: State<Seen>, uri: Uri, body: Bytes| {
        answer(state, uri, body, Dialect::OpenAiChat)
    });
    let responses = post(|state: State<Seen>, uri: Uri, body: Bytes| {
        answer(state, uri, body, Dialect::OpenAiResponses)
    });
    let messages = post(|state: State<Seen>, uri: Uri, body: Bytes| {
        answer(state, uri, body, Dialect::Anthropic)
    });
    let ollama =
        post(|state: State<Seen>, uri: Uri, body: Bytes| answer(state, uri, body, Dialect::Ollama));
    Router::new()
        .route("/v1/chat/completions", chat.clone())
        .route("/chat/completions", chat)
        .route("/v1/responses", responses.clone())
        .route("/responses", responses)
        .route("/v1/messages", messages)
        .route("/v1/messages/count_tokens", post(count_anthropic))
        .route("/v1beta/models/{call}", post(gemini))
        .route("/v1/models/{call}", post(gemini))
        .route("/api/chat", ollama)
        .route("/api/tags", get(async || Json(json!({ "models": [{ "name": "scripted" }] }))))
        .route("/api/show", post(async || Json(json!({ "capabilities": ["tools"] }))))
        .route("/v1/models", get(async || Json(dialect::models())))
        .route("/", any(async || "a scripted model\n"))
        .fallback(unknown)
        .layer(DefaultBodyLimit::disable())
        .with_state(seen)
}

async fn unknown(method: Method, uri: Uri) -> Response {
    let error = json!({ "error": { "message": format!("there is no {method} {}", uri.path()) } });
    (StatusCode::NOT_FOUND, Json(error)).into_response()
}

async fn answer(State(seen): State<Seen>, uri: Uri, body: Bytes, dialect: Dialect) -> Response {
    let request: Value = match serde_json::from_slice(&body) {
        Ok(request) => request,
        Err(error) => return (StatusCode::BAD_REQUEST, error.to_string()).into_response(),
    };
    let conversation = dialect.read(&request);
    let response = seen.decide(uri.path(), request, &conversation);
    seen.hold_back(&response).await;
    render(dialect, response, &conversation.model, conversation.delivery)
}

fn render(dialect: Dialect, response: ModelResponse, model: &str, delivery: Delivery) -> Response {
    let reply = match response.answer {
        Ok(reply) => reply,
        Err(failure) => {
            let status = StatusCode::from_u16(failure.status).unwrap_or(StatusCode::BAD_REQUEST);
            let refusal = dialect.refusal(&failure);
            let mut response = (status, Json(refusal.body)).into_response();
            for (name, value) in refusal.headers {
                if let Ok(value) = HeaderValue::from_str(&value) {
                    response.headers_mut().insert(HeaderName::from_static(name), value);
                }
            }
            return response;
        }
    };
    match delivery {
        Delivery::Whole => Json(dialect.whole(&reply, model)).into_response(),
        Delivery::Streamed => {
            let pieces = dialect.streamed(&reply, model).into_iter().map(Ok::<_, Infallible>);
            let kind = [(header::CONTENT_TYPE, dialect.content_type_streamed())];
            (kind, Body::from_stream(stream::iter(pieces))).into_response()
        }
    }
}

async fn count_anthropic(Json(request): Json<Value>) -> Json<Value> {
    let count = Dialect::Anthropic.read(&request).tokens_count();
    Json(json!({ "input_tokens": count }))
}

/// The model and the method are in one part of the path: `MODEL:streamGenerateContent`.
async fn gemini(
    State(seen): State<Seen>,
    Path(call): Path<String>,
    Query(query): Query<HashMap<String, String>>,
    uri: Uri,
    Json(request): Json<Value>,
) -> Response {
    let (model, verb) = call.split_once(':').unwrap_or((&call, ""));
    let conversation = Dialect::Gemini.read(&request);
    if verb == "countTokens" {
        return Json(json!({ "totalTokens": conversation.tokens_count() })).into_response();
    }
    let response = seen.decide(uri.path(), request, &conversation);
    seen.hold_back(&response).await;
    let streamed = query.get("alt").is_some_and(|it| it == "sse");
    match (verb, streamed) {
        ("streamGenerateContent", true) => {
            render(Dialect::Gemini, response, model, Delivery::Streamed)
        }
        // Without server-sent events a stream is a list of responses; one response is a list too.
        ("streamGenerateContent", false) => match &response.answer {
            Ok(reply) => Json(json!([Dialect::Gemini.whole(reply, model)])).into_response(),
            Err(_) => render(Dialect::Gemini, response, model, Delivery::Whole),
        },
        _ => render(Dialect::Gemini, response, model, Delivery::Whole),
    }
}

#[cfg(test)]
mod tests;
