//! Converts frames into lines. Does no file access.

use super::{
    Line, LineKind,
    command_output::{CommandOutput, Rest},
};
use crate::{
    connection::{OPTION_ID_BYTES_MAX, OPTIONS_MAX},
    frame::{Incoming, take},
    order_in,
    plain::{one_line, plain},
    schema::{
        ContentBlock, SessionUpdate, ToolCall, ToolCallContent, ToolCallStatus, ToolCallUpdate,
        ToolKind,
    },
    tool_use::ToolCalls,
};
use pitcrew_model::{BuiltinOrder, limits, text};
use serde_json::Value;
use std::collections::BTreeMap;

const TITLE_BYTES_MAX: usize = 300;
/// The largest message that is kept, regardless of its number of chunks.
const MESSAGE_BYTES_MAX: usize = 256 * 1_024;
/// Commands whose output is shown while they run. The output of more is shown at their end.
const RUNNING_MAX: usize = 32;

/// The parts of the conversation that later frames refer to.
#[derive(Default)]
pub(crate) struct TranscriptBuilder {
    calls: ToolCalls,
    /// The output of running commands, by call, with the position of its newest update.
    running: BTreeMap<String, (u64, u64, CommandOutput)>,
    /// The message that is being assembled from chunks.
    open: Option<Line>,
    /// The number of the newest prompt, whose answer ends the turn.
    prompt: Option<u64>,
    /// Names of the options of open permission requests, by request and option.
    options: BTreeMap<String, BTreeMap<String, String>>,
    lines: Vec<Line>,
    /// When the current frame was spooled.
    time_ms: u64,
}

impl TranscriptBuilder {
    /// The lines that are complete, in order.
    pub fn take_lines(&mut self) -> Vec<Line> {
        std::mem::take(&mut self.lines)
    }

    /// The message that may still grow.
    pub fn open_message(&self) -> Option<Line> {
        let line = self.open.clone()?;
        Some(Line { text: plain(line.text.trim()), ..line }).filter(|it| !it.text.is_empty())
    }

    /// A frame that was sent to the agent.
    pub fn sent(&mut self, offset: u64, time_ms: u64, line: &str) {
        self.time_ms = time_ms;
        let Ok(Value::Object(frame)) = serde_json::from_str(line) else { return };
        let frame = Value::Object(frame);
        match frame["method"].as_str() {
            Some("session/prompt") => {
                self.prompt = frame["id"].as_u64();
                let blocks = frame["params"]["prompt"].as_array();
                let texts = blocks.into_iter().flatten().filter_map(|it| it["text"].as_str());
                let order = order_in(frame["params"]["_meta"].as_object()).ok().flatten();
                let order = order.as_ref().map(|it| match it {
                    BuiltinOrder::Script { script } => script.as_str(),
                    BuiltinOrder::Command { command } => command.as_str(),
                });
                let text = texts.chain(order).collect::<Vec<_>>().join("\n");
                self.add(offset, LineKind::Prompt, plain(&text));
            }
            Some("session/cancel") => self.add(offset, LineKind::Cancelled, String::new()),
            Some(_) => {}
            None => {
                let Some(options) = self.options.remove(&frame["id"].to_string()) else { return };
                let outcome = &frame["result"]["outcome"];
                let text = match outcome["optionId"].as_str() {
                    Some(option) => options.get(option).map_or(option, |it| it.as_str()).to_owned(),
                    None => "cancelled".to_owned(),
                };
                self.add(offset, LineKind::PermissionAnswered, text);
            }
        }
    }

    /// A frame that came from the agent.
    pub fn received(&mut self, offset: u64, time_ms: u64, line: &str) {
        self.time_ms = time_ms;
        match Incoming::parse(line) {
            Ok(Incoming::Notification { method, mut params }) if method == "session/update" => {
                if let Ok(update) = serde_json::from_value(take(&mut params, "update")) {
                    self.update(offset, update);
                }
            }
            Ok(Incoming::Request { id, method, params })
                if method == "session/request_permission" =>
            {
                self.permission(offset, &id, params);
            }
            Ok(Incoming::Answer { id, result }) if self.prompt == Some(id) => {
                self.prompt = None;
                let text = match result {
                    Ok(answer) => answer["stopReason"].as_str().unwrap_or("no reason").to_owned(),
                    Err(error) => format!("error: {error}"),
                };
                self.close_commands();
                self.add(offset, LineKind::TurnEnded, one_line(&text, TITLE_BYTES_MAX));
            }
            Ok(_) => {}
            Err(_) => self.noise(offset, time_ms, line),
        }
    }

