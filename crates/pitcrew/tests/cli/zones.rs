//! Code outside a zone: refused, answered from the index instead, and never integrated; with the
//! real binary.

use crate::support::*;
use pitcrew_testkit::{Sandbox, model::ModelServer};

const AUTH: &str = "/// Checks tokens.\npub struct AuthValidator {\n    pub key: String,\n}\n\nimpl AuthValidator {\n    pub fn check(&self, token: &str) -> bool {\n        token == self.key\n    }\n}\n";

fn with_auth(sandbox: Sandbox) -> Sandbox {
    sandbox.write("core/auth.rs", AUTH);
    sandbox.write("ui/form.rs", "pub fn form() {}\n");
    sandbox.commit("two parts");
    sandbox
}

/// S0-044, S0-045, S0-047, S0-098: reading a foreign file over the protocol is refused with its
/// outline and recorded; writing it is refused, and nothing of it is integrated.
#[test]
fn foreign_file_is_refused_with_its_outline() {
    let sandbox = with_auth(sandbox());
    let plan = sandbox.plan(
        r#"
name = "form"
denied = "ui/keys"

[[task]]
id = "form"
region = "ui"
max_attempts = 1
script = """
refused fs/read_text_file {"path": "core/auth.rs"}
expect -32001
expect a2a_query
expect AuthValidator
expect fn check(&self, token: &str) -> bool
refused fs/read_text_file {"path": "core/auth.rs"}
refused fs/read_text_file {"path": "core/auth.rs"}
refused fs/read_text_file {"path": "core/auth.rs"}
refused fs/write_text_file {"path": "core/auth.rs", "content": "mine"}
expect are discarded
refused fs/write_text_file {"path": "ui/keys/a", "content": "mine"}
expect denied
refused fs/write_text_file {"path": "../escape", "content": "mine"}
tool fs/write_text_file {"path": "ui/new/form.rs", "content": "pub fn new() {}"}
tool fs/read_text_file {"path": "ui/new/form.rs"}
expect pub fn new() {}
complete made the form
"""
"#,
    );
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0).says("1 of 1 completed");
    let status = sandbox.pitcrew(&["status"]).expect(0);
    let status = status.says("task-1 form: blocked 3 reads outside its zone");
    let status = status.says("2 changes outside its region (ui) were refused: core/auth.rs, /");
    status.says("1 change denied to all tasks was refused: ui/keys/a");
    let logs = sandbox.pitcrew(&["logs", "task-1"]).expect(0);
    logs.says("blocked: read core/auth.rs").says("blocked: write ui/keys/a");
    let audit = sandbox.pitcrew(&["audit", "--kind", "access_blocked"]).expect(0);
    assert_eq!(audit.stdout.lines().count(), 6, "{audit}");
    sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(0);
    assert_eq!(sandbox.read("ui/new/form.rs"), "pub fn new() {}");
    assert_eq!(sandbox.read("core/auth.rs"), AUTH);
    assert!(!sandbox.root().join(".worktrees/repo/escape").exists());
}

/// The built-in agent with a model reads and writes through the client, so its zone applies
/// immediately.
#[test]
fn zone_applies_to_the_built_in_agent_with_a_model() {
    let server = ModelServer::start();
    let sandbox = with_auth(with_model(&server));
    let plan = sandbox.plan(
        r#"
name = "form"

[[task]]
id = "form"
agent = "builtin"
region = "ui"
max_attempts = 1
prompt = """
Use the validator.
@read core/auth.rs
@write core/auth.rs mine
@write ui/form.rs pub fn form() { check() }
@complete used it
"""
"#,
    );
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0).says("1 of 1 completed");
    let logs = sandbox.pitcrew(&["logs", "task-1"]).expect(0);
    logs.says("outside your region (ui)").says("AuthValidator");
    sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(0);
    assert_eq!(sandbox.read("core/auth.rs"), AUTH);
}

/// S0-042, S0-043, S0-046, S0-118: a `NEED` line in a message is parsed, resolved and answered in
/// the next prompt.
#[test]
fn need_line_is_answered_in_the_next_prompt() {
    let sandbox = with_auth(sandbox());
    let plan = sandbox.plan(
        r#"
name = "form"

[[task]]
id = "form"
region = "ui"
max_attempts = 1
script = """
say NEED: AuthValidator from core/auth.rs
pause
unless "struct AuthValidator (core/auth.rs:" fail the prompt does not have it
write ui/form.rs <<END
pub fn form() { check() }
END
complete used it
"""
"#,
    );
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0).says("1 of 1 completed");
    let audit = sandbox.pitcrew(&["audit", "--kind", "query"]).expect(0);
    audit.says("AuthValidator");
}

