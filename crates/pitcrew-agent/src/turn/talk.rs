//! A turn with a model: requests an answer, executes its tool calls, and repeats until it is done.

use super::toolbox::{After, Outcome, Toolbox};
use crate::{
    agent::Model,
    model::{Answer, Call, Client, Conversation, Failure, Piece, Stop, Tokens, ToolSpec, Wait},
    session::{Progress, Session},
    wire::{self, Error, StopReason, Usage},
};
use std::{
    hash::{BuildHasher, RandomState},
    path::Path,
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use tokio_util::sync::CancellationToken;

/// The limit of requests in one turn.
const ANSWERS_PER_TURN_MAX: usize = 200;
const CALLS_PER_ANSWER_MAX: usize = 50;
/// The limit of tries for the same answer.
const TRIES_MAX: u32 = 3;
const BACKOFF_FIRST: Duration = Duration::from_secs(1);
/// A longer wait ends the turn, which reports it.
const WAIT_MAX: Duration = Duration::from_mins(1);

/// The end of a turn.
pub(crate) struct Ended {
    pub stop: StopReason,
    /// Absent if no usage was reported.
    pub usage: Option<Usage>,
}

/// Sends a prompt to the model and runs it until it ends its turn.
pub(crate) async fn talk(
    session: &Session,
    progress: &mut Progress,
    words: &str,
    model: &Model,
    cancel: &CancellationToken,
) -> Result<Ended, Error> {
    let client = model.client.as_ref().map_err(|it| no_answer(it.clone()))?;
    let toolbox = Toolbox::of(session);
    let mut talk = Talk {
        session,
        model,
        client,
        system: instructions(&session.cwd),
        tools: toolbox.specs(),
        tokens: Tokens::default(),
    };
    progress.conversation.hear(words);
    let stop = talk.go_on(progress, &toolbox, cancel).await?;
    Ok(Ended { stop, usage: talk.usage() })
}

struct Talk<'a> {
    session: &'a Session,
    model: &'a Model,
    client: &'a Client,
    system: String,
    tools: Vec<ToolSpec>,
    /// The usage of the turn so far.
    tokens: Tokens,
}

impl Talk<'_> {
    async fn go_on(
        &mut self,
        progress: &mut Progress,
        toolbox: &Toolbox<'_>,
        cancel: &CancellationToken,
    ) -> Result<StopReason, Error> {
        for _ in 0..ANSWERS_PER_TURN_MAX {
            self.check_room(&progress.conversation)?;
            let answer = tokio::select! {
                biased;
                () = cancel.cancelled() => return Ok(StopReason::Cancelled),
                answer = self.ask(&progress.conversation) => answer.map_err(no_answer)?,
            };
            progress.conversation.answered(&answer);
            self.count(progress, answer.tokens);
            if answer.calls.is_empty() {
                return Ok(match answer.stop {
                    Stop::Done => StopReason::EndTurn,
                    Stop::OutOfTokens => StopReason::MaxTokens,
                    Stop::Refused => StopReason::Refusal,
                });
            }
            match self.work(&mut progress.conversation, toolbox, answer.calls, cancel).await {
                After::GoOn => {}
                After::EndTurn => return Ok(StopReason::EndTurn),
                After::Cancelled => return Ok(StopReason::Cancelled),
            }
        }
        Ok(StopReason::MaxTurnRequests)
    }

    /// A conversation is never shortened silently: it reaches a limit instead.
    fn check_room(&self, conversation: &Conversation) -> Result<(), Error> {
        let (tokens, max) = (self.tokens_of(conversation), self.model.setup.context_tokens);
        if tokens <= max {
            return Ok(());
        }
        let message = format!(
            "the conversation has about {tokens} tokens, more than the limit of {max}: make the task \
             smaller, or raise `context_tokens` of `[model]` if the model takes more"
        );
        Err(wire::no_answer("model", None, message))
    }

    fn tokens_of(&self, conversation: &Conversation) -> u64 {
        let tools = self.tools.iter().map(|it| it.description.len() + it.schema.to_string().len());
        conversation.tokens(self.system.len() + tools.sum::<usize>())
    }

    fn count(&mut self, progress: &mut Progress, tokens: Tokens) {
        self.tokens = self.tokens.plus(tokens);
        let cost_micros = self.model.setup.prices.map(|prices| {
            let cost = tokens.cost_micros(prices);
            progress.cost_micros = progress.cost_micros.saturating_add(cost);
            progress.cost_micros
        });
        let used = self.tokens_of(&progress.conversation);
        self.session.reporter.used(used, self.model.setup.context_tokens, cost_micros);
    }

    fn usage(&self) -> Option<Usage> {
        let Tokens { input, output, cached, stored } = self.tokens;
        let usage = Usage::new(self.tokens.total(), input, output)
            .cached_read_tokens(cached)
            .cached_write_tokens(stored);
        (self.tokens.total() > 0).then_some(usage)
    }

    /// The next answer. Temporary failures are retried and reported.
    async fn ask(&self, conversation: &Conversation) -> Result<Answer, Failure> {
        let reporter = &self.session.reporter;
        let mut number = 1;
        loop {
            let tell = |piece: Piece<'_>| match piece {
                Piece::Said(text) => reporter.saying(text),
                Piece::Thought(text) => reporter.thinking(text),
            };
            let answer = self.client.ask(&self.system, &self.tools, conversation, tell).await;
            let Err(failure) = answer else { return answer };
            let Some(pause) = pause(&failure, number) else { return Err(failure) };
            number += 1;
            let (reason, seconds) = (failure.reason(), pause.as_secs_f32());
            reporter.thinking(&format!(
                "{reason}; retrying in {seconds:.1} s (try {number} of {TRIES_MAX})\n"
            ));
            tokio::time::sleep(pause).await;
        }
    }

    /// Executes the calls of an answer. Every call needs a result, else the conversation is
    /// invalid.
    async fn work(
        &self,
        conversation: &mut Conversation,
        toolbox: &Toolbox<'_>,
        calls: Vec<Call>,
        cancel: &CancellationToken,
    ) -> After {
        let mut after = After::GoOn;
        let mut results = Vec::new();
        for (index, call) in calls.into_iter().enumerate() {
            let outcome = match after {
                After::Cancelled => Outcome::cancelled(),
                After::GoOn if cancel.is_cancelled() => Outcome::cancelled(),
                After::EndTurn => Outcome::failed("not executed: the turn has ended"),
                After::GoOn if index >= CALLS_PER_ANSWER_MAX => Outcome::failed(&format!(
                    "not executed: at most {CALLS_PER_ANSWER_MAX} calls are allowed at once"
                )),
                After::GoOn => toolbox.call(&call, cancel).await,
            };
            if after == After::GoOn {
                after = outcome.after;
            }
            results.push((call, outcome.text));
        }
        conversation.results(results);
        after
    }
}

