//! One session with one agent.

use crate::{
    Need, TurnError,
    connection::Connection,
    frame::{self, number},
    open::Negotiated,
    order,
    schema::{CancelNotification, CloseSessionRequest, PromptRequest},
};
use pitcrew_model::{BuiltinOrder, EffectId, Exit, StopReason, Usage};
use std::{sync::Arc, time::Duration};
use tokio::{task::JoinHandle, time::timeout};

/// How a turn ended. Not whether the work is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnEnd {
    pub stop: StopReason,
    pub usage: Usage,
    /// The agent's last message of the turn, or the end of it.
    pub last_words: String,
    /// The questions in its messages, in order.
    pub needs: Vec<Need>,
}

/// A session with an agent. Clones share the session.
///
/// After the last clone and the events are dropped, the agent keeps running: its shim waits until a
/// process reattaches or the lease ends.
#[derive(Clone)]
pub struct Session {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub connection: Arc<Connection>,
    pub _reader: Reader,
    pub opened_by: EffectId,
    pub agreed: Negotiated,
}

/// The task that reads the agent's output. Dropping it ends the connection.
pub(crate) struct Reader(pub JoinHandle<()>);

impl Drop for Reader {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Session {
    /// The agent's name and version.
    pub fn agent_name(&self) -> &str {
        &self.inner.agreed.agent_name
    }

    pub fn id(&self) -> &str {
        &self.inner.agreed.session.0
    }

    /// Whether a new process of the agent can load the session and replay it.
    pub fn can_load(&self) -> bool {
        self.inner.agreed.can_load
    }

    /// Whether it can resume the session without a replay.
    pub fn can_resume(&self) -> bool {
        self.inner.agreed.can_resume
    }

    /// Prompts the agent and waits for the end of the turn.
    pub async fn prompt(&self, effect: EffectId, text: &str) -> Result<TurnEnd, TurnError> {
        self.turn(effect, PromptRequest::new(self.inner.agreed.session.clone(), vec![text.into()]))
            .await
    }

    /// The same, with an order for the built-in agent.
    pub async fn prompt_with(
        &self,
        effect: EffectId,
        text: &str,
        order: &BuiltinOrder,
    ) -> Result<TurnEnd, TurnError> {
        let prompt = PromptRequest::new(self.inner.agreed.session.clone(), vec![text.into()]);
        self.turn(effect, prompt.meta(order::to_meta(order))).await
    }

    async fn turn(&self, effect: EffectId, prompt: PromptRequest) -> Result<TurnEnd, TurnError> {
        let frame = frame::request(number::prompt(effect), "session/prompt", &prompt);
        let end = self.inner.connection.turn(effect, self.id(), &frame).await?;
        Ok(self.inner.connection.with_total_usage(effect, self.id(), end).await)
    }

    /// Answers a permission request; `None` means cancelled. Repeating it is harmless.
    pub async fn answer_permission(&self, call: &str, option: Option<&str>) {
        self.inner.connection.answer_permission(call, option).await;
    }

    /// Asks the agent to end the open turn. `prompt` returns when the agent does so.
    pub async fn cancel(&self) {
        self.cancel_before(EffectId(u64::MAX)).await;
    }

    /// The same, unless the open turn is newer than `effect`.
    pub async fn cancel_before(&self, effect: EffectId) {
        let notification = CancelNotification::new(self.inner.agreed.session.clone());
        let frame = || frame::notification("session/cancel", &notification);
        self.inner.connection.cancel(effect, frame).await;
    }

    /// Ends the session and the agent, and waits until none of its process tree runs.
    pub async fn stop(&self, grace: Duration) -> Exit {
        self.closed(grace).await;
        self.inner.connection.stop(grace).await
    }

    /// The same for an agent whose state is deleted with it. Between turns it has nothing to save
    /// and is killed. In a turn it may be writing files, so it is asked to end.
    pub async fn discard(&self, grace: Duration) -> Exit {
        if self.inner.connection.is_in_turn() {
            return self.dismiss(grace).await;
        }
        self.inner.connection.stop(Duration::ZERO).await
    }

    /// The same for an agent whose state is kept: once it has closed its session it has saved
    /// everything, and is not waited for. Some agents take long to exit.
    pub async fn dismiss(&self, grace: Duration) -> Exit {
        let grace = if self.closed(grace).await { Duration::ZERO } else { grace };
        self.inner.connection.stop(grace).await
    }

    /// Asks the agent to close the session if it supports that, and waits for at most half of the
    /// grace period.
    async fn closed(&self, grace: Duration) -> bool {
        let close = async {
            self.cancel().await;
            self.inner.agreed.can_close && self.close().await
        };
        timeout(grace / 2, close).await.unwrap_or(false)
    }

    /// Whether the agent confirms it.
    async fn close(&self) -> bool {
        let close = CloseSessionRequest::new(self.inner.agreed.session.clone());
        let number = number::close(self.inner.opened_by);
        let answer = self.inner.connection.request(number, "session/close", &close).await;
        answer.is_ok_and(|it| it.is_ok())
    }
}
