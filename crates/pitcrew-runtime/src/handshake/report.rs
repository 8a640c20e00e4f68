//! The data that an agent reported about itself, read from its spool.

use pitcrew_process::{SpoolReader, SpoolRecord};
use serde_json::Value;
use std::path::Path;

/// Limits for the names an agent lists, which may be anything.
const NAMES_MAX: usize = 100;
const NAME_BYTES_MAX: usize = 200;

/// The agent's answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentReport {
    /// From the `initialize` request to its answer; includes the start of the program.
    pub initialize_ms: Option<u64>,
    /// From the `session/new` request to its answer.
    pub session_ms: Option<u64>,
    /// Its own description of its version.
    pub version: Option<String>,
    /// The login methods that it offers.
    pub logins: Vec<String>,
    pub modes: Choice,
    pub models: Choice,
    /// The error with which it answered a request.
    pub refused: Option<RequestError>,
}

/// The available choices, and the current one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    pub current: Option<String>,
    pub offered: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestError {
    pub method: String,
    pub code: Option<i64>,
    pub message: String,
}

/// A request of ours that waits for its answer.
struct PendingRequest {
    id: Value,
    method: String,
    at_ms: u64,
}

/// Reads an agent's answers from a spool. Empty if the spool cannot be read.
pub(super) fn read(spool: &Path) -> AgentReport {
    let mut report = AgentReport::default();
    let mut asked: Vec<PendingRequest> = Vec::new();
    let Ok(mut reader) = SpoolReader::open(spool) else { return report };
    while let Ok(Some(record)) = reader.read() {
        match record {
            SpoolRecord::Input { time_ms, line, .. } => asked.extend(request(&line, time_ms)),
            SpoolRecord::Output { time_ms, line, .. } => {
                let Ok(answer) = serde_json::from_str::<Value>(&line) else { continue };
                let is_answered =
                    |it: &PendingRequest| it.id == answer["id"] && answer["method"].is_null();
                let Some(at) = asked.iter().position(is_answered) else { continue };
                report.answer(&asked.swap_remove(at), &answer, time_ms);
            }
            SpoolRecord::Garbage { .. } => {}
        }
    }
    report
}

fn request(line: &str, at_ms: u64) -> Option<PendingRequest> {
    let frame: Value = serde_json::from_str(line).ok()?;
    let method = frame["method"].as_str()?.to_owned();
    (!frame["id"].is_null()).then(|| PendingRequest { id: frame["id"].clone(), method, at_ms })
}

impl AgentReport {
    fn answer(&mut self, asked: &PendingRequest, answer: &Value, time_ms: u64) {
        if let Some(error) = answer.get("error").filter(|it| !it.is_null()) {
            self.refused = Some(RequestError {
                method: asked.method.clone(),
                code: error["code"].as_i64(),
                message: text(&error["message"]).unwrap_or_default(),
            });
            return;
        }
        let (took, result) = (Some(time_ms.saturating_sub(asked.at_ms)), &answer["result"]);
        match asked.method.as_str() {
            "initialize" => {
                self.initialize_ms = took;
                self.version = text(&result["agentInfo"]["version"]);
                self.logins = names(&result["authMethods"], "id");
            }
            "session/new" => {
                self.session_ms = took;
                self.modes =
                    choice(result, "mode", ("modes", "currentModeId", "availableModes", "id"));
                self.models = choice(
                    result,
                    "model",
                    ("models", "currentModelId", "availableModels", "modelId"),
                );
            }
            _ => {}
        }
    }
}

/// A session option of this category, or its predecessor in older protocol versions.
fn choice(session: &Value, category: &str, old: (&str, &str, &str, &str)) -> Choice {
    let options = session["configOptions"].as_array().into_iter().flatten();
    if let Some(option) = options.into_iter().find(|it| it["category"] == category) {
        let grouped = option["options"].as_array().into_iter().flatten();
        let groups = grouped.filter(|it| it["options"].is_array());
        let mut offered = names(&option["options"], "value");
        offered.extend(groups.flat_map(|it| names(&it["options"], "value")));
        return Choice { current: text(&option["currentValue"]), offered };
    }
    let (field, current, list, id) = old;
    let field = &session[field];
    Choice { current: text(&field[current]), offered: names(&field[list], id) }
}

fn names(list: &Value, key: &str) -> Vec<String> {
    let entries = list.as_array().into_iter().flatten();
    entries.filter_map(|it| text(&it[key])).take(NAMES_MAX).collect()
}

fn text(value: &Value) -> Option<String> {
    let text = value.as_str()?;
    Some(pitcrew_model::text::cut(text, NAME_BYTES_MAX).to_owned()).filter(|it| !it.is_empty())
}
