//! All limits. They are checked against each other at compile time.

/// Workers that may be starting or running at the same time. Further tasks wait for a slot.
pub const AGENTS_MAX_DEFAULT: u32 = 5;
/// The largest value of `max_agents`.
pub const AGENTS_MAX: u32 = 1_000;
/// Agent processes that are alive at the same time, including waiting ones.
pub const AGENTS_LIVE_MAX_DEFAULT: u32 = 20;

/// Attempts before a task fails and waits for a person.
pub const ATTEMPTS_PER_TASK_DEFAULT: u32 = 3;
pub const ATTEMPTS_PER_TASK_MAX: u32 = 20;
/// One attempt: the parent decides what to do about a failure.
pub const ATTEMPTS_PER_SUBTASK_DEFAULT: u32 = 1;
/// Consecutive interruptions by restarts of the orchestrator that do not count as attempts.
pub const INTERRUPTIONS_FREE_MAX: u32 = 20;
pub const BACKOFF_MS_FIRST: u64 = 100;
pub const BACKOFF_MS_MAX: u64 = 5_000;

/// The first back-off after a failure of a model, longer than that of an agent.
pub const BACKOFF_MODEL_MS_FIRST: u64 = 2 * 1_000;
pub const BACKOFF_MODEL_MS_MAX: u64 = 60 * 1_000;
/// The first wait for a provider limit of unknown length. Doubled each time.
pub const QUOTA_WAIT_MS_FIRST: u64 = 5 * 60 * 1_000;
pub const QUOTA_WAIT_MS_MAX: u64 = 60 * 60 * 1_000;
/// The wait for a provider that cannot be reached, which doubles.
pub const UNREACHABLE_WAIT_MS_FIRST: u64 = 15 * 1_000;
pub const UNREACHABLE_WAIT_MS_MAX: u64 = 5 * 60 * 1_000;
/// How long one task alone tries whether its provider can be reached again.
pub const PROBE_MS_MAX: u64 = 2 * 60 * 1_000;
/// The shortest wait for a provider limit of known length. Doubled each time, up to
/// `QUOTA_WAIT_MS_FIRST`.
pub const QUOTA_TOLD_MS_MIN: u64 = 1_000;
/// A worker that has waited this often and this long for a provider limit fails, and a person has
/// to act.
pub const QUOTA_WAITS_MIN: u32 = 10;
pub const QUOTA_WAITED_MS_MAX: u64 = 24 * 60 * 60 * 1_000;
/// The longest reset time that is accepted from a provider. Weekly limits are the longest known.
pub const QUOTA_TOLD_MS_MAX: u64 = 8 * 24 * 60 * 60 * 1_000;

/// The longest time between two snapshots of a running worker.
pub const SNAPSHOT_MS_MAX: u64 = 30 * 1_000;

/// How long snapshots are kept after the work has landed or was abandoned.
pub const SNAPSHOTS_KEPT_MS: u64 = 14 * 24 * 60 * 60 * 1_000;

pub const TASK_TIMEOUT_MS_DEFAULT: u64 = 60 * 60 * 1_000;
pub const TASK_TIMEOUT_MS_MAX: u64 = 7 * 24 * 60 * 60 * 1_000;
pub const SETUP_TIMEOUT_MS: u64 = 10 * 60 * 1_000;
pub const CHECK_TIMEOUT_MS: u64 = 10 * 60 * 1_000;
pub const INITIALIZE_TIMEOUT_MS: u64 = 60 * 1_000;
pub const CANCEL_GRACE_MS: u64 = 10 * 1_000;
pub const STOP_GRACE_MS: u64 = 2 * 1_000;
/// How long an agent stays alive without an orchestrator.
pub const LEASE_MS_DEFAULT: u64 = 2 * 60 * 1_000;
pub const LEASE_MS_MAX: u64 = 24 * 60 * 60 * 1_000;
/// An orchestrator without workers, clients and due work ends after this time.
pub const ORCHESTRATOR_IDLE_MS: u64 = 60 * 1_000;

