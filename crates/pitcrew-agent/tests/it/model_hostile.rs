//! Models that do what they should not.

use crate::{
    canned::{Canned, broken_off, called, said},
    model::{PROVIDERS, server, setup, stage},
    stage::assert_ended,
};
use pitcrew_model::{PermissionOptionKind, StopReason};

#[tokio::test]
async fn a_call_with_wrong_arguments_gets_an_error_and_the_model_goes_on() {
    for provider in PROVIDERS {
        let server = server();
        let stage = stage(&setup(&server, provider)).await;
        let prompt = "@tool read_file {\"file\": 3}\n@tool edit_file {\"path\": \"a\", \"old_text\": []}\n\
            @tool read_file []\n@tool run_command {\"command\": \" \"}\n\
            @tool orchestrator_complete_task {\"outcome\": \"odd\"}\n@complete in the end\n";
        assert_ended(&stage.prompt(prompt).await);
        assert_eq!(stage.calls(), [r#"orchestrator_complete_task {"summary":"in the end"}"#]);
        let heard = server.calls().last().expect("a call").1.to_string();
        for reason in ["`path` is missing", "must be a string", "is empty or has a zero character"]
        {
            assert!(heard.contains(reason), "{provider}: {reason} not in {heard}");
        }
        assert_eq!(stage.transcript().matches("ToolFailed").count(), 5, "{}", stage.transcript());
        stage.stop().await;
    }
}

#[tokio::test]
async fn no_path_leads_outside() {
    let server = server();
    let stage = stage(&setup(&server, "anthropic")).await;
    let secret = stage.cwd.parent().expect("a folder").join("secret");
    std::fs::write(&secret, "kept\n").expect("a file");
    std::os::unix::fs::symlink("..", stage.cwd.join("up")).expect("a link");
    let prompt = format!(
        "@tool read_file {{\"path\": \"../secret\"}}\n@tool read_file {{\"path\": \"{0}\"}}\n\
         @tool write_file {{\"path\": \"up/secret\", \"content\": \"x\"}}\n\
         @tool edit_file {{\"path\": \"{0}\", \"old_text\": \"kept\", \"new_text\": \"x\"}}\n\
         @tool write_file {{\"path\": \".git/hooks/post-commit\", \"content\": \"x\"}}\n\
         @tool search {{\"pattern\": \"kept\", \"path\": \"up\"}}\n\
         @tool list_files {{\"pattern\": \"../*\"}}\n@say nothing there\n",
        secret.display()
    );
    assert_ended(&stage.prompt(&prompt).await);
    assert_eq!(std::fs::read_to_string(&secret).expect("a file"), "kept\n");
    assert!(!stage.cwd.join(".git").exists());
    let heard = server.calls().last().expect("a call").1.clone();
    let results = heard["messages"]
        .as_array()
        .expect("messages")
        .iter()
        .flat_map(|it| it["content"].as_array().cloned().unwrap_or_default());
    let results: Vec<String> = results
        .filter(|it| it["type"] == "tool_result")
        .map(|it| it["content"].as_str().expect("a text").to_owned())
        .collect();
    assert_eq!(results.len(), 7);
    assert!(
        results.iter().all(|it| it.starts_with("error: ") && !it.contains("kept\n")),
        "{results:?}"
    );
    stage.stop().await;
}

#[tokio::test]
async fn a_model_that_never_ends_is_stopped() {
    let server = server();
    let stage = stage(&setup(&server, "openai")).await;
    let prompt = "@tool read_file {\"path\": \"a\"}\n".repeat(300);
    let end = stage.prompt(&prompt).await;
    assert_eq!(end.stop, StopReason::MaxTurnRequests);
    assert_eq!(server.calls_count(), 200);
    stage.stop().await;
}

#[tokio::test]
async fn what_a_tool_gives_back_is_cut() {
    let server = server();
    let mut stage = stage(&setup(&server, "gemini")).await;
    let prompt = "@bash echo first; yes 0123456789 | head -c 3000000; echo last\n@say enough";
    let (end, _) = stage.prompt_with(prompt, PermissionOptionKind::AllowOnce).await;
    assert_ended(&end);
    let heard = server.calls().last().expect("a call").1.to_string();
    assert!(heard.len() < 200_000, "{}", heard.len());
    for part in ["exit code 0\\nfirst", "last", "bytes left out]"] {
        assert!(heard.contains(part), "{part}");
    }
    stage.stop().await;
}

#[tokio::test]
async fn an_answer_without_end_is_not_taken() {
    for provider in PROVIDERS {
        let server = server();
        let mut setup = setup(&server, provider);
        setup["context_tokens"] = 10_000_000.into();
        let stage = stage(&setup).await;
        let end = stage.prompt(&format!("@say {}", "word ".repeat(130_000))).await;
        let StopReason::Error { message, .. } = &end.stop else { panic!("{provider}: {end:?}") };
        assert!(message.contains("longer than"), "{message}");
        let end = stage.prompt("@say short").await;
        assert_eq!(end.last_words, "short", "the session goes on");
        stage.stop().await;
    }
}

#[tokio::test]
async fn arguments_that_are_no_json_and_tools_that_nobody_offered_get_an_error() {
    let calls = [("read_file", "{\"path\": "), ("fly", "{}"), ("", "[1]"), ("search", "\"x\"")];
    let server = Canned::start(vec![called(&calls), said("I see")]);
    let stage = stage(&server.setup()).await;
    let end = stage.prompt("go").await;
    assert_ended(&end);
    assert_eq!(end.last_words, "I see");
    let heard = server.heard();
    let results: Vec<&str> = heard
        .iter()
        .filter(|it| it["role"] == "tool")
        .map(|it| it["content"].as_str().expect("a text"))
        .collect();
    assert_eq!(results[0], "error: the arguments must be a JSON object, and are: {\"path\": ");
    assert!(results[1].starts_with("error: there is no such tool; your tools are: read_file, "));
    assert!(results[2].contains("no such tool") && results[3].contains("must be a JSON object"));
    let sent_back = &heard.iter().find(|it| it["role"] == "assistant").expect("it")["tool_calls"];
    let arguments =
        sent_back.as_array().expect("calls").iter().map(|it| &it["function"]["arguments"]);
    assert!(arguments.into_iter().all(|it| it == "{}"), "only objects go back: {sent_back}");
    stage.stop().await;
}

#[tokio::test]
async fn a_flood_of_calls_is_cut_and_each_gets_a_result() {
    let calls = vec![("read_file", "{\"path\": \"a\"}"); 300];
    let server = Canned::start(vec![called(&calls), said("enough")]);
    let stage = stage(&server.setup()).await;
    std::fs::write(stage.cwd.join("a"), "here").expect("a file");
    assert_ended(&stage.prompt("go").await);
    let heard = server.heard();
    let results = || heard.iter().filter(|it| it["role"] == "tool");
    assert_eq!(results().count(), 300);
    assert_eq!(results().filter(|it| it["content"] == "here").count(), 50);
    stage.stop().await;
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_asked_for_again() {
    let garbage = "data: {no json\n\n".to_owned();
    let server = Canned::start(vec![broken_off("half an "), garbage, said("a whole answer")]);
    let stage = stage(&server.setup()).await;
    let end = stage.prompt("go").await;
    assert_ended(&end);
    assert!(end.last_words.ends_with("a whole answer"), "{end:?}");
    let transcript = stage.transcript();
    assert!(transcript.contains("the answer broke off; asking again"), "{transcript}");
    assert!(transcript.contains("sent what is no answer"), "{transcript}");
    stage.stop().await;
}

#[tokio::test]
async fn an_error_in_the_middle_of_an_answer_is_one() {
    let error = "data: {\"error\": {\"message\": \"no\", \"type\": \"invalid_request_error\"}}\n\n";
    let server = Canned::start(vec![error.to_owned()]);
    let stage = stage(&server.setup()).await;
    let end = stage.prompt("go").await;
    let StopReason::Error { message, .. } = &end.stop else { panic!("{end:?}") };
    assert!(message.contains("the answer broke off: no"), "{message}");
    assert_eq!(server.calls_count(), 1);
    stage.stop().await;
}
