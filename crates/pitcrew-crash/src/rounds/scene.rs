//! What happens in every round: three plans, and a person who wants them landed.

use pitcrew_api::paths::{self, BoardQuery};
use pitcrew_model::{LandingStatus, PlanStatus, RequestId, TaskStatus};
use pitcrew_testkit::{Sandbox, eventually};
use pitcrew_views::{Ask, BoardView, InboxView, OpenRequest};
use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

/// A person looks again after this long, also when nothing seems to happen.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// A diamond: scripts and a command, a question, a permission, and a check that fails at first.
const DIAMOND: &str = r#"
name = "diamond"
max_attempts = 15

[[task]]
id = "root"
region = "root"
script = '''
write root/a.txt <<END
root
END
complete wrote it
'''
checks = "test ! -e root || test -e root/a.txt"

[[task]]
id = "asks"
region = "asks"
depends_on = "root"
script = '''
ask Which letter?
unless "the letter a" fail nobody told the letter
write asks/a.txt <<END
a
END
complete it
'''

[[task]]
id = "permits"
region = "permits"
depends_on = "root"
script = '''
permit run the thing
write permits/a.txt <<END
p
END
complete it
'''

[[task]]
id = "mended"
region = "mended"
depends_on = "root"
script = '''
write mended/a.txt <<END
wrong
END
when "previous attempt" write mended/a.txt <<END
right
END
complete it
'''
checks = "test ! -e mended || grep -q right mended/a.txt"

[[task]]
id = "counts"
region = "counts"
depends_on = "root"
command = "mkdir -p counts && cat root/a.txt root/a.txt > counts/a.txt"

[[task]]
id = "join"
region = "join"
depends_on = ["asks", "permits", "mended", "counts"]
command = "mkdir -p join && cat asks/a.txt permits/a.txt mended/a.txt counts/a.txt > join/a.txt"
checks = "test ! -e join || test $(wc -l < join/a.txt) = 5"
"#;

/// Beside it, one whose tasks wait for a person.
const MANUAL: &str = r#"
name = "manual"
deploy = "manual"
max_attempts = 15

[[task]]
id = "one"
region = "one"
command = "mkdir -p one && echo 1 > one/a.txt"

[[task]]
id = "two"
region = "two"
depends_on = "one"
command = "mkdir -p two && cat one/a.txt > two/a.txt"
"#;

/// And one whose workers hand out parts of their work, wait for them or go on, and write to each other.
/// A next attempt finds what the last one left, so each begins by clearing it away.
const FAMILY: &str = r#"
name = "family"
max_attempts = 15

[[task]]
id = "waits"
region = "waits"
script = '''
run rm -rf waits && mkdir waits && touch waits/shared.txt
tool a2a_spawn_parallel_subtasks <<END
{"blocking": true, "subtasks": [
  {"agent": "builtin", "prompt": "look", "workspace": "read_only", "script": "complete looked"},
  {"agent": "builtin", "prompt": "make", "workspace": "isolated", "target_files": ["waits/made.txt"],
   "script": "write waits/made.txt <<E\nmade\nE\ncomplete made it"},
  {"agent": "builtin", "prompt": "share", "workspace": "shared", "target_files": ["waits/shared.txt"],
   "script": "write waits/shared.txt <<E\nshared\nE\ncomplete shared it"}
]}
END
keep made /results/1/subtask
expect looked
expect made it
expect shared it
tool a2a_pull_subtask_changes {"id": "${made}"}
expect waits/made.txt
tool a2a_notify_orchestrator {"kind": "completion", "message": "all parts are there"}
complete put together
'''
checks = "test ! -e waits || cat waits/made.txt waits/shared.txt"

[[task]]
id = "goes-on"
region = "goes-on"
script = '''
tool a2a_spawn_subtask <<END
{"agent": "builtin", "prompt": "ask", "workspace": "read_only", "blocking": false,
 "script": "tool a2a_notify_orchestrator {\"kind\": \"question\", \"to\": \"parent\", \"message\": \"Which digit?\"}\npause\nunless \"> 7\" fail nobody told the digit\ncomplete took 7"}
END
write goes-on/a.txt <<END
meanwhile
END
tool a2a_await_subtasks {}
expect Which digit?
keep message /questions/0/message
tool a2a_notify_orchestrator {"kind": "answer", "reply_to": "${message}", "message": "7"}
tool a2a_await_subtasks {}
expect took 7
append goes-on/a.txt <<END
7
END
complete went on
'''

[[task]]
id = "hears"
region = "hears"
script = '''
ask Write to me.
unless "the letter b" fail nobody wrote
write hears/a.txt <<END
b
END
complete heard it
'''

[[task]]
id = "together"
region = "together"
depends_on = ["waits", "goes-on", "hears"]
command = "mkdir -p together && cat waits/made.txt waits/shared.txt goes-on/a.txt hears/a.txt > together/a.txt"
checks = "test ! -e together || test $(wc -l < together/a.txt) = 5"
"#;

pub const PLANS: [(&str, &str); 3] = [("diamond", DIAMOND), ("manual", MANUAL), ("family", FAMILY)];

/// What the person writes to whoever wants to be written to.
pub const LETTER: &str = "It is the letter b.";

/// Whether work may fail in a way that only a person mends: a program was killed under the
/// orchestrator, and what it did for a whole plan is not tried again by itself.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Help {
    Never,
    Retries,
}

/// What the product has acknowledged to the person.
#[derive(Default)]
pub struct Told {
    pub answered: Vec<RequestId>,
    /// The questions that were answered with a message.
    pub written: Vec<RequestId>,
    pub deployed: Vec<String>,
}

