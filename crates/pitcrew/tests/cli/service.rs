//! A systemd unit for the orchestrator of a repository. A stand-in for systemd records its calls.

use crate::support::*;
use pitcrew_testkit::{Process, Sandbox, eventually};
use rustix::process::Signal;
use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf};

const SYSTEMCTL: &str = r#"#!/bin/sh
echo "$@" >> "$HOME/calls"
case "$*" in
"--user enable"*) touch "$HOME/enabled" ;;
"--user disable"*) rm "$HOME/enabled" ;;
"--user is-enabled"*) [ -e "$HOME/enabled" ] && echo enabled || { echo disabled; exit 1; } ;;
"--user is-active"*) echo inactive; exit 3 ;;
esac
"#;

const LOGINCTL: &str = "#!/bin/sh\necho no\n";

fn with_systemd() -> Sandbox {
    let mut sandbox = sandbox();
    let folder = sandbox.root().join("systemd");
    fs::create_dir(&folder).expect("a folder");
    for (name, text) in [("systemctl", SYSTEMCTL), ("loginctl", LOGINCTL)] {
        let path = folder.join(name);
        fs::write(&path, text).expect("a program");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("its mode");
    }
    sandbox.prepend_to_path(&folder);
    sandbox
}

fn units(sandbox: &Sandbox) -> Vec<PathBuf> {
    let folder = fs::read_dir(sandbox.home().join(".config/systemd/user"));
    folder.into_iter().flatten().flatten().map(|it| it.path()).collect()
}

/// The calls to systemd since the last time.
fn calls(sandbox: &Sandbox) -> Vec<String> {
    let path = sandbox.home().join("calls");
    let text = fs::read_to_string(&path).unwrap_or_default();
    fs::remove_file(&path).ok();
    text.lines().map(str::to_owned).collect()
}

/// The arguments in a line of a unit, split as systemd splits them.
fn words(unit: &str, key: &str) -> Vec<String> {
    let line = unit.lines().find_map(|it| it.strip_prefix(key)).expect("the unit has the line");
    let (mut words, mut word, mut is_quoted) = (Vec::new(), String::new(), false);
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => is_quoted = !is_quoted,
            '\\' => word.extend(characters.next()),
            '%' => {
                assert_eq!(characters.next(), Some('%'), "a specifier in {line}");
                word.push('%');
            }
            ' ' if !is_quoted => words.push(std::mem::take(&mut word)),
            it => word.push(it),
        }
    }
    words.push(word);
    words
}

#[test]
fn service_is_installed_and_removed() {
    let sandbox = with_systemd();
    sandbox.pitcrew(&["service", "status"]).expect(0).says("not installed");
    calls(&sandbox);
    let first = sandbox.pitcrew(&["service", "install"]).expect(0).says("wrote ");
    first.notes("loginctl enable-linger").notes("does not contain PITCREW_SANDBOX_WRITE");
    let [path] = units(&sandbox).try_into().expect("one unit");
    let name = path.file_name().expect("a name").to_string_lossy().into_owned();
    let expected = ["--user --version", "--user daemon-reload", &format!("--user enable {name}")];
    assert_eq!(calls(&sandbox), expected);
    let unit = fs::read_to_string(&path).expect("the unit");
    assert!(unit.contains("Restart=on-failure") && unit.contains("KillMode=process"), "{unit}");
    sandbox.pitcrew(&["service", "install"]).expect(0).says("is up to date");
    assert_eq!(units(&sandbox), std::slice::from_ref(&path));
    assert_eq!(calls(&sandbox), expected);
    let status = sandbox.pitcrew(&["service", "status", "--json"]).expect(0).json();
    assert_eq!(status["unit"], name);
    assert_eq!((&status["installed"], &status["up_to_date"]), (&true.into(), &true.into()));
    assert_eq!((&status["enabled"], &status["linger"]), (&"enabled".into(), &"no".into()));
    fs::write(&path, "changed by hand").expect("the unit");
    sandbox.pitcrew(&["service", "status"]).expect(0).says("out of date");
    calls(&sandbox);
    sandbox.pitcrew(&["service", "uninstall"]).expect(0).says("removed ");
    let expected = ["--user --version", &format!("--user disable {name}"), "--user daemon-reload"];
    assert_eq!(calls(&sandbox), expected);
    assert!(units(&sandbox).is_empty());
    sandbox.pitcrew(&["service", "uninstall"]).expect(0).says("is not installed");
    assert!(calls(&sandbox).is_empty());
}

