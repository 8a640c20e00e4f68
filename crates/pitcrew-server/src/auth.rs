//! Authentication. Rights come from the token, never from the content of a request.

use crate::{
    answer::Failed,
    pool::{Connection, Endpoint, Identity},
    serve::Doors,
    tools::Caller,
};
use axum::{
    extract::FromRequestParts,
    http::{HeaderMap, request::Parts},
};
use pitcrew_api::{ProblemCode, Token};
use std::sync::Arc;

/// The user who owns the workspace.
pub struct Person;

impl FromRequestParts<Arc<Doors>> for Person {
    type Rejection = Failed;

    async fn from_request_parts(parts: &mut Parts, doors: &Arc<Doors>) -> Result<Self, Failed> {
        let token = bearer(&parts.headers)?;
        if doors.tokens.is_person(token.reveal()) {
            return connection(parts)?.admit(Identity::Person).map(|()| Self);
        }
        let is_client = doors.tokens.is_client(token.reveal());
        Err(if is_client || doors.worker_of(&token).is_some() {
            forbidden("a worker or client may only call its tools")
        } else {
            unauthorized("unknown token")
        })
    }
}

impl FromRequestParts<Arc<Doors>> for Caller {
    type Rejection = Failed;

    async fn from_request_parts(parts: &mut Parts, doors: &Arc<Doors>) -> Result<Self, Failed> {
        caller(&parts.headers, connection(parts)?, doors)
    }
}

/// The connection of a request.
fn connection(parts: &Parts) -> Result<&Connection, Failed> {
    let connection = parts.extensions.get::<Arc<Connection>>();
    let missing = || Failed::new(ProblemCode::Internal, "the request has no connection");
    connection.map(|it| &**it).ok_or_else(missing)
}

/// How a caller of tools can fix a missing or wrong token.
const TOKEN_OF_TOOLS: &str = "run `pitcrew mcp --http` in the repository: it prints the file with \
    the token (`mcp.token`); send it as the header `Authorization: Bearer TOKEN`. A worker gets \
    its own token with the address, valid until its task ends";

/// Authenticates a caller of tools: a worker that is active, on its own socket or on the loopback,
/// or the user's own agent.
pub fn caller(
    headers: &HeaderMap,
    connection: &Connection,
    doors: &Doors,
) -> Result<Caller, Failed> {
    let token = bearer(headers).map_err(|it| it.help(TOKEN_OF_TOOLS))?;
    let endpoint = connection.endpoint();
    if let Some(attempt) = doors.worker_of(&token) {
        if ![Endpoint::Worker(attempt), Endpoint::Loopback].contains(&endpoint) {
            return Err(forbidden("a worker calls its tools at its own socket, PITCREW_SOCKET"));
        }
        connection.admit(Identity::Worker(attempt))?;
        let views = doors.orchestrator.handle().views();
        let worker = views.board.attempt(attempt).map(|it| it.worker);
        let gone = || Failed::new(ProblemCode::NotFound, format!("{attempt} has no worker"));
        return Ok(Caller::Worker { attempt, worker: worker.ok_or_else(gone)? });
    }
    if doors.tokens.is_client(token.reveal())
        && [Endpoint::Person, Endpoint::Loopback].contains(&endpoint)
    {
        return connection.admit(Identity::Person).map(|()| Caller::Client);
    }
    Err(if doors.tokens.is_person(token.reveal()) {
        forbidden("tools need the token of a worker or a client; this is the workspace's own token")
    } else {
        unauthorized("the token belongs to no client and no active worker")
    }
    .help(TOKEN_OF_TOOLS))
}

fn bearer(headers: &HeaderMap) -> Result<Token, Failed> {
    let value = headers.get(Token::HEADER).and_then(|it| it.to_str().ok());
    let value = value.ok_or_else(|| unauthorized("the request has no token"))?;
    Token::from_authorization(value).map_err(|error| unauthorized(&error.to_string()))
}

fn unauthorized(message: &str) -> Failed {
    Failed::new(ProblemCode::Unauthorized, message)
}

fn forbidden(message: &str) -> Failed {
    Failed::new(ProblemCode::Forbidden, message)
}