/// Levels of sub-tasks below a worker of a plan.
pub const SUBTASK_DEPTH_MAX: u32 = 2;
/// Levels of sub-tasks below an outside client.
pub const SUBTASK_DEPTH_STANDALONE_MAX: u32 = 1;
/// Sub-tasks of one worker: in total, at the same time, and in a minute. Those above the second
/// limit wait.
pub const SUBTASKS_PER_WORKER_MAX: u32 = 10;
pub const SUBTASKS_PARALLEL_MAX: u32 = 5;
pub const SUBTASKS_PER_MINUTE_MAX: u32 = 20;
/// How long a broken backend is refused for sub-tasks.
pub const BACKEND_BROKEN_MS: u64 = 5 * 60 * 1_000;

pub const TASKS_PER_PLAN_MAX: usize = 10_000;
/// Plans that the attempts of one task may save, and the tasks in them. A person reads each of them.
pub const PLANS_SAVED_PER_TASK_MAX: usize = 10;
pub const TASKS_SAVED_PER_TASK_MAX: usize = 200;
pub const DEPENDENCIES_PER_TASK_MAX: usize = 1_000;
pub const PROMPT_BYTES_MAX: usize = 256 * 1_024;
pub const NAME_BYTES_MAX: usize = 200;
/// Calls of one worker that are remembered to recognise repetitions. A call is repeated at once or
/// never.
pub const CALLS_KNOWN_MAX: usize = 32;
/// The same for all outside clients together.
pub const CLIENT_CALLS_KNOWN_MAX: usize = 256;
pub const SLUG_BYTES_MAX: usize = 40;
pub const SUMMARY_BYTES_MAX: usize = 16 * 1_024;

/// The most output of a check, setup or agent in a failure and in the next prompt.
pub const OUTPUT_TAIL_BYTES: usize = 4 * 1_024;
/// The most output of one command that is stored.
pub const OUTPUT_BYTES_MAX: usize = 8 * 1_024 * 1_024;
/// The most changed files that an event lists. The counts are always complete.
pub const FILES_LISTED_MAX: usize = 200;
/// The most refused paths that an event lists.
pub const REFUSALS_LISTED_MAX: usize = 50;

/// How often the same refused path of a worker is recorded, and how many paths.
pub const BLOCKED_PER_PATH_MAX: u32 = 3;
pub const BLOCKED_PATHS_MAX: usize = 100;
/// `NEED` lines that are answered in one turn.
pub const NEEDS_PER_TURN_MAX: usize = 8;
/// The largest file, or part of a file, that an agent reads through us. JSON escapes may need six
/// bytes for one.
pub const FILE_READ_BYTES_MAX: usize = 512 * 1_024;

/// Questions and permission requests of one worker.
pub const REQUESTS_PER_WORKER_MAX: u32 = 100;

