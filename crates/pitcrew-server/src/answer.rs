//! Converts problems to HTTP answers.

use axum::{
    Json,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use pitcrew_api::{Problem, ProblemCode};
use pitcrew_model::text;
use std::error::Error;

/// A request that failed.
pub struct Failed(Problem);

impl Failed {
    pub fn new(code: ProblemCode, message: impl Into<String>) -> Self {
        Self(Problem::new(code, message))
    }

    /// An internal error with its source chain.
    pub fn internal(error: &dyn Error) -> Self {
        Self::new(ProblemCode::Internal, text::chain(error))
    }

    pub fn help(self, help: impl Into<String>) -> Self {
        Self(self.0.with_help(help))
    }
}

impl IntoResponse for Failed {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.0.code.http_status());
        (status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), Json(self.0)).into_response()
    }
}