    /// Output of the agent that is not a frame.
    pub fn noise(&mut self, offset: u64, time_ms: u64, line: &str) {
        self.time_ms = time_ms;
        let text = one_line(line, TITLE_BYTES_MAX);
        if !text.is_empty() {
            self.add(offset, LineKind::Noise, text);
        }
    }

    fn add(&mut self, offset: u64, kind: LineKind, text: String) {
        self.close_message();
        self.lines.push(Line { offset, time_ms: self.time_ms, kind, text });
    }

    fn close_message(&mut self) {
        self.lines.extend(self.open_message());
        self.open = None;
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the others are not part of the conversation"
    )]
    fn update(&mut self, offset: u64, update: SessionUpdate) {
        match update {
            SessionUpdate::AgentMessageChunk(chunk) => {
                self.chunk(offset, LineKind::Said, &chunk.content);
            }
            SessionUpdate::AgentThoughtChunk(chunk) => {
                self.chunk(offset, LineKind::Thought, &chunk.content);
            }
            SessionUpdate::ToolCall(call) => {
                self.add(offset, LineKind::ToolStarted, title(&call));
                if has_ended(call.status) {
                    self.tool_ended(offset, &call);
                }
                self.calls.begin(call);
            }
            SessionUpdate::ToolCallUpdate(update) => {
                let ends = update.fields.status.is_some_and(has_ended);
                let call = self.calls.update(update).clone();
                if ends {
                    self.tool_ended(offset, &call);
                } else if call.kind == ToolKind::Execute {
                    self.command_runs(offset, &call);
                }
            }
            _ => {}
        }
    }

    fn chunk(&mut self, offset: u64, kind: LineKind, content: &ContentBlock) {
        let ContentBlock::Text(chunk) = content else { return };
        if self.open.as_ref().is_some_and(|it| it.kind != kind) {
            self.close_message();
        }
        let time_ms = self.time_ms;
        let begin = || Line { offset, time_ms, kind, text: String::new() };
        let line = self.open.get_or_insert_with(begin);
        let room = MESSAGE_BYTES_MAX.saturating_sub(line.text.len());
        let part = text::cut(&chunk.text, room);
        line.text.push_str(part);
        if room > 0 && part.len() < chunk.text.len() {
            line.text.push_str("\n[rest of this message omitted]");
        }
    }

    fn tool_ended(&mut self, offset: u64, call: &ToolCall) {
        let failed = call.status == ToolCallStatus::Failed;
        let kind = if failed { LineKind::ToolFailed } else { LineKind::ToolDone };
        self.add(offset, kind, title(call));
        let output = output_of(call);
        let output = match self.running.remove(&*call.tool_call_id.0) {
            Some((_, _, mut running)) => plain(&running.take(&output, Rest::Nothing)),
            None => plain(text::tail(output.trim(), limits::OUTPUT_TAIL_BYTES)),
        };
        if !output.is_empty() {
            self.add(offset, LineKind::Output, output);
        }
    }

    /// Adds the output that is new.
    fn command_runs(&mut self, offset: u64, call: &ToolCall) {
        let (id, output) = (&*call.tool_call_id.0, output_of(call));
        let has_room = self.running.len() < RUNNING_MAX || self.running.contains_key(id);
        if output.is_empty() || !has_room {
            return;
        }
        let running = self.running.entry(id.to_owned()).or_default();
        (running.0, running.1) = (offset, self.time_ms);
        let new = plain(&running.2.take(&output, Rest::Follows));
        if !new.is_empty() {
            self.add(offset, LineKind::Output, new);
        }
    }

    /// Ends the conversation, and returns the lines that were still open.
    pub fn close(&mut self) -> Vec<Line> {
        self.close_message();
        self.close_commands();
        self.take_lines()
    }

    /// The commands whose end was not reported have ended with their agent or their turn.
    fn close_commands(&mut self) {
        for (offset, time_ms, mut output) in std::mem::take(&mut self.running).into_values() {
            let text = plain(&output.rest());
            if !text.is_empty() {
                self.close_message();
                self.lines.push(Line { offset, time_ms, kind: LineKind::Output, text });
            }
        }
    }

    fn permission(&mut self, offset: u64, id: &Value, mut params: Value) {
        let call: Option<ToolCallUpdate> =
            serde_json::from_value(take(&mut params, "toolCall")).ok();
        let title = call.map(|it| title(self.calls.update(it))).unwrap_or_default();
        let options = params["options"].as_array().into_iter().flatten();
        let named = options.filter_map(|it| {
            let name = one_line(it["name"].as_str()?, limits::NAME_BYTES_MAX);
            let option = it["optionId"].as_str().filter(|it| it.len() <= OPTION_ID_BYTES_MAX)?;
            Some((option.to_owned(), name))
        });
        self.options.insert(id.to_string(), named.take(OPTIONS_MAX).collect());
        self.add(offset, LineKind::PermissionAsked, title);
    }
}

