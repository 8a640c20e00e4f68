//! Parses one definition.

use super::matter::{self, Entry};
use crate::diagnostic::{Diagnostic, Problems};
use pitcrew_model::limits;

/// The largest role. A longer one would leave no room for the task.
const ROLE_BYTES_MAX: usize = 32 * 1_024;
const DESCRIPTION_BYTES_MAX: usize = 1_024;

/// An agent that tasks can name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentDefinition {
    pub name: String,
    pub description: String,
    /// The role prompt, which comes before the task.
    pub role: String,
    /// The backend to run it on. If absent, the default one.
    pub backend: Option<String>,
    /// Suitable models, best first.
    pub models: Vec<String>,
    pub tools: Vec<String>,
    pub strengths: Vec<String>,
    pub weaknesses: Vec<String>,
    /// The file that defines it, or `built in`.
    pub source: String,
}

impl AgentDefinition {
    /// The role followed by the task prompt.
    pub fn prompt(&self, task: &str) -> String {
        if self.role.is_empty() { task.to_owned() } else { format!("{}\n\n{task}", self.role) }
    }
}

/// Parses a definition. Its name is the file name unless the file sets another.
pub fn parse_definition(
    name: &str,
    file: &str,
    text: &str,
) -> Result<AgentDefinition, Vec<Diagnostic>> {
    let mut problems = Problems::new(file, text);
    let definition = read(name, file, text, &mut problems);
    let (errors, _) = problems.split();
    match definition {
        Some(definition) if errors.is_empty() => Ok(definition),
        Some(_) | None => Err(errors),
    }
}

fn read(name: &str, file: &str, text: &str, problems: &mut Problems) -> Option<AgentDefinition> {
    let (entries, body) = matter::split(text, problems)?;
    let mut it = AgentDefinition {
        name: name.to_owned(),
        role: body.trim().to_owned(),
        source: file.to_owned(),
        ..AgentDefinition::default()
    };
    for entry in &entries {
        match entry.key {
            "name" => it.name = one(entry, problems).unwrap_or_default(),
            "description" => it.description = one(entry, problems).unwrap_or_default(),
            "backend" => it.backend = one(entry, problems),
            "model" | "models" => it.models = several(entry),
            "tools" => it.tools = several(entry),
            "strengths" => it.strengths = sentences(entry),
            "weaknesses" => it.weaknesses = sentences(entry),
            // Another vendor's key; harmless.
            _ => {}
        }
    }
    check(&it, &entries, text, body, problems);
    Some(it)
}

fn check(it: &AgentDefinition, entries: &[Entry], text: &str, body: &str, problems: &mut Problems) {
    let place = |key: &str| entries.iter().find(|it| it.key == key).map(|it| it.span.clone());
    let begin = || 0..3.min(text.len());
    if it.description.trim().is_empty() {
        let span = place("description").unwrap_or_else(begin);
        let help = "add `description: what this agent is good for`";
        problems.error(&span, "the agent has no description", Some(help.into()));
    } else if it.description.len() > DESCRIPTION_BYTES_MAX {
        let span = place("description").unwrap_or_else(begin);
        let message = format!("the description has more than {DESCRIPTION_BYTES_MAX} bytes");
        problems.error(&span, message, Some("put the role below the front matter".into()));
    }
    let plain = |it: char| it.is_ascii_alphanumeric() || "-_.".contains(it);
    let fits =
        |it: &str| !it.is_empty() && it.len() <= limits::NAME_BYTES_MAX && it.chars().all(plain);
    for (key, name) in [("name", Some(&it.name)), ("backend", it.backend.as_ref())] {
        if name.is_some_and(|name| !fits(name)) {
            let span = place(key).unwrap_or_else(begin);
            let help = "use letters, digits, `-`, `_` and `.`";
            problems.error(
                &span,
                format!("the {key} cannot be written as `@{key}`"),
                Some(help.into()),
            );
        }
    }
    if body.len() > ROLE_BYTES_MAX {
        let start = text.len() - body.len();
        let message = format!("the role has more than {ROLE_BYTES_MAX} bytes");
        problems.error(
            &(start..start),
            message,
            Some("shorten it to leave room for the task".into()),
        );
    }
}

fn one(entry: &Entry, problems: &mut Problems) -> Option<String> {
    match entry.values.as_slice() {
        [value] if !entry.is_list => Some(value.clone()),
        [] => None,
        _ => {
            let message = format!("`{}` must be a string, not a list", entry.key);
            problems.error(&entry.span, message, Some("write it on one line".into()));
            None
        }
    }
}

/// A list, or a comma-separated string.
fn several(entry: &Entry) -> Vec<String> {
    let parts = entry.values.iter().flat_map(|it| it.split(','));
    parts.map(str::trim).filter(|it| !it.is_empty()).map(str::to_owned).collect()
}

/// A list, or one string.
fn sentences(entry: &Entry) -> Vec<String> {
    entry.values.iter().filter(|it| !it.is_empty()).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn fails(text: &str, expected: &Expect) {
        let errors = parse_definition("x", "x.md", text).expect_err("it is broken");
        let reported: Vec<String> = errors.iter().map(ToString::to_string).collect();
        expected.assert_eq(&reported.join("\n"));
    }

    /// S4-003: a definition states what its agent is and is not good for.
    #[test]
    fn parses_a_definition() {
        let text = "\u{feff}---\nname: \"architect\"\ndescription: >\n  Designs systems\n  and plans.\n\
                    tools: [read, 'search'] \nmodel:\n  - opus\n  - sonnet\nhandoffs:\n  - label: go\n\
                    strengths:\n- design\nweaknesses: slow # really\nmcp-servers:\n  x:\n    url: y\n---\n\n\
                    You are an architect.\n";
        let it = parse_definition("file", "a.md", text).expect("it is fine");
        assert_eq!((&*it.name, &*it.description), ("architect", "Designs systems and plans."));
        assert_eq!((it.tools.len(), it.models), (2, vec!["opus".to_owned(), "sonnet".to_owned()]));
        assert_eq!((it.strengths, it.weaknesses), (vec!["design".into()], vec!["slow".into()]));
        assert_eq!(it.role, "You are an architect.");
    }

    #[test]
    fn a_broken_definition_names_the_line() {
        fails(
            "# An agent\n",
            &expect![[r#"
            x.md:1:1: error: the file has no front matter
             1 | # An agent
               | ^
            help: begin the file with `---`, `description: ...`, `---`"#]],
        );
        fails(
            "---\ndescription: x\n",
            &expect![[r#"
            x.md:1:1: error: the front matter is not closed
             1 | ---
               | ^^^
            help: close it with a line `---`"#]],
        );
        fails(
            "---\nname: two words\ntools: a\nnonsense\n---\n",
            &expect![[r#"
            x.md:1:1: error: the agent has no description
             1 | ---
               | ^^^
            help: add `description: what this agent is good for`
            x.md:2:1: error: the name cannot be written as `@name`
             2 | name: two words
               | ^^^^
            help: use letters, digits, `-`, `_` and `.`
            x.md:4:1: error: `nonsense` is no entry
             4 | nonsense
               | ^^^^^^^^
            help: write `key: value`"#]],
        );
        fails(
            "---\ndescription:\n  - a\n  - b\n---\n",
            &expect![[r#"
            x.md:2:1: error: `description` must be a string, not a list
             2 | description:
               | ^^^^^^^^^^^
            help: write it on one line
            x.md:2:1: error: the agent has no description
             2 | description:
               | ^^^^^^^^^^^
            help: add `description: what this agent is good for`"#]],
        );
    }
}
