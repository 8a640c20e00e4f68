use super::*;
use crate::model::{conversation::Tool, script::Act};
use serde_json::json;

fn after(items: Vec<Item>) -> Outcome {
    let schema = json!({ "properties": { "command": {} } });
    let tools = vec![Tool::new(&json!("bash"), &schema)];
    outcome(&Conversation { items, tools, ..Conversation::default() }, |_, failure| !failure.once)
}

fn user(text: &str) -> Item {
    Item::User(text.to_owned())
}

/// What it says, then the command that it runs.
fn next(items: Vec<Item>) -> (String, String) {
    let reply = after(items).answer.expect("no failure");
    let command = reply.call.map(|it| it.input["command"].as_str().unwrap_or("").to_owned());
    (reply.text, command.unwrap_or_default())
}

const SCRIPT: &str = "@say first\n@bash one\n@say then\n@bash two\n@say bye";

#[test]
fn one_step_is_done_for_each_result() {
    let said = |results: usize| {
        let mut items = vec![user(SCRIPT)];
        items.extend(std::iter::repeat_n(Item::ToolResult, results));
        next(items)
    };
    assert_eq!(said(0), ("first".into(), "one".into()));
    assert_eq!(said(1), ("then".into(), "two".into()));
    assert_eq!(said(2), ("bye".into(), String::new()));
    assert_eq!(said(3), ("bye".into(), String::new()), "what agents do besides changes nothing");
}

#[test]
fn a_file_is_not_read_where_no_tool_reads() {
    let script = "@bash one\n@read core/one.txt\n@bash two";
    assert_eq!(next(vec![user(script), Item::ToolResult]).1, "two");
}

#[test]
fn the_newest_script_counts_from_its_beginning() {
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
fn a_block_is_for_the_prompt_that_it_waits_for() {
    let script = "@bash one\n@when did not succeed\n@bash mend\n@when reminder\n@bash finish";
    assert_eq!(next(vec![user(script)]).1, "one", "its own words do not count");
    let retry = format!("{script}\nAttempt 1 did not succeed: it is wrong.");
    assert_eq!(next(vec![user(&retry)]).1, "mend");
    let reminded = vec![user(script), Item::ToolResult, user("This is the only reminder.")];
    assert_eq!(next(reminded.clone()).1, "finish");
    let done = [reminded, vec![Item::ToolResult]].concat();
    assert_eq!(next(done).1, "");
}

#[test]
fn a_failure_comes_again_unless_it_comes_once() {
    let failure = after(vec![user("@sleep 5s\n@fail 500\n@bash one")]);
    assert_eq!(failure.delay, Duration::from_secs(5));
    assert_eq!(failure.answer.expect_err("it fails").status, 500);
    let once = || vec![user("@bash one\n@fail 429 once\n@bash two"), Item::ToolResult];
    assert_eq!(next(once()).1, "two", "it has failed before");
    let schema = json!({ "properties": { "command": {} } });
    let tools = vec![Tool::new(&json!("bash"), &schema)];
    let first = Conversation { items: once(), tools, ..Conversation::default() };
    assert_eq!(outcome(&first, |_, _| true).answer.expect_err("it fails").status, 429);
}

#[test]
fn a_request_without_tools_gets_words_and_no_steps() {
    let items = vec![user("@fail 500")];
    let asked = Conversation { items, ..Conversation::default() };
    let reply = outcome(&asked, |_, _| true).answer.expect("no failure");
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
fn tokens_are_counted_or_told() {
    let counted = after(vec![user(SCRIPT)]).answer.expect("no failure").tokens;
    assert!(counted.input > 0 && counted.output > 0, "{counted:?}");
    let told = after(vec![user("@usage 100 20 30\n@bash one")]).answer.expect("no failure").tokens;
    assert_eq!(told, Tokens { input: 100, output: 20, cached: 30 });
}

#[test]
fn the_folder_of_the_session_is_found_in_what_is_said() {
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
