//! The help of the whole: commands by what they are for.

use super::Cli;
use clap::CommandFactory;
use std::fmt::Write;

const GROUPS: &[(&str, &[&str])] = &[
    ("Work", &["demo", "init", "run", "plan", "deploy", "status", "watch", "logs", "diff", "path"]),
    ("Decide", &["inbox", "approve", "deny", "answer"]),
    ("Steer", &["retry", "accept", "pause", "resume", "cancel", "abandon"]),
    ("Finish", &["land", "restore", "gc"]),
    ("Serve", &["serve", "stop", "doctor", "config", "completions"]),
];

/// The command line, with its commands in groups.
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
    fn every_command_stands_in_one_group() {
        let grouped: Vec<&str> = GROUPS.iter().flat_map(|it| it.1).copied().collect();
        let command = Cli::command();
        let visible = command.get_subcommands().filter(|it| !it.is_hide_set());
        let visible: BTreeSet<&str> = visible.map(clap::Command::get_name).collect();
        assert_eq!(grouped.iter().copied().collect::<BTreeSet<_>>(), visible);
        assert_eq!(grouped.len(), visible.len(), "one stands in two groups");
    }

    #[test]
    fn every_visible_command_has_a_line_and_an_example() {
        for command in Cli::command().get_subcommands().filter(|it| !it.is_hide_set()) {
            let name = command.get_name();
            assert!(command.get_about().is_some(), "{name} has no line");
            let examples = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(examples.contains(&format!("pitcrew {name}")), "{name} has no example");
        }
    }

    #[test]
    fn the_definition_holds_together() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_documentation_has_a_section_for_every_command() {
        let document = include_str!("../../../../docs/cli.md");
        for command in Cli::command().get_subcommands().filter(|it| !it.is_hide_set()) {
            let name = command.get_name();
            assert!(document.contains(&format!("\n### {name}\n")), "{name} is not documented");
            for argument in command.get_arguments().filter(|it| !it.is_hide_set()) {
                let Some(flag) = argument.get_long().filter(|it| *it != "help") else { continue };
                let section = document.split(&format!("\n### {name}\n")).nth(1);
                let section = section.unwrap_or_default().split("\n### ").next();
                let told = section.unwrap_or_default().contains(&format!("--{flag}"));
                assert!(told, "`--{flag}` of {name} is not documented");
            }
        }
    }
}
