//! Everything has a limit, and the limits are checked against each other.

/// Workers that may be starting or running at the same time. A further task waits for a slot.
pub const AGENTS_MAX_DEFAULT: u32 = 5;
/// What `max_agents` may be raised to.
pub const AGENTS_MAX: u32 = 1_000;
/// Agent processes alive at the same time, waiting ones included.
pub const AGENTS_LIVE_MAX_DEFAULT: u32 = 20;

/// Attempts before a task fails and waits for a person.
pub const ATTEMPTS_PER_TASK_DEFAULT: u32 = 3;
pub const ATTEMPTS_PER_TASK_MAX: u32 = 20;
/// A parent that hears of a failure knows best what to do about it.
pub const ATTEMPTS_PER_SUBTASK_DEFAULT: u32 = 1;
/// Starts in a row that the orchestrator's own restarts may cost a task before they count.
pub const INTERRUPTIONS_FREE_MAX: u32 = 20;
pub const BACKOFF_MS_FIRST: u64 = 100;
pub const BACKOFF_MS_MAX: u64 = 5_000;

/// A model that has failed is given more time than an agent.
pub const BACKOFF_MODEL_MS_FIRST: u64 = 2 * 1_000;
pub const BACKOFF_MODEL_MS_MAX: u64 = 60 * 1_000;
/// How long a limit of a provider is waited for where it does not say: doubled each time.
pub const QUOTA_WAIT_MS_FIRST: u64 = 5 * 60 * 1_000;
pub const QUOTA_WAIT_MS_MAX: u64 = 60 * 60 * 1_000;
/// The shortest wait where the provider says so: doubled each time, up to the first of our own.
pub const QUOTA_TOLD_MS_MIN: u64 = 1_000;
/// A worker that met nothing but the limit this often, and for this long, fails: a person has to
/// see to it.
pub const QUOTA_WAITS_MIN: u32 = 10;
pub const QUOTA_WAITED_MS_MAX: u64 = 24 * 60 * 60 * 1_000;
/// The longest that a provider is believed; the limits of a week are the longest there are.
pub const QUOTA_TOLD_MS_MAX: u64 = 8 * 24 * 60 * 60 * 1_000;

/// Two snapshots of a worker that is at work are at most this far apart.
pub const SNAPSHOT_MS_MAX: u64 = 30 * 1_000;

/// The snapshots of work that has landed or was abandoned are kept for this long.
pub const SNAPSHOTS_KEPT_MS: u64 = 14 * 24 * 60 * 60 * 1_000;

pub const TASK_TIMEOUT_MS_DEFAULT: u64 = 60 * 60 * 1_000;
pub const TASK_TIMEOUT_MS_MAX: u64 = 7 * 24 * 60 * 60 * 1_000;
pub const SETUP_TIMEOUT_MS: u64 = 10 * 60 * 1_000;
pub const CHECK_TIMEOUT_MS: u64 = 10 * 60 * 1_000;
pub const INITIALIZE_TIMEOUT_MS: u64 = 60 * 1_000;
pub const CANCEL_GRACE_MS: u64 = 10 * 1_000;
pub const STOP_GRACE_MS: u64 = 2 * 1_000;
/// How long an agent is kept while no orchestrator is there.
pub const LEASE_MS_DEFAULT: u64 = 2 * 60 * 1_000;
pub const LEASE_MS_MAX: u64 = 24 * 60 * 60 * 1_000;
/// An orchestrator that has no worker, no client and nothing due ends after this long.
pub const ORCHESTRATOR_IDLE_MS: u64 = 60 * 1_000;

/// How far below a worker of a plan sub-tasks may be: 1 is its own.
pub const SUBTASK_DEPTH_MAX: u32 = 2;
/// The same below an agent that works for no plan.
pub const SUBTASK_DEPTH_STANDALONE_MAX: u32 = 1;
/// Sub-tasks of one worker: in all, at the same time, and in a minute. More than fit at the same
/// time wait for each other.
pub const SUBTASKS_PER_WORKER_MAX: u32 = 10;
pub const SUBTASKS_PARALLEL_MAX: u32 = 5;
pub const SUBTASKS_PER_MINUTE_MAX: u32 = 20;
/// A backend that could not be used at all is not tried for a sub-task so soon again.
pub const BACKEND_BROKEN_MS: u64 = 5 * 60 * 1_000;

pub const TASKS_PER_PLAN_MAX: usize = 10_000;
pub const DEPENDENCIES_PER_TASK_MAX: usize = 1_000;
pub const PROMPT_BYTES_MAX: usize = 256 * 1_024;
pub const NAME_BYTES_MAX: usize = 200;
/// Calls of a worker's tools that are known when they come again. A call is repeated at once or
/// never.
pub const CALLS_KNOWN_MAX: usize = 32;
/// The same of all outside clients together.
pub const CLIENT_CALLS_KNOWN_MAX: usize = 256;
pub const SLUG_BYTES_MAX: usize = 40;
pub const SUMMARY_BYTES_MAX: usize = 16 * 1_024;

/// Output of a check, setup or agent that is kept in a failure and shown in the next prompt.
pub const OUTPUT_TAIL_BYTES: usize = 4 * 1_024;
/// Output of one command that is kept at all.
pub const OUTPUT_BYTES_MAX: usize = 8 * 1_024 * 1_024;
/// Changed files that are listed by name in an event; the counts are always whole.
pub const FILES_LISTED_MAX: usize = 200;
/// Refused paths that are listed by name in an event.
pub const REFUSALS_LISTED_MAX: usize = 50;

