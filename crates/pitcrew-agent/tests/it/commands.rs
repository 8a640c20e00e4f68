//! Tasks that are commands.

use crate::stage::{Stage, assert_ended, command_order, script_order, until};
use pitcrew_model::{EffectId, StopReason};
use std::path::Path;

#[tokio::test]
async fn exit_zero_completes_the_task() {
    let stage = Stage::new().await;
    assert_ended(&stage.order("Go.", &command_order("echo hello > a.txt\necho all well")).await);
    assert_eq!(stage.file("a.txt").as_deref(), Some("hello\n"));
    let call = serde_json::json!({ "outcome": "success", "summary": "ran `echo hello > a.txt …`\n\nall well" });
    assert_eq!(stage.calls(), [format!("orchestrator_complete_task {call}")]);
    assert!(stage.transcript().contains("Output: all well"), "{}", stage.transcript());
    stage.stop().await;
}

#[tokio::test]
async fn any_other_exit_fails_it_with_code_and_output() {
    let stage = Stage::new().await;
    assert_ended(&stage.order("Go.", &command_order("echo what went wrong >&2; exit 4")).await);
    let call = stage.calls().concat();
    assert!(call.contains(r#""outcome":"failed""#), "{call}");
    assert!(call.contains("failed with exit code 4") && call.contains("what went wrong"), "{call}");
    stage.stop().await;
}

#[tokio::test]
async fn a_cancelled_command_is_killed_with_its_descendants() {
    let mut stage = Stage::new().await;
    let session = stage.session.clone();
    let command = command_order("setsid sleep 600 & echo $! > pid; sleep 600");
    let turn = session.prompt_with(EffectId(2), "Go.", &command);
    let interrupt = async {
        stage.activity("run").await;
        until(|| stage.file("pid").is_some_and(|it| it.ends_with('\n'))).await;
        let pid = stage.file("pid").expect("it is there");
        session.cancel().await;
        pid
    };
    let (end, pid) = tokio::join!(turn, interrupt);
    assert_eq!(end.expect("a turn").stop, StopReason::Cancelled);
    assert!(!Path::new("/proc").join(pid.trim()).exists(), "{pid} is still there");
    assert!(stage.calls().is_empty());
    stage.stop().await;
}

/// The command continues only after its output was received.
#[tokio::test]
async fn output_is_streamed_while_the_command_runs() {
    let stage = Stage::new().await;
    let command = "printf 'gr\\303'; until [ -e half ]; do :; done
        printf '\\274n \\033[31mred'; until [ -e whole ]; do :; done; echo; echo end";
    let script = format!("run <<END\n{command}\nEND\ncomplete yes");
    for order in [command_order(command), script_order(&script)] {
        let before = stage.output_so_far().len();
        let output = || stage.output_so_far().split_off(before);
        let watch = async {
            until(|| output() == ["gr"]).await;
            std::fs::write(stage.cwd.join("half"), "").expect("a file");
            until(|| output() == ["gr", "grün \u{1b}[31mred"]).await;
            std::fs::write(stage.cwd.join("whole"), "").expect("a file");
        };
        let (end, ()) = tokio::join!(stage.order("Go.", &order), watch);
        assert_ended(&end);
        std::fs::remove_file(stage.cwd.join("half")).expect("a file");
        std::fs::remove_file(stage.cwd.join("whole")).expect("a file");
    }
    let transcript = stage.transcript();
    assert_eq!(transcript.matches("Output: grün red\nend\n").count(), 2, "{transcript}");
    assert!(!transcript.contains("Output: gr\n"), "{transcript}");
    stage.stop().await;
}
