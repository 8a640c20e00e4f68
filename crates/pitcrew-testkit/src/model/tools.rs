//! Finds the tool for a step among those that the agent offers, by name and schema.

use super::{conversation::Tool, script::Act};
use serde_json::{Map, Value, json};

/// A call of an offered tool.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Call {
    pub name: String,
    pub namespace: Option<String>,
    pub input: Value,
}

/// The tool that completes a task of ours.
const COMPLETE: &str = "orchestrator_complete_task";

/// Names of tools, most likely first, and the arguments that they must accept.
const READ: &[&str] = &["read", "readfile", "view", "viewfile"];
const WRITE: &[&str] = &["write", "writefile", "create", "createfile", "texteditor"];
const EDIT: &[&str] = &["edit", "editfile", "replace", "searchreplace", "texteditor"];
const SHELL: &[&str] = &[
    "bash",
    "shell",
    "runshellcommand",
    "execcommand",
    "shellcommand",
    "terminal",
    "runcommand",
    "runterminalcommand",
    "execute",
];
const PATH: &[&str] = &["filepath", "path", "absolutepath", "targetfile", "filename", "file"];
const TEXT: &[&str] = &["content", "contents", "filetext", "text"];
const OLD: &[&str] = &["oldstring", "oldstr", "oldtext", "before", "search"];
const NEW: &[&str] = &["newstring", "newstr", "newtext", "after", "replacement"];
const COMMAND: &[&str] = &["command", "cmd", "script"];

/// The argument with which codex's model requests a command outside of the sandbox.
const ESCAPE: &str = "sandbox_permissions";

/// The call for the step, or the reason why there is none.
///
/// `root` is the session's folder, if known: some agents accept only absolute paths.
pub(super) fn call(act: &Act, tools: &[Tool], root: Option<&str>) -> Result<Call, String> {
    let chooser = Chooser { tools, root };
    let found = match act {
        Act::Read { path } => chooser.find(READ, &[(PATH, chooser.at(path))]),
        Act::Write { path, text } => chooser
            .find(WRITE, &[(PATH, chooser.at(path)), (TEXT, json!(text))])
            .or_else(|| chooser.shell(&written(path, text))),
        Act::Edit { path, old, new } => chooser
            .find(EDIT, &[(PATH, chooser.at(path)), (OLD, json!(old)), (NEW, json!(new))])
            .or_else(|| chooser.shell(&edited(path, old, new))),
        Act::Bash { command } => chooser.shell(command),
        Act::Escalate { command } => chooser.shell(command).map(|it| chooser.asking(it)),
        Act::Tool { name, input } => chooser.named(name, input),
        Act::Complete { summary } => {
            let input = json!({ "summary": summary });
            let line = format!("pitcrew tool {COMPLETE} --json {}", quoted(&input.to_string()));
            chooser.named(COMPLETE, &input).or_else(|| chooser.shell(&line))
        }
    };
    found.ok_or_else(|| {
        let offered: Vec<&str> = tools.iter().map(|it| it.name.as_str()).collect();
        format!("no tool fits the step {act:?}; offered are: {}", offered.join(", "))
    })
}

/// Whether the step is skipped: it reads, and the agent has no tool for that, so nothing depends on
/// it.
pub(super) fn is_left_out(act: &Act, tools: &[Tool]) -> bool {
    matches!(act, Act::Read { .. }) && call(act, tools, None).is_err()
}

struct Chooser<'a> {
    tools: &'a [Tool],
    root: Option<&'a str>,
}

