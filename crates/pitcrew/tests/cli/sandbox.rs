//! The sandbox of agents and of what runs for them, through the real binary.

use crate::support::*;
use pitcrew_process::{LANDLOCK_ABI_MIN, landlock_abi};
use pitcrew_testkit::{Process, Sandbox, eventually, python, skipped};
use std::{fs, os::unix::fs::symlink};

/// A sandbox that shares nothing beyond the defaults of a box.
fn closed() -> Sandbox {
    let mut sandbox = sandbox();
    sandbox.unset("PITCREW_SANDBOX_WRITE");
    sandbox
}

/// A `PATH` with everything but bubblewrap.
fn without_boxes(sandbox: &mut Sandbox) {
    let folder = sandbox.root().join("bin");
    fs::create_dir(&folder).expect("a folder");
    let path = std::env::var_os("PATH").expect("a PATH");
    let folders = std::env::split_paths(&path).filter_map(|it| fs::read_dir(it).ok());
    // The first of two programs with the same name is found.
    for program in folders.flatten().flatten().filter(|it| it.file_name() != "bwrap") {
        symlink(program.path(), folder.join(program.file_name())).ok();
    }
    sandbox.set("PATH", &folder.display().to_string());
}

/// A worker writes the results of its attempts to a report, which is part of its work.
#[test]
fn box_hides_foreign_keys_tokens_files_and_processes() {
    let sandbox = closed();
    let ssh = sandbox.home().join(".ssh");
    fs::create_dir(&ssh).expect("a folder");
    fs::write(ssh.join("id"), "the key").expect("a file");
    let (home, repo) = (sandbox.home(), sandbox.repo());
    let (home, repo, pid) = (home.display(), repo.display(), std::process::id());
    let plan = sandbox.plan(&format!(
        r#"
name = "escape"

[[task]]
id = "tries"
region = "core"
command = """
try() {{ if sh -c "$2" > /dev/null 2>&1; then echo "$1 worked"; else echo "$1 failed"; fi; }}
try key "cat ~/.ssh/id" > core/report.txt
try token "cat {home}/.local/state/pitcrew/workspaces/*/token" >> core/report.txt
try journal "cat {home}/.local/state/pitcrew/workspaces/*/journal.db" >> core/report.txt
try repository "echo evil > {repo}/evil" >> core/report.txt
try read "cat {repo}/core/one.txt" >> core/report.txt
try process "kill -0 {pid}" >> core/report.txt
try commit "git commit --quiet --allow-empty --message inside" >> core/report.txt
echo evil > {home}/evil
"""
checks = "! echo evil > {repo}/evil"
"#
    ));
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0);
    let diff = sandbox.pitcrew(&["diff", "plan-1"]).expect(0).stdout;
    for what in ["key", "token", "journal", "repository", "read", "process"] {
        assert!(diff.contains(&format!("+{what} failed")), "{what}: {diff}");
    }
    assert!(diff.contains("+commit worked"), "{diff}");
    assert!(!sandbox.repo().join("evil").exists() && !sandbox.home().join("evil").exists());
    sandbox.pitcrew(&["logs", "tries"]).expect(0).says("confined by tier T3, policy ");
}

/// A shell may leave a folder open to its children, and an open folder leads anywhere.
#[test]
fn worker_inherits_no_open_files() {
    let sandbox = closed();
    let plan = sandbox.plan(
        r#"
name = "inherited"

[[task]]
id = "tries"
command = "for it in /proc/*/fd/9/..; do test -e $it && echo leads out; done > report.txt; echo tried >> report.txt"
checks = "! test -e /proc/self/fd/9"
"#,
    );
    let run = format!("exec 9< ..; exec {} run {plan} --yes", env!("CARGO_BIN_EXE_pitcrew"));
    sandbox.start_program("sh", &["-c", &run]).wait().expect(0);
    let diff = sandbox.pitcrew(&["diff", "plan-1"]).expect(0).stdout;
    assert!(diff.contains("+tried") && !diff.contains("leads out"), "{diff}");
}

