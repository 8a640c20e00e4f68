//! Retries of sub-tasks by their parent.

use crate::script::check;
use expect_test::expect;

/// A retry counts as a new sub-task.
#[test]
fn a_retry_counts_as_a_new_subtask() {
    check(
        "
            ~ slots 1
            ~ plan demo | a
            ~ prepared plan-1
            ~ start task-1
            ~ spawn attempt-1 | p | q | r | s | t
            ~ cancel subtask-2
            ~ self-retry subtask-2
            ~ cancel subtask-2
            ~ self-retry subtask-2
            ~ cancel subtask-2
            spawn attempt-1 | u | v | w | x
            ~ retry subtask-2
            ~ cancel subtask-2
            ~ spawn attempt-1 | u | v | w
            self-retry subtask-2
            retry subtask-2
        ",
        &expect![[r#"
            > spawn attempt-1 | u | v | w | x
              rejected: worker-1 has created 7 sub-tasks and requests 4 more, and the limit for a worker is 10; do the rest yourself
            > self-retry subtask-2
              rejected: worker-1 has created 10 sub-tasks and requests 1 more, and the limit for a worker is 10; do the rest yourself
            > retry subtask-2
              task-2 is granted one more attempt
              task-2 cancelled -> pending (a person asked for a retry)
              task-2 pending -> queued
        "#]],
    );
}

/// A provider limit applies to all workers of a backend: only a person can release it early.
#[test]
fn a_worker_releases_no_backend() {
    check(
        "
            ~ plan demo | a agent=codex
            ~ prepared plan-1
            ~ start task-1
            ~ spawn attempt-1 | look
            ~ start subtask-2
            ~ turn worker-2 quota 900000
            self-retry subtask-2
            client retry subtask-2
            retry subtask-2
        ",
        &expect![[r#"
            > self-retry subtask-2
              rejected: claude has reached a limit of its provider; only a person can retry it before the limit ends
            > client retry subtask-2
              rejected: claude has reached a limit of its provider; only a person can retry it before the limit ends
            > retry subtask-2
              claude is released
              worker-2 waiting_quota -> running (a slot is free)
              => prompt worker-2 (the limit is over)
        "#]],
    );
}
