//! Connections: which one is the client, what it requests, and what is sent to it.

use super::{Phase, Service};
use crate::{
    poll::Step,
    shim::{
        connection::Connection,
        wire::{Hello, Order, Report},
    },
};
use std::{
    io,
    time::{Duration, Instant},
};

impl Service {
    /// Handles the requests of a visitor. Afterwards it is the client, still a visitor, or closed.
    pub(super) fn admit(&mut self, visitor: Connection) -> io::Result<()> {
        let (visitor, handled) = self.handle_requests(visitor);
        match visitor {
            Some(it) if it.cursor().is_none() => self.visitors.push(it),
            // Only one client at a time: a second one is rejected.
            Some(it) if self.client.is_none() => {
                self.client = Some(it);
                self.had_client = true;
                self.report_exit();
            }
            Some(_) | None => {}
        }
        handled
    }

    /// Carries out the requests of a connection. Returns the connection unless it is closed, even
    /// if a request failed, because the end must still be reported to it.
    pub(super) fn handle_requests(
        &mut self,
        mut connection: Connection,
    ) -> (Option<Connection>, io::Result<()>) {
        let mut cursor = connection.cursor();
        let (was_attached, mut is_acknowledged) = (cursor.is_some(), false);
        let handled = connection.take(&mut |order| {
            match order {
                Order::Attach { from } => cursor = cursor.or(Some(from)),
                Order::Send { id, frame } if cursor.is_some() => self.send(id, &frame)?,
                // Only the attached client may send to the agent.
                Order::Send { .. } => {}
                Order::Stop { grace_ms } => {
                    self.start_ending(grace_ms);
                    // A caller that is not attached reads the exit record. Closing the connection
                    // acknowledges the request at once, because the end may take a while.
                    is_acknowledged = cursor.is_none();
                    if is_acknowledged && !self.had_client {
                        self.stop_waiting_for_client();
                    }
                }
            }
            Ok(())
        });
        if let (false, Some(from)) = (was_attached, cursor) {
            let away = self.lost_at.map(|it| it.elapsed()).unwrap_or_default();
            let hello = Hello {
                shim: self.own,
                agent: self.agent.id,
                away_ms: u64::try_from(away.as_millis()).unwrap_or(u64::MAX),
                spooled: self.spool.length(),
                ending: self.ordered,
            };
            connection.attach(&Report::Hello(hello), from);
        }
        let is_gone = matches!(handled, Ok(Step::Closed)) || (is_acknowledged && cursor.is_none());
        ((!is_gone).then_some(connection), handled.map(drop))
    }

    /// Records the frame, then passes it to the agent. Each id is sent only once.
    fn send(&mut self, id: u64, frame: &str) -> io::Result<()> {
        if matches!(self.phase, Phase::Over) || self.sent.contains(&id) {
            return Ok(());
        }
        self.spool.input(id, frame)?;
        self.sent.insert(id);
        self.agent.queue(frame);
        Ok(())
    }

    pub(super) fn accept(&mut self) {
        // A connection that was closed before it was accepted needs no handling.
        if let Ok((stream, _)) = self.listener.accept()
            && let Ok(visitor) = Connection::new(stream)
        {
            self.visitors.push(visitor);
        }
    }

    pub(super) fn deliver(&mut self) -> io::Result<()> {
        let Some(client) = &mut self.client else { return Ok(()) };
        let step = client.deliver(&self.spool)?;
        self.delivered = client.cursor().unwrap_or(self.delivered);
        if matches!(step, Step::Closed) {
            self.client = None;
            self.notice_loss();
        }
        Ok(())
    }

    pub(super) fn notice_loss(&mut self) {
        if self.client.is_none() {
            let now = Instant::now();
            self.lost_at = Some(now);
            self.lease_ends = now + Duration::from_millis(self.spec.lease_ms);
        }
    }

    /// Reports the end to the client after its stream, even if it connects later.
    pub(super) fn report_exit(&mut self) {
        if let (Some(client), Some(exit)) = (&mut self.client, &self.exit) {
            client.send_last(&Report::Exited(exit.clone()));
        }
    }
}
