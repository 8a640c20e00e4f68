//! The scene of every round: three plans, and a user who wants them landed.

use pitcrew_api::paths::{self, BoardQuery};
use pitcrew_model::{LandingStatus, PlanStatus, RequestId, TaskStatus};
use pitcrew_testkit::{Sandbox, eventually};
use pitcrew_views::{Ask, BoardView, InboxView, OpenRequest};
use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

/// The user polls at least this often.
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
unless "the letter a" fail the letter is missing
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
id = "fixed"
region = "fixed"
depends_on = "root"
script = '''
write fixed/a.txt <<END
wrong
END
when "previous attempt" write fixed/a.txt <<END
right
END
complete it
'''
checks = "test ! -e fixed || grep -q right fixed/a.txt"

[[task]]
id = "counts"
region = "counts"
depends_on = "root"
command = "mkdir -p counts && cat root/a.txt root/a.txt > counts/a.txt"

[[task]]
id = "join"
region = "join"
depends_on = ["asks", "permits", "fixed", "counts"]
command = "mkdir -p join && cat asks/a.txt permits/a.txt fixed/a.txt counts/a.txt > join/a.txt"
checks = "test ! -e join || test $(wc -l < join/a.txt) = 5"
"#;

/// A second plan, whose tasks need a manual deployment.
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

/// A third plan, whose workers spawn sub-tasks, wait for them or not, and send messages to each
/// other. Each attempt starts by removing what the previous one left.
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
 "script": "tool a2a_notify_orchestrator {\"kind\": \"question\", \"to\": \"parent\", \"message\": \"Which digit?\"}\npause\nunless \"> 7\" fail the digit is missing\ncomplete took 7"}
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
unless "the letter b" fail there is no letter
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

/// The user's message to the agents that ask for one.
pub const LETTER: &str = "It is the letter b.";

/// Whether some failures need the user: a program was killed under the orchestrator, and its work
/// for a whole plan is not retried automatically.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Help {
    Never,
    Retries,
}

/// What the product has acknowledged to the user.
#[derive(Default)]
pub struct Acknowledged {
    pub answered: Vec<RequestId>,
    /// The questions that were answered with a message.
    pub written: Vec<RequestId>,
    pub deployed: Vec<String>,
}

pub fn prepare(binary: &Path) -> Sandbox {
    let sandbox = Sandbox::new(binary.to_str().expect("the path of the binary is text"));
    sandbox.write(".gitignore", "*.secret\n");
    sandbox.commit("ignore secrets");
    sandbox.write("mine.secret", "private\n");
    for (name, text) in PLANS {
        fs::write(plan_path(&sandbox, name), text).expect("a file");
    }
    sandbox
}

fn plan_path(sandbox: &Sandbox, name: &str) -> String {
    sandbox.root().join(format!("{name}.toml")).display().to_string()
}

/// The output of a command. Starts an orchestrator if none runs, and costs more than `glance`.
pub fn board(sandbox: &Sandbox) -> Option<BoardView> {
    let finished = sandbox.pitcrew(&["status", "--all", "--json"]);
    serde_json::from_str(&finished.stdout).ok()
}

/// The same from a running orchestrator; `None` if there is none.
fn glance(sandbox: &Sandbox) -> Option<BoardView> {
    let seen = sandbox.look(&paths::board(BoardQuery { all: true, plan: None }));
    match seen {
        Some(text) => serde_json::from_str(&text).ok(),
        None => board(sandbox),
    }
}

/// Acts as the user until everything is landed. Commands may fail; they are repeated as far as
/// needed.
pub fn play(sandbox: &Sandbox, help: Help) -> Acknowledged {
    let (mut acknowledged, mut seen) = (Acknowledged::default(), 0);
    eventually("everything is landed", || {
        await_news(sandbox, &mut seen);
        let board = glance(sandbox)?;
        submit_what_is_missing(sandbox, &board);
        if board.workers.iter().any(|it| it.status.is_parked()) {
            answer(sandbox, &mut acknowledged);
        }
        deploy(sandbox, &board, &mut acknowledged);
        push(sandbox, &board, help);
        let landed = board.plans.iter().filter(|it| it.landing.status == LandingStatus::Cleaned);
        (landed.count() == PLANS.len()).then_some(())
    });
    acknowledged
}

/// Waits until the journal has grown, which is cheaper than reading the board.
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
            // The next plan is sent only after this one is visible, so that no plan is sent twice.
            return;
        }
    }
}

fn answer(sandbox: &Sandbox, acknowledged: &mut Acknowledged) {
    let Some(inbox) = sandbox.look(paths::INBOX) else { return };
    let inbox: InboxView = serde_json::from_str(&inbox).expect("the inbox is one");
    for request in inbox.open {
        let id = request.id.to_string();
        let finished = match request.ask {
            Ask::Question { .. } if request.task_key.as_deref() == Some("hears") => {
                write_to(sandbox, &request, acknowledged);
                continue;
            }
            Ask::Question { .. } => sandbox.pitcrew(&["answer", &id, "the letter a"]),
            Ask::ToolUse { .. } => sandbox.pitcrew(&["approve", &id]),
            Ask::PlanExecution { .. } | Ask::BranchMerge { .. } | Ask::Budget { .. } => continue,
        };
        if finished.code == Some(0) {
            acknowledged.answered.push(request.id);
        }
    }
}

/// Once for each request: the message is delivered to the task's worker.
fn write_to(sandbox: &Sandbox, request: &OpenRequest, acknowledged: &mut Acknowledged) {
    let Some(task) = request.task.filter(|_| !acknowledged.written.contains(&request.id)) else {
        return;
    };
    if sandbox.pitcrew(&["message", &task.to_string(), LETTER]).code == Some(0) {
        acknowledged.written.push(request.id);
    }
}

fn deploy(sandbox: &Sandbox, board: &BoardView, acknowledged: &mut Acknowledged) {
    for key in ["one", "two"] {
        let waits = board.tasks.iter().any(|it| it.key == key && it.status == TaskStatus::Pending);
        if waits && !acknowledged.deployed.iter().any(|it| it == key) {
            let finished = sandbox.pitcrew(&["deploy", key]);
            if finished.code == Some(0) {
                acknowledged.deployed.push(key.to_owned());
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
            PlanStatus::Cancelled => panic!("{id} was cancelled"),
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