/// S4-154, S4-160: a sub-task in its parent's checkout has a lease on named files. During the lease
/// no other worker can get them, the sub-task cannot write other files through the client, and it
/// can read its parent's files.
#[test]
fn shared_sub_task_writes_only_its_lease() {
    let sandbox = with_auth(sandbox());
    let plan = sandbox.plan(
        r#"
name = "leases"

[[task]]
id = "parent"
region = "ui"
max_attempts = 1
script = '''
refused a2a_spawn_parallel_subtasks <<END
{"subtasks": [
  {"agent": "builtin", "prompt": "one", "workspace": "shared", "target_files": ["ui/a"], "script": "complete one"},
  {"agent": "builtin", "prompt": "two", "workspace": "shared", "target_files": ["ui/a/b"], "script": "complete two"}]}
END
refused a2a_spawn_subtask {"agent": "builtin", "prompt": "far", "workspace": "shared", "target_files": ["core/auth.rs"], "script": "complete far"}
refused a2a_spawn_subtask {"agent": "builtin", "prompt": "new", "workspace": "shared", "target_files": ["ui/a.rs"], "script": "complete new"}
expect create an empty file or folder first
run touch ui/a.rs
tool a2a_spawn_subtask <<END
{"agent": "builtin", "prompt": "near", "workspace": "shared", "target_files": ["ui/a.rs"], "blocking": true,
 "script": "tool fs/read_text_file {\"path\": \"ui/form.rs\"}\nrefused fs/write_text_file {\"path\": \"ui/form.rs\", \"content\": \"x\"}\nexpect outside your region\nrefused fs/read_text_file {\"path\": \"core/auth.rs\"}\ntool fs/write_text_file {\"path\": \"ui/a.rs\", \"content\": \"a\"}\ncomplete near"}
END
expect "status": "success"
complete all
'''
"#,
    );
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0).says("1 of 1 completed");
    sandbox.pitcrew(&["land", "leases", "--yes"]).expect(0);
    assert_eq!(sandbox.read("ui/a.rs"), "a");
    assert_eq!(sandbox.read("ui/form.rs"), "pub fn form() {}\n");
}

/// S4-154, S4-160: its commands cannot write other files either, with and without a box.
#[test]
fn commands_of_a_shared_sub_task_write_only_its_lease() {
    for tier in ["T3", "T2"] {
        let mut sandbox = with_auth(sandbox());
        sandbox.set("PITCREW_SANDBOX", tier);
        sandbox.write(".gitignore", "/target\n");
        sandbox.write("ui/list.rs", "pub fn list() {}\n");
        sandbox.commit("a list");
        let plan = sandbox.plan(
            r#"
name = "leases"

[[task]]
id = "parent"
region = "ui"
max_attempts = 1
script = """
refused a2a_spawn_subtask {"agent": "builtin", "prompt": "all", "workspace": "shared", "target_files": ["."], "script": "complete all"}
run mkdir -p target
tool a2a_spawn_subtask <<END
{"agent": "builtin", "prompt": "near", "workspace": "shared", "target_files": ["ui/form.rs"], "blocking": true,
 "script": "run ! touch ui/new && ! rm ui/list.rs && ! git add ui && ! rm -r .git && ! mv ui away\\nrun ! { echo x > ui/list.rs; } && ! { echo x > core/auth.rs; }\\nrun echo '// near' >> ui/form.rs && mkdir -p target/debug && rm $(mktemp) && git status --short\\ncomplete near"}
END
expect "status": "success"
run echo '// parent' >> ui/list.rs
complete all
"""
"#,
        );
        sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0).says("1 of 1 completed");
        sandbox.pitcrew(&["land", "leases", "--yes"]).expect(0);
        assert_eq!(sandbox.read("ui/form.rs"), "pub fn form() {}\n// near\n", "{tier}");
        assert_eq!(sandbox.read("ui/list.rs"), "pub fn list() {}\n// parent\n", "{tier}");
    }
}

