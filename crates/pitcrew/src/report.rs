//! Error messages of commands.

use crate::{exit::Exit, render::Style};
use pitcrew_api::Problem;
use pitcrew_model::{AgentProblem, Rejection, text};
use pitcrew_views::plain;
use serde_json::json;
use std::{error::Error, fmt::Write};

/// The message, its causes, how to fix it, and the exit code.
#[derive(Debug)]
pub struct Report {
    message: String,
    causes: Vec<String>,
    help: Option<String>,
    pub exit: Exit,
    form: Form,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// Prints `error:` before the message.
    Error,
    /// The message has its own format, such as a diagnostic with its location.
    Whole,
    /// Prints nothing.
    Silent,
}

impl Report {
    pub fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { message: message.into(), causes: Vec::new(), help: None, exit, form: Form::Error }
    }

    /// Diagnostics that include their locations.
    pub fn diagnostics(text: impl Into<String>) -> Self {
        Self { form: Form::Whole, ..Self::new(Exit::Usage, text) }
    }

    /// The reader of our output has closed it. That is not an error.
    pub fn reader_gone() -> Self {
        Self { form: Form::Silent, ..Self::new(Exit::Success, "") }
    }

    pub fn from_error(exit: Exit, error: &dyn Error) -> Self {
        let report = Self::new(exit, error.to_string());
        text::causes(error).fold(report, |report, cause| report.because(cause.to_string()))
    }

    /// Adds a cause, unless the previous text already contains it.
    #[must_use]
    pub fn because(mut self, cause: impl Into<String>) -> Self {
        let cause = cause.into();
        if !self.causes.last().unwrap_or(&self.message).contains(&cause) {
            self.causes.push(cause);
        }
        self
    }

    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Renders the text for standard error; may be empty.
    pub fn render(&self, style: Style) -> String {
        let mut text = String::new();
        let message = plain::block(self.message.trim_end());
        match self.form {
            Form::Silent => return text,
            Form::Whole => text.push_str(&message),
            Form::Error => write!(text, "{} {message}", style.red("error:")).expect("to a string"),
        }
        text.push('\n');
        for cause in &self.causes {
            let cause = plain::block(cause).replace('\n', "\n    ");
            writeln!(text, "  because: {cause}").expect("to a string");
        }
        if let Some(help) = &self.help {
            let help = plain::block(help);
            writeln!(text, "{} {help}", style.cyan("help:")).expect("to a string");
        }
        text
    }
}

impl Report {
    /// Renders the error as a line of JSON; may be empty.
    pub fn json(&self) -> String {
        if self.form == Form::Silent {
            return String::new();
        }
        let error = json!({
            "code": self.exit.code(),
            "message": self.message.trim_end(),
            "causes": self.causes,
            "help": self.help,
        });
        format!("{}\n", json!({ "error": error }))
    }
}

impl From<Problem> for Report {
    fn from(problem: Problem) -> Self {
        use pitcrew_api::ProblemCode;
        let exit = match problem.code {
            ProblemCode::BadRequest | ProblemCode::NotFound | ProblemCode::TooLarge => Exit::Usage,
            ProblemCode::Forbidden | ProblemCode::TooMany => Exit::Refused,
            ProblemCode::Unauthorized | ProblemCode::ShuttingDown => Exit::Unreachable,
            ProblemCode::Internal | ProblemCode::Unknown => Exit::Failure,
        };
        Self { help: problem.help, ..Self::new(exit, problem.message) }
    }
}

/// The exit code for a task that no agent can do.
pub fn exit_of_agent(problem: &AgentProblem) -> Exit {
    match problem {
        AgentProblem::Untrusted { .. } => Exit::Untrusted,
        AgentProblem::NoneNamed
        | AgentProblem::Unknown { .. }
        | AgentProblem::NoBackend { .. }
        | AgentProblem::Missing { .. }
        | AgentProblem::NoModel { .. }
        | AgentProblem::NoCommand { .. } => Exit::Usage,
    }
}

