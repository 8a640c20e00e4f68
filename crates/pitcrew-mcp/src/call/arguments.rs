//! The arguments of one call, with any spelling of their keys.

use super::{
    ToolCallError,
    names::{Names, only},
};
use crate::catalogue::{ToolInfo, letters, tools};
use pitcrew_model::{PlanId, TaskId, limits, text};
use serde_json::{Map, Value};
use std::{cell::RefCell, collections::BTreeSet};

pub struct Arguments<'a> {
    pub tool: &'static str,
    pub example: &'static str,
    object: &'a Map<String, Value>,
    names: &'a dyn Names,
    /// The keys that the parser looked up.
    known: RefCell<BTreeSet<String>>,
}

impl<'a> Arguments<'a> {
    pub fn of(
        tool: &ToolInfo,
        value: &'a Value,
        names: &'a dyn Names,
    ) -> Result<Self, ToolCallError> {
        let (tool, example) = (tool.name, tool.example);
        match value {
            Value::Object(object) => {
                Ok(Self { tool, example, object, names, known: RefCell::default() })
            }
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => Err(ToolCallError::NoObject { tool, example }),
        }
    }

    /// Returns the same call, with an object inside it as its arguments.
    pub fn inner(&self, key: &'static str, value: &'a Value) -> Result<Self, ToolCallError> {
        let object =
            value.as_object().ok_or_else(|| self.wrong(key, value, "a list of objects"))?;
        let Self { tool, example, names, .. } = *self;
        Ok(Self { tool, example, object, names, known: RefCell::default() })
    }

    pub fn entries(&self) -> impl Iterator<Item = (&'a String, &'a Value)> {
        self.known.borrow_mut().extend(self.object.keys().map(|it| letters(it)));
        self.object.iter()
    }

    /// Refuses an unknown key that is similar to a known one, because ignoring it would change the
    /// meaning of the call. Other unknown keys are ignored.
    pub fn check_spelling(&self) -> Result<(), ToolCallError> {
        let known = self.known.borrow();
        let near = |key: &str| known.iter().find(|it| is_near(key, it)).cloned();
        let unknown = self.object.keys().filter(|it| !known.contains(&letters(it)));
        for key in unknown {
            if let Some(near) = near(&letters(key)) {
                let key = text::cut(key, limits::NAME_BYTES_MAX).to_owned();
                let near = self.spelling(near);
                return Err(ToolCallError::Misspelt { tool: self.tool, key, near });
            }
        }
        Ok(())
    }

    /// Returns the key as spelled in the tool's schema.
    fn spelling(&self, key: String) -> String {
        let tool = tools().iter().find(|it| it.name == self.tool);
        let properties = tool.map(|it| &it.input["properties"]);
        let parts = properties.map(|it| &it["subtasks"]["items"]["properties"]);
        let all = [properties, parts].into_iter().flatten().filter_map(Value::as_object);
        let found = all.flat_map(Map::keys).find(|it| letters(it) == key).cloned();
        found.unwrap_or(key)
    }

