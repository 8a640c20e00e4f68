//! What the exit code says. Scripts rely on it: a code never changes its meaning.

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

            /// The words of the documentation.
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$name => $meaning),* }
            }
        }
    };
}

exits! {
    Success = 0, "it was done";
    Failure = 1, "it could not be done; the message says why";
    Usage = 2, "the command line, a plan file, a setting or an id is wrong";
    Waiting = 3, "it waits for a person: see `pitcrew inbox`";
    Partial = 4, "the plan has ended, and some of its tasks are not completed";
    PlanFailed = 5, "the plan has ended, and none of its tasks is completed, or it was cancelled";
    Refused = 6, "the state does not allow it; nothing was changed";
    Unreachable = 7, "the orchestrator cannot be started or reached";
    NotLanded = 8, "the plan could not be landed: a conflict, or checks that fail on the result";
    AgentNotReady = 9, "an agent is not installed, not logged in, or does not answer";
    OnSideBranch = 10, "the result is on a branch of its own: the base branch could not be moved";
    Interrupted = 130, "it was interrupted by Ctrl-C";
}

impl Exit {
    /// What the exit code of another `pitcrew` says.
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
    fn the_documentation_lists_exactly_these_codes() {
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