impl Chooser<'_> {
    fn at(&self, path: &str) -> Value {
        match self.root {
            Some(root) if !path.starts_with('/') => json!(format!("{root}/{path}")),
            Some(_) | None => json!(path),
        }
    }

    /// The first tool with one of the names that accepts all arguments, each under one of its
    /// names.
    fn find(&self, names: &[&str], arguments: &[(&[&str], Value)]) -> Option<Call> {
        for name in names {
            let fitting = self.tools.iter().filter(|it| letters(&it.name).ends_with(name));
            for tool in fitting {
                let key = |keys: &[&str]| {
                    let found = |key: &&str| tool.properties.keys().find(|it| letters(it) == *key);
                    keys.iter().find_map(found).cloned()
                };
                let given = arguments.iter().map(|(keys, value)| Some((key(keys)?, value.clone())));
                if let Some(given) = given.collect::<Option<Map<String, Value>>>() {
                    return Some(filled(tool, given, names));
                }
            }
        }
        None
    }

    fn shell(&self, command: &str) -> Option<Call> {
        let mut call = self.find(SHELL, &[(COMMAND, json!(command))])?;
        let tool = self.tools.iter().find(|it| it.name == call.name)?;
        for (name, schema) in &tool.properties {
            let wants_words = schema["type"] == "array" && call.input[name] == json!(command);
            if wants_words {
                call.input[name] = json!(["sh", "-c", command]);
            }
        }
        Some(call)
    }

    /// The same call, with a request to leave the agent's sandbox if its tool supports that.
    fn asking(&self, mut call: Call) -> Call {
        let tool = self.tools.iter().find(|it| it.name == call.name);
        if tool.is_some_and(|it| it.properties.contains_key(ESCAPE)) {
            call.input[ESCAPE] = json!("require_escalated");
            call.input["justification"] = json!("as the script says");
        }
        call
    }

    /// A tool by its name, or by the end of it: each vendor adds a different prefix.
    fn named(&self, name: &str, input: &Value) -> Option<Call> {
        let exact = self.tools.iter().find(|it| it.name == name);
        let longer = || {
            let wanted = letters(name);
            self.tools.iter().find(|it| letters(&it.name).ends_with(&wanted))
        };
        let tool = exact.or_else(longer)?;
        let (name, namespace) = (tool.name.clone(), tool.namespace.clone());
        Some(Call { name, namespace, input: input.clone() })
    }
}

/// The call, with a value for each further argument that the tool requires.
fn filled(tool: &Tool, mut given: Map<String, Value>, names: &[&str]) -> Call {
    for key in tool.required.iter().filter(|it| !given.contains_key(*it)).collect::<Vec<_>>() {
        given.insert(key.clone(), filler(&tool.properties[key], names));
    }
    let (name, namespace) = (tool.name.clone(), tool.namespace.clone());
    Call { name, namespace, input: Value::Object(given) }
}

fn filler(schema: &Value, names: &[&str]) -> Value {
    if let Some(choices) = schema["enum"].as_array() {
        // A tool with several actions: the action named like the step.
        let named =
            |it: &&Value| it.as_str().is_some_and(|it| names.contains(&letters(it).as_str()));
        return choices.iter().find(named).or(choices.first()).cloned().unwrap_or_default();
    }
    match schema["type"].as_str().unwrap_or_default().to_ascii_lowercase().as_str() {
        "boolean" => json!(false),
        "integer" | "number" => json!(1),
        "array" => json!([]),
        "object" => json!({}),
        _ => json!("as the script says"),
    }
}

/// Lower-case letters and digits: the common part of all spellings of a name.
fn letters(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|it| it.to_ascii_lowercase()).collect()
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

fn written(path: &str, text: &str) -> String {
    let folder = path.rsplit_once('/').map_or(".", |it| it.0);
    format!("mkdir -p {} && printf %s {} > {}", quoted(folder), quoted(text), quoted(path))
}

fn edited(path: &str, old: &str, new: &str) -> String {
    let program = r#"BEGIN { ($old, $new) = splice @ARGV, 0, 2 } s/\Q$old\E/$new/"#;
    let (old, new) = (quoted(old), quoted(new));
    format!("perl -0pi -e {} {old} {new} {}", quoted(program), quoted(path))
}

#[cfg(test)]
mod tests;
