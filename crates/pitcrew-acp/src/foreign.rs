//! Fuzz tests: any input from an agent is answered within the limits, and never causes a panic.

use crate::{
    files::FileCall,
    frame::{self, Incoming},
    plain::{escaped, one_line, plain},
    schema::{SessionUpdate, ToolCallUpdate},
    tool_use::{ToolCalls, tool_use},
    transcript::{Line, Transcript, TranscriptBuilder},
    usage::{TurnKind, UsageMeter},
};
use pitcrew_model::ToolUse;
use pitcrew_testkit::corpus;
use serde_json::{Value, json};
use std::{fs, io::Write, path::Path};

/// Text for a terminal contains no control sequences.
fn assert_harmless(text: &str) {
    let steers = |it: char| it.is_control() && it != '\n' && it != '\t';
    assert!(!text.contains(steers) && !text.contains(['\u{202e}', '\u{feff}']), "{text:?}");
}

fn assert_describes(tool: &ToolUse) {
    assert!(tool.title.len() <= 300 && !tool.title.contains('\n'), "{}", tool.title);
    assert!(tool.command.as_ref().is_none_or(|it| !it.is_empty() && it.len() <= 8 * 1_024));
    for paths in [&tool.paths, &tool.outside] {
        assert!(paths.len() <= 201, "{}", paths.len());
        assert!(paths.iter().all(|it| it.len() <= 1_024));
    }
    let texts = tool.paths.iter().chain(&tool.outside).chain(&tool.command);
    texts.for_each(|it| assert_harmless(it));
}

/// What the reader does with an update or a request, without the connection.
fn take_params(params: &Value, calls: &mut ToolCalls, usage: &mut UsageMeter) {
    let root = Path::new("/nowhere");
    let of = |key: &str| params.get(key).cloned().unwrap_or_default();
    match serde_json::from_value(of("update")) {
        Ok(SessionUpdate::ToolCall(call)) => {
            assert_describes(&tool_use(&call, root));
            calls.begin(call);
        }
        Ok(SessionUpdate::ToolCallUpdate(update)) => {
            assert_describes(&tool_use(calls.update(update), root));
        }
        Ok(SessionUpdate::UsageUpdate(update)) => usage.update(&update),
        Ok(SessionUpdate::AgentMessageChunk(chunk)) => {
            let meta = chunk.meta.unwrap_or_default();
            usage.call(meta.get("usage").unwrap_or(&Value::Null));
        }
        Ok(_) | Err(_) => {}
    }
    if let Ok(call) = serde_json::from_value::<ToolCallUpdate>(of("toolCall")) {
        assert_describes(&tool_use(calls.update(call), root));
    }
}

/// An answer contains the id that the agent chose, and parses as an answer.
fn assert_answers(id: &Value) {
    let line = frame::answer(id, &json!({"a": 1}));
    let back: Value = serde_json::from_str(&line).expect("JSON");
    assert_eq!(&back["id"], id);
    let refusal = frame::refusal(id, -32_601, &"\u{65e5}".repeat(1_000));
    assert!(!line.contains('\n') && !refusal.contains('\n') && refusal.len() < line.len() + 700);
    assert!(matches!(
        Incoming::parse(&refusal),
        Ok(Incoming::Answer { result: Err(_), .. } | Incoming::Stray)
    ));
}

/// A file request is parsed, or rejected with a frame.
fn take_file(id: &Value, method: &str, params: &mut Value) {
    if let Some(Err(error)) = FileCall::parse(method, params) {
        let refusal = error.frame(id);
        assert!(Incoming::parse(&refusal).is_ok(), "{refusal}");
    }
}

fn try_frame(line: &str) {
    let (mut calls, mut usage) = (ToolCalls::default(), UsageMeter::default());
    match Incoming::parse(line) {
        Ok(Incoming::Request { id, method, mut params }) => {
            assert_answers(&id);
            take_file(&id, &method, &mut params);
            take_params(&params, &mut calls, &mut usage);
        }
        Ok(Incoming::Notification { params, .. }) => take_params(&params, &mut calls, &mut usage),
        Ok(Incoming::Answer { result: Ok(answer), .. }) => {
            usage.end_turn(&answer, TurnKind::Failed);
        }
        Ok(Incoming::Answer { result: Err(error), .. }) => {
            assert!(error.message.len() <= 1_000 && !error.message.contains('\n'));
            assert_harmless(&error.message);
        }
        Ok(Incoming::Stray) => {}
        Err(_) => assert!(!is_call(line), "a frame was not parsed"),
    }
    usage.end_turn(&Value::Null, TurnKind::Done);
}

/// Whether a line is certainly a request or a notification, checked independently of the parser.
fn is_call(line: &str) -> bool {
    let value: Result<Value, _> = serde_json::from_str(line);
    value.is_ok_and(|it| it["method"].is_string() && it.get("id").is_none_or(Value::is_u64))
}

fn lines(mut transcript: Transcript) -> Result<Vec<Line>, crate::TranscriptError> {
    let mut lines = transcript.read()?;
    lines.extend(transcript.open_message());
    Ok(lines)
}

#[test]
fn any_line_of_an_agent_is_handled() {
    corpus!("frame").check(600, |bytes| {
        let line = String::from_utf8_lossy(bytes);
        try_frame(&line);
        let mut builder = TranscriptBuilder::default();
        for time in 0..2 {
            builder.received(0, time, &line);
            builder.sent(1, time, &line);
        }
        builder.take_lines().iter().for_each(|it| assert_harmless(&it.text));
    });
}

#[test]
fn any_text_is_sanitized() {
    corpus!("text").check(600, |bytes| {
        let text = String::from_utf8_lossy(bytes);
        let shown = plain(&text);
        assert_harmless(&shown);
        assert!(shown.len() <= text.len());
        assert_eq!(plain(&shown), shown, "safe text is unchanged");
        assert_harmless(&escaped(&text));
        let line = one_line(&text, 50);
        assert!(line.len() <= 50 && !line.contains('\n'));
    });
}

/// Incremental reading gives the same result as reading at once, wherever the spool was cut.
#[test]
fn incremental_and_whole_reads_are_equal() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("spool.ndjson");
    corpus!("spool").check(200, |bytes| {
        fs::write(&path, bytes).expect("room");
        let whole = lines(Transcript::open(&path).expect("a file")).expect("lines");
        for line in &whole {
            assert_harmless(&line.text);
        }
        let mut file = fs::File::create(&path).expect("a file");
        let mut growing = Transcript::open(&path).expect("a file");
        let mut lines = Vec::new();
        for piece in bytes.chunks(bytes.len() / 3 + 1) {
            file.write_all(piece).expect("room");
            lines.extend(growing.read().expect("lines"));
        }
        lines.extend(growing.open_message());
        assert_eq!(lines, whole);
    });
}
