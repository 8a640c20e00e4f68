//! The memory of a script: the last answer of a tool, and named parts of answers.
//!
//! It never becomes part of a command, because an answer may contain text of others.

use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// A tool's answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Answer {
    pub text: String,
    /// The structured form, if the tool provides it.
    pub structured: Option<Value>,
}

impl Answer {
    /// The part at a JSON pointer; without one, the whole text.
    pub fn part(&self, pointer: &str) -> Option<Value> {
        match (pointer, &self.structured) {
            ("", _) => Some(Value::String(self.text.clone())),
            (pointer, Some(structured)) => structured.pointer(pointer).cloned(),
            (pointer, None) => {
                let value: Value = serde_json::from_str(&self.text).ok()?;
                value.pointer(pointer).cloned()
            }
        }
    }

    /// The whole answer as readable text.
    pub fn whole(&self) -> String {
        match &self.structured {
            Some(structured) => format!("{}\n{structured:#}\n", self.text),
            None => format!("{}\n", self.text),
        }
    }
}

/// What a script remembers of its tool calls.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    pub answer: Option<Answer>,
    kept: BTreeMap<String, Value>,
}

impl Memory {
    pub fn keep(&mut self, name: &str, value: Value) {
        self.kept.insert(name.to_owned(), value);
    }

    /// Replaces every known `${NAME}` in the text. An unknown one stays, because it may have
    /// another meaning.
    pub fn fill(&self, text: &str) -> String {
        let (mut filled, mut rest) = (String::new(), text);
        while let Some((before, after)) = rest.split_once("${") {
            filled.push_str(before);
            let known =
                after.split_once('}').and_then(|(it, rest)| Some((self.kept.get(it)?, rest)));
            match known {
                Some((Value::String(value), left)) => {
                    filled.push_str(value);
                    rest = left;
                }
                Some((value, left)) => {
                    filled.push_str(&value.to_string());
                    rest = left;
                }
                None => {
                    filled.push_str("${");
                    rest = after;
                }
            }
        }
        filled + rest
    }

    /// Replaces names in every string of the arguments. A string that is a single name becomes its
    /// value, of any type.
    pub fn fill_arguments(&self, arguments: &Map<String, Value>) -> Map<String, Value> {
        arguments.iter().map(|(key, value)| (key.clone(), self.fill_value(value))).collect()
    }

    fn fill_value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => {
                let name = text.strip_prefix("${").and_then(|it| it.strip_suffix('}'));
                match name.and_then(|it| self.kept.get(it)) {
                    Some(value) => value.clone(),
                    None => Value::String(self.fill(text)),
                }
            }
            Value::Array(items) => items.iter().map(|it| self.fill_value(it)).collect(),
            Value::Object(fields) => Value::Object(self.fill_arguments(fields)),
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn memory() -> Memory {
        let mut memory = Memory::default();
        memory.keep("id", json!("subtask-3"));
        memory.keep("ids", json!(["subtask-3", "subtask-4"]));
        memory
    }

    #[test]
    fn known_names_are_replaced_and_others_stay() {
        let filled = memory().fill("${id} and ${ids}, $HOME ${HOME} ${id");
        assert_eq!(filled, r#"subtask-3 and ["subtask-3","subtask-4"], $HOME ${HOME} ${id"#);
    }

    #[test]
    fn a_string_that_is_a_name_becomes_its_value() {
        let arguments = json!({ "ids": "${ids}", "all": ["${id}", "x ${id}", 1, "${no}"] });
        let filled = memory().fill_arguments(arguments.as_object().expect("an object"));
        let ids = json!(["subtask-3", "subtask-4"]);
        let wanted = json!({ "ids": ids, "all": ["subtask-3", "x subtask-3", 1, "${no}"] });
        assert_eq!(Value::Object(filled), wanted);
    }

    #[test]
    fn a_part_comes_from_the_structured_answer_or_the_text() {
        let answer = Answer { text: "done".into(), structured: Some(json!({ "ids": [7] })) };
        assert_eq!(answer.part("/ids/0"), Some(json!(7)));
        assert_eq!(answer.part(""), Some(json!("done")));
        assert_eq!(answer.part("/no"), None);
        let text = Answer { text: r#"{"id":"a"}"#.into(), structured: None };
        assert_eq!(text.part("/id"), Some(json!("a")));
    }
}
