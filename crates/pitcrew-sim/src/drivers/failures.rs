//! Failures of drivers.

use pitcrew_model::{AttemptId, CheckFailure, EffectResult, Exit, Failure, Refusal, RefusalKind};

pub fn failed(attempt: AttemptId, failure: Failure) -> EffectResult {
    EffectResult::AttemptFailed { attempt, failure }
}

pub fn git(message: &str) -> Failure {
    Failure::Git { message: message.into() }
}

pub fn gate() -> Failure {
    let refusals = vec![Refusal::new("etc", RefusalKind::OutsideZone)];
    Failure::Gate { refusals, refusals_count: 1 }
}

pub fn conflict() -> Failure {
    Failure::Conflict { paths: vec!["src/a".into()], with: Vec::new() }
}

pub fn checks(command: &str) -> Failure {
    let (command, output) = (command.into(), String::new());
    Failure::Checks {
        failed: vec![CheckFailure { command, code: Some(1), output, red_on_base: false }],
    }
}

pub fn exited(code: i32) -> Exit {
    Exit { code: Some(code), signal: None, stderr: String::new() }
}

pub fn gone() -> Failure {
    Failure::AgentExited { exit: "exit code 1".into(), output: String::new() }
}