pub fn prepare(binary: &Path) -> Sandbox {
    let sandbox = Sandbox::new(binary.to_str().expect("the path of the binary is text"));
    sandbox.write(".gitignore", "*.secret\n");
    sandbox.commit("ignore secrets");
    sandbox.write("mine.secret", "nobody else's business\n");
    for (name, text) in PLANS {
        fs::write(plan_path(&sandbox, name), text).expect("a file");
    }
    sandbox
}

fn plan_path(sandbox: &Sandbox, name: &str) -> String {
    sandbox.root().join(format!("{name}.toml")).display().to_string()
}

/// What a command shows. It starts an orchestrator where none runs, and costs more than a look.
pub fn board(sandbox: &Sandbox) -> Option<BoardView> {
    let finished = sandbox.pitcrew(&["status", "--all", "--json"]);
    serde_json::from_str(&finished.stdout).ok()
}

/// The same from whoever answers already; somebody who does has to be started otherwise.
fn glance(sandbox: &Sandbox) -> Option<BoardView> {
    let seen = sandbox.look(&paths::board(BoardQuery { all: true, plan: None }));
    match seen {
        Some(text) => serde_json::from_str(&text).ok(),
        None => board(sandbox),
    }
}

/// Plays the person until everything is landed. Commands may fail; what was meant is then tried
/// again, as far as it did not happen.
pub fn play(sandbox: &Sandbox, help: Help) -> Told {
    let (mut told, mut seen) = (Told::default(), 0);
    eventually("everything is landed", || {
        await_news(sandbox, &mut seen);
        let board = glance(sandbox)?;
        submit_what_is_missing(sandbox, &board);
        if board.workers.iter().any(|it| it.status.is_parked()) {
            answer(sandbox, &mut told);
        }
        deploy(sandbox, &board, &mut told);
        push(sandbox, &board, help);
        let landed = board.plans.iter().filter(|it| it.landing.status == LandingStatus::Cleaned);
        (landed.count() == PLANS.len()).then_some(())
    });
    told
}

/// Waits until the journal has grown: to look at a file costs less than to look at the board.
fn await_news(sandbox: &Sandbox, seen: &mut u64) {
    let until = Instant::now() + LOOK_EVERY;
    eventually("time passes", || {
        let log = sandbox.states().pop().map(|it| it.join("journal.db-wal"));
        let length = log.and_then(|it| fs::metadata(it).ok()).map_or(0, |it| it.len());
        let is_news = length != *seen || Instant::now() >= until;
        *seen = length;
        is_news.then_some(())
    });
}

fn submit_what_is_missing(sandbox: &Sandbox, board: &BoardView) {
    for (name, _) in PLANS {
        if !board.plans.iter().any(|it| it.name == name) {
            sandbox.pitcrew(&["run", &plan_path(sandbox, name), "--yes", "--detach"]);
            // The next one only when this one is seen: a plan that went in is not sent again.
            return;
        }
    }
}

fn answer(sandbox: &Sandbox, told: &mut Told) {
    let Some(inbox) = sandbox.look(paths::INBOX) else { return };
    let inbox: InboxView = serde_json::from_str(&inbox).expect("the inbox is one");
    for request in inbox.open {
        let id = request.id.to_string();
        let finished = match request.ask {
            Ask::Question { .. } if request.task_key.as_deref() == Some("hears") => {
                write_to(sandbox, &request, told);
                continue;
            }
            Ask::Question { .. } => sandbox.pitcrew(&["answer", &id, "the letter a"]),
            Ask::ToolUse { .. } => sandbox.pitcrew(&["approve", &id]),
            Ask::PlanExecution { .. } | Ask::BranchMerge { .. } | Ask::Budget { .. } => continue,
        };
        if finished.code == Some(0) {
            told.answered.push(request.id);
        }
    }
}

/// Once for each that asks: the message waits for whoever works on the task.
fn write_to(sandbox: &Sandbox, request: &OpenRequest, told: &mut Told) {
    let Some(task) = request.task.filter(|_| !told.written.contains(&request.id)) else { return };
    if sandbox.pitcrew(&["message", &task.to_string(), LETTER]).code == Some(0) {
        told.written.push(request.id);
    }
}

fn deploy(sandbox: &Sandbox, board: &BoardView, told: &mut Told) {
    for key in ["one", "two"] {
        let waits = board.tasks.iter().any(|it| it.key == key && it.status == TaskStatus::Pending);
        if waits && !told.deployed.iter().any(|it| it == key) {
            let finished = sandbox.pitcrew(&["deploy", key]);
            if finished.code == Some(0) {
                told.deployed.push(key.to_owned());
            }
        }
    }
}

fn push(sandbox: &Sandbox, board: &BoardView, help: Help) {
    for plan in &board.plans {
        let id = plan.id.to_string();
        let may_land = matches!(plan.landing.status, LandingStatus::None | LandingStatus::Review);
        match plan.status {
            PlanStatus::Completed if may_land => {
                sandbox.pitcrew(&["land", &id, "--yes"]);
            }
            PlanStatus::Failed | PlanStatus::Partial => {
                let reason = &plan.reason;
                assert!(help == Help::Retries, "{id} is {}: {reason}: {board:#?}", plan.status);
                sandbox.pitcrew(&["retry", &id]);
            }
            PlanStatus::Cancelled => panic!("nobody cancelled {id}"),
            PlanStatus::Completed
            | PlanStatus::Draft
            | PlanStatus::Clarifying
            | PlanStatus::Decomposing
            | PlanStatus::AwaitingApproval
            | PlanStatus::Active
            | PlanStatus::Paused => {}
        }
    }
}
