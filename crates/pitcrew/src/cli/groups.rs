//! The top-level help, which lists the commands in groups.

use super::Cli;
use clap::CommandFactory;
use std::fmt::Write;

const GROUPS: &[(&str, &[&str])] = &[
    (
        "Run",
        &[
            "demo", "init", "run", "plan", "deploy", "status", "watch", "logs", "diff", "path",
            "open",
        ],
    ),
    ("Decide", &["inbox", "approve", "deny", "answer", "permissions", "trust"]),
    ("Control", &["retry", "accept", "pause", "resume", "cancel", "abandon", "message"]),
    ("Finish", &["land", "undo", "restore", "gc"]),
    (
        "Inspect",
        &["query", "symbols", "messages", "audit", "export", "backends", "doctor", "config"],
    ),
    ("Integrate", &["serve", "service", "stop", "notify", "mcp", "tool", "completions"]),
];

/// Returns the command line for man pages, which have a layout of their own.
pub fn pages() -> clap::Command {
    Cli::command()
}

/// Returns the command line with the grouped help.
pub fn command() -> clap::Command {
    let command = Cli::command();
    let mut text = String::new();
    for (group, names) in GROUPS {
        writeln!(text, "{group}:").expect("to a string");
        for name in *names {
            let about = command.find_subcommand(name).and_then(|it| it.get_about());
            let about = about.map(ToString::to_string).unwrap_or_default();
            writeln!(text, "  {name:<12} {about}").expect("to a string");
        }
        text.push('\n');
    }
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{text}Options:\n{{options}}{{after-help}}"
    );
    command.help_template(template)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_command_is_in_one_group() {
        let grouped: Vec<&str> = GROUPS.iter().flat_map(|it| it.1).copied().collect();
        let command = Cli::command();
        let visible = command.get_subcommands().filter(|it| !it.is_hide_set());
        let visible: BTreeSet<&str> = visible.map(clap::Command::get_name).collect();
        assert_eq!(grouped.iter().copied().collect::<BTreeSet<_>>(), visible);
        assert_eq!(grouped.len(), visible.len(), "a command is in two groups");
    }

    #[test]
    fn every_command_has_a_description_and_an_example() {
        let whole = Cli::command();
        let mut commands: Vec<(String, &clap::Command)> = Vec::new();
        for command in whole.get_subcommands().filter(|it| !it.is_hide_set()) {
            let name = command.get_name().to_owned();
            let below = command.get_subcommands();
            commands.extend(below.map(|it| (format!("{name} {}", it.get_name()), it)));
            commands.push((name, command));
        }
        for (name, command) in commands {
            assert!(command.get_about().is_some(), "{name} has no description");
            let examples = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(examples.contains(&format!("pitcrew {name}")), "{name} has no example");
        }
    }

    #[test]
    fn the_definition_is_valid() {
        Cli::command().debug_assert();
    }

    /// Splits a shell command into its arguments, up to a comment, pipe or redirection.
    fn words(line: &str) -> Vec<String> {
        let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
        for character in line.chars() {
            match (quote, character) {
                (Some(open), it) if open == it => quote = None,
                (None, '"' | '\'') => {
                    quote = Some(character);
                    word.get_or_insert_default();
                }
                (None, '#' | '|' | '>' | '&' | ';') if word.is_none() => break,
                (None, ' ') => words.extend(word.take()),
                (Some(_) | None, it) => word.get_or_insert_default().push(it),
            }
        }
        words.extend(word);
        words
    }

    /// S0-134: every command in the documents parses, and no document contains a checklist.
    #[test]
    fn every_command_in_the_documents_parses() {
        let documents = [
            ("README.md", include_str!("../../../../README.md")),
            ("docs/cli.md", include_str!("../../../../docs/cli.md")),
            ("docs/plan-file.md", include_str!("../../../../docs/plan-file.md")),
            ("docs/configuration.md", include_str!("../../../../docs/configuration.md")),
            ("docs/backends.md", include_str!("../../../../docs/backends.md")),
            ("docs/mcp.md", include_str!("../../../../docs/mcp.md")),
            ("docs/permissions.md", include_str!("../../../../docs/permissions.md")),
            ("docs/quickstart.md", include_str!("../../../../docs/quickstart.md")),
            ("docs/messages.md", include_str!("../../../../docs/messages.md")),
            ("docs/queries.md", include_str!("../../../../docs/queries.md")),
            ("docs/sandbox.md", include_str!("../../../../docs/sandbox.md")),
            ("docs/logins.md", include_str!("../../../../docs/logins.md")),
            ("docs/reliability.md", include_str!("../../../../docs/reliability.md")),
            ("SECURITY.md", include_str!("../../../../SECURITY.md")),
            ("ARCHITECTURE.md", include_str!("../../../../ARCHITECTURE.md")),
        ];
        let mut lines_count = 0;
        for (name, document) in documents {
            assert!(!document.contains("- [x]") && !document.contains("- [ ]"), "{name}");
            let blocks = document.split("```sh\n").skip(1).filter_map(|it| it.split("```").next());
            for line in blocks.flat_map(str::lines).filter(|it| it.starts_with("pitcrew ")) {
                lines_count += 1;
                if let Err(error) = command().try_get_matches_from(words(line)) {
                    panic!("{name}: `{line}`: {error}");
                }
            }
            let known = command();
            for inline in document.split("`pitcrew ").skip(1) {
                let word = inline.split(['`', ' ', '\n']).next().unwrap_or_default();
                let is_known = word.starts_with("--")
                    || word == "COMMAND"
                    // Processes that Pitcrew starts itself; clap does not know them.
                    || ["shim", "confine", "egress", "bridge", "parser"].contains(&word)
                    || known.find_subcommand(word).is_some();
                assert!(is_known, "{name}: `pitcrew {word}`");
            }
        }
        assert!(lines_count > 40, "{lines_count} commands were found");
    }

    /// `tool` is the exception: its `--json` is the input.
    #[test]
    fn documentation_describes_the_json_of_every_command() {
        let document = include_str!("../../../../docs/cli.md");
        let (_, table) = document.split_once("\n## JSON\n").expect("the section");
        let table = table.split("\n## ").next().unwrap_or_default();
        let has_json =
            |it: &clap::Command| it.get_arguments().any(|it| it.get_long() == Some("json"));
        for command in Cli::command().get_subcommands().filter(|it| !it.is_hide_set()) {
            let name = command.get_name();
            let below =
                command.get_subcommands().map(|it| (format!("{name} {}", it.get_name()), it));
            for (name, command) in below.chain([(name.to_owned(), command)]) {
                let rows = table.lines().filter_map(|it| it.split(" | ").next());
                let documented = rows.flat_map(|it| it.split('`')).any(|it| {
                    it == name || it.strip_prefix(&name).is_some_and(|it| it.starts_with(' '))
                });
                assert!(documented || !has_json(command) || name == "tool", "{name}");
            }
        }
    }

    #[test]
    fn documentation_has_a_section_for_every_command() {
        let document = include_str!("../../../../docs/cli.md");
        for command in Cli::command().get_subcommands().filter(|it| !it.is_hide_set()) {
            let name = command.get_name();
            assert!(document.contains(&format!("\n### {name}\n")), "{name} is not documented");
            for argument in command.get_arguments().filter(|it| !it.is_hide_set()) {
                let Some(flag) = argument.get_long().filter(|it| *it != "help") else { continue };
                let section = document.split(&format!("\n### {name}\n")).nth(1);
                let section = section.unwrap_or_default().split("\n### ").next();
                let documented = section.unwrap_or_default().contains(&format!("--{flag}"));
                assert!(documented, "`--{flag}` of {name} is not documented");
            }
        }
    }
}
