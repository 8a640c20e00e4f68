//! What lies outside a zone: refused, told instead, and never integrated; with the real binary.

use crate::support::*;
use pitcrew_testkit::{Sandbox, model::ModelServer};

const AUTH: &str = "/// Checks tokens.\npub struct AuthValidator {\n    pub key: String,\n}\n\nimpl AuthValidator {\n    pub fn check(&self, token: &str) -> bool {\n        token == self.key\n    }\n}\n";

fn with_auth(sandbox: Sandbox) -> Sandbox {
    sandbox.write("core/auth.rs", AUTH);
    sandbox.write("ui/form.rs", "pub fn form() {}\n");
    sandbox.commit("two parts");
    sandbox
}

/// S0-044, S0-045, S0-047, S0-098: reading it over the protocol gives the outline instead, is refused when it
/// happens and on record; writing it is refused, and nothing of it is integrated.
#[test]
fn a_foreign_file_is_refused_with_its_outline() {
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
expect never taken
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
    status.says("3 reads and 3 writes outside its zone blocked");
    let logs = sandbox.pitcrew(&["logs", "task-1"]).expect(0);
    logs.says("blocked: read core/auth.rs").says("blocked: write ui/keys/a");
    let audit = sandbox.pitcrew(&["audit", "--kind", "access_blocked"]).expect(0);
    assert_eq!(audit.stdout.lines().count(), 6, "{audit}");
    sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(0);
    assert_eq!(sandbox.read("ui/new/form.rs"), "pub fn new() {}");
    assert_eq!(sandbox.read("core/auth.rs"), AUTH);
    assert!(!sandbox.root().join(".worktrees/repo/escape").exists());
}

/// The built-in agent with a model reads and writes through the client: its zone holds at once.
#[test]
fn a_model_is_told_what_it_may_not_read() {
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
    logs.says("outside your zone (ui)").says("AuthValidator");
    sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(0);
    assert_eq!(sandbox.read("core/auth.rs"), AUTH);
}

/// S0-042, S0-043, S0-046, S0-118: a line in its words is heard, resolved and answered in its next prompt.
#[test]
fn a_need_line_is_answered_in_the_next_prompt() {
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

/// S4-154, S4-160: a sub-task in its parent's checkout has a lease on named files; nobody else may have
/// them meanwhile, it reaches no others through us, and it may read what its parent works on.
#[test]
fn a_shared_subtask_keeps_to_its_lease() {
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
 "script": "tool fs/read_text_file {\"path\": \"ui/form.rs\"}\nrefused fs/write_text_file {\"path\": \"ui/form.rs\", \"content\": \"x\"}\nexpect outside your zone\nrefused fs/read_text_file {\"path\": \"core/auth.rs\"}\ntool fs/write_text_file {\"path\": \"ui/a.rs\", \"content\": \"a\"}\ncomplete near"}
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

/// S4-154, S4-160: nor does it reach others by the commands that it runs, with a box and without one.
#[test]
fn the_commands_of_a_shared_subtask_keep_to_its_lease() {
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

/// The gate refuses what was changed where nothing else held the agent, and the next prompt says which paths and
/// what to do.
#[test]
fn what_the_gate_refuses_is_told_to_the_next_attempt() {
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
unless "core/auth.rs: outside the region" fail the path is not told
unless "ui/keys/a: in a path that no task may change" fail the rule is not told
unless "Do the task without changing these paths" fail the remedy is not told
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

/// An agent without a sandbox of its own is told at once when it writes beside its zone. In it everything
/// works, and so do git, builds and temporary files.
#[test]
fn a_box_lets_an_agent_write_in_its_zone_alone() {
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

/// What an agent cannot write it may still commit, by git alone: the gate stays.
#[test]
fn what_is_committed_past_the_box_is_refused_at_the_gate() {
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

/// S0-032, S0-044: with `reads = "zone"` there is nothing to read beyond the zone, and what is needed comes from the
/// index. Setup and checks see everything, and git finds nothing changed.
#[test]
fn a_box_hides_foreign_files_and_the_index_tells_of_them() {
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
