//! Describes an agent's tool call: which tool, on which paths, with which command.

mod named;
mod boundary;
mod other;
mod ours;

use crate::{
    frame::values_count,
    plain,
    schema::{ToolCall, ToolCallContent, ToolCallUpdate, ToolKind},
};
use boundary::inside;
use named::Named;
use pitcrew_model::{ORCHESTRATOR_TOOL_KIND, ToolUse, text};
use std::{
    collections::{BTreeSet, VecDeque},
    path::Path,
};

/// Tool calls whose details are kept for a later permission request.
const CALLS_KEPT_MAX: usize = 64;
/// Their total size; only the newest may exceed it.
const CALLS_BYTES_MAX: usize = 8 * 1_024 * 1_024;
/// The overhead of a value besides its text.
const VALUE_BYTES: usize = 64;
/// Paths that are listed by name, inside and outside the checkout each.
const PATHS_MAX: usize = 200;
const PATH_BYTES_MAX: usize = 1_024;
const TITLE_BYTES_MAX: usize = 300;
const COMMAND_BYTES_MAX: usize = 8 * 1_024;
/// Marks where a text was cut.
const CUT_MARK: &str = "…";
/// Listed among the outside paths, so that an incomplete list never looks harmless.
const MORE_PATHS: &str = "more paths than can be shown";

/// The newest tool calls of a session, with their sizes. A permission request often contains only
/// the id of one.
#[derive(Debug, Default)]
pub(crate) struct ToolCalls(VecDeque<(ToolCall, usize)>);

impl ToolCalls {
    pub fn begin(&mut self, call: ToolCall) {
        self.0.retain(|it| it.0.tool_call_id != call.tool_call_id);
        self.keep(call);
    }

    /// Applies an update and returns the current state of the call.
    pub fn update(&mut self, update: ToolCallUpdate) -> &ToolCall {
        let id = update.tool_call_id.clone();
        let known = self.0.iter().position(|it| it.0.tool_call_id == id);
        let known = known.and_then(|it| self.0.remove(it));
        let mut call = known.map_or_else(|| ToolCall::new(id, ""), |it| it.0);
        call.update(update.fields);
        self.keep(call)
    }

    /// Keeps a call as the newest one, and drops the oldest if needed.
    fn keep(&mut self, mut call: ToolCall) -> &ToolCall {
        // The output is not needed.
        call.raw_output = None;
        let json = serde_json::to_vec(&call).unwrap_or_default();
        let size = json.len() + VALUE_BYTES * values_count(&json);
        self.0.push_back((call, size));
        let mut total: usize = self.0.iter().map(|it| it.1).sum();
        while self.0.len() > CALLS_KEPT_MAX || total > CALLS_BYTES_MAX && self.0.len() > 1 {
            total -= self.0.pop_front().map_or(0, |it| it.1);
        }
        &self.0.back().expect("the newest is never let go").0
    }
}

/// Describes a call for a permission decision. `root` is the checkout.
///
/// The kind is only the agent's claim: a command is shown whatever the call claims, and a call that
/// claims to read is classified by its content.
pub(crate) fn tool_use(call: &ToolCall, root: &Path) -> ToolUse {
    let named = named(call);
    let kind = kind(call, &named);
    let (mut paths, mut outside) = (BTreeSet::new(), BTreeSet::new());
    let mut is_new = false;
    for path in &named.paths {
        // A path that is too long to show in full is not trusted either.
        let is_short = path.as_os_str().len() <= PATH_BYTES_MAX;
        match is_short.then(|| inside(root, path)).flatten() {
            Some(relative) => {
                is_new |= !root.join(&relative).exists();
                paths.insert(shown(&relative.to_string_lossy(), PATH_BYTES_MAX))
            }
            None => outside.insert(shown(&path.to_string_lossy(), PATH_BYTES_MAX)),
        };
    }
    let is_partial = named.is_partial || outside.len() > PATHS_MAX;
    let more_inside = paths.len().saturating_sub(PATHS_MAX);
    let is_cut = named.is_command_cut || is_partial || more_inside > 0;
    let mut paths: Vec<String> = paths.into_iter().take(PATHS_MAX).collect();
    paths.extend((more_inside > 0).then(|| format!("and {more_inside} more")));
    let mut outside: Vec<String> = outside.into_iter().take(PATHS_MAX).collect();
    outside.extend(is_partial.then(|| MORE_PATHS.to_owned()));
    let command = named.commands.join("\n");
    let command = (!command.is_empty()).then(|| shown(&command, COMMAND_BYTES_MAX));
    let is_short = |it: &String| it.ends_with(CUT_MARK);
    let partial = is_cut || paths.iter().chain(&outside).chain(&command).any(is_short);
    ToolUse {
        title: plain::one_line(&call.title, TITLE_BYTES_MAX),
        kind: if is_new && kind == "edit" { "create" } else { kind }.into(),
        paths,
        outside,
        command,
        partial,
    }
}

