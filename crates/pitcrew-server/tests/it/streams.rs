//! Streams: without gaps or duplicates, with heartbeats, and ending when there is no more.

use crate::{
    lab::{Lab, task},
    stream::Stream,
};
use pitcrew_api::{EventLine, EventStreamLine, LogLine, LogSource, LogStreamLine};
use pitcrew_model::{Command, PlanStatus, Seq, TaskStatus};

fn events(lines: Vec<EventStreamLine>) -> Vec<EventLine> {
    let event = |line| match line {
        EventStreamLine::Event(event) => Some(event),
        EventStreamLine::Heartbeat { .. } => None,
        EventStreamLine::Unknown => panic!("a line of ours is known"),
    };
    lines.into_iter().filter_map(event).collect()
}

fn numbers(events: &[EventLine]) -> Vec<u64> {
    events.iter().map(|it| it.seq.0).collect()
}

/// From any position, each entry once, up to the requested end.
#[tokio::test]
async fn the_journal_can_be_read_from_any_position() {
    let lab = Lab::started().await;
    let mut following = Stream::open(&lab, "/v1/events?follow=true").await;
    // More entries than one read returns.
    let task = |number| format!("[[task]]\nid = \"t{number}\"\ncommand = \"true\"\n");
    let tasks: Vec<String> = (0..600).map(task).collect();
    let text = format!("name = \"many\"\ndeploy = \"manual\"\n{}", tasks.concat());
    let plan = lab.plan(&text).await;
    lab.command(&Command::CancelPlan { plan }).await;
    let last = lab.until_plan(plan, PlanStatus::Cancelled).await.seq.0;
    let all = events(Stream::open(&lab, "/v1/events").await.rest().await);
    assert!(all.len() as u64 >= last, "{} of {last}", all.len());
    assert_eq!(numbers(&all), (1..=all.len() as u64).collect::<Vec<_>>());
    let created = &all.iter().find(|it| it.plan == Some(plan)).expect("an entry of the plan");
    assert!(created.text.as_deref().is_some_and(|it| it.contains("many")), "{created:?}");

    let part = events(Stream::open(&lab, "/v1/events?after=500").await.rest().await);
    assert_eq!(part[0].seq, Seq(501));
    // The vault may finish preparing the plan in the meantime.
    assert_eq!(part[..all.len() - 500], all[500..]);
    let none = events(Stream::open(&lab, "/v1/events?after=100000").await.rest().await);
    assert_eq!(none, []);

    let mut followed = Vec::new();
    while followed.len() < all.len() {
        followed.extend(events(vec![following.line().await]));
    }
    assert_eq!(followed, all);
}

/// A waiting reader gets heartbeats; a reader that disconnects is dropped.
#[tokio::test]
async fn a_quiet_stream_sends_heartbeats() {
    let mut lab = Lab::new();
    lab.start_with("1000").await;
    let mut stream = Stream::open(&lab, "/v1/events?follow=true").await;
    let mut beats = 0;
    while beats < 2 {
        let line: EventStreamLine = stream.line().await;
        beats += usize::from(matches!(line, EventStreamLine::Heartbeat { .. }));
    }
    assert!(!lab.has_ended(), "a reader keeps it alive");
    drop(stream);
    lab.wait_for_end().await;
}

fn logs(lines: Vec<LogStreamLine>) -> Vec<LogLine> {
    let log = |line| match line {
        LogStreamLine::Log(log) => Some(log),
        LogStreamLine::Heartbeat { .. } => None,
        LogStreamLine::Unknown => panic!("a line of ours is known"),
    };
    lines.into_iter().filter_map(log).collect()
}

/// The conversation has the same line numbers for every reader, during and after it.
#[tokio::test]
async fn a_log_can_be_followed_and_read_again_from_any_line() {
    let lab = Lab::started().await;
    let go = lab.path("go");
    let plan = lab
        .plan(&format!(
            r#"
            name = "l"
            max_attempts = 2
            [[task]]
            id = "t"
            script = """
            say first words
            unless "previous attempt" fail once
            run while [ ! -e '{}' ]; do sleep 0.02; done
            say last words
            complete done
            """
            "#,
            go.display()
        ))
        .await;
    let second = |board: &pitcrew_views::BoardView| {
        let task = task(board, 1);
        task.attempts.len() == 2 && task.status == TaskStatus::Running
    };
    lab.until("the second attempt", second).await;
    let mut stream = Stream::open(&lab, "/v1/tasks/task-1/log?follow=true").await;
    let mut seen: Vec<LogLine> = Vec::new();
    while !seen.iter().any(|it| it.attempt.0 == 2 && it.source == LogSource::Prompt) {
        seen.extend(logs(vec![stream.line().await]));
    }
    std::fs::write(&go, "").unwrap();
    seen.extend(logs(stream.rest().await));
    lab.until_plan(plan, PlanStatus::Completed).await;

    let all = logs(Stream::open(&lab, "/v1/tasks/task-1/log").await.rest().await);
    assert_eq!(
        all.iter().map(|it| it.number).collect::<Vec<_>>(),
        (1..=all.len() as u64).collect::<Vec<_>>()
    );
    assert_eq!(seen, all, "early and late readers get the same lines");
    let said =
        |text: &str| all.iter().any(|it| it.source == LogSource::Agent && it.text.contains(text));
    assert!(said("first words") && said("last words"), "{all:#?}");
    let rest = logs(Stream::open(&lab, "/v1/tasks/task-1/log?from=3").await.rest().await);
    assert_eq!(rest, all[3..]);
}
