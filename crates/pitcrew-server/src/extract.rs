//! What a request brings. Where it is not what the path takes, the answer says so as a problem.

use crate::answer::Failed;
use axum::{
    body::Bytes,
    extract::{FromRequest, FromRequestParts, Path, Query, Request},
    http::{StatusCode, request::Parts},
};
use pitcrew_api::ProblemCode;
use serde::de::DeserializeOwned;
use std::{str::FromStr, time::Duration};
use tokio::time::timeout;

/// How long a body may take to arrive once its request is being served.
pub const BODY_TIME_MAX: Duration = Duration::from_secs(30);

/// The body, read as JSON whatever it calls itself.
pub struct Wanted<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Wanted<T> {
    type Rejection = Failed;

    async fn from_request(request: Request, state: &S) -> Result<Self, Failed> {
        let bytes = timeout(BODY_TIME_MAX, Bytes::from_request(request, state)).await;
        let bytes = bytes.map_err(|_| {
            let message = format!("the body did not arrive within {} s", BODY_TIME_MAX.as_secs());
            Failed::new(ProblemCode::BadRequest, message)
        })?;
        let bytes = bytes.map_err(|rejection| {
            let too_large = rejection.status() == StatusCode::PAYLOAD_TOO_LARGE;
            let code = if too_large { ProblemCode::TooLarge } else { ProblemCode::BadRequest };
            Failed::new(code, format!("the body cannot be taken: {}", rejection.body_text()))
        })?;
        let wanted = serde_json::from_slice(&bytes).map_err(|error| {
            Failed::new(ProblemCode::BadRequest, format!("the body is not understood: {error}"))
        })?;
        Ok(Self(wanted))
    }
}

/// The query.
pub struct Asked<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Asked<T> {
    type Rejection = Failed;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failed> {
        match Query::from_request_parts(parts, state).await {
            Ok(Query(asked)) => Ok(Self(asked)),
            Err(rejection) => Err(Failed::new(ProblemCode::BadRequest, rejection.body_text())),
        }
    }
}

/// The one name in the path: an id, or whatever else can be read from text.
pub struct Named<T>(pub T);

impl<S: Send + Sync, T: FromStr<Err: ToString>> FromRequestParts<S> for Named<T> {
    type Rejection = Failed;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failed> {
        let bad = |message| Failed::new(ProblemCode::BadRequest, message);
        let name: Result<Path<String>, _> = Path::from_request_parts(parts, state).await;
        let Path(name) = name.map_err(|rejection| bad(rejection.body_text()))?;
        name.parse().map(Self).map_err(|error: T::Err| bad(error.to_string()))
    }
}