fn named(call: &ToolCall) -> Named {
    let mut named = if is_read_only(call) { Named::of_look() } else { Named::default() };
    for location in &call.locations {
        named.path(&location.path);
    }
    for content in &call.content {
        if let ToolCallContent::Diff(diff) = content {
            named.path(&diff.path);
        }
    }
    if let Some(input) = &call.raw_input {
        named.input(input);
    }
    named
}

/// The text for a person's decision. A cut is visible.
fn shown(text: &str, bytes_max: usize) -> String {
    let spelled = plain::escaped(text::cut(text, bytes_max));
    if text.len() <= bytes_max && spelled.len() <= bytes_max {
        return spelled;
    }
    format!("{}{CUT_MARK}", text::cut(&spelled, bytes_max - CUT_MARK.len()))
}

fn kind(call: &ToolCall, named: &Named) -> &'static str {
    if ours::is_ours(call, named) {
        return ORCHESTRATOR_TOOL_KIND;
    }
    if is_read_only(call)
        && let Some(carried) = carried(call, named)
    {
        return carried;
    }
    match call.kind {
        ToolKind::Read => "read",
        ToolKind::Edit => "edit",
        ToolKind::Delete => "delete",
        ToolKind::Move => "move",
        ToolKind::Search => "search",
        ToolKind::Execute => "execute",
        ToolKind::Think => "think",
        ToolKind::Fetch => "fetch",
        ToolKind::SwitchMode => "switch_mode",
        // Also kinds that the library may add.
        ToolKind::Other | _ => other::kind(&call.title),
    }
}

/// Needs no permission within the checkout.
fn is_read_only(call: &ToolCall) -> bool {
    matches!(call.kind, ToolKind::Read | ToolKind::Search | ToolKind::Think)
}

/// What a call that claims to be read-only does in addition.
fn carried(call: &ToolCall, named: &Named) -> Option<&'static str> {
    let has = |it: fn(&ToolCallContent) -> bool| call.content.iter().any(it);
    if !named.commands.is_empty() || has(|it| matches!(it, ToolCallContent::Terminal(_))) {
        Some("execute")
    } else if named.carries.change || has(|it| matches!(it, ToolCallContent::Diff(_))) {
        Some("edit")
    } else if named.carries.address {
        Some("fetch")
    } else {
        // A call without any input may do anything.
        let is_shown =
            call.raw_input.is_some() || !named.paths.is_empty() || !call.content.is_empty();
        (!is_shown).then_some("other")
    }
}