/// The delay before a retry; `None` if a retry is pointless.
fn pause(failure: &Failure, tries_count: u32) -> Option<Duration> {
    if tries_count >= TRIES_MAX {
        return None;
    }
    // Jitter: sessions that failed together must not retry together.
    let chance = RandomState::new().hash_one(tries_count) % 1_000;
    let part = |of: Duration| of.saturating_mul(u32::try_from(chance).unwrap_or(0)) / 1_000;
    let backoff = BACKOFF_FIRST * 2_u32.pow(tries_count - 1);
    match failure {
        Failure::Passing { .. }
        | Failure::Unreachable { .. }
        | Failure::Quota { wait: Wait::Unknown, .. } => Some(backoff / 2 + part(backoff)),
        Failure::Quota { wait: Wait::For(time), .. } if *time <= WAIT_MAX => {
            Some(*time + part(BACKOFF_FIRST / 2))
        }
        Failure::Quota { .. } | Failure::Auth { .. } | Failure::Lasting { .. } => None,
    }
}

fn no_answer(failure: Failure) -> Error {
    match failure {
        Failure::Passing { reason } | Failure::Lasting { reason } => {
            wire::no_answer("model", None, reason)
        }
        Failure::Unreachable { reason } => wire::no_answer("unreachable", None, reason),
        Failure::Auth { reason } => {
            wire::no_answer("auth", None, format!("{reason}; check the model's key"))
        }
        Failure::Quota { reason, wait: Wait::For(time) } => {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let reset_at = now.saturating_add(time).as_millis();
            wire::no_answer("quota", u64::try_from(reset_at).ok(), reason)
        }
        Failure::Quota { reason, wait: Wait::Unknown | Wait::Never } => {
            wire::no_answer("quota", None, reason)
        }
    }
}

/// Returns the system prompt.
fn instructions(cwd: &Path) -> String {
    format!(
        "You are a coding agent. You work alone: no person watches.\n\
Your working directory is {}\n\
Work only inside it. Paths are relative to it.\n\
Change only the paths that the task allows.\n\
Read the relevant files before you change them. Follow their style.\n\
Make the smallest change that completes the task. Then run the project's tests or build to check it.\n\
If a tool call fails, read the error and fix the cause. Do not repeat the same call.\n\
When the task is done, call `orchestrator_complete_task` with a summary of what you changed.\n\
If it cannot be done, call `orchestrator_complete_task` with the outcome `failed` and the reason.\n\
If you need a person to decide something, call `a2a_notify_orchestrator` with the kind `question`, then end your turn.\n\
If you do not have these tools, describe what you did and end your turn.\n",
        cwd.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn temporary_failures_are_retried_and_permanent_ones_are_not() {
        let quota = |wait| Failure::Quota { reason: String::new(), wait };
        let passing = Failure::Passing { reason: String::new() };
        let first = pause(&passing, 1).expect("a pause");
        let second = pause(&passing, 2).expect("a pause");
        assert!(first >= BACKOFF_FIRST / 2 && first < BACKOFF_FIRST * 3 / 2, "{first:?}");
        assert!(second >= BACKOFF_FIRST && second < BACKOFF_FIRST * 3, "{second:?}");
        assert_eq!(pause(&passing, TRIES_MAX), None);
        assert!(pause(&quota(Wait::Unknown), 1).is_some());
        assert!(pause(&quota(Wait::For(WAIT_MAX)), 1).is_some_and(|it| it >= WAIT_MAX));
        assert_eq!(pause(&quota(Wait::For(WAIT_MAX + BACKOFF_FIRST)), 1), None);
        assert_eq!(pause(&quota(Wait::Never), 1), None);
        assert_eq!(pause(&Failure::Auth { reason: String::new() }, 1), None);
        assert_eq!(pause(&Failure::Lasting { reason: String::new() }, 1), None);
    }
}
