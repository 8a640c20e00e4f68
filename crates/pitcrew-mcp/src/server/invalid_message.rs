//! Errors for bytes that are not a message, on any transport.

use rmcp::model::ErrorCode;
use serde_json::{Value, json};
use std::error::Error;

/// Why bytes are not a message.
#[derive(Debug)]
pub struct InvalidMessage {
    code: ErrorCode,
    message: String,
    /// Null if the request is unknown.
    id: Value,
}

/// Returns why `bytes`, which are known to be invalid, are not a message.
pub fn invalid_message(bytes: &[u8]) -> InvalidMessage {
    match serde_json::from_slice::<Value>(bytes) {
        Ok(value) => InvalidMessage {
            code: ErrorCode::INVALID_REQUEST,
            message: "not an MCP message; send one object with `jsonrpc` (\"2.0\"), `id`, \
                      `method` and, if the method takes parameters, an object `params`"
                .to_owned(),
            id: match &value["id"] {
                id @ (Value::String(_) | Value::Number(_)) => id.clone(),
                Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => Value::Null,
            },
        },
        Err(error) => InvalidMessage {
            code: ErrorCode::PARSE_ERROR,
            message: format!("not JSON: {error}; send one JSON-RPC message in UTF-8"),
            id: Value::Null,
        },
    }
}

impl InvalidMessage {
    pub fn too_long(bytes_max: usize) -> Self {
        Self {
            code: ErrorCode::INVALID_REQUEST,
            message: format!("the message is longer than {bytes_max} bytes; send a shorter one"),
            id: Value::Null,
        }
    }

    pub fn torn(error: &dyn Error) -> Self {
        Self {
            code: ErrorCode::INVALID_REQUEST,
            message: format!("the message is incomplete: {error}"),
            id: Value::Null,
        }
    }

    /// Returns the error as sent. The library omits an unknown id, but JSON-RPC requires null.
    pub fn answer(&self) -> Vec<u8> {
        let Self { code, message, id } = self;
        let error = json!({ "code": code.0, "message": message });
        json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string().into_bytes()
    }
}
