//! A person at a terminal.

use crate::support::*;

#[test]
fn nothing_runs_before_approval() {
    let sandbox = sandbox();
    let plan = sandbox.plan(TWO_COMMANDS);
    let mut terminal = sandbox.at_terminal(&["run", &plan]);
    terminal.await_text("| echo 1 > core/new.txt");
    terminal.await_text("Run this plan? [y/N]");
    terminal.type_line("");
    terminal.await_text("nothing was started");
    assert_eq!(terminal.wait(), Some(1));
    assert!(sandbox.orchestrator().is_none(), "no orchestrator was started");
}

/// S0-062, S0-063, S0-067, S0-111: after the summary the person is asked whether to retry, and the
/// task is retried.
#[test]
fn failed_tasks_are_retried_on_request() {
    let sandbox = sandbox();
    let plan = sandbox.plan(&fallible(&sandbox));
    let mut terminal = sandbox.at_terminal(&["run", &plan]);
    terminal.await_text("Run this plan? [y/N]");
    terminal.type_line("y");
    terminal.await_text("0 of 1 completed");
    terminal.await_text("Retry failed subtask(s)? [y/n]:");
    correct(&sandbox);
    terminal.type_line("y");
    terminal.await_text("1 of 1 completed");
    assert_eq!(terminal.wait(), Some(0), "{}", terminal.text());
}

#[test]
fn live_display_shows_active_tasks() {
    let sandbox = sandbox();
    let plan = sandbox.plan(&gated(&sandbox, "gated"));
    let mut terminal = sandbox.at_terminal(&["run", &plan, "--yes"]);
    terminal.await_text("0 of 1 done, 1 active");
    terminal.await_text("task-1 waits");
    open_gate(&sandbox);
    terminal.await_text("Completed");
    assert_eq!(terminal.wait(), Some(0), "{}", terminal.text());
}

/// An agent's activity is shown live, although the journal records it only now and then.
#[test]
fn activity_is_shown_without_being_stored() {
    let sandbox = sandbox();
    let gate = sandbox.root().join("gate");
    let steps = (1..=6).fold(String::new(), |all, it| format!("{all}run echo step-{it}\n"));
    let plan = sandbox.plan(&format!(
        "name = \"steps\"\n[[task]]\nid = \"steps\"\nregion = \"core\"\nscript = \"\"\"\n{steps}run until [ -e '{}' ]; do sleep 0.02; done\nrun echo 1 > core/new.txt\ncomplete done\n\"\"\"\n",
        gate.display()
    ));
    let mut terminal = sandbox.at_terminal(&["run", &plan, "--yes"]);
    terminal.await_text("until [ -e ");
    open_gate(&sandbox);
    assert_eq!(terminal.wait(), Some(0), "{}", terminal.text());
    let events = sandbox.pitcrew(&["logs", "plan-1", "--json"]).expect(0).json_lines();
    let notes = events.iter().filter(|it| it["entry"]["event"]["type"] == "activity_noted");
    assert!(notes.count() < 4, "{events:#?}");
}

#[test]
fn interrupt_at_the_terminal_pauses() {
    let sandbox = sandbox();
    let plan = sandbox.plan(&gated(&sandbox, "gated"));
    let mut terminal = sandbox.at_terminal(&["run", &plan, "--yes"]);
    terminal.await_text("1 active");
    terminal.interrupt();
    terminal.await_text("pitcrew resume plan-1");
    assert_eq!(terminal.wait(), Some(130));
    assert_eq!(plan_status(&sandbox, "plan-1"), "paused");
    let lines = terminal.lines();
    let (above, below) = lines.split_at(lines.len().saturating_sub(3));
    assert_eq!(
        below,
        [
            "pausing plan-1; press Ctrl-C again to exit immediately",
            "plan-1 is paused; continue with `pitcrew resume plan-1`",
            "",
        ]
    );
    // The live block is removed, including the characters that keys left behind it.
    let mut shown = above.iter().skip_while(|it| !it.contains("Running plan-1 gated"));
    let stray = shown.find(|it| it.contains("^C") || it.contains("done, ") || it.len() < 4);
    assert_eq!(stray, None, "{lines:#?}");
}

/// Regardless of what the orchestrator does with the first one.
#[test]
fn second_interrupt_exits_immediately() {
    let sandbox = sandbox();
    let plan = sandbox.plan(&gated(&sandbox, "gated"));
    let mut terminal = sandbox.at_terminal(&["run", &plan, "--yes"]);
    terminal.await_text("1 active");
    let (_, orchestrator) = sandbox.orchestrator().expect("an orchestrator runs");
    orchestrator.signal(rustix::process::Signal::STOP);
    // Two interrupts at the same time count as one.
    pitcrew_testkit::eventually("it exits", || {
        terminal.interrupt_unseen();
        terminal.has_ended().then_some(())
    });
    orchestrator.signal(rustix::process::Signal::CONT);
    terminal.await_text("exited immediately");
    assert_eq!(terminal.wait(), Some(130));
    open_gate(&sandbox);
    sandbox.pitcrew(&["status", "plan-1"]).expect(0);
}

