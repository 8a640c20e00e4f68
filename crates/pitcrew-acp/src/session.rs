//! One session with one agent.

use crate::{
    Need, TurnError,
    connection::Connection,
    frame::{self, number},
    open::Agreed,
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
    /// The agent's last message of the turn, or its end.
    pub last_words: String,
    /// What it asked for in its messages, in their order.
    pub needs: Vec<Need>,
}

/// A session with an agent. Clones are the same session.
///
/// When the last clone and the events are dropped, the agent is left alone: its shim goes on until
/// somebody comes back or the lease ends.
#[derive(Clone)]
pub struct Session {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub connection: Arc<Connection>,
    pub _reader: Reader,
    pub opened_by: EffectId,
    pub agreed: Agreed,
}

/// The task that reads the agent. Whoever lets it go has lost the agent.
pub(crate) struct Reader(pub JoinHandle<()>);

impl Drop for Reader {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Session {
    /// What the agent calls itself, with its version.
    pub fn agent_name(&self) -> &str {
        &self.inner.agreed.agent_name
    }

    pub fn id(&self) -> &str {
        &self.inner.agreed.session.0
    }

    /// Whether another process of the agent can take the session up, and tell what was said in it.
    pub fn can_load(&self) -> bool {
        self.inner.agreed.can_load
    }

    /// The same, without telling anything.
    pub fn can_resume(&self) -> bool {
        self.inner.agreed.can_resume
    }

    /// Gives the agent a turn and waits for its end.
    pub async fn prompt(&self, effect: EffectId, text: &str) -> Result<TurnEnd, TurnError> {
        self.turn(effect, PromptRequest::new(self.inner.agreed.session.clone(), vec![text.into()]))
            .await
    }

    /// The same, with what the built-in agent is to execute.
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
        Ok(self.inner.connection.counted(effect, self.id(), end).await)
    }

    /// Answers a request for permission; without an option as cancelled. Answering twice is harmless.
    pub async fn answer_permission(&self, call: &str, option: Option<&str>) {
        self.inner.connection.answer_permission(call, option).await;
    }

    /// Asks the agent to end the open turn. The turn's end comes from `prompt`, in the agent's time.
    pub async fn cancel(&self) {
        self.cancel_before(EffectId(u64::MAX)).await;
    }

    /// The same, unless the open turn was ordered later than `effect`.
    pub async fn cancel_before(&self, effect: EffectId) {
        let notification = CancelNotification::new(self.inner.agreed.session.clone());
        let frame = || frame::notification("session/cancel", &notification);
        self.inner.connection.cancel(effect, frame).await;
    }

    /// Ends the session and the agent, and waits until nothing of its process tree runs any more.
    pub async fn stop(&self, grace: Duration) -> Exit {
        self.closed(grace).await;
        self.inner.connection.stop(grace).await
    }

    /// The same for an agent whose state goes with it: between turns it has nothing to put away, and is
    /// not asked to. In a turn it is, for the sake of the files that it may be writing.
    pub async fn discard(&self, grace: Duration) -> Exit {
        if self.inner.connection.is_in_turn() {
            return self.dismiss(grace).await;
        }
        self.inner.connection.stop(Duration::ZERO).await
    }

    /// The same for an agent of which others want nothing any more: once it has closed its session it
    /// has put away what was to be kept, and is not waited for. Some then take their time.
    pub async fn dismiss(&self, grace: Duration) -> Exit {
        let grace = if self.closed(grace).await { Duration::ZERO } else { grace };
        self.inner.connection.stop(grace).await
    }

    /// Asks the agent to close the session, where it can. One that neither reads nor answers is not
    /// waited for longer than half of the grace.
    async fn closed(&self, grace: Duration) -> bool {
        let close = async {
            self.cancel().await;
            self.inner.agreed.can_close && self.close().await
        };
        timeout(grace / 2, close).await.unwrap_or(false)
    }

    /// Whether the agent says that it did.
    async fn close(&self) -> bool {
        let close = CloseSessionRequest::new(self.inner.agreed.session.clone());
        let number = number::close(self.inner.opened_by);
        let answer = self.inner.connection.request(number, "session/close", &close).await;
        answer.is_ok_and(|it| it.is_ok())
    }
}
