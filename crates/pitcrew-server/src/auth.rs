//! Who is asking. Rights come from the token, never from what a request says of itself.

use crate::{answer::Failed, serve::Doors};
use axum::{
    extract::FromRequestParts,
    http::{HeaderMap, request::Parts},
};
use pitcrew_api::{ProblemCode, Token};
use pitcrew_model::AttemptId;
use std::sync::Arc;

/// The person who owns the workspace.
pub struct Person;

/// The worker of one attempt, while it is at work.
pub struct WorkerOf(pub AttemptId);

impl FromRequestParts<Arc<Doors>> for Person {
    type Rejection = Failed;

    async fn from_request_parts(parts: &mut Parts, doors: &Arc<Doors>) -> Result<Self, Failed> {
        let token = bearer(&parts.headers)?;
        if doors.tokens.is_person(token.reveal()) {
            return Ok(Self);
        }
        Err(match doors.worker_of(&token) {
            Some(_) => forbidden("a worker may only call its tools"),
            None => unauthorized("this token is nobody's"),
        })
    }
}

impl FromRequestParts<Arc<Doors>> for WorkerOf {
    type Rejection = Failed;

    async fn from_request_parts(parts: &mut Parts, doors: &Arc<Doors>) -> Result<Self, Failed> {
        let token = bearer(&parts.headers)?;
        match doors.worker_of(&token) {
            Some(attempt) => Ok(Self(attempt)),
            None if doors.tokens.is_person(token.reveal()) => {
                Err(forbidden("tools are for workers, and this is the workspace's own token"))
            }
            None => Err(unauthorized("this token belongs to no worker that is at work")),
        }
    }
}

fn bearer(headers: &HeaderMap) -> Result<Token, Failed> {
    let value = headers.get(Token::HEADER).and_then(|it| it.to_str().ok());
    let value = value.ok_or_else(|| unauthorized("the request carries no token"))?;
    Token::from_authorization(value).map_err(|error| unauthorized(&error.to_string()))
}

fn unauthorized(message: &str) -> Failed {
    Failed::new(ProblemCode::Unauthorized, message)
}

fn forbidden(message: &str) -> Failed {
    Failed::new(ProblemCode::Forbidden, message)
}
