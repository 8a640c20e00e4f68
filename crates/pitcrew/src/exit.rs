//! Exit codes. Scripts rely on them: the meaning of a code never changes.

use std::process::ExitCode;

macro_rules! exits {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $meaning:literal;)*) => {
        /// How a command ended.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Exit { $($(#[$doc])* $name),* }

        impl Exit {
            pub const ALL: &[Self] = &[$(Self::$name),*];

            pub fn code(self) -> u8 {
                match self { $(Self::$name => $code),* }
            }

            /// Returns the meaning as documented.
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$name => $meaning),* }
            }
        }
    };
}

exits! {
    Success = 0, "success";
    Failure = 1, "failure; the message says why";
    Usage = 2, "invalid command line, plan file, setting or id";
    Waiting = 3, "waiting for a person: see `pitcrew inbox`";
    Partial = 4, "the plan ended and some of its tasks did not complete";
    PlanFailed = 5, "the plan ended without a completed task, or was cancelled";
    Refused = 6, "refused in the current state; nothing was changed";
    Unreachable = 7, "the orchestrator cannot be started or reached";
    NotLanded = 8, "the plan could not be landed: a conflict, or checks failed on the result; or its landing could not be undone";
    AgentNotReady = 9, "an agent is not installed, not logged in, or does not answer";
    OnSideBranch = 10, "the result is on a branch of its own: the base branch could not be moved";
    Untrusted = 11, "the plan uses an agent that comes with the repository and is not trusted: see `pitcrew trust`";
    Interrupted = 130, "interrupted by Ctrl-C";
}

impl Exit {
    /// Converts the exit code of another `pitcrew` process.
    pub fn from_code(code: Option<i32>) -> Self {
        let same = |it: &&Self| code == Some(i32::from(it.code()));
        Self::ALL.iter().find(same).copied().unwrap_or(Self::Failure)
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_one_meaning() {
        let mut codes: Vec<u8> = Exit::ALL.iter().map(|it| it.code()).collect();
        codes.dedup();
        assert_eq!(codes.len(), Exit::ALL.len());
        assert!(codes.is_sorted());
    }

    #[test]
    fn documentation_lists_exactly_these_codes() {
        let document = include_str!("../../../docs/cli.md");
        let (_, section) = document.split_once("## Exit codes\n").expect("there is the section");
        let section = section.split("\n## ").next().unwrap_or_default();
        let is_row =
            |it: &&str| it.strip_prefix("| ").is_some_and(|it| it.starts_with(char::is_numeric));
        let documented: Vec<&str> = section.lines().filter(is_row).collect();
        let row = |it: &Exit| format!("| {} | {} |", it.code(), it.meaning());
        assert_eq!(documented, Exit::ALL.iter().map(row).collect::<Vec<_>>());
    }
}
