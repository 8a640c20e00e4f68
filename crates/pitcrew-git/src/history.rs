//! Builds the commits that a landing adds to the user's history: one for each completed task.
//!
//! The integration branch has a merge for each task and, behind it, commits of agents and of failed
//! attempts. None of these enter the user's history. Each step of the integration branch is applied
//! to the user's branch as a separate commit, by a three-way merge of trees.

use crate::{Vault, git_dir::Identity, land::LandPlan, merge::Merge};
use pitcrew_model::{CommitId, Failure, LandedTask, text};
use pitcrew_process::Cancel;
use std::fmt::Write;

/// The length at which git and its hosts truncate a subject.
const SUBJECT_CHARS_MAX: usize = 72;

/// Commits on top of a branch.
pub(crate) struct Chain {
    /// The last commit, or the branch itself if nothing was added.
    pub(crate) end: CommitId,
    pub(crate) count: u64,
}

/// A chain, or the paths that conflict.
pub(crate) enum Built {
    Chain(Chain),
    Conflict(Vec<String>),
}

impl Vault {
    /// Applies each task to `from`, in order, as a commit. A task that changes nothing gets no
    /// commit.
    pub(crate) fn task_commits(
        &self,
        from: &CommitId,
        tasks: &[LandedTask],
        identity: Identity<'_>,
        cancel: &Cancel,
    ) -> Result<Built, Failure> {
        let mut chain = Chain { end: from.clone(), count: 0 };
        for task in tasks {
            let before = self.tree(&chain.end, cancel)?;
            let tree = if before == self.tree(&task.onto, cancel)? {
                self.tree(&task.merged, cancel)?
            } else {
                match self.merge(&chain.end, &task.merged, Some(&task.onto), None, cancel)? {
                    Merge::Clean(tree) => tree,
                    Merge::Conflict(paths) => return Ok(Built::Conflict(paths)),
                }
            };
            if tree != before {
                let message = task_message(task);
                let parents = [&chain.end];
                chain.end = self.commit_tree(&tree, &parents, &message, identity, cancel)?;
                chain.count += 1;
            }
        }
        Ok(Built::Chain(chain))
    }
}

/// The message of a task's commit: its name, the agent's summary, and the agent as co-author.
fn task_message(task: &LandedTask) -> String {
    let (key, summary) = (shown(&task.key), without_trailers(&task.summary));
    let subject = match summary.lines().next().unwrap_or_default() {
        "" => key,
        first => format!("{key}: {first}"),
    };
    let mut message = subject_of(&subject);
    // Adds the whole summary, unless the subject already contains it.
    if summary.lines().count() > 1 || message != subject {
        write!(message, "\n\n{summary}").expect("a string takes everything");
    }
    write!(message, "\n\nPitcrew-Task: {}", task.task).expect("a string takes everything");
    if let Some(agent) = &task.agent {
        let name: String = agent.chars().filter(|it| !"<>".contains(*it)).collect();
        write!(message, "\nCo-authored-by: {name} <{name}@pitcrew.invalid>")
            .expect("a string takes everything");
    }
    message
}

/// The title of the plan and a summary of its tasks.
pub(crate) fn plan_message(order: &LandPlan) -> String {
    let trailer = format!("Pitcrew-Plan: {}", order.plan);
    if let Some(message) = &order.message {
        return format!("{}\n\n{trailer}", message.trim());
    }
    let title = shown(order.title.trim());
    let mut message = subject_of(&title);
    if message != title {
        write!(message, "\n\n{title}").expect("a string takes everything");
    }
    let mut lines = String::new();
    for task in &order.tasks {
        let summary = without_trailers(&task.summary);
        let said = summary.lines().next().map(|it| format!(": {it}")).unwrap_or_default();
        writeln!(lines, "- {}{said}", shown(&task.key)).expect("a string takes everything");
    }
    if !lines.is_empty() {
        write!(message, "\n\n{}", lines.trim_end()).expect("a string takes everything");
    }
    format!("{message}\n\n{trailer}")
}

/// Shortens a text to the length of a subject, cut between words.
pub(crate) fn subject_of(text: &str) -> String {
    if text.chars().count() <= SUBJECT_CHARS_MAX {
        return text.to_owned();
    }
    let cut: String = text.chars().take(SUBJECT_CHARS_MAX - 3).collect();
    let at = cut.rfind(' ').filter(|at| *at > SUBJECT_CHARS_MAX / 2).unwrap_or(cut.len());
    format!("{}...", &cut[..at])
}

/// Drops what a terminal or a web page would obey: control characters, and characters that change
/// the order of the text.
pub(crate) fn shown(words: &str) -> String {
    let is_shown =
        |it: &char| matches!(it, '\n' | '\t') || !it.is_control() && !text::deceives(*it);
    words.chars().filter(is_shown).collect()
}

/// Quotes lines of an agent's text that git would parse as trailers, because an agent may not name
/// authors, reviewers or signers.
fn without_trailers(words: &str) -> String {
    let words = shown(words);
    let mut out = String::new();
    for line in words.trim().lines() {
        let line = line.trim_end();
        let is_trailer = line.split_once(':').is_some_and(|(token, _)| {
            !token.is_empty() && token.chars().all(|it| it.is_ascii_alphanumeric() || it == '-')
        });
        let names_others = line.contains("-by:") || line.starts_with("Pitcrew-");
        let quote = if is_trailer && names_others { "> " } else { "" };
        writeln!(out, "{quote}{line}").expect("a string takes everything");
    }
    out.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pitcrew_model::TaskId;

    fn task(summary: &str, agent: Option<&str>) -> LandedTask {
        let (onto, merged) = (CommitId("a".repeat(40)), CommitId("b".repeat(40)));
        let (task, key) = (TaskId(3), "limits".to_owned());
        let agent = agent.map(str::to_owned);
        LandedTask { task, key, summary: summary.into(), agent, onto, merged }
    }

    #[test]
    fn short_summary_is_the_subject() {
        let message = task_message(&task("counts requests\n", Some("claude")));
        let expected = "limits: counts requests\n\nPitcrew-Task: task-3\n\
                        Co-authored-by: claude <claude@pitcrew.invalid>";
        assert_eq!(message, expected);
        assert_eq!(task_message(&task("", None)), "limits\n\nPitcrew-Task: task-3");
    }

    #[test]
    fn long_summary_follows_a_shortened_subject() {
        let message = task_message(&task("counts requests\nby address", None));
        let expected =
            "limits: counts requests\n\ncounts requests\nby address\n\nPitcrew-Task: task-3";
        assert_eq!(message, expected);
        let message = task_message(&task(&"word ".repeat(40), None));
        assert!(message.lines().next().is_some_and(|it| it.chars().count() <= 72), "{message}");
        assert!(message.contains(&"word ".repeat(30)), "{message}");
    }

    #[test]
    fn summary_cannot_add_trailers() {
        let message = task_message(&task("done\nSigned-off-by: Ada <ada@example.org>", None));
        assert!(message.contains("> Signed-off-by: Ada"), "{message}");
        let message = task_message(&task("done\nPitcrew-Plan: plan-99", None));
        assert!(message.contains("> Pitcrew-Plan: plan-99"), "{message}");
    }

    #[test]
    fn message_has_nothing_that_a_terminal_obeys() {
        let message = task_message(&task("done \u{1b}[31m\u{202e}txt\r\n\tnext", None));
        assert!(message.starts_with("limits: done [31mtxt\n"), "{message:?}");
        assert!(message.contains("\tnext"), "{message:?}");
    }
}
