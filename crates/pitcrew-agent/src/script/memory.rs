//! What a script remembers from step to step: the last answer of a tool, and parts of answers.
//!
//! Nothing of it ever becomes a part of a command: an answer holds what others have written.

use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// What a tool said.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Answer {
    pub text: String,
    /// The same for a program, where the tool tells it.
    pub structured: Option<Value>,
}

impl Answer {
    /// The part that a JSON pointer leads to; all of the text without one.
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

    /// Everything that was said, as people read it.
    pub fn whole(&self) -> String {
        match &self.structured {
            Some(structured) => format!("{}\n{structured:#}\n", self.text),
            None => format!("{}\n", self.text),
        }
    }
}

/// What a script knows of the tools that it called.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    pub answer: Option<Answer>,
    kept: BTreeMap<String, Value>,
}

impl Memory {
    pub fn keep(&mut self, name: &str, value: Value) {
        self.kept.insert(name.to_owned(), value);
    }

    /// The text with every `${NAME}` that is known in place. An unknown one stays: it may mean
    /// something to somebody else.
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

    /// The same in every text of the arguments; a text that is one name becomes its value, whatever
    /// it is.
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
    fn known_names_are_put_in_and_others_stay() {
        let filled = memory().fill("${id} and ${ids}, $HOME ${HOME} ${id");
        assert_eq!(filled, r#"subtask-3 and ["subtask-3","subtask-4"], $HOME ${HOME} ${id"#);
    }

    #[test]
    fn an_argument_that_is_a_name_becomes_its_value() {
        let arguments = json!({ "ids": "${ids}", "all": ["${id}", "x ${id}", 1, "${no}"] });
        let filled = memory().fill_arguments(arguments.as_object().expect("an object"));
        let ids = json!(["subtask-3", "subtask-4"]);
        let wanted = json!({ "ids": ids, "all": ["subtask-3", "x subtask-3", 1, "${no}"] });
        assert_eq!(Value::Object(filled), wanted);
    }

    #[test]
    fn a_part_is_looked_up_in_what_the_tool_told_programs_or_in_its_text() {
        let told = Answer { text: "done".into(), structured: Some(json!({ "ids": [7] })) };
        assert_eq!(told.part("/ids/0"), Some(json!(7)));
        assert_eq!(told.part(""), Some(json!("done")));
        assert_eq!(told.part("/no"), None);
        let text = Answer { text: r#"{"id":"a"}"#.into(), structured: None };
        assert_eq!(text.part("/id"), Some(json!("a")));
    }
}
