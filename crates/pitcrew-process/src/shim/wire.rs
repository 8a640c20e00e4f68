//! The protocol between shim and client: one JSON object a line. The records of the spool are
//! reports too, so a stored spool and a live stream read alike.

use super::exit::ExitRecord;
use crate::tree::ProcessId;
use pitcrew_model::limits::FRAME_BYTES_MAX;
use serde::{Deserialize, Serialize};
use std::{borrow::Cow, io::Write};

/// A frame that is all control characters grows sixfold when it is escaped.
pub(crate) const MESSAGE_BYTES_MAX: usize = FRAME_BYTES_MAX * 6 + 1_024;

/// The one line on the shim's standard output.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Start {
    /// The agent runs and the socket listens.
    Ready,
    /// The agent's program is not there or cannot be executed.
    AgentMissing {
        reason: String,
    },
    /// Another shim owns this folder.
    AlreadyRunning,
    Failed {
        reason: String,
    },
}

/// What a client says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Order<'a> {
    /// First words of a client: gets `Hello`, then the spool from this offset on.
    Attach { from: u64 },
    /// A line for the agent. An id that was sent before is dropped.
    Send {
        id: u64,
        #[serde(borrow)]
        frame: Cow<'a, str>,
    },
    /// End the agent. Understood from a client and from anybody who only says this.
    Stop { grace_ms: u64 },
}

/// First words to a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Hello {
    pub(crate) shim: ProcessId,
    pub(crate) agent: ProcessId,
    /// How long there was no client before this one.
    #[serde(default)]
    pub(crate) away_ms: u64,
    /// How long the spool is now.
    #[serde(default)]
    pub(crate) spooled: u64,
    /// It was asked to end its agent, or its lease is over: no client can continue with that agent.
    #[serde(default)]
    pub(crate) ending: bool,
}

/// What the shim says. `offset` is where the record begins in the spool, `time` is in
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
    /// Output of the agent that is no line of text.
    Garbage {
        offset: u64,
        time: u64,
        reason: String,
    },
    /// Nothing of the agent runs any more. All of its output was reported before.
    Halted(ExitRecord),
    /// Nothing of the agent lives any more. The last report.
    Exited(ExitRecord),
}

/// Adds `message` as one line to `into`, a buffer in memory.
pub(crate) fn encode(message: &impl Serialize, into: &mut impl Write) {
    serde_json::to_writer(&mut *into, message).expect("a message is plain data");
    into.write_all(b"\n").expect("memory takes a byte");
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A client and a shim may be of different versions: the orchestrator is replaced under a
    /// running agent.
    #[test]
    fn the_wire_does_not_change_by_accident() {
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