fn title(call: &ToolCall) -> String {
    let title = one_line(&call.title, TITLE_BYTES_MAX);
    if title.is_empty() {
        format!("tool call {}", one_line(&call.tool_call_id.0, 60))
    } else {
        title
    }
}

/// The texts of a call's result.
fn output_of(call: &ToolCall) -> String {
    call.content.iter().filter_map(text_of).collect::<Vec<_>>().join("\n")
}

fn text_of(content: &ToolCallContent) -> Option<&str> {
    if let ToolCallContent::Content(content) = content
        && let ContentBlock::Text(text) = &content.content
    {
        return Some(&text.text);
    }
    None
}

fn has_ended(status: ToolCallStatus) -> bool {
    matches!(status, ToolCallStatus::Completed | ToolCallStatus::Failed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use serde_json::json;

    fn updated(builder: &mut TranscriptBuilder, offset: u64, update: &Value) {
        let frame = json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": update}});
        builder.received(offset, 0, &frame.to_string());
    }

    #[test]
    fn an_endless_message_is_cut_and_marked_once() {
        let mut builder = TranscriptBuilder::default();
        for offset in 0..40 {
            updated(
                &mut builder,
                offset,
                &json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "日".repeat(4_000)}}),
            );
        }
        let text = builder.open_message().expect("a message").text;
        assert!(text.len() < MESSAGE_BYTES_MAX + 100, "{} bytes", text.len());
        assert_eq!(text.matches("message omitted").count(), 1);
    }

    #[test]
    fn output_is_added_while_a_command_runs() {
        let mut builder = TranscriptBuilder::default();
        let call = json!({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "run tests", "kind": "execute", "status": "in_progress"});
        updated(&mut builder, 0, &call);
        for (offset, output) in [(1, "one\n"), (2, "one\ntwo\nthr"), (3, "one\ntwo\nthree")] {
            let content = json!([{"type": "content", "content": {"type": "text", "text": output}}]);
            updated(
                &mut builder,
                offset,
                &json!({"sessionUpdate": "tool_call_update", "toolCallId": "t", "content": content}),
            );
        }
        let texts = |lines: Vec<Line>| lines.into_iter().map(|it| it.text).collect::<Vec<_>>();
        assert_eq!(texts(builder.take_lines()), ["run tests", "one", "two"]);
        assert_eq!(texts(builder.close()), ["three"], "it was killed");
    }

    #[test]
    fn frames_become_a_conversation() {
        let mut builder = TranscriptBuilder::default();
        let prompt = json!({"jsonrpc": "2.0", "id": 8, "method": "session/prompt", "params": {"sessionId": "s", "prompt": [{"type": "text", "text": "add a parser"}]}});
        builder.sent(0, 0, &prompt.to_string());
        for (offset, chunk) in [(1, "I will\u{1b}[1m "), (2, "look.")] {
            updated(
                &mut builder,
                offset,
                &json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": chunk}}),
            );
        }
        updated(
            &mut builder,
            3,
            &json!({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "run tests", "kind": "execute", "status": "pending"}),
        );
        let ask = json!({"id": 0, "method": "session/request_permission", "params": {"sessionId": "s", "toolCall": {"toolCallId": "t"}, "options": [{"optionId": "yes", "name": "Allow", "kind": "allow_once"}]}});
        builder.received(4, 0, &ask.to_string());
        builder.sent(
            5,
            0,
            &json!({"id": 0, "result": {"outcome": {"outcome": "selected", "optionId": "yes"}}})
                .to_string(),
        );
        updated(
            &mut builder,
            6,
            &json!({"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "failed", "content": [{"type": "content", "content": {"type": "text", "text": "1 test failed"}}]}),
        );
        builder.received(7, 0, "panic: oops");
        updated(&mut builder, 8, &json!({"sessionUpdate": "levitation_update", "height": 3}));
        builder.received(9, 0, r#"{"id":8,"result":{"stopReason":"end_turn"}}"#);
        let lines: Vec<String> = builder
            .take_lines()
            .iter()
            .map(|it| format!("{} {:?}: {}\n", it.offset, it.kind, it.text))
            .collect();
        expect![[r#"
            0 Prompt: add a parser
            1 Said: I will look.
            3 ToolStarted: run tests
            4 PermissionAsked: run tests
            5 PermissionAnswered: Allow
            6 ToolFailed: run tests
            6 Output: 1 test failed
            7 Noise: panic: oops
            9 TurnEnded: end_turn
        "#]]
        .assert_eq(&lines.concat());
    }
}