#[test]
fn question_is_answered_in_place() {
    let sandbox = sandbox();
    let script =
        "ask Which port?\\nwhen \\\"8080\\\" run echo 8080 > core/port.txt\\ncomplete done\\n";
    let plan = sandbox.plan(&format!(
        "name = \"asks\"\n[[task]]\nid = \"asks\"\nregion = \"core\"\nscript = \"{script}\"\nexpected_files = [\"core/port.txt\"]\n"
    ));
    let mut terminal = sandbox.at_terminal(&["run", &plan, "--yes"]);
    terminal.await_text("Which port?");
    terminal.await_text("Your answer (leave empty to answer later):");
    terminal.type_line("Use 8080.");
    terminal.await_text("1 of 1 completed");
    assert_eq!(terminal.wait(), Some(0), "{}", terminal.text());
}

/// A plan with a task that asks, and one that waits for the gate.
fn asks_beside_another(sandbox: &pitcrew_testkit::Sandbox) -> String {
    let asks = "\n[[task]]\nid = \"asks\"\nregion = \"ui\"\nscript = \"\"\"\nask Which port?\nrun echo 1 > ui/new.txt\ncomplete done\n\"\"\"\n";
    sandbox.plan(&(gated(sandbox, "busy") + asks))
}

/// The last lines that a person sees.
fn bottom(terminal: &pitcrew_testkit::Terminal, count: usize) -> Vec<String> {
    let mut lines = terminal.lines();
    lines.split_off(lines.len().saturating_sub(count))
}

#[test]
fn the_display_goes_on_above_a_question() {
    let sandbox = sandbox();
    let plan = asks_beside_another(&sandbox);
    let mut terminal = sandbox.at_terminal(&["run", &plan, "--yes"]);
    terminal.await_text("Your answer (leave empty to answer later):");
    terminal.type_keys("Use 80x");
    pitcrew_testkit::eventually("the answer is shown", || {
        (bottom(&terminal, 1) == ["> Use 80x"]).then_some(())
    });
    let drawn_count = |it: &pitcrew_testkit::Terminal| {
        it.lines().iter().filter(|it| it.starts_with("> Use")).count()
    };
    terminal.suspend();
    pitcrew_testkit::eventually("the display is drawn afresh below the old one", || {
        (drawn_count(&terminal) == 2).then_some(())
    });
    open_gate(&sandbox);
    terminal.await_text("Completed");
    pitcrew_testkit::eventually("the question stands below the display", || {
        let lines = bottom(&terminal, 6);
        let is_busy = lines[0].starts_with("plan-1 busy: active for ");
        let question = "request-1: Your answer (leave empty to answer later):";
        (is_busy && lines[4..] == [question, "> Use 80x"]).then_some(())
    });
    terminal.type_keys("\u{7f}\u{1b}[D80.");
    terminal.type_line("");
    terminal.await_text("Answered");
    terminal.await_text("2 of 2 completed");
    assert_eq!(terminal.wait(), Some(0), "{}", terminal.text());
    let lines = terminal.lines();
    let answer = "request-1: Your answer (leave empty to answer later): Use 8080.";
    assert!(lines.iter().any(|it| it == answer), "{lines:#?}");
    let inbox = sandbox.pitcrew(&["inbox", "--all"]).expect(0);
    assert!(inbox.stdout.contains("Use 8080."), "{inbox}");
}

#[test]
fn a_question_that_another_terminal_answers_disappears() {
    let sandbox = sandbox();
    let plan = asks_beside_another(&sandbox);
    let mut terminal = sandbox.at_terminal(&["run", &plan, "--yes"]);
    terminal.await_text("Your answer (leave empty to answer later):");
    terminal.type_keys("half an ans");
    sandbox.pitcrew(&["answer", "request-1", "8080"]).expect(0);
    terminal.await_text("Answered");
    pitcrew_testkit::eventually("the question is gone", || {
        (!bottom(&terminal, 6).iter().any(|it| it.contains("half"))).then_some(())
    });
    open_gate(&sandbox);
    terminal.await_text("2 of 2 completed");
    assert_eq!(terminal.wait(), Some(0), "{}", terminal.text());
}

