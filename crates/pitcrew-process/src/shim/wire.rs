//! The protocol between shim and client: one JSON object a line. The records of the spool are
//! reports too, so a stored spool and a live stream have the same format.

use super::exit::ExitRecord;
use crate::tree::ProcessId;
use pitcrew_model::limits::FRAME_BYTES_MAX;
use serde::{Deserialize, Serialize};
use std::{borrow::Cow, io::Write};

/// Escaping a frame of control characters grows it sixfold.
pub(crate) const MESSAGE_BYTES_MAX: usize = FRAME_BYTES_MAX * 6 + 1_024;

/// The one line on the shim's standard output.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Start {
    /// The agent is running and the socket is listening.
    Ready,
    /// The agent's program does not exist or cannot be executed.
    AgentMissing {
        reason: String,
    },
    /// Another shim owns this folder.
    AlreadyRunning,
    Failed {
        reason: String,
    },
}

/// A request from a client.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Order<'a> {
    /// The first message of a client. The response is `Hello`, then the spool from this offset on.
    Attach { from: u64 },
    /// A line for the agent. An id that was sent before is dropped.
    Send {
        id: u64,
        #[serde(borrow)]
        frame: Cow<'a, str>,
    },
    /// Ends the agent. Accepted from a client and from a connection that sends only this.
    Stop { grace_ms: u64 },
}

/// The first message to a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Hello {
    pub(crate) shim: ProcessId,
    pub(crate) agent: ProcessId,
    /// How long no client was connected before this one.
    #[serde(default)]
    pub(crate) away_ms: u64,
    /// The current length of the spool.
    #[serde(default)]
    pub(crate) spooled: u64,
    /// The agent was asked to end, or its lease has expired, so no client can continue with it.
    #[serde(default)]
    pub(crate) ending: bool,
}

/// A message from the shim. `offset` is where the record begins in the spool; `time` is in
/// milliseconds since the epoch.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Report<'a> {
    Hello(Hello),
    /// A line from the agent.
    Out {
        offset: u64,
        time: u64,
        #[serde(borrow)]
        line: Cow<'a, str>,
    },
    /// A line to the agent.
    In {
        offset: u64,
        time: u64,
        id: u64,
        #[serde(borrow)]
        line: Cow<'a, str>,
    },
    /// Output of the agent that is not a line of text.
    Garbage {
        offset: u64,
        time: u64,
        reason: String,
    },
    /// The agent's processes have halted. All of their output was reported before.
    Halted(ExitRecord),
    /// None of the agent's processes is left. The last report.
    Exited(ExitRecord),
}

/// Appends `message` as one line to `into`, a buffer in memory.
pub(crate) fn encode(message: &impl Serialize, into: &mut impl Write) {
    serde_json::to_writer(&mut *into, message).expect("a message is plain data");
    into.write_all(b"\n").expect("memory takes a byte");
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Client and shim may have different versions, because the orchestrator can be replaced while
    /// an agent is running.
    #[test]
    fn wire_format_is_stable() {
        let lines = [
            r#"{"attach":{"from":7}}"#,
            r#"{"send":{"id":3,"frame":"{\"a\":1}"}}"#,
            r#"{"stop":{"grace_ms":2000}}"#,
        ];
        for line in lines {
            let order: Order<'_> = serde_json::from_str(line).unwrap();
            assert_eq!(serde_json::to_string(&order).unwrap(), line);
        }
        let lines = [
            r#"{"hello":{"shim":{"pid":1,"start":2},"agent":{"pid":3,"start":4},"away_ms":5,"spooled":6,"ending":true}}"#,
            r#"{"out":{"offset":0,"time":5,"line":"x"}}"#,
            r#"{"in":{"offset":0,"time":5,"id":6,"line":"x"}}"#,
            r#"{"garbage":{"offset":0,"time":5,"reason":"x"}}"#,
            r#"{"halted":{"code":null,"signal":9,"stderr":"","ordered":true}}"#,
            r#"{"exited":{"code":0,"signal":null,"stderr":"","ordered":true}}"#,
        ];
        for line in lines {
            let report: Report<'_> = serde_json::from_str(line).unwrap();
            assert_eq!(serde_json::to_string(&report).unwrap(), line);
        }
        let older = [
            r#"{"hello":{"shim":{"pid":1,"start":2},"agent":{"pid":3,"start":4}}}"#,
            r#"{"exited":{"code":0,"signal":null,"stderr":""}}"#,
        ];
        for line in older {
            serde_json::from_str::<Report<'_>>(line).unwrap();
        }
    }
}
