//! Grants: permissions beyond one use. They match content, never titles.

use crate::{Action, Category, GrantId, PlanId, TaskId, ToolUse};
use alloc::{collections::BTreeSet, string::String, vec::Vec};
use core::{fmt, str::FromStr};
use serde::{Deserialize, Serialize};

/// How long an approval is valid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GrantScope {
    #[default]
    Once,
    Task,
    Plan,
    /// Until it is revoked, as long as the journal exists.
    Always,
}

impl GrantScope {
    pub const ALL: &[Self] = &[Self::Once, Self::Task, Self::Plan, Self::Always];

    pub fn is_once(&self) -> bool {
        *self == Self::Once
    }
}

impl fmt::Display for GrantScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Once => "once",
            Self::Task => "task",
            Self::Plan => "plan",
            Self::Always => "always",
        })
    }
}

impl FromStr for GrantScope {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.iter().find(|it| alloc::format!("{it}") == text);
        known.copied().ok_or("possible: once, task, plan, always")
    }
}

/// A permission that need not be requested again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    pub id: GrantId,
    /// All actions of the request.
    pub actions: BTreeSet<Action>,
    /// The exact command, if there was one.
    pub command: Option<String>,
    /// Path prefixes, inside and outside the checkout.
    pub paths: Vec<String>,
    pub outside: Vec<String>,
    pub reach: GrantTarget,
}

/// The scope of a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "scope", content = "of", rename_all = "snake_case")]
pub enum GrantTarget {
    Task(TaskId),
    Plan(PlanId),
    Always,
}

impl fmt::Display for GrantTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Task(task) => task.fmt(f),
            Self::Plan(plan) => plan.fmt(f),
            Self::Always => f.write_str("always"),
        }
    }
}

impl Grant {
    /// Returns whether the grant covers this tool use: the same command, no other action, and no
    /// path outside its prefixes.
    pub fn covers(&self, actions: &BTreeSet<Action>, tool: &ToolUse) -> bool {
        let within = |paths: &[String], prefixes: &[String]| {
            paths.iter().all(|path| prefixes.iter().any(|it| is_below(path, it)))
        };
        actions.is_subset(&self.actions)
            && is_grantable(actions, tool)
            && self.command == tool.command
            && within(&tool.paths, &self.paths)
            && within(&tool.outside, &self.outside)
    }
}

/// Returns whether a tool use is specific enough to recognise an equal one.
pub fn is_grantable(actions: &BTreeSet<Action>, tool: &ToolUse) -> bool {
    let is_file = actions.iter().all(|it| it.category() == Some(Category::FileOperations));
    let has_path = !tool.paths.is_empty() || !tool.outside.is_empty();
    !tool.partial && (tool.command.is_some() || is_file && has_path)
}

/// Compares whole components; `..` leaves every folder.
fn is_below(path: &str, prefix: &str) -> bool {
    let climbs = path.split('/').any(|it| it == "..");
    let rest = path.strip_prefix(prefix.trim_end_matches('/'));
    path == prefix || !climbs && rest.is_some_and(|it| it.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn tool(command: Option<&str>, paths: &[&str]) -> ToolUse {
        ToolUse {
            title: "run".into(),
            kind: "execute".into(),
            paths: paths.iter().map(|it| String::from(*it)).collect(),
            outside: Vec::new(),
            command: command.map(Into::into),
            partial: false,
        }
    }

    fn of(action: Action) -> BTreeSet<Action> {
        BTreeSet::from([action])
    }

    fn grant(actions: BTreeSet<Action>, tool: &ToolUse) -> Grant {
        let (command, paths, outside) =
            (tool.command.clone(), tool.paths.clone(), tool.outside.clone());
        Grant { id: GrantId(1), actions, command, paths, outside, reach: GrantTarget::Always }
    }

    #[test]
    fn a_grant_matches_content() {
        let actions = of(Action::CommandExecution);
        let make = tool(Some("make"), &["src"]);
        let grant = grant(actions.clone(), &make);
        let named = ToolUse { title: "another title".into(), ..make.clone() };
        assert!(grant.covers(&actions, &named));
        assert!(grant.covers(&actions, &tool(Some("make"), &["src/a", "src/b/c"])));
        assert!(grant.covers(&actions, &tool(Some("make"), &[])));
        for other in [
            tool(Some("make x"), &["src"]),
            tool(None, &["src"]),
            tool(Some("make"), &["src2"]),
            tool(Some("make"), &["src/../x"]),
            ToolUse { outside: vec!["/etc".into()], ..make.clone() },
            ToolUse { partial: true, ..make.clone() },
        ] {
            assert!(!grant.covers(&actions, &other), "{other:?}");
        }
        assert!(!grant.covers(&of(Action::GitPush), &make));
    }

    #[test]
    fn unspecific_tool_uses_are_granted_only_once() {
        assert!(is_grantable(&of(Action::CommandExecution), &tool(Some("make"), &[])));
        assert!(is_grantable(&of(Action::FileEditsInWorktree), &tool(None, &["a"])));
        assert!(!is_grantable(&of(Action::FileEditsInWorktree), &tool(None, &[])));
        assert!(!is_grantable(&of(Action::OtherTool), &tool(None, &["a"])));
        assert!(!is_grantable(&of(Action::NetworkAccess), &tool(None, &[])));
    }
}
