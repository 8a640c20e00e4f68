//! Extractors for requests. An invalid request gets a problem as its answer.

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

/// How long the body of a request may take to arrive.
pub const BODY_TIME_MAX: Duration = Duration::from_secs(30);

/// The body, parsed as JSON regardless of its content type.
pub struct JsonBody<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for JsonBody<T> {
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
            Failed::new(code, format!("the body was rejected: {}", rejection.body_text()))
        })?;
        let wanted = serde_json::from_slice(&bytes).map_err(|error| {
            Failed::new(ProblemCode::BadRequest, format!("the body is invalid: {error}"))
        })?;
        Ok(Self(wanted))
    }
}

/// The query parameters.
pub struct QueryParams<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for QueryParams<T> {
    type Rejection = Failed;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failed> {
        match Query::from_request_parts(parts, state).await {
            Ok(Query(asked)) => Ok(Self(asked)),
            Err(rejection) => Err(Failed::new(ProblemCode::BadRequest, rejection.body_text())),
        }
    }
}

/// The single parameter of the path.
pub struct PathParam<T>(pub T);

impl<S: Send + Sync, T: FromStr<Err: ToString>> FromRequestParts<S> for PathParam<T> {
    type Rejection = Failed;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failed> {
        let bad = |message| Failed::new(ProblemCode::BadRequest, message);
        let name: Result<Path<String>, _> = Path::from_request_parts(parts, state).await;
        let Path(name) = name.map_err(|rejection| bad(rejection.body_text()))?;
        name.parse().map(Self).map_err(|error: T::Err| bad(error.to_string()))
    }
}