#[test]
fn printed_unit_quotes_an_unusual_path() {
    let sandbox = with_systemd();
    let folder = sandbox.root().join("a 100% $HOME \"repo\" \\x");
    sandbox.git(&["clone", "--quiet", ".", &folder.display().to_string()]);
    let line = "cd \"$1\" && exec \"$0\" service install --print";
    let folder = folder.canonicalize().expect("the clone").display().to_string();
    let binary = env!("CARGO_BIN_EXE_pitcrew");
    let printed = sandbox.start_program("sh", &["-c", line, binary, &folder]).wait().expect(0);
    let expected = [&format!(":{binary}"), "serve", "--on-demand", "--workspace", &folder];
    assert_eq!(words(&printed.stdout, "ExecStart="), expected);
    let path = &sandbox.environment()["PATH"];
    assert_eq!(words(&printed.stdout, "Environment="), [format!("PATH={path}")]);
    assert!(units(&sandbox).is_empty() && calls(&sandbox).is_empty(), "nothing was installed");
}

#[test]
fn unit_can_be_printed_without_systemd() {
    let mut sandbox = sandbox();
    let folder = sandbox.root().join("programs");
    fs::create_dir(&folder).expect("a folder");
    let git = std::env::split_paths(&sandbox.environment()["PATH"])
        .map(|it| it.join("git"))
        .find(|it| it.exists())
        .expect("git is on the PATH");
    std::os::unix::fs::symlink(git, folder.join("git")).expect("a link");
    sandbox.set("PATH", &folder.display().to_string());
    let refused = sandbox.pitcrew(&["service", "install"]).expect(1);
    refused.notes("this machine has no systemd").notes("pitcrew serve --on-demand --workspace");
    assert!(units(&sandbox).is_empty());
    sandbox.pitcrew(&["service", "install", "--print"]).expect(0).says("[Install]");
    sandbox.pitcrew(&["service", "status"]).expect(0).says("enabled    unknown");
    sandbox.pitcrew(&["service", "uninstall"]).expect(0).says("is not installed");
}

/// After a reboot, which ends all processes at once, systemd starts the orchestrator and the plan
/// completes without another command.
#[test]
fn detached_plan_continues_after_a_reboot() {
    let sandbox = with_systemd();
    let plan = sandbox.plan(&gated(&sandbox, "gated"));
    sandbox.pitcrew(&["service", "install"]).expect(0);
    sandbox.pitcrew(&["run", &plan, "--yes", "--detach"]).expect(0);
    await_task(&sandbox, "waits", "running");
    let root = sandbox.root().display().to_string();
    eventually("nothing runs any more", || {
        let left = Process::naming(&root);
        for (process, _) in &left {
            process.signal(Signal::KILL);
        }
        left.is_empty().then_some(())
    });
    fs::remove_dir_all(sandbox.root().join("run/pitcrew")).expect("a reboot empties it");
    open_gate(&sandbox);
    let unit = fs::read_to_string(&units(&sandbox)[0]).expect("the unit");
    let words = words(&unit, "ExecStart=");
    let arguments: Vec<&str> = words[1..].iter().map(String::as_str).collect();
    let service = sandbox.start_program(words[0].trim_start_matches(':'), &arguments);
    let board = eventually("the plan is complete", || {
        let board = sandbox.look(pitcrew_api::paths::BOARD)?;
        let board: serde_json::Value = serde_json::from_str(&board).ok()?;
        (board["plans"][0]["status"] == "completed").then_some(board)
    });
    assert_eq!(board["tasks"][0]["status"], "completed");
    // A second orchestrator exits because the first is running, which systemd treats as success.
    let second = sandbox.start_program(words[0].trim_start_matches(':'), &arguments).wait();
    second.expect(6);
    assert!(unit.contains("SuccessExitStatus=6\n"), "{unit}");
    let (_, process) = sandbox.orchestrator().expect("it runs");
    process.signal(Signal::TERM);
    service.wait().expect(0);
}