/// The exit code for a rejected command.
#[expect(clippy::too_many_lines, reason = "a line for each of them")]
pub fn exit_of(rejection: &Rejection) -> Exit {
    match rejection {
        Rejection::NoAgentFor { problem, .. } => exit_of_agent(problem),
        Rejection::NoSuchPlan { .. }
        | Rejection::NoSuchTask { .. }
        | Rejection::NoSuchRequest { .. }
        | Rejection::NoSuchAttempt { .. }
        | Rejection::NoSuchWorker { .. }
        | Rejection::EmptyPlan
        | Rejection::TooManyTasks { .. }
        | Rejection::DuplicateTask { .. }
        | Rejection::UnknownDependency { .. }
        | Rejection::Cycle { .. }
        | Rejection::NoAgent { .. }
        | Rejection::NoAgentForSubtask { .. }
        | Rejection::BadTask { .. }
        | Rejection::NoSuchSnapshot { .. }
        | Rejection::NoSuchMessage { .. }
        | Rejection::EmptyMessage
        | Rejection::EmptyQuery
        | Rejection::NoSuchGrant { .. }
        | Rejection::OnceOnly { .. }
        | Rejection::AgentsMaxRange { .. } => Exit::Usage,
        Rejection::JournalFull { .. } => Exit::Failure,
        Rejection::ShuttingDown => Exit::Unreachable,
        Rejection::EffectNotOpen { .. }
        | Rejection::PlanTransition { .. }
        | Rejection::TaskTransition { .. }
        | Rejection::NotDeployable { .. }
        | Rejection::DeploysItself { .. }
        | Rejection::NotRetryable { .. }
        | Rejection::StillSaving { .. }
        | Rejection::NotPausable { .. }
        | Rejection::NotResumable { .. }
        | Rejection::NotLandable { .. }
        | Rejection::NothingToLand { .. }
        | Rejection::LandingNotRecorded { .. }
        | Rejection::LandingUnderWay { .. }
        | Rejection::RequestClosed { .. }
        | Rejection::IsQuestion { .. }
        | Rejection::IsNoQuestion { .. }
        | Rejection::NotYours { .. }
        | Rejection::AttemptOver { .. }
        | Rejection::TooManyRequests { .. }
        | Rejection::DeniedByMatrix { .. }
        | Rejection::NeedsRule { .. }
        | Rejection::NotYourChild { .. }
        | Rejection::NotAtParent { .. }
        | Rejection::NotHeld { .. }
        | Rejection::TooManyGrants { .. }
        | Rejection::TierTooLow { .. }
        | Rejection::NeedsConsent { .. }
        | Rejection::RootNeedsConsent { .. }
        | Rejection::NothingKept { .. }
        | Rejection::SnapshotDropped { .. }
        | Rejection::NoSubtasks
        | Rejection::MayNotSpawn { .. }
        | Rejection::OutputTooLong
        | Rejection::SubtaskTooDeep { .. }
        | Rejection::TooManySubtasks { .. }
        | Rejection::SubtasksTooFast { .. }
        | Rejection::SubtaskCycle { .. }
        | Rejection::TargetFilesMissing { .. }
        | Rejection::TargetFilesOutside { .. }
        | Rejection::TargetFilesDenied { .. }
        | Rejection::TargetFilesTaken { .. }
        | Rejection::WorkspaceNotYours { .. }
        | Rejection::AgentsLiveMax { .. }
        | Rejection::BackendAtLimit { .. }
        | Rejection::BackendBroken { .. }
        | Rejection::AlreadyClaimed { .. }
        | Rejection::NotInTurn { .. }
        | Rejection::HeldForAll { .. }
        | Rejection::TooManyStandalone { .. }
        | Rejection::NothingToShare { .. }
        | Rejection::NotesTooFast { .. }
        | Rejection::PullUnderWay { .. }
        | Rejection::NotYourSubtask { .. }
        | Rejection::NothingToAwait
        | Rejection::SubtasksOpen { .. }
        | Rejection::NotPullable { .. }
        | Rejection::NothingOfItsOwn { .. }
        | Rejection::NothingToPull { .. }
        | Rejection::ParentOver { .. }
        | Rejection::IsSubtask { .. }
        | Rejection::NotExtendable { .. }
        | Rejection::PlanChanged { .. }
        | Rejection::TooManyPlans { .. }
        | Rejection::NeedsPerson { .. }
        | Rejection::NotForYou { .. }
        | Rejection::NobodyReads { .. }
        | Rejection::MailboxFull { .. }
        | Rejection::NoParent { .. }
        | Rejection::TooManyQuestions { .. }
        | Rejection::TooManyQueries { .. }
        | Rejection::QueriesUsedUp { .. }
        | Rejection::NoReplyTo
        | Rejection::NothingToAnswer { .. }
        | Rejection::NotAbandonable { .. } => Exit::Refused,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use std::io;

    #[test]
    fn report_has_message_causes_and_help() {
        let report = Report::new(Exit::Failure, "failed to read `plan.toml`")
            .because(io::Error::from(io::ErrorKind::NotFound).to_string())
            .help("write one with `pitcrew init`");
        expect![[r#"
            error: failed to read `plan.toml`
              because: entity not found
            help: write one with `pitcrew init`
        "#]]
        .assert_eq(&report.render(Style::plain()));
    }

    #[test]
    fn report_escapes_control_characters() {
        let report = Report::new(Exit::Failure, "it said \u{1b}[2J").because("\u{202e}x");
        assert!(!report.render(Style::plain()).contains(['\u{1b}', '\u{202e}']));
    }

    #[test]
    fn repeated_cause_is_left_out() {
        let report = Report::new(Exit::Failure, "a: b").because("b").because("c");
        assert_eq!(report.render(Style::plain()), "error: a: b\n  because: c\n");
    }
}
