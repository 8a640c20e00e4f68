use super::*;
use serde_json::json;

fn steps(prompt: &str) -> Vec<Step> {
    let script = parse(prompt).expect("there are steps").expect("it can be read");
    script.blocks.into_iter().flat_map(|it| it.steps).collect()
}

fn reason(prompt: &str) -> String {
    parse(prompt).expect("there are steps").expect_err("it cannot be read")
}

#[test]
fn parses_every_step() {
    let prompt = "\
Please do this.
@think hm
@say I begin.
@sleep 200ms
@usage 10 20 5
@read a.txt
@write b/c.txt one line
@write d.txt <<END
two
lines
END
@edit e.txt old words => new words
@edit e.txt <<OLD <<NEW
a
OLD
b
NEW
@bash echo 'x' > y
@escalate ls
@tool look {\"at\": 1}
@tool rest
@complete all of it
";
    let act = |it| Step::Act(it);
    let write =
        |path: &str, text: &str| Act::Write { path: path.to_owned(), text: text.to_owned() };
    let edit = |old: &str, new: &str| Act::Edit {
        path: "e.txt".into(),
        old: old.to_owned(),
        new: new.to_owned(),
    };
    assert_eq!(
        steps(prompt),
        [
            Step::Aside(Aside::Think("hm".into())),
            Step::Aside(Aside::Say("I begin.".into())),
            Step::Aside(Aside::Sleep(Duration::from_millis(200))),
            Step::Aside(Aside::Usage(Tokens { input: 10, output: 20, cached: 5 })),
            act(Act::Read { path: "a.txt".into() }),
            act(write("b/c.txt", "one line\n")),
            act(write("d.txt", "two\nlines\n")),
            act(edit("old words", "new words")),
            act(edit("a", "b")),
            act(Act::Bash { command: "echo 'x' > y".into() }),
            act(Act::Escalate { command: "ls".into() }),
            act(Act::Tool { name: "look".into(), input: json!({"at": 1}) }),
            act(Act::Tool { name: "rest".into(), input: json!({}) }),
            act(Act::Complete { summary: "all of it".into() }),
        ]
    );
}

#[test]
fn parses_when_failures_end() {
    let failure = |status, reset_s, once, message: &str| {
        Step::Fail(Failure { status, reset_s, once, message: message.to_owned() })
    };
    assert_eq!(
        steps("@fail 500\n@fail 429 reset=2m all gone\n@fail 503 once\n@fail 400 once upon a time"),
        [
            failure(500, None, false, ""),
            failure(429, Some(120), false, "all gone"),
            failure(503, None, true, ""),
            failure(400, None, true, "upon a time"),
        ]
    );
}

#[test]
fn blocks_wait_for_a_text_and_the_rest_is_prose() {
    let script = parse("Hello.\n@say a\n@when \"did not\"\n@say b\n@end\n@say c\nBye.");
    let script = script.expect("there are steps").expect("it can be read");
    let parsed: Vec<_> =
        script.blocks.iter().map(|it| (it.when.as_deref(), it.steps.len())).collect();
    assert_eq!(parsed, [(None, 1), (Some("did not"), 1), (None, 1)]);
    assert_eq!(script.prose, "Hello.\nBye.\n");
}

#[test]
fn a_prompt_without_steps_has_no_script() {
    for prompt in ["", "Hello.", "write to @anna", "@anna will know", "@ say x", " @say x"] {
        assert_eq!(parse(prompt), None, "{prompt}");
    }
}

#[test]
fn a_mistake_is_reported_with_its_line() {
    for (prompt, said) in [
        ("@say a\n@wriet b c", "there is no step `@wriet`, in the step `@wriet b c`"),
        ("@write a <<END\nx", "no line is `END`"),
        ("@write", "a word is missing"),
        ("@tool x {", "no JSON"),
        ("@sleep soon", "is not a duration"),
        ("@fail 200", "400 to 599"),
        ("@usage 1", "INPUT OUTPUT"),
        ("@edit a b", "OLD => NEW"),
        ("@when", "needs a text"),
    ] {
        assert!(reason(prompt).contains(said), "{prompt}: {}", reason(prompt));
    }
}