/// The box of an agent is prepared while its checkout is created.
#[test]
fn agent_uses_the_box_prepared_during_the_checkout() {
    let sandbox = sandbox();
    let root = sandbox.root().display().to_string();
    let wait = |name: &str| {
        format!("touch {root}/at-{name}; until [ -e {root}/{name} ]; do sleep 0.02; done")
    };
    let plan = sandbox.plan(&format!(
        "name = \"ahead\"\nsetup = \"{}\"\n\n[[task]]\nid = \"waits\"\nscript = \"\"\"\nrun {}\ncomplete it\n\"\"\"\n",
        wait("setup"),
        wait("agent")
    ));
    sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
    let (at_setup, at_agent) = (sandbox.root().join("at-setup"), sandbox.root().join("at-agent"));
    // The launcher becomes the agent.
    let agent_as = |part: &str| {
        let mut all = Process::naming(&root).into_iter();
        let is_it =
            |it: &str| it.ends_with("agent --orders ") && it.split(' ').nth(1) == Some(part);
        all.find(|it| is_it(&it.1)).map(|it| it.0.pid)
    };
    let waiting = eventually("a launcher waits in its box while setup runs", || {
        agent_as("confine").filter(|_| at_setup.exists())
    });
    fs::write(sandbox.root().join("setup"), "").expect("a file");
    eventually("the agent works", || at_agent.exists().then_some(()));
    assert_eq!(agent_as("agent"), Some(waiting));
    fs::write(sandbox.root().join("agent"), "").expect("a file");
    sandbox.pitcrew(&["watch"]).expect(0).says("1 of 1 completed");
}

/// The log names the folder of the policy, which has the policy that was in force.
#[test]
fn policy_is_stored_with_the_attempt() {
    let sandbox = closed();
    sandbox.pitcrew(&["run", &sandbox.plan(TWO_COMMANDS), "--yes"]).expect(0);
    let board = sandbox.pitcrew(&["status", "--json", "--all"]).expect(0).json();
    assert_eq!(board["sandbox"]["available"], "T3");
    assert_eq!(board["workers"][0]["confined"]["tier"], "T3");
    let state = sandbox.states().pop().expect("a workspace");
    let policy = fs::read_to_string(state.join("attempts/attempt-1/policy.json")).expect("a file");
    assert!(policy.contains("\"tier\": \"T3\"") && !policy.contains("PITCREW_TOKEN"), "{policy}");
}

/// Refuses the Landlock system calls, as a kernel without it does, and then executes its arguments.
const WITHOUT_LANDLOCK: &str = r#"
import ctypes, os, struct, sys
words = [(0x20, 0, 0, 0), (0x35, 0, 2, 444), (0x25, 1, 0, 446), (0x06, 0, 0, 0x50026), (0x06, 0, 0, 0x7FFF0000)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *it) for it in words))
class Program(ctypes.Structure):
    _fields_ = [("count", ctypes.c_ushort), ("words", ctypes.c_void_p)]
program = Program(len(words), ctypes.addressof(code))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, ctypes.byref(program), 0, 0) == 0
os.execv(sys.argv[1], sys.argv[1:])
"#;

/// Neither bubblewrap nor Landlock is available.
#[test]
fn tier_one_needs_consent_once() {
    let mut sandbox = closed();
    without_boxes(&mut sandbox);
    let plan = sandbox.plan(TWO_COMMANDS);
    let python = python();
    let pitcrew = |words: &[&str]| {
        let before = ["-c", WITHOUT_LANDLOCK, env!("CARGO_BIN_EXE_pitcrew")];
        sandbox.start_program(&python, &[&before, words].concat()).wait()
    };
    let refused = pitcrew(&["run", &plan, "--yes"]);
    assert!(refused.stderr.contains("bubblewrap is not installed"), "{refused}");
    assert!(refused.stderr.contains("no Landlock"), "{refused}");
    assert!(refused.stderr.contains("--accept-tier T1"), "{refused}");
    let doctor = pitcrew(&["doctor"]).stdout;
    for words in ["T1:", "apt install bubblewrap", "no Landlock", "Linux 6.12"] {
        assert!(doctor.contains(words), "{words}: {doctor}");
    }
    pitcrew(&["run", &plan, "--yes", "--accept-tier", "T1"]).expect(0);
    pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
    pitcrew(&["watch"]).expect(0);
    pitcrew(&["status", "--all"]).expect(0).notes("tier T1");
}

/// Without bubblewrap, Landlock is used if the kernel supports enough of it; only root needs to
/// consent.
#[test]
fn landlock_is_used_without_bubblewrap() {
    let mut sandbox = closed();
    if landlock_abi() < LANDLOCK_ABI_MIN {
        return skipped("Landlock alone", "the kernel has too old a version of it");
    }
    without_boxes(&mut sandbox);
    let doctor = sandbox.pitcrew(&["doctor"]).stdout;
    assert!(doctor.contains("T2:") && doctor.contains("apt install bubblewrap"), "{doctor}");
    let mut accept: &[&str] = &[];
    if pitcrew_process::is_root() {
        let refused = sandbox.pitcrew(&["run", &sandbox.plan(TWO_COMMANDS), "--yes"]);
        assert!(refused.stderr.contains("agents would run as root"), "{refused}");
        assert!(refused.stderr.contains("`--accept-tier T2`"), "{refused}");
        assert!(doctor.contains("agents run as root"), "{doctor}");
        accept = &["--accept-tier", "T2"];
    }
    let plan = sandbox.plan(TWO_COMMANDS);
    sandbox.pitcrew(&[&["run", &plan, "--yes"], accept].concat()).expect(0);
    sandbox.pitcrew(&["logs", "first"]).expect(0).says("confined by tier T2, policy ");
}