    /// Returns the value of the first of `keys` that is present and not null.
    pub fn find(&self, keys: &[&str]) -> Option<&'a Value> {
        self.known.borrow_mut().extend(keys.iter().map(|it| (*it).to_owned()));
        let of_key = |key: &&str| {
            self.object.iter().find(|(spelling, _)| letters(spelling) == *key).map(|it| it.1)
        };
        keys.iter().filter_map(of_key).find(|it| !it.is_null())
    }

    /// Returns a non-empty string, cut to `bytes_max`.
    pub fn words(&self, keys: &[&str], bytes_max: usize) -> Option<String> {
        keys.iter()
            .filter_map(|key| self.find(&[key])?.as_str())
            .map(str::trim)
            .find(|it| !it.is_empty())
            .map(|it| text::cut(it, bytes_max).to_owned())
    }

    /// Returns the first string under `keys`; an error if the value is not a string.
    pub fn text(&self, key: &'static str, keys: &[&str]) -> Result<Option<String>, ToolCallError> {
        let Some(value) = self.find(keys) else { return Ok(None) };
        match value.as_str().map(str::trim) {
            Some("") => Ok(None),
            Some(text) if text.len() > limits::PROMPT_BYTES_MAX => {
                Err(self.wrong(key, value, "shorter"))
            }
            Some(text) => Ok(Some(text.to_owned())),
            None => Err(self.wrong(key, value, "a string")),
        }
    }

    pub fn flag(&self, key: &'static str, keys: &[&str]) -> Result<Option<bool>, ToolCallError> {
        let Some(value) = self.find(keys) else { return Ok(None) };
        match (value, value.as_str().map(letters).as_deref()) {
            (Value::Bool(flag), _) => Ok(Some(*flag)),
            (_, Some("true" | "yes")) => Ok(Some(true)),
            (_, Some("false" | "no")) => Ok(Some(false)),
            (_, Some(_) | None) => Err(self.wrong(key, value, "true or false")),
        }
    }

    /// Returns a list of strings; one string is a list of one.
    pub fn texts(&self, key: &'static str, keys: &[&str]) -> Result<Vec<String>, ToolCallError> {
        let Some(value) = self.find(keys) else { return Ok(Vec::new()) };
        let wrong = || self.wrong(key, value, "a list of strings");
        match value {
            Value::String(one) => Ok(vec![one.clone()]),
            Value::Array(several) if several.len() <= ITEMS_MAX => {
                several.iter().map(|it| it.as_str().map(str::to_owned).ok_or_else(wrong)).collect()
            }
            Value::Array(_) => Err(self.wrong(key, value, "a list of at most 1000 elements")),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Err(wrong()),
        }
    }

    /// Parses a duration: `10m`, `90s`, or a number of seconds.
    pub fn milliseconds(
        &self,
        key: &'static str,
        keys: &[&str],
    ) -> Result<Option<u64>, ToolCallError> {
        if let Some(value) = self.find(&[&format!("{}ms", keys[0])]) {
            let wrong = || self.wrong(key, value, "a number of milliseconds");
            return value.as_u64().map(Some).ok_or_else(wrong);
        }
        let Some(value) = self.find(keys) else { return Ok(None) };
        let wrong = || self.wrong(key, value, "a duration such as `10m` or `90s`");
        let seconds = match value {
            Value::Number(number) => number.as_u64().and_then(|it| it.checked_mul(1_000)),
            Value::String(words) => time(words.trim()),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        };
        seconds.map(Some).ok_or_else(wrong)
    }

    /// Parses a required task: `task-7`, `subtask-7`, a number, or its key in the plan.
    pub fn task(&self, keys: &[&str]) -> Result<TaskId, ToolCallError> {
        let value = self.find(keys).ok_or_else(|| self.missing("task", "an id"))?;
        match (task_id(value), name(value)) {
            (Some(task), _) => Ok(task),
            (None, Some(name)) => only("task", name, &self.names.tasks(name)),
            (None, None) => Err(self.wrong("task", value, TASK_ID)),
        }
    }

    /// Parses a plan: `plan-3`, a number, or its name.
    pub fn plan(&self) -> Result<Option<PlanId>, ToolCallError> {
        let Some(value) = self.find(&["plan", "planid"]) else { return Ok(None) };
        let plan = match (value, name(value)) {
            (Value::Number(number), _) => number.as_u64().map(PlanId),
            (_, Some(name)) => match name.parse() {
                Ok(plan) => Some(plan),
                Err(_) => Some(only("plan", name, &self.names.plans(name))?),
            },
            (_, None) => None,
        };
        plan.map(Some).ok_or_else(|| self.wrong("plan", value, "an id such as `plan-3`"))
    }

    pub fn missing(&self, key: &'static str, what: &'static str) -> ToolCallError {
        ToolCallError::Missing { tool: self.tool, key, what, example: self.example }
    }

    pub fn wrong(&self, key: &str, found: &Value, allowed: &'static str) -> ToolCallError {
        let found = format!("`{}`", text::cut(&found.to_string(), 80));
        ToolCallError::Wrong { tool: self.tool, key: key.to_owned(), found, allowed }
    }
}

pub const TASK_ID: &str =
    "an id such as `task-7` or `subtask-7`; call `orchestrator_list_workers` for the ids";
const ITEMS_MAX: usize = 1_000;

/// Short keys are similar to too many others.
fn is_near(key: &str, known: &str) -> bool {
    key.len() >= 3 && known.len() >= 4 && text::distance(key, known) == 1
}

fn name(value: &Value) -> Option<&str> {
    value.as_str().map(str::trim).filter(|it| !it.is_empty())
}

pub fn task_id(value: &Value) -> Option<TaskId> {
    let number = match value {
        Value::Number(number) => return number.as_u64().map(TaskId),
        Value::String(words) => {
            let words = words.trim();
            words.strip_prefix("subtask-").or_else(|| words.strip_prefix("task-")).unwrap_or(words)
        }
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
    };
    let digits = !number.is_empty() && number.bytes().all(|it| it.is_ascii_digit());
    digits.then(|| number.parse().ok().map(TaskId)).flatten()
}

fn time(words: &str) -> Option<u64> {
    let end = words.find(|it: char| !it.is_ascii_digit()).unwrap_or(words.len());
    let (number, unit) = words.split_at(end);
    let unit_ms = match letters(unit).as_str() {
        "ms" => 1,
        "" | "s" | "sec" | "second" | "seconds" => 1_000,
        "m" | "min" | "minute" | "minutes" => 60_000,
        "h" | "hour" | "hours" => 3_600_000,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(unit_ms)
}