/// Unread messages of one task.
pub const MESSAGES_UNREAD_MAX: usize = 1_000;
/// Messages in one prompt. The others are in the next one.
pub const MESSAGES_PER_TURN_MAX: usize = 20;
pub const MESSAGES_PER_TURN_BYTES_MAX: usize = 64 * 1_024;
/// Failed turns after which a message is a dead letter.
pub const MESSAGE_TRIES_MAX: u32 = 3;
/// A normal message is treated as high after this time, so that it cannot starve.
pub const NORMAL_PATIENCE_MS: u64 = 60 * 1_000;
pub const LOW_PATIENCE_MS: u64 = 5 * 60 * 1_000;
/// How long a question waits for another worker to read it.
pub const QUESTION_WAIT_MS_MAX: u64 = 30 * 60 * 1_000;
pub const MESSAGE_WAIT_MS_MAX: u64 = 24 * 60 * 60 * 1_000;
/// Open questions of one worker to other workers.
pub const QUESTIONS_OPEN_MAX: usize = 10;
/// Tokens that queries to the owners of code may cost, for one worker and for a plan.
pub const QUERY_WORKER_TOKENS_DEFAULT: u64 = 2_000;
pub const QUERY_PLAN_TOKENS_DEFAULT: u64 = 20_000;
pub const QUERY_TOKENS_MAX: u32 = 1_000_000;
/// How long a query may wait for an answer.
pub const QUERY_DEADLINE_MS_DEFAULT: u64 = 60 * 1_000;
pub const QUERY_DEADLINE_MS_MAX: u64 = 10 * 60 * 1_000;
/// The longest symbol and context of a query. Longer texts are cut.
pub const QUERY_CONTEXT_BYTES_MAX: usize = 1_000;
/// The longest answer of an owner. Longer answers are cut.
pub const QUERY_ANSWER_BYTES_MAX: usize = 2_000;
/// The longest answer of the index.
pub const QUERY_TEXT_BYTES_MAX: usize = 8 * 1_024;
/// Open queries of one worker, and all of its queries.
pub const QUERIES_OPEN_MAX: usize = 10;
pub const QUERIES_PER_WORKER_MAX: u32 = 1_000;
/// Ended queries that are remembered.
pub const QUERIES_REMEMBERED_MAX: usize = 1_000;
/// Answers of owners that are kept for later queries.
pub const QUERY_ANSWERS_KEPT_MAX: usize = 256;
/// Idempotency keys of messages that are remembered.
pub const MESSAGE_KEYS_KNOWN_MAX: usize = 256;
/// Messages of a person that are repeated to the next attempt.
pub const MESSAGES_RETOLD_MAX: usize = 10;
/// Active grants. At the limit one has to be revoked first.
pub const GRANTS_MAX: usize = 1_000;
/// How long a parent may take to decide a request before it moves on.
pub const PARENT_DECIDES_MS: u64 = 60 * 1_000;
pub const PERMISSION_TIMEOUT_MS_MAX: u64 = 30 * 24 * 60 * 60 * 1_000;

/// The largest protocol frame of an agent. There are several copies while one is parsed.
pub const FRAME_BYTES_MAX: usize = 4 * 1_024 * 1_024;
/// The sustained output of an agent. Output above it stays in the pipe, so a flooding agent slows
/// down only itself.
pub const AGENT_BYTES_PER_S_MAX: u64 = 16 * 1_024 * 1_024;
pub const AGENT_BYTES_AT_ONCE_MAX: u64 = 8 * 1_024 * 1_024;
/// Lines that are not protocol frames before an agent is stopped.
pub const GARBAGE_LINES_MAX: u32 = 100;
/// Notes of kind error or completion that a worker may send in a minute. Each one is a write to the
/// disk.
pub const NOTES_PER_MINUTE_MAX: usize = 30;
/// Ended messages that are remembered, so that a conversation can be continued.
pub const MESSAGES_REMEMBERED_MAX: usize = 1_000;
/// The shortest time between two activity notes of a worker.
pub const ACTIVITY_MS_MIN: u64 = 250;
/// The shortest time between two stored activity notes. Those in between are only displayed.
pub const HEARTBEAT_MS_MIN: u64 = 5 * 1_000;

pub const BLOB_BYTES_MAX: u64 = 20 * 1_024 * 1_024;
pub const FILES_PER_ATTEMPT_MAX: usize = 20_000;
/// Paths that one commit of an attempt may reach through trees that are new. A few small trees that
/// name each other many times make any number of paths.
pub const PATHS_PER_COMMIT_MAX: u64 = 2_000_000;
/// Folders in each other. No path that a system takes has more.
pub const PATH_DEPTH_MAX: u64 = 2_000;
/// Branches, tags and stashes of one checkout that are saved when it is removed.
pub const SAVED_REFS_MAX: usize = 10_000;
/// Memory of one git that reads what an agent has made and nobody has judged.
pub const GIT_FOREIGN_MEMORY_BYTES_MAX: u64 = 2 * 1_024 * 1_024 * 1_024;
/// Memory of any other git of ours: enough for the history of a very large repository.
pub const GIT_MEMORY_BYTES_MAX: u64 = 8 * 1_024 * 1_024 * 1_024;
/// Processes of one git in a box, which an agent's settings may make it start.
pub const GIT_PROCESSES_MAX: u64 = 1_000;
/// New checkouts are refused below this much free space.
pub const FREE_BYTES_MIN: u64 = 256 * 1_024 * 1_024;