/// The import gate refuses changes that nothing else prevented, and the next prompt lists the paths
/// and what to do.
#[test]
fn next_attempt_gets_what_the_gate_refused() {
    let mut sandbox = with_auth(sandbox());
    sandbox.set("PITCREW_SANDBOX", "T1");
    let plan = sandbox.plan(
        r#"
name = "gate"
denied = ["ui/keys"]

[[task]]
id = "form"
region = "ui"
max_attempts = 2
script = """
unless "did not succeed" run mkdir -p ui/keys && echo x > core/auth.rs && echo y > ui/keys/a
unless "did not succeed" complete first
unless "core/auth.rs: outside the region" fail the path is missing
unless "ui/keys/a: in a path that no task may change" fail the rule is missing
unless "Do the task without changing these paths" fail the remedy is missing
write ui/form.rs <<END
pub fn form() { done() }
END
complete second
"""
"#,
    );
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0).says("1 of 1 completed");
    sandbox.pitcrew(&["land", "gate", "--yes"]).expect(0);
    assert_eq!(sandbox.read("core/auth.rs"), AUTH);
    assert!(sandbox.read("ui/form.rs").contains("done()"));
}

/// A write outside the zone fails immediately for an agent without its own sandbox. Inside the zone
/// git, builds and temporary files work.
#[test]
fn box_allows_writes_only_in_the_zone() {
    let sandbox = with_auth(sandbox());
    sandbox.write(".gitignore", "/target\n");
    sandbox.write("Cargo.lock", "1\n");
    sandbox.commit("a build");
    let plan = sandbox.plan(
        r#"
name = "form"

[[task]]
id = "form"
region = "ui"
max_attempts = 1
script = """
run ! { echo mine > core/auth.rs; } 2> ui/refusal.txt
run ! rm core/auth.rs && ! mv core elsewhere && ! touch core/new && ! rm -r core
run grep -q 'pub struct AuthValidator' core/auth.rs
run echo 2 > Cargo.lock && mkdir -p target/debug && echo built > target/debug/form && echo x > /tmp/x
run mkdir ui/deep && mkdir target/more && mv ui/form.rs ui/deep/form.rs && mktemp && echo x > ~/.mine
run git add --all && git commit --quiet --message mine && test -z "$(git status --short)"
complete done
"""
checks = ["grep -q -i 'read-only file system' ui/refusal.txt", "grep -q 2 Cargo.lock", "test -f ui/deep/form.rs"]
"#,
    );
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0).says("1 of 1 completed");
    sandbox.pitcrew(&["land", "form", "--yes"]).expect(0);
    assert_eq!(sandbox.read("core/auth.rs"), AUTH);
    assert!(!sandbox.repo().join("target").exists());
}

/// A file that an agent cannot write can still be committed with git alone; the import gate refuses
/// it.
#[test]
fn gate_refuses_commits_made_past_the_box() {
    let sandbox = with_auth(sandbox());
    let plan = sandbox.plan(
        r#"
name = "past"

[[task]]
id = "past"
region = "ui"
max_attempts = 1
script = """
run git update-index --cacheinfo 100644,$(echo mine | git hash-object -w --stdin),core/auth.rs && git commit --quiet --message past
complete done
"""
"#,
    );
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(5);
    sandbox.pitcrew(&["logs", "task-1"]).expect(0).says("core/auth.rs is outside the region");
}

/// S0-032, S0-044: with `reads = "zone"` foreign files are not readable, and signatures come from
/// the index. Setup and checks see everything, and git reports no change.
#[test]
fn box_hides_foreign_files_and_the_index_answers() {
    let sandbox = with_auth(sandbox());
    sandbox.write("Cargo.toml", "[workspace]\n");
    sandbox.write("notes.txt", "for others\n");
    sandbox.commit("files at the top");
    let plan = sandbox.plan(
        r#"
name = "form"
reads = "zone"
setup = "grep -q AuthValidator core/auth.rs"

[[task]]
id = "form"
region = "ui"
max_attempts = 1
script = """
run ! cat core/auth.rs && ! cat notes.txt && test -z "$(ls core)" && cat Cargo.toml ui/form.rs
run test -z "$(git status --short)"
run ! mv core elsewhere
tool a2a_query {"symbol": "AuthValidator", "context": "use core::auth::AuthValidator;"}
expect struct AuthValidator (core/auth.rs:
say NEED: AuthValidator from core/auth.rs
pause
unless "struct AuthValidator (core/auth.rs:" fail the prompt does not have it
run echo 'pub fn form() { check() }' > ui/form.rs && git add --all && git commit --quiet --message mine
run echo 'pub fn left() {}' > ui/left.rs
complete used it
"""
checks = ["grep -q AuthValidator core/auth.rs", "grep -q others notes.txt", "test -f ui/left.rs"]
"#,
    );
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0).says("1 of 1 completed");
    sandbox.pitcrew(&["land", "form", "--yes"]).expect(0);
    assert_eq!(sandbox.read("core/auth.rs"), AUTH);
    assert_eq!(sandbox.read("notes.txt"), "for others\n");
}