/// How often the same refused path of a worker is noted, and how many paths of it.
pub const BLOCKED_PER_PATH_MAX: u32 = 3;
pub const BLOCKED_PATHS_MAX: usize = 100;
/// Questions in an agent's own words that are heard in one turn.
pub const NEEDS_PER_TURN_MAX: usize = 8;
/// What a file may have that an agent reads through us, or the part of it that it asks for. In an
/// answer a byte may take six.
pub const FILE_READ_BYTES_MAX: usize = 512 * 1_024;

/// Questions and requests for permission of one worker.
pub const REQUESTS_PER_WORKER_MAX: u32 = 100;

/// Messages for one task that nobody has read.
pub const MESSAGES_UNREAD_MAX: usize = 1_000;
/// Messages in one prompt; the others come with the next one.
pub const MESSAGES_PER_TURN_MAX: usize = 20;
pub const MESSAGES_PER_TURN_BYTES_MAX: usize = 64 * 1_024;
/// Turns that may fail over a message before it is a dead letter.
pub const MESSAGE_TRIES_MAX: u32 = 3;
/// After this long a message is high, whatever it was: nobody waits for ever behind others.
pub const NORMAL_PATIENCE_MS: u64 = 60 * 1_000;
pub const LOW_PATIENCE_MS: u64 = 5 * 60 * 1_000;
/// A worker waits this long for another one to read its question.
pub const QUESTION_WAIT_MS_MAX: u64 = 30 * 60 * 1_000;
pub const MESSAGE_WAIT_MS_MAX: u64 = 24 * 60 * 60 * 1_000;
/// Questions to other workers that one worker may have open.
pub const QUESTIONS_OPEN_MAX: usize = 10;
/// What asking the owners of code may cost in tokens, for one worker and for a plan.
pub const QUERY_WORKER_TOKENS_DEFAULT: u64 = 2_000;
pub const QUERY_PLAN_TOKENS_DEFAULT: u64 = 20_000;
pub const QUERY_TOKENS_MAX: u32 = 1_000_000;
/// How long a question about code of others may wait for an answer.
pub const QUERY_DEADLINE_MS_DEFAULT: u64 = 60 * 1_000;
pub const QUERY_DEADLINE_MS_MAX: u64 = 10 * 60 * 1_000;
/// What is asked, and where it is needed. The rest of a longer text says nothing more.
pub const QUERY_CONTEXT_BYTES_MAX: usize = 1_000;
/// An owner is asked for a signature; what is longer is cut.
pub const QUERY_ANSWER_BYTES_MAX: usize = 2_000;
/// An answer of the index, which costs the asker its place in the prompt only.
pub const QUERY_TEXT_BYTES_MAX: usize = 8 * 1_024;
/// Questions of one worker that have no answer yet, and all that it may ask.
pub const QUERIES_OPEN_MAX: usize = 10;
pub const QUERIES_PER_WORKER_MAX: u32 = 1_000;
/// Questions that have ended and are known for a while.
pub const QUERIES_REMEMBERED_MAX: usize = 1_000;
/// Answers of owners that are kept for the next who asks.
pub const QUERY_ANSWERS_KEPT_MAX: usize = 256;
/// Names of messages that are known when they come again.
pub const MESSAGE_KEYS_KNOWN_MAX: usize = 256;
/// What a person has said to earlier attempts of a task and the next one is told.
pub const MESSAGES_RETOLD_MAX: usize = 10;
/// Grants that stand at the same time; an older one has to be revoked before the next.
pub const GRANTS_MAX: usize = 1_000;
/// How long the worker that a sub-task works for has to decide before it is asked further up.
pub const PARENT_DECIDES_MS: u64 = 60 * 1_000;
pub const PERMISSION_TIMEOUT_MS_MAX: u64 = 30 * 24 * 60 * 60 * 1_000;

/// One protocol frame of an agent. While one is read there are several copies of it.
pub const FRAME_BYTES_MAX: usize = 4 * 1_024 * 1_024;
/// What an agent may say in a second, once it has said as much as it may at once. The rest waits in
/// its pipe: whoever floods slows down itself, and nobody else.
pub const AGENT_BYTES_PER_S_MAX: u64 = 16 * 1_024 * 1_024;
pub const AGENT_BYTES_AT_ONCE_MAX: u64 = 8 * 1_024 * 1_024;
/// Lines of an agent that are no protocol before it is given up.
pub const GARBAGE_LINES_MAX: u32 = 100;
/// Errors and completions that one worker may tell in a minute: every one costs a write to the disk.
pub const NOTES_PER_MINUTE_MAX: usize = 30;
/// Messages that have ended and are still known, so that a conversation can be taken up again.
pub const MESSAGES_REMEMBERED_MAX: usize = 1_000;
/// Two notes of activity of the same worker are at least this far apart.
pub const ACTIVITY_MS_MIN: u64 = 250;
/// What an agent does is stored at most this often; in between it is only shown.
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
/// Decisions about the network that the journal keeps of one attempt, or of the checks of a plan. The
/// record beside it has all.
pub const EGRESS_PER_RECORD_MAX: u32 = 1_000;

const _: () = assert!(ATTEMPTS_PER_TASK_DEFAULT <= ATTEMPTS_PER_TASK_MAX);
const _: () = assert!(ATTEMPTS_PER_SUBTASK_DEFAULT <= ATTEMPTS_PER_TASK_MAX);
const _: () = assert!(SUBTASKS_PARALLEL_MAX <= SUBTASKS_PER_WORKER_MAX);
const _: () = assert!(QUOTA_WAIT_MS_FIRST <= QUOTA_WAIT_MS_MAX);
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
