//! JSON-RPC frames, one per line: parsed leniently and written strictly.

use crate::fault::Facts;
use pitcrew_model::{EffectId, text};
use serde::Serialize;
use serde_json::{Value, json};

/// The content of a line from an agent.
#[derive(Debug, PartialEq)]
pub(crate) enum Incoming {
    /// A request of the agent. Its id is returned unchanged.
    Request {
        id: Value,
        method: String,
        params: Value,
    },
    Notification {
        method: String,
        params: Value,
    },
    /// The answer to our request with this number.
    Answer {
        id: u64,
        result: Result<Value, RpcError>,
    },
    /// Valid JSON-RPC without a meaning here: an answer to an unknown request.
    Stray,
}

/// An agent's answer to a request.
pub(crate) type Answer = Result<Value, RpcError>;

/// An error in an agent's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RpcError {
    pub code: i64,
    pub message: String,
    pub facts: Facts,
}

impl std::fmt::Display for RpcError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} (code {})", self.message, self.code)
    }
}

/// The values allowed in one frame: each takes many times the memory of its text.
const VALUES_MAX: usize = 200_000;
/// An id is returned unchanged, so a request with a longer one cannot be answered.
const ID_BYTES_MAX: usize = 1_024;

/// The line is not JSON-RPC, or has too many values.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct InvalidFrame;

impl Incoming {
    /// Parses a line. The JSON parser bounds the depth, so that nesting cannot exhaust the stack.
    pub fn parse(line: &str) -> Result<Self, InvalidFrame> {
        if line.len() > VALUES_MAX && values_count(line.as_bytes()) > VALUES_MAX {
            return Err(InvalidFrame);
        }
        let Ok(Value::Object(mut frame)) = serde_json::from_str(line) else {
            return Err(InvalidFrame);
        };
        let id = frame.remove("id");
        if id.as_ref().and_then(Value::as_str).is_some_and(|it| it.len() > ID_BYTES_MAX) {
            return Err(InvalidFrame);
        }
        let params = frame.remove("params").unwrap_or(Value::Null);
        match (frame.remove("method"), id) {
            (Some(Value::String(method)), Some(id @ (Value::String(_) | Value::Number(_)))) => {
                Ok(Self::Request { id, method, params })
            }
            (Some(Value::String(method)), None | Some(Value::Null)) => {
                Ok(Self::Notification { method, params })
            }
            (Some(_), _) => Err(InvalidFrame),
            (None, id) => {
                let result = match (frame.remove("result"), frame.remove("error")) {
                    (_, Some(error)) if !error.is_null() => Err(rpc_error(&error)),
                    (Some(result), _) => Ok(result),
                    (None, _) => return Err(InvalidFrame),
                };
                match id.as_ref().and_then(Value::as_u64) {
                    Some(id) => Ok(Self::Answer { id, result }),
                    None => Ok(Self::Stray),
                }
            }
        }
    }
}

/// An upper bound for the values in a JSON text: each follows a comma or an opening bracket.
pub(crate) fn values_count(json: &[u8]) -> usize {
    let (mut count, mut in_text, mut is_escaped) = (1, false, false);
    for byte in json {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_text => is_escaped = true,
            b'"' => in_text = !in_text,
            b',' | b'[' | b'{' if !in_text => count += 1,
            _ => {}
        }
    }
    count
}

/// Takes a member of parameters, which may be any JSON value.
pub(crate) fn take(params: &mut Value, key: &str) -> Value {
    params.get_mut(key).map(Value::take).unwrap_or_default()
}

fn rpc_error(error: &Value) -> RpcError {
    let message = error["message"].as_str().unwrap_or("no message");
    // Many agents put the details into `data`.
    let data = &error["data"];
    let text = [data, &data["details"], &data["message"]].into_iter().find_map(Value::as_str);
    let detail = match text {
        Some(detail) => format!(": {detail}"),
        // Recognized fields are not displayed.
        None if Facts::are_all_of(data) => String::new(),
        None => format!(": {data}"),
    };
    let code = error["code"].as_i64().unwrap_or(0);
    let facts = Facts::of(code, data, text.unwrap_or_default());
    let message = crate::plain::one_line(&format!("{message}{detail}"), 1_000);
    RpcError { code, message, facts }
}

/// Numbers of outgoing frames. The shim drops a number that it has sent before, so the same step of
/// the same effect reaches the agent once, however often the effect is issued.
pub(crate) mod number {
    use super::EffectId;

    /// Frames that one effect may cause.
    const PER_EFFECT: u64 = 8;
    const USAGE: u64 = 5;
    /// Answers are numbered by the offset of the request in the agent's output.
    const ANSWER: u64 = 1 << 63;