/// Normalizes the vendors' spellings of a name: `filePath`, `file_path`, `file-path`.
fn letters(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|it| it.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn described(root: &Path, call: Value) -> ToolUse {
        tool_use(&serde_json::from_value(call).expect("a tool call"), root)
    }

    #[test]
    fn paths_are_split_into_inside_and_outside() {
        let home = tempfile::tempdir().expect("a folder");
        let root = home.path().join("checkout");
        std::fs::create_dir_all(root.join("src")).expect("a folder");
        std::os::unix::fs::symlink(home.path(), root.join("door")).expect("a link");
        std::os::unix::fs::symlink(home.path().join("new"), root.join("dangling")).expect("a link");
        let tool = described(
            &root,
            json!({
                "toolCallId": "1", "title": "edit\u{1b}[2J it", "kind": "edit",
                "locations": [{"path": root.join("src/a.rs")}, {"path": "/etc/passwd"}],
                "content": [{"type": "diff", "path": root.join("src/../b.rs"), "newText": "x"}],
                "rawInput": {
                    "file_path": "src/c.rs", "edits": [{"filePath": "../d.rs"}],
                    "changes": {"e.rs": {}}, "paths": ["door/f.rs", "dangling"], "text": "/not/a/path"
                }
            }),
        );
        assert_eq!(tool.paths, ["b.rs", "e.rs", "src/a.rs", "src/c.rs"]);
        assert_eq!(tool.outside, ["../d.rs", "/etc/passwd", "dangling", "door/f.rs"]);
        assert_eq!((tool.title.as_str(), tool.kind.as_str()), ("edit it", "create"));
        assert_eq!(tool.command, None);
    }

    #[test]
    fn a_tilde_path_is_outside() {
        let checkout = tempfile::tempdir().expect("a folder");
        let homes = ["~", "~/x", "~/.ssh/id", "~root/x", "file://~/x"];
        for path in homes {
            let call = json!({"toolCallId": "1", "title": "t", "kind": "edit", "rawInput": {"path": path}});
            let tool = described(checkout.path(), call);
            assert_eq!((tool.paths.len(), tool.outside), (0, vec![path.to_owned()]), "{path}");
        }
        let call = json!({
            "toolCallId": "1", "title": "t", "kind": "edit",
            "rawInput": {"paths": ["./~/x", "a/~", "a~"]}
        });
        assert_eq!(described(checkout.path(), call).paths, ["a/~", "a~", "~/x"]);
    }

    fn command(kind: &str, input: &Value) -> Option<String> {
        let call = json!({"toolCallId": "1", "title": "t", "kind": kind, "rawInput": input});
        described(Path::new("/nowhere"), call).command
    }

    /// Reading is approved without a person, so a command must not pass as reading.
    #[test]
    fn a_command_is_shown_whatever_kind_the_call_claims() {
        for kind in ["execute", "read", "search", "think", "edit", "fetch", "other"] {
            for (input, seen) in [
                (json!({"command": "rm -r x"}), "rm -r x"),
                (json!({"command": ["bash", "-lc", "ls"]}), "bash -lc ls"),
                (json!({"cmd": ["rm", 1, "x"]}), "rm 1 x"),
                (json!({"command": "", "script": "rm x"}), "rm x"),
                (json!({"argv": ["rm", "x"], "path": "a"}), "rm x"),
                (json!({"command": "bash", "args": ["-c", "rm x"]}), "bash -c rm x"),
                (json!({"cmd": "rm x", "command": "view"}), "rm x\nview"),
                (json!({"input": {"shellCommand": "rm x"}}), "rm x"),
                (json!({"calls": [[{"Command": "rm x"}]]}), "rm x"),
                (json!({"command": {"it": "rm x"}}), r#"{"it":"rm x"}"#),
                (json!(["rm", "x"]), "rm x"),
                (json!("rm x"), "rm x"),
            ] {
                assert_eq!(command(kind, &input).as_deref(), Some(seen), "{kind} {input}");
            }
            for input in [
                json!({"path": "src/a.rs", "limit": 3}),
                json!({"command": null, "cmd": [], "script": ""}),
                json!({"args": {"path": "a"}, "query": "command"}),
                json!(null),
            ] {
                assert_eq!(command(kind, &input), None, "{kind} {input}");
            }
        }
        let strange = json!({"toolCallId": "1", "title": "t", "kind": "levitate"});
        assert_eq!(described(Path::new("/nowhere"), strange).kind, "other");
    }

    /// A call without permission must do nothing else.
    #[test]
    fn a_read_is_classified_by_its_content() {
        let checkout = tempfile::tempdir().expect("a folder");
        std::fs::write(checkout.path().join("there"), "").expect("a file");
        let kind = |said: &str, rest: Value| {
            let mut call = json!({"toolCallId": "1", "title": "look", "kind": said});
            call.as_object_mut().expect("an object").extend(rest.as_object().expect("one").clone());
            let tool = described(checkout.path(), call);
            (tool.kind, tool.command)
        };
        let diff = json!([{"type": "diff", "path": "a", "newText": "x"}]);
        let terminal = json!([{"type": "terminal", "terminalId": "t"}]);
        for said in ["read", "search", "think"] {
            for key in [
                "command",
                "bash",
                "shell_command",
                "run",
                "code",
                "exec",
                "pre_script",
                "evalCode",
            ] {
                let carried = kind(said, json!({"rawInput": {"path": "a", key: "rm -r x"}}));
                assert_eq!(carried, ("execute".into(), Some("rm -r x".into())), "{said} {key}");
            }
            for (rest, kind_carried) in [
                (json!({"content": terminal}), "execute"),
                (json!({"content": diff}), "create"),
                (json!({"rawInput": {"path": "a", "new_string": "x"}}), "create"),
                (json!({"rawInput": {"path": "there", "new_string": "x"}}), "edit"),
                (json!({"rawInput": {"path": "a", "url": "https://example.com/?q=x"}}), "fetch"),
                (json!({}), "other"),
                (json!({"rawInput": {"path": "a", "description": "what", "limit": 3}}), said),
                (
                    json!({"rawInput": {"query": "x", "uri": format!("file://{}/a", checkout.path().display())}}),
                    said,
                ),
                (json!({"rawInput": {"pattern": "https://example.com"}}), said),
                (json!({"locations": [{"path": "a"}]}), said),
            ] {
                assert_eq!(kind(said, rest.clone()).0, kind_carried, "{said} {rest}");
            }
        }
        // This is code for a file, and the call is judged as an edit.
        let written = kind("edit", json!({"rawInput": {"path": "a", "code": "rm -r x"}}));
        assert_eq!(written, ("create".into(), None));
    }

    fn reading(input: &Value) -> ToolUse {
        let call = json!({"toolCallId": "1", "title": "t", "kind": "read", "rawInput": input});
        described(Path::new("/nowhere"), call)
    }

    #[test]
    fn many_inside_paths_do_not_hide_an_outside_one() {
        let mut paths: Vec<String> = (0..PATHS_MAX).map(|it| format!("a{it}")).collect();
        // Both sort after all the others.
        for hidden in ["z/../../../etc/x", "~/../../../etc/x"] {
            paths.push(hidden.into());
            let tool = reading(&json!({ "paths": paths }));
            assert_eq!(tool.outside, [hidden]);
            assert_eq!(tool.paths.len(), PATHS_MAX);
            paths.pop();
        }
        paths.push("b".into());
        let tool = reading(&json!({ "paths": paths }));
        assert_eq!((tool.paths.len(), tool.outside.len()), (PATHS_MAX + 1, 0), "all are inside");
        assert_eq!(tool.paths.last().map(String::as_str), Some("and 1 more"));
    }

    #[test]
    fn omitted_paths_count_as_outside() {
        let many: Vec<String> = (0..5_000).map(|it| format!("a{it}")).collect();
        let tool = reading(&json!({ "paths": many }));
        assert_eq!(tool.outside, [MORE_PATHS]);
        let changes: serde_json::Map<String, Value> =
            many.iter().map(|it| (it.clone(), json!({}))).collect();
        assert_eq!(reading(&json!({ "changes": changes })).outside, [MORE_PATHS]);
        let outside: Vec<String> = (0..=PATHS_MAX).map(|it| format!("/x/{it}")).collect();
        let tool = reading(&json!({ "paths": outside }));
        assert_eq!(tool.outside.len(), PATHS_MAX + 1);
        assert_eq!(tool.outside.last().map(String::as_str), Some(MORE_PATHS));
        let deep = (0..100).fold(json!({"path": "/etc/x"}), |it, _| json!([{ "in": it }]));
        assert_eq!(reading(&deep).outside, ["/etc/x"]);
    }

    #[test]
    fn long_names_are_cut_and_not_trusted() {
        let long = "日/".repeat(PATH_BYTES_MAX);
        let tool = reading(&json!({"path": long, "command": "\u{1b}".repeat(COMMAND_BYTES_MAX)}));
        assert_eq!((tool.paths.len(), tool.outside.len()), (0, 1));
        let command = tool.command.expect("a command");
        for (text, bytes_max) in [(&tool.outside[0], PATH_BYTES_MAX), (&command, COMMAND_BYTES_MAX)]
        {
            assert!(text.len() <= bytes_max && text.ends_with('…'), "{} bytes", text.len());
        }
    }

    #[test]
    fn a_request_that_names_only_an_id_finds_its_call() {
        let mut calls = ToolCalls::default();
        for index in 0..CALLS_KEPT_MAX * 2 {
            calls.begin(ToolCall::new(format!("call-{index}"), "x").kind(ToolKind::Delete));
        }
        let id = format!("call-{}", CALLS_KEPT_MAX * 2 - 1);
        let update = serde_json::from_value(json!({"toolCallId": id})).expect("an update");
        assert_eq!(calls.update(update).kind, ToolKind::Delete);
        assert_eq!(calls.0.len(), CALLS_KEPT_MAX);
    }

    #[test]
    fn the_size_of_kept_calls_is_bounded() {
        let mut calls = ToolCalls::default();
        for index in 0..CALLS_KEPT_MAX {
            let input = json!({"path": "x".repeat(CALLS_BYTES_MAX / 4)});
            calls.begin(ToolCall::new(format!("call-{index}"), "x").raw_input(input.clone()));
            let update = json!({"toolCallId": format!("call-{index}"), "rawOutput": input});
            let update = serde_json::from_value(update).expect("an update");
            assert_eq!(calls.update(update).raw_output, None);
        }
        assert_eq!(calls.0.len(), 3);
        let input = json!("x".repeat(2 * CALLS_BYTES_MAX));
        calls.begin(ToolCall::new("large", "x").raw_input(input));
        assert_eq!(calls.0.len(), 1, "the newest is kept whatever its size");
    }

    /// Nested commands are each shown in full, up to the display limit.
    #[test]
    fn nested_commands_take_bounded_memory() {
        let text = "x".repeat(200_000);
        let input = (0..100).fold(json!(text), |it, _| json!({"command": it, "argv": [1, text]}));
        let call = json!({"toolCallId": "1", "title": "t", "rawInput": input});
        let call: ToolCall = serde_json::from_value(call).expect("a tool call");
        let named: usize = named(&call).commands.iter().map(String::len).sum();
        assert!(named <= 6 * COMMAND_BYTES_MAX, "{named}");
        let command = tool_use(&call, Path::new("/nowhere")).command.expect("a command");
        assert!(command.starts_with(r#"{"command":{"#) && command.ends_with('…'), "{command}");
    }
}