const _: () = assert!(AGENTS_MAX_DEFAULT <= AGENTS_LIVE_MAX_DEFAULT);
/// Network decisions in the journal, for one attempt or for the checks of a plan. The record file
/// has all of them.
pub const EGRESS_PER_RECORD_MAX: u32 = 1_000;

const _: () = assert!(ATTEMPTS_PER_TASK_DEFAULT <= ATTEMPTS_PER_TASK_MAX);
const _: () = assert!(ATTEMPTS_PER_SUBTASK_DEFAULT <= ATTEMPTS_PER_TASK_MAX);
const _: () = assert!(SUBTASKS_PARALLEL_MAX <= SUBTASKS_PER_WORKER_MAX);
const _: () = assert!(QUOTA_WAIT_MS_FIRST <= QUOTA_WAIT_MS_MAX);
const _: () = assert!(UNREACHABLE_WAIT_MS_FIRST <= UNREACHABLE_WAIT_MS_MAX);
const _: () = assert!(QUOTA_TOLD_MS_MIN <= QUOTA_WAIT_MS_FIRST);
const _: () = assert!(QUOTA_WAIT_MS_MAX <= QUOTA_TOLD_MS_MAX);
const _: () = assert!(OUTPUT_TAIL_BYTES < PROMPT_BYTES_MAX && PROMPT_BYTES_MAX < FRAME_BYTES_MAX);
const _: () = assert!(6 * FILE_READ_BYTES_MAX < FRAME_BYTES_MAX);
const _: () = assert!(NEEDS_PER_TURN_MAX < CALLS_KNOWN_MAX);
const _: () = assert!(ACTIVITY_MS_MIN < HEARTBEAT_MS_MIN);
const _: () = assert!(SUMMARY_BYTES_MAX <= MESSAGES_PER_TURN_BYTES_MAX);
const _: () = assert!(2 * MESSAGES_PER_TURN_BYTES_MAX <= PROMPT_BYTES_MAX);
const _: () = assert!(NORMAL_PATIENCE_MS < LOW_PATIENCE_MS);
const _: () = assert!(LOW_PATIENCE_MS < QUESTION_WAIT_MS_MAX);
const _: () = assert!(QUERY_WORKER_TOKENS_DEFAULT <= QUERY_PLAN_TOKENS_DEFAULT);
const _: () = assert!(QUERY_PLAN_TOKENS_DEFAULT <= QUERY_TOKENS_MAX as u64);
const _: () = assert!(QUERY_DEADLINE_MS_DEFAULT <= QUERY_DEADLINE_MS_MAX);
const _: () = assert!(QUERY_TEXT_BYTES_MAX < SUMMARY_BYTES_MAX);
const _: () = assert!(QUERY_ANSWER_BYTES_MAX <= QUERY_TEXT_BYTES_MAX);
const _: () = assert!(STOP_GRACE_MS < CANCEL_GRACE_MS);
const _: () = assert!(FILES_LISTED_MAX < FILES_PER_ATTEMPT_MAX);
const _: () = assert!(FILES_PER_ATTEMPT_MAX as u64 <= PATHS_PER_COMMIT_MAX);
const _: () = assert!(BLOB_BYTES_MAX * 8 <= GIT_FOREIGN_MEMORY_BYTES_MAX);
const _: () = assert!(GIT_FOREIGN_MEMORY_BYTES_MAX <= GIT_MEMORY_BYTES_MAX);
const _: () = assert!(FRAME_BYTES_MAX as u64 <= AGENT_BYTES_AT_ONCE_MAX);