/// The second Ctrl-C ends the process at once: the shell gets its terminal back as it was.
#[test]
fn interrupts_at_a_question_restore_the_terminal() {
    let sandbox = sandbox();
    let plan = asks_beside_another(&sandbox);
    let mut terminal = sandbox.at_terminal(&["run", &plan, "--yes"]);
    terminal.await_text("Your answer (leave empty to answer later):");
    assert!(!terminal.echoes(), "the answer is shown by the display");
    terminal.interrupt_unseen();
    terminal.await_text("pitcrew resume plan-1");
    assert_eq!(terminal.wait(), Some(130));
    assert!(terminal.echoes());
    let mut terminal = sandbox.at_terminal(&["watch", "plan-1"]);
    sandbox.pitcrew(&["resume", "plan-1"]).expect(0);
    terminal.await_text("Your answer (leave empty to answer later):");
    let (_, orchestrator) = sandbox.orchestrator().expect("an orchestrator runs");
    orchestrator.signal(rustix::process::Signal::STOP);
    pitcrew_testkit::eventually("it exits", || {
        terminal.interrupt_unseen();
        terminal.has_ended().then_some(())
    });
    orchestrator.signal(rustix::process::Signal::CONT);
    assert_eq!(terminal.wait(), Some(130));
    assert!(terminal.echoes());
}

/// Without redrawing, the question is repeated below what was printed meanwhile.
#[test]
fn a_plain_terminal_repeats_the_question() {
    let mut sandbox = sandbox();
    sandbox.set("NO_COLOR", "1");
    let plan = asks_beside_another(&sandbox);
    let mut terminal = sandbox.at_terminal(&["run", &plan, "--yes"]);
    terminal.await_text("Your answer (leave empty to answer later):");
    open_gate(&sandbox);
    terminal.await_text("Completed");
    terminal.await_text("Your answer (leave empty to answer later):");
    terminal.type_line("8080");
    terminal.await_text("2 of 2 completed");
    assert_eq!(terminal.wait(), Some(0), "{}", terminal.text());
    assert!(!terminal.text().contains('\u{1b}'), "{}", terminal.text());
}

/// S4-110: the review shows tasks and files before it asks.
#[test]
fn landing_is_reviewed_first() {
    let sandbox = sandbox();
    let plan = sandbox.plan(TWO_COMMANDS);
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0);
    let mut terminal = sandbox.at_terminal(&["land", "plan-1"]);
    terminal.await_text("ui/new.txt");
    terminal.await_text("Land plan-1 on main? [y/N]");
    terminal.type_line("n");
    terminal.await_text("nothing was landed");
    assert_eq!(terminal.wait(), Some(1));
    assert!(!sandbox.repo().join("ui/new.txt").exists());
}

/// S4-130: the open requests and their subjects are shown to a person who watches a plan.
#[test]
fn watch_shows_open_requests() {
    let sandbox = sandbox();
    let plan = sandbox.plan(
        "name = \"asks\"\n[[task]]\nid = \"asks\"\nregion = \"core\"\nscript = \"\"\"\n\
         permit make docs\nrun echo 1 > core/new.txt\ncomplete done\n\"\"\"\n",
    );
    sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
    await_request(&sandbox);
    let mut terminal = sandbox.at_terminal(&["watch", "plan-1"]);
    terminal.await_text("1 waiting for you: pitcrew inbox");
    terminal.await_text("request-1  asks");
    terminal.await_text("make docs");
    sandbox.pitcrew(&["approve", "request-1"]).expect(0);
    terminal.await_text("1 of 1 completed");
    assert_eq!(terminal.wait(), Some(0), "{}", terminal.text());
    assert!(!terminal.lines().iter().any(|it| it.contains("waiting for you")));
}

/// A text with an error can be fixed at once; in between, typed lines go to the editor.
#[test]
fn permissions_edit_repeats_until_valid() {
    let mut sandbox = sandbox();
    let editor = sandbox.root().join("editor.sh");
    let script = "read heading\nprintf -- '---\\nversion: 1\\n---\\n## %s\\n- git_push\\n' \"$heading\" > \"$1\"\n";
    std::fs::write(&editor, script).expect("a script");
    sandbox.set("EDITOR", &format!("sh '{}'", editor.display()));
    let mut terminal = sandbox.at_terminal(&["permissions", "edit"]);
    terminal.type_line("Auto-Denny");
    terminal.await_text("did you mean `Auto-Deny`?");
    terminal.await_text("Edit it again? [y/n]");
    terminal.type_line("y");
    terminal.type_line("Auto-Deny");
    terminal.await_text("saved: ");
    assert_eq!(terminal.wait(), Some(0), "{}", terminal.text());
}