/// In each tier, changes outside the zone that bypass the client's file system are not integrated,
/// and changes outside the checkout are not possible.
#[test]
fn every_tier_confines_a_worker_to_its_zone() {
    for tier in ["T2", "T3"] {
        if tier == "T2" && landlock_abi() < LANDLOCK_ABI_MIN {
            skipped("a plan in T2", "the kernel has too old a version of Landlock");
            continue;
        }
        let mut sandbox = closed();
        sandbox.set("PITCREW_SANDBOX", tier);
        let (home, repo) = (sandbox.home(), sandbox.repo());
        let outside = [home.join("evil"), repo.join("evil"), sandbox.root().join("evil")];
        let tries =
            outside.each_ref().map(|it| format!("(echo evil > {}) || true; ", it.display()));
        let tries = tries.concat();
        let plan = sandbox.plan(&format!(
            r#"
name = "corner"
max_attempts = 1

[[task]]
id = "kept"
region = "core"
command = """{tries} git commit --quiet --allow-empty --message inside && echo mine > core/mine.txt"""
checks = """{tries} grep -q mine core/mine.txt"""

[[task]]
id = "strays"
region = "core"
command = """git update-index --cacheinfo 100644,$(echo mine | git hash-object -w --stdin),ui/two.txt && \
git commit --quiet --message strays"""
"#
        ));
        let ran = sandbox.pitcrew(&["run", &plan, "--yes"]);
        assert!(outside.iter().all(|it| !it.exists()), "{tier}: {ran}");
        ran.says("1 of 2 completed").says("ui/two.txt");
        let logs = sandbox.pitcrew(&["logs", "kept"]).expect(0);
        logs.says(&format!("confined by tier {tier}, policy "));
        sandbox.pitcrew(&["logs", "strays"]).expect(0).says("outside the region");
    }
}

/// Tools run what they find in a cache, so an agent must not be able to leave anything there for
/// its own checks.
#[test]
fn cache_is_shared_with_agents_but_not_with_checks() {
    let sandbox = closed();
    let plan = sandbox.plan(
        r#"
name = "caches"

[[task]]
id = "leaves"
region = "core"
command = """
for it in "$CARGO_HOME" "$npm_config_cache" "$PIP_CACHE_DIR" "$GOPATH"; do echo trap >> "$it/config.toml"; done
echo left > core/left.txt
"""
checks = """
for it in "$CARGO_HOME" "$npm_config_cache" "$PIP_CACHE_DIR" "$GOPATH"; do
    echo fetched > "$it/fetched" && ! grep -q trap "$it/config.toml" || exit 1
done
"""

[[task]]
id = "finds"
region = "ui"
depends_on = ["leaves"]
command = "grep trap $CARGO_HOME/config.toml > ui/found.txt"
"#,
    );
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0).says("2 of 2 completed");
    let diff = sandbox.pitcrew(&["diff", "plan-1"]).expect(0).stdout;
    assert!(diff.contains("+left") && diff.contains("+trap"), "{diff}");
}

#[test]
fn repository_may_require_a_stronger_tier() {
    let mut sandbox = closed();
    sandbox.set("PITCREW_SANDBOX", "T1");
    sandbox.write(".pitcrew/config.toml", "[sandbox]\nmin_tier = \"T3\"\n");
    sandbox.commit("wants a box");
    let refused = sandbox.pitcrew(&["run", &sandbox.plan(TWO_COMMANDS), "--yes"]);
    assert!(refused.stderr.contains("tier T3 is required"), "{refused}");
    let weaker = "[sandbox]\nmin_tier = \"T1\"\ntier = \"T1\"\n";
    sandbox.write(".pitcrew/config.toml", weaker);
    let refused = sandbox.pitcrew(&["config", "show"]);
    assert!(refused.stderr.contains("cannot set `sandbox.tier`"), "{refused}");
}

/// A box hides a git configuration file with a secret in it; the identity is still available, to a
/// worker in its home and to checks in a copy.
#[test]
fn commit_identity_works_without_the_secret_git_config() {
    let sandbox = closed();
    let settings = "[user]\n\tname = Ada\n[http]\n\textraHeader = Authorization: hidden\n";
    fs::write(sandbox.home().join(".gitconfig"), settings).expect("a file");
    let plan = sandbox.plan(
        r#"
name = "who"

[[task]]
id = "who"
command = "git config --global --list > core/who.txt"
region = "core"
checks = ["git config --global --list | diff - core/who.txt", "grep -q user.name=Ada core/who.txt", "! grep -q hidden core/who.txt"]
"#,
    );
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0).says("1 of 1 completed");
}
