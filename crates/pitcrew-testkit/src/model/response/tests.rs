use super::*;
use crate::model::{conversation::Tool, script::Act};
use serde_json::json;

fn after(items: Vec<Item>) -> ModelResponse {
    let schema = json!({ "properties": { "command": {} } });
    let tools = vec![Tool::new(&json!("bash"), &schema)];
    response(&Conversation { items, tools, ..Conversation::default() }, |_, failure| !failure.once)
}

fn user(text: &str) -> Item {
    Item::User(text.to_owned())
}

/// The text, then the command that it runs.
fn next(items: Vec<Item>) -> (String, String) {
    let reply = after(items).answer.expect("no failure");
    let command = reply.call.map(|it| it.input["command"].as_str().unwrap_or("").to_owned());
    (reply.text, command.unwrap_or_default())
}

const SCRIPT: &str = "@say first\n@bash one\n@say then\n@bash two\n@say bye";

#[test]
fn each_tool_result_completes_one_step() {
    let said = |results: usize| {
        let mut items = vec![user(SCRIPT)];
        items.extend(std::iter::repeat_n(Item::ToolResult, results));
        next(items)
    };
    assert_eq!(said(0), ("first".into(), "one".into()));
    assert_eq!(said(1), ("then".into(), "two".into()));
    assert_eq!(said(2), ("bye".into(), String::new()));
    assert_eq!(said(3), ("bye".into(), String::new()), "other tool calls of agents change nothing");
}

#[test]
fn read_steps_are_skipped_without_a_read_tool() {
    let script = "@bash one\n@read core/one.txt\n@bash two";
    assert_eq!(next(vec![user(script), Item::ToolResult]).1, "two");
}

#[test]
fn the_newest_script_starts_from_its_beginning() {
    let items = vec![user(SCRIPT), Item::ToolResult, user("@bash three")];
    assert_eq!(next(items).1, "three");
}

#[test]
fn a_text_of_the_agent_in_between_changes_nothing() {
    let items =
        vec![user(SCRIPT), Item::ToolResult, user("<system-reminder>be nice</system-reminder>")];
    assert_eq!(next(items).1, "two");
}

#[test]
fn a_block_runs_for_the_prompt_that_it_waits_for() {
    let script = "@bash one\n@when did not succeed\n@bash fix\n@when reminder\n@bash finish";
    assert_eq!(next(vec![user(script)]).1, "one", "the script's own text does not count");
    let retry = format!("{script}\nAttempt 1 did not succeed: it is wrong.");
    assert_eq!(next(vec![user(&retry)]).1, "fix");
    let reminded = vec![user(script), Item::ToolResult, user("This is the only reminder.")];
    assert_eq!(next(reminded.clone()).1, "finish");
    let done = [reminded, vec![Item::ToolResult]].concat();
    assert_eq!(next(done).1, "");
}

#[test]
fn a_failure_repeats_unless_it_occurs_once() {
    let failure = after(vec![user("@sleep 5s\n@fail 500\n@bash one")]);
    assert_eq!(failure.delay, Duration::from_secs(5));
    assert_eq!(failure.answer.expect_err("it fails").status, 500);
    let once = || vec![user("@bash one\n@fail 429 once\n@bash two"), Item::ToolResult];
    assert_eq!(next(once()).1, "two", "it has failed before");
    let schema = json!({ "properties": { "command": {} } });
    let tools = vec![Tool::new(&json!("bash"), &schema)];
    let first = Conversation { items: once(), tools, ..Conversation::default() };
    assert_eq!(response(&first, |_, _| true).answer.expect_err("it fails").status, 429);
}

#[test]
fn a_request_without_tools_gets_text_and_no_steps() {
    let items = vec![user("@fail 500")];
    let asked = Conversation { items, ..Conversation::default() };
    let reply = response(&asked, |_, _| true).answer.expect("no failure");
    assert_eq!((reply.text.as_str(), reply.call), ("Scripted", None));
}

#[test]
fn a_mistake_in_the_script_is_an_error() {
    let failure = after(vec![user("@say x\n@nosuch")]).answer.expect_err("a mistake");
    assert!(failure.message.contains("@nosuch"), "{}", failure.message);
    let failure = after(vec![user("@tool nosuch")]).answer.expect_err("no such tool");
    assert!(failure.message.contains("offered are: bash"), "{}", failure.message);
}

#[test]
fn tokens_are_counted_or_set() {
    let counted = after(vec![user(SCRIPT)]).answer.expect("no failure").tokens;
    assert!(counted.input > 0 && counted.output > 0, "{counted:?}");
    let set = after(vec![user("@usage 100 20 30\n@bash one")]).answer.expect("no failure").tokens;
    assert_eq!(set, Tokens { input: 100, output: 20, cached: 30 });
}

#[test]
fn the_sessions_folder_is_found_in_the_text() {
    for text in [
        "Your checkout is /a/b. It is yours alone.",
        "Primary working directory: /a/b\nMore.",
        "<environment_context>\n  <cwd>/a/b</cwd>",
        "I'm currently working in the directory: `/a/b`",
    ] {
        let said = Conversation { items: vec![user(text)], ..Conversation::default() };
        assert_eq!(root(&said).as_deref(), Some("/a/b"), "{text}");
    }
    let act = Act::Read { path: "c".into() };
    assert!(tools::call(&act, &[], None).is_err());
}