    pub fn initialize(open: EffectId) -> u64 {
        open.0 * PER_EFFECT
    }
    pub fn new_session(open: EffectId) -> u64 {
        open.0 * PER_EFFECT + 1
    }
    pub fn close(open: EffectId) -> u64 {
        open.0 * PER_EFFECT + 2
    }
    pub fn set_mode(open: EffectId) -> u64 {
        open.0 * PER_EFFECT + 3
    }
    pub fn set_model(open: EffectId) -> u64 {
        open.0 * PER_EFFECT + 4
    }
    pub fn prompt(effect: EffectId) -> u64 {
        effect.0 * PER_EFFECT
    }
    /// A turn is cancelled at most once.
    pub fn cancel(prompt: EffectId) -> u64 {
        prompt.0 * PER_EFFECT + 1
    }
    /// The same for a turn with a silent wait.
    pub fn give_up(prompt: EffectId) -> u64 {
        prompt.0 * PER_EFFECT + 2
    }
    /// Queries the usage of the session after the turn.
    pub fn usage(prompt: EffectId) -> u64 {
        prompt.0 * PER_EFFECT + USAGE
    }
    pub fn is_usage(number: u64) -> bool {
        effect(number).is_some_and(|it| number == usage(it))
    }
    pub fn answer(offset: u64) -> u64 {
        ANSWER | offset
    }
    /// The offset of the request that this answer is for.
    pub fn asked_at(answer: u64) -> u64 {
        answer & !ANSWER
    }
    /// The effect that a frame was sent for, or `None` for an answer.
    pub fn effect(number: u64) -> Option<EffectId> {
        (number & ANSWER == 0).then_some(EffectId(number / PER_EFFECT))
    }
}

pub(crate) fn request(id: u64, method: &str, params: &impl Serialize) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}

pub(crate) fn notification(method: &str, params: &impl Serialize) -> String {
    json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string()
}

pub(crate) fn answer(id: &Value, result: &impl Serialize) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string()
}

pub(crate) fn refusal(id: &Value, code: i64, message: &str) -> String {
    refusal_with(id, code, text::cut(message, 500), &Value::Null)
}

/// A rejection with additional data.
pub(crate) fn refusal_with(id: &Value, code: i64, message: &str, data: &Value) -> String {
    let message = text::cut(message, 2_000);
    let mut error = json!({ "code": code, "message": message });
    if !data.is_null() {
        error["data"] = data.clone();
    }
    json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_parsed_leniently() {
        assert_eq!(
            Incoming::parse(r#"{"jsonrpc":"2.0","id":"a","method":"m"}"#),
            Ok(Incoming::Request { id: json!("a"), method: "m".into(), params: Value::Null })
        );
        assert_eq!(
            Incoming::parse(r#"{"id":8,"result":null}"#),
            Ok(Incoming::Answer { id: 8, result: Ok(Value::Null) })
        );
        assert_eq!(
            Incoming::parse(
                r#"{"id":8,"error":{"code":-1,"message":"no","data":{"details":"why"}}}"#
            ),
            Ok(Incoming::Answer {
                id: 8,
                result: Err(RpcError {
                    code: -1,
                    message: "no: why".into(),
                    facts: Facts::default()
                })
            })
        );
        assert_eq!(Incoming::parse(r#"{"id":"x","result":1}"#), Ok(Incoming::Stray));
    }

    #[test]
    fn other_lines_are_garbage() {
        let deep = "[".repeat(100_000);
        let nested = format!("{{\"method\":\"m\",\"params\":{deep}");
        for line in ["", "hello", "[]", "{}", "7", r#"{"id":1}"#, r#"{"method":3}"#, &deep, &nested]
        {
            assert_eq!(Incoming::parse(line), Err(InvalidFrame), "{}", text::cut(line, 40));
        }
    }

    /// A value takes many times the memory of its text.
    #[test]
    fn many_values_are_garbage_and_a_long_text_is_not() {
        let line = |params: &str| format!(r#"{{"method":"m","params":{params}}}"#);
        for crowd in ["0,", "[],", r#""":0,"#] {
            let inner = crowd.repeat(VALUES_MAX);
            let (array, object) = (format!("[{inner}0]"), format!("{{{inner}\"k\":0}}"));
            for crowd in [array, object] {
                assert_eq!(Incoming::parse(&line(&crowd)), Err(InvalidFrame));
            }
        }
        let text = format!("\"{}\"", r#",[{\",\\"#.repeat(VALUES_MAX));
        assert!(Incoming::parse(&line(&text)).is_ok());
        assert!(Incoming::parse(&line(&format!("[{}0]", "0,".repeat(VALUES_MAX - 10)))).is_ok());
    }

    #[test]
    fn an_oversized_id_is_garbage() {
        let line = |length| format!(r#"{{"id":"{}","method":"m"}}"#, "x".repeat(length));
        assert!(Incoming::parse(&line(ID_BYTES_MAX)).is_ok());
        assert_eq!(Incoming::parse(&line(ID_BYTES_MAX + 1)), Err(InvalidFrame));
    }

    #[test]
    fn numbers_of_effects_and_answers_are_distinct() {
        let (first, second) = (EffectId(7), EffectId(8));
        assert!(number::set_model(first) < number::prompt(second));
        assert!(number::answer(0) > number::cancel(EffectId(u64::MAX / 16)));
        assert_eq!(number::effect(number::set_model(first)), Some(first));
        assert_eq!(number::effect(number::answer(7)), None);
        assert!(number::is_usage(number::usage(first)) && !number::is_usage(number::answer(5)));
    }
}
