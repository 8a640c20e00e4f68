//! Backends: which are installed, which is the default, and what is printed without one.

use crate::support::sandbox;
use pitcrew_config::{Settings, Sources};
use pitcrew_mcp::{
    AWAIT_SUBTASKS, COMPLETE_TASK, DECIDE_PERMISSIONS, LIST_AGENTS, NOTIFY_ORCHESTRATOR, QUERY,
    SPAWN_SUBTASK, SUBTASK_COMPLETE,
};
use pitcrew_testkit::{Process, Sandbox};
use serde_json::Value;
use std::{collections::BTreeSet, fs, os::unix::fs::PermissionsExt, path::PathBuf};

const BINARY: &str = env!("CARGO_BIN_EXE_pitcrew");
const KNOWN: &[&str] =
    &["claude", "codex", "copilot", "gemini", "goose", "opencode", "qwen", "vibe"];

/// A machine without agents, even if this one has some: the known agents have different program
/// names here, such as `test-codex`.
fn machine() -> Sandbox {
    let sandbox = sandbox();
    for name in KNOWN {
        own(
            &sandbox,
            name,
            &format!("command = [\"test-{name}\"]\nvendor_program = \"vendor-{name}\"\n"),
        );
    }
    sandbox
}

/// Writes a backend file of the user.
fn own(sandbox: &Sandbox, name: &str, text: &str) {
    put(sandbox, &format!(".config/pitcrew/backends/{name}.toml"), text);
}

fn put(sandbox: &Sandbox, path: &str, text: &str) -> PathBuf {
    let path = sandbox.home().join(path);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(&path, text).expect("a file");
    path
}

/// Writes an executable file below the home.
fn program(sandbox: &Sandbox, path: &str, text: &str) -> PathBuf {
    let path = put(sandbox, path, text);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a program");
    path
}

/// A real ACP program: the built-in agent with a script.
fn stand_in(sandbox: &Sandbox, name: &str) {
    let script = put(
        sandbox,
        "script.txt",
        "when \"repository is for\" write NOTES.md <<END\nFor trying things out.\nEND\nwhen \"purpose of this repository\" write NOTES.md <<END\nFor trying things out.\nEND\nwhen \"guide for newcomers\" write docs/guide.md <<END\nBegin here.\nEND\nwhen \"public function in src\" write src/a.rs <<END\n/// Returns nothing.\nEND\ncomplete it is written\n",
    );
    let script = script.display();
    own(sandbox, name, &format!("command = [{BINARY:?}, \"agent\", \"--script\", \"{script}\"]\n"));
}

fn backend(sandbox: &Sandbox, name: &str) -> Value {
    let all = sandbox.pitcrew(&["backends", "--json"]).expect(0).json();
    let list = all["backends"].as_array().expect("a list");
    list.iter().find(|it| it["name"] == name).cloned().expect("it is listed")
}

#[test]
fn backends_lists_path_version_and_login() {
    let mut sandbox = machine();
    let package = "npm/lib/node_modules/@someone/agent";
    let target = program(&sandbox, &format!("{package}/dist/index.js"), "#!/bin/sh\nexit 1\n");
    put(&sandbox, &format!("{package}/package.json"), r#"{"name":"x","version":"3.2.1"}"#);
    put(&sandbox, ".npmrc", "prefix=~/npm\n");
    fs::create_dir_all(sandbox.home().join("npm/bin")).expect("a folder");
    let link = sandbox.home().join("npm/bin/test-codex");
    std::os::unix::fs::symlink(target, &link).expect("a link");
    let codex = backend(&sandbox, "codex");
    assert_eq!(codex["path"], link.display().to_string(), "{codex}");
    assert_eq!((&codex["on_path"], &codex["version"]), (&false.into(), &"3.2.1".into()), "{codex}");
    assert_eq!((&codex["login"]["found"], &codex["ready"]), (&"no".into(), &false.into()));
    let login = put(&sandbox, ".codex/auth.json", "{\"OPENAI_API_KEY\": \"sesame\"}");
    let codex = backend(&sandbox, "codex");
    assert_eq!(codex["login"]["by"], login.display().to_string());
    assert_eq!((&codex["ready"], &codex["default"]), (&true.into(), &true.into()), "{codex}");
    sandbox.set("OPENAI_API_KEY", "sesame");
    assert_eq!(backend(&sandbox, "codex")["login"]["by"], "OPENAI_API_KEY");
    let shown = sandbox.pitcrew(&["backends"]).expect(0);
    let shown = shown.says("* codex").says("~/npm/bin/test-codex").says("OPENAI_API_KEY is set");
    shown.says("npm install -g @google/gemini-cli").notes("the only one that is ready");
    let doctor = sandbox.pitcrew(&["doctor"]).expect(0);
    let doctor = doctor.says("codex 3.2.1: ~/npm/bin/test-codex, login: OPENAI_API_KEY is set");
    let doctor = doctor.says("codex does tasks that name no agent");
    assert!(!doctor.to_string().contains("sesame"));
}

#[test]
fn missing_adapter_is_reported() {
    let sandbox = machine();
    program(&sandbox, ".local/bin/vendor-claude", "#!/bin/sh\n");
    let claude = backend(&sandbox, "claude");
    let missing = claude["missing"].as_str().unwrap_or_default();
    assert!(missing.contains("`~/.local/bin/vendor-claude` is installed"), "{missing}");
    assert!(missing.contains("its ACP adapter `test-claude` is not"), "{missing}");
    let refused = sandbox.pitcrew(&["run", "--task", "tidy up", "--yes"]).expect(2);
    refused.notes("npm install -g @agentclientprotocol/claude-agent-acp");
}

#[test]
fn backends_shows_one_backend_with_origins() {
    let sandbox = machine();
    own(&sandbox, "goose", "command = [\"test-goose\", \"acp\"]\nmodel = \"large\"\n");
    let shown = sandbox.pitcrew(&["backends", "goose"]).expect(0).says("goose.toml:2").stdout;
    let line = |key: &str| shown.lines().find(|it| it.starts_with(key)).unwrap_or_default();
    assert!(
        line("mode ").contains("\"approve\"") && line("mode ").contains("# default"),
        "{shown}"
    );
    assert!(line("env ").contains("GOOSE_MODE") && line("env ").contains("hidden"), "{shown}");
    let keys = sandbox.pitcrew(&["backends", "goose", "--json"]).expect(0).json();
    assert!(keys["keys"].as_array().is_some_and(|it| it.len() > 10), "{keys}");
    sandbox.pitcrew(&["backends", "gosse"]).expect(2).notes("did you mean `goose`?");
    let shown = sandbox.pitcrew(&["config", "show", "--origin"]).expect(0);
    assert!(shown.stdout.contains("backends.goose.model"), "{shown}");
}

#[test]
fn backend_file_error_has_its_line_in_every_command() {
    let sandbox = machine();
    own(&sandbox, "goose", "\ninstal = \"x\"\n");
    for command in [&["backends"][..], &["run", "--task", "x", "--yes"], &["config", "show"]] {
        let refused = sandbox.pitcrew(command).expect(2).notes("goose.toml:2:1");
        refused.notes("did you mean `install`?");
    }
}

/// S0-007: one line of settings is enough for a program that speaks the protocol.
#[test]
fn single_ready_agent_is_the_default() {
    let sandbox = machine();
    stand_in(&sandbox, "scribe");
    let request = "Write down what this repository is for.";
    let arguments = ["run", "--task", request, "--region", "NOTES.md", "--yes"];
    let done = sandbox.pitcrew(&arguments).expect(0).says("1 of 1 completed");
    done.notes("using scribe, the only agent that is ready");
    sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(0);
    assert_eq!(sandbox.read("NOTES.md"), "For trying things out.\n");
}

/// S1-015: an agent string carries the backend, and the default backend runs `@agent`.
#[test]
fn several_ready_agents_need_a_choice() {
    let mut sandbox = machine();
    stand_in(&sandbox, "scribe");
    stand_in(&sandbox, "writer");
    let request = ["run", "--task", "Say what this repository is for.", "--yes"];
    let refused = sandbox.pitcrew(&request).expect(2).notes("`scribe`, `writer` are ready");
    refused.notes("agent = \"scribe\"");
    sandbox.pitcrew(&[&request[..], &["--agent", "writer"]].concat()).expect(0);
    sandbox.set("PITCREW_AGENT", "scribe");
    sandbox.pitcrew(&request).expect(0);
    let plan = sandbox.plan(
        "name = \"forms\"\n[[task]]\nid = \"a\"\nprompt = \"what this repository is for\"\nagent = \"writer:careful\"\nregion = \"NOTES.md\"\n[[task]]\nid = \"b\"\nprompt = \"a guide for newcomers\"\nagent = \"@architect\"\nregion = \"docs\"\n",
    );
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0).says("2 of 2 completed");
    let board = sandbox.pitcrew(&["status", "--all", "--json"]).expect(0).json();
    let agents: Vec<&Value> = board["tasks"]
        .as_array()
        .expect("tasks")
        .iter()
        .filter(|it| it["key"] == "a" || it["key"] == "b")
        .map(|it| &it["agent"])
        .collect();
    let named = |it: &Value, backend: &str, agent: &str| {
        it.to_string().contains(backend) && it.to_string().contains(agent)
    };
    assert!(named(agents[0], "writer", "careful"), "{agents:?}");
    assert!(named(agents[1], "scribe", "architect"), "{agents:?}");
}

#[test]
fn missing_agent_error_says_what_to_install() {
    let sandbox = machine();
    let refused = sandbox.pitcrew(&["run", "--task", "tidy up", "--yes"]).expect(2);
    let refused = refused.notes("no agent is installed").notes("pitcrew backends");
    refused.notes("npm install -g").notes("`command` or a `script`").notes("pitcrew demo");
    let plan = sandbox.plan("name = \"x\"\n[[task]]\nid = \"a\"\ncommand = \"true\"\n");
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0);
    program(&sandbox, ".local/bin/test-goose", "#!/bin/sh\n");
    let refused = sandbox.pitcrew(&["run", "--task", "tidy up", "--yes"]).expect(2);
    refused.notes("no login was found for `goose`").notes("goose configure");
}

#[test]
fn model_makes_the_built_in_agent_the_default() {
    let mut sandbox = machine();
    stand_in(&sandbox, "scribe");
    sandbox.pitcrew(&["backends"]).expect(0).says("builtin").says("no model set");
    sandbox.set("PITCREW_MODEL", "anthropic/some-model");
    let shown = sandbox.pitcrew(&["backends"]).expect(0).says("* builtin").says("some-model");
    assert!(!shown.stdout.contains("* scribe"), "{shown}");
    let listed = sandbox.pitcrew(&["backends", "--json"]).expect(0).json();
    assert_eq!(
        (&listed["default"], &listed["builtin"]["default"]),
        (&"builtin".into(), &true.into())
    );
}

#[test]
fn plan_with_a_missing_agent_is_refused() {
    let sandbox = machine();
    stand_in(&sandbox, "scribe");
    let plan =
        sandbox.plan("name = \"x\"\n\n[[task]]\nid = \"a\"\nprompt = \"b\"\nagent = \"gemini\"\n");
    let refused = sandbox.pitcrew(&["run", &plan, "--yes"]).expect(2);
    let refused = refused.notes("plan.toml:6:9: error: task `a` needs `gemini`");
    refused.notes("npm install -g @google/gemini-cli");
    let board = sandbox.pitcrew(&["status", "--all", "--json"]).expect(0).json();
    assert_eq!(board["plans"].as_array().map(Vec::len), Some(0), "{board}");
    // The program may be installed on another machine.
    sandbox.pitcrew(&["plan", "check", &plan]).expect(0).notes("warning: task `a` needs `gemini`");
    let words = ["run", "--task", "use gemini: tidy up", "--yes"];
    sandbox.pitcrew(&words).expect(2).notes("the request needs `gemini`, which is not installed");
}

#[test]
fn backend_test_calls_no_model_and_cleans_up() {
    let sandbox = machine();
    stand_in(&sandbox, "scribe");
    let met = sandbox.pitcrew(&["backends", "test", "scribe", "--json"]).expect(0).json();
    assert_eq!((&met["name"], &met["ready"]), (&"scribe".into(), &true.into()), "{met}");
    assert!(met["agent"].as_str().is_some_and(|it| it.contains("itcrew")), "{met}");
    assert!(met["initialize_ms"].is_u64() && met["session_ms"].is_u64(), "{met}");
    let root = sandbox.root().display().to_string();
    assert_eq!(Process::naming(&root), [], "none of its processes is left");
    let runtime = fs::read_dir(sandbox.root().join("run/pitcrew")).expect("a folder");
    assert_eq!(runtime.count(), 0, "nor is its folder");
    sandbox.pitcrew(&["backends", "test"]).expect(0).says("ok scribe: answers");
}

#[test]
fn failed_backend_test_says_why_and_what_to_do() {
    let sandbox = machine();
    own(&sandbox, "ends", "command = [\"true\"]\n");
    let ends = sandbox.pitcrew(&["backends", "test", "ends"]).expect(9);
    ends.says("bad ends:").says("must speak ACP");
    let gemini = sandbox.pitcrew(&["backends", "test", "gemini"]).expect(9);
    gemini
        .says("`test-gemini` was not found on your PATH")
        .says("npm install -g @google/gemini-cli");
    sandbox.pitcrew(&["backends", "test", "gemni"]).expect(2).notes("did you mean `gemini`?");
    // The program answers with the protocol's error for a missing login.
    let asks = program(
        &sandbox,
        "asks.sh",
        r#"#!/bin/sh
answer() { read -r line; id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/'); printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$1"; }
answer '"result":{"protocolVersion":1,"agentCapabilities":{},"authMethods":[{"id":"browser","name":"Log in"}]}'
answer '"error":{"code":-32000,"message":"Authentication required"}'
cat >/dev/null
"#,
    );
    own(&sandbox, "asks", &format!("command = [{asks:?}]\nlogin = \"run `asks login`\"\n"));
    let asks = sandbox.pitcrew(&["backends", "test", "asks"]).expect(9);
    asks.says("it is not logged in").says("log in: run `asks login`").says("browser");
    let all = sandbox.pitcrew(&["backends", "test", "asks", "ends", "--json"]).expect(9);
    let kinds = all.json_lines().into_iter().map(|it| it["trouble"]["kind"].clone());
    assert_eq!(kinds.collect::<Vec<_>>(), ["login", "protocol"]);
    machine().pitcrew(&["backends", "test"]).expect(9).notes("no agent is installed");
}

#[test]
fn backends_works_outside_a_repository() {
    let sandbox = Sandbox::without_repository(BINARY);
    fs::create_dir(sandbox.repo()).expect("a folder");
    stand_in(&sandbox, "scribe");
    sandbox.pitcrew(&["backends"]).expect(0).says("scribe");
    sandbox.pitcrew(&["backends", "test", "scribe"]).expect(0);
}

/// S1-029, S1-030: agents without MCP can use the tools, under any common spelling of their names.
#[test]
fn tool_command_accepts_any_spelling() {
    let sandbox = machine();
    let names = [
        "copilot_orchestratorCompleteTask",
        "orchestrator_completeTask",
        "mcp__pitcrew__orchestrator_complete_task",
    ];
    let task = |(index, name): (usize, &&str)| {
        format!(
            "[[task]]\nid = \"t{index}\"\nregion = \"r{index}\"\nscript = '''\nrun pitcrew tool {name} --json '{{\"summary\": \"by {name}\"}}'\n'''\n"
        )
    };
    let tasks: Vec<String> = names.iter().enumerate().map(task).collect();
    let plan = sandbox.plan(&format!("name = \"spellings\"\n{}", tasks.concat()));
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0).says("3 of 3 completed");
    let said = sandbox.pitcrew(&["status", "--all", "--json"]).expect(0).stdout;
    assert!(said.contains("by copilot_orchestratorCompleteTask"), "{said}");
}

/// Otherwise each agent would unpack it into its own home. It is shared, and none of them can write
/// to it.
#[test]
fn unpacked_program_is_shared_by_its_agents() {
    let sandbox = machine();
    let only = "mkdir \"$TO/pkg\" && od -N 16 /dev/urandom > \"$TO/pkg/part\"";
    let tries = |it: &str| {
        format!(
            "when \"part {it}\" run cat \"$TO/pkg/part\" > {it}/part; touch \"$TO/mine\" || echo no > {it}/refused\n"
        )
    };
    let steps = format!("{}{}complete tried\n", tries("core"), tries("ui"));
    let package = "npm/node_modules/packed";
    let steps = put(&sandbox, &format!("{package}/steps.txt"), &steps);
    let agent = format!("{BINARY} agent --script {}", steps.display());
    let text = format!("#!/bin/sh\n[ \"$ONLY\" = 1 ] && {{ {only}; exit; }}\nexec {agent}\n");
    let path = program(&sandbox, &format!("{package}/packed"), &text);
    put(&sandbox, &format!("{package}/package.json"), r#"{"name":"packed","version":"1.0.0"}"#);
    let keys = "unpack_to = \"TO\"\nunpack_env = { ONLY = \"1\" }\n";
    own(&sandbox, "packed", &format!("command = [{path:?}]\n{keys}"));
    let task = |name: &str| {
        format!(
            "[[task]]\nid = \"{name}\"\nagent = \"packed\"\nregion = \"{name}\"\nprompt = \"Do part {name}.\"\n"
        )
    };
    let plan = sandbox.plan(&format!("name = \"x\"\n{}{}", task("core"), task("ui")));
    sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0).says("2 of 2 completed");
    sandbox.pitcrew(&["land", "plan-1", "--yes"]).expect(0);
    let [core, ui] = ["core", "ui"].map(|it| sandbox.read(&format!("{it}/part")));
    assert!(!core.is_empty() && core == ui, "{core:?}, {ui:?}");
    assert_eq!(["core", "ui"].map(|it| sandbox.read(&format!("{it}/refused"))), ["no\n", "no\n"]);
    let programs = sandbox.home().join(".local/state/pitcrew/programs");
    assert_eq!(fs::read_dir(programs).expect("a folder").count(), 1);
}

/// A backend can list the tools that its agents should see.
#[test]
fn tools_named_by_backends_exist() {
    let (settings, _) = Settings::load(&Sources::default()).expect("what comes with us is sound");
    let texts = settings.backends.values().flat_map(|it| it.state_first.values());
    let named = texts.flat_map(|it| it.split("mcp__pitcrew__").skip(1));
    let named: BTreeSet<&str> = named.filter_map(|it| it.split('"').next()).collect();
    let all: BTreeSet<&str> = pitcrew_mcp::tools().iter().map(|it| it.name).collect();
    assert!(named.is_subset(&all), "{named:?}");
    // The tools that an agent's prompt mentions.
    let mentioned =
        [COMPLETE_TASK, SUBTASK_COMPLETE, NOTIFY_ORCHESTRATOR, LIST_AGENTS, SPAWN_SUBTASK];
    let mentioned = mentioned.iter().chain(&[QUERY, DECIDE_PERMISSIONS, AWAIT_SUBTASKS]);
    assert_eq!(mentioned.copied().find(|it| !named.contains(it)), None);
}

/// The commands and files of the documents, in order, with a stand-in for the agent.
mod documents {
    use super::*;

    fn read(name: &str) -> String {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
        fs::read_to_string(&path).expect("a document")
    }

    /// The language and text of each block.
    fn blocks(text: &str) -> Vec<(String, String)> {
        let parts: Vec<&str> = text.split("\n```").collect();
        let inside = parts.iter().skip(1).step_by(2).filter_map(|it| it.split_once('\n'));
        inside.map(|(language, body)| (language.to_owned(), body.to_owned())).collect()
    }

    fn type_all(sandbox: &Sandbox, body: &str) {
        for line in body.lines().filter_map(|it| it.strip_prefix("pitcrew ")) {
            if !line.starts_with("demo") {
                let typed = format!("{BINARY} {line}");
                sandbox.start_program("sh", &["-c", &typed]).wait().expect(0);
            }
        }
    }

    #[test]
    fn quickstart_lands_a_change() {
        let sandbox = machine();
        stand_in(&sandbox, "scribe");
        for (language, body) in blocks(&read("quickstart.md")) {
            match language.as_str() {
                "toml" if body.contains("[[task]]") => sandbox.write("plan.toml", &body),
                "sh" => type_all(&sandbox, &body),
                _ => {}
            }
        }
        assert_eq!(sandbox.read("NOTES.md"), "For trying things out.\n");
        assert_eq!(sandbox.read("docs/guide.md"), "Begin here.\n");
        assert!(sandbox.read("FILES.txt").contains("docs/guide.md"));
    }

    /// Everything but the installation. The sources of the repository are checked by a script.
    #[test]
    fn readme_runs_and_lands_two_plans() {
        let sandbox = machine();
        stand_in(&sandbox, "scribe");
        sandbox.write("src/b.rs", "pub fn b() {}\n");
        sandbox.write("docs/index.md", "Files.\n");
        sandbox.write("make", "case $1 in format) echo // formatted >> src/b.rs ;; esac\n");
        sandbox.commit("a script for checks");
        let readme = fs::read_to_string("../../README.md").expect("the README");
        for (language, body) in blocks(&readme) {
            let body = body.replace("make ", "sh make ");
            // There is no terminal to answer on.
            let answered = |it: &str| match it.split_once('#').map_or(it, |it| it.0).trim_end() {
                it if it.starts_with("pitcrew run") => format!("{it} --yes"),
                it if it.starts_with("pitcrew land") => format!("{it} --yes"),
                it => it.to_owned(),
            };
            match language.as_str() {
                "toml" => sandbox.write("plan.toml", &body),
                "sh" => {
                    let lines: Vec<String> = body.lines().map(answered).collect();
                    type_all(&sandbox, &lines.join("\n"));
                }
                other => panic!("a block of {other}"),
            }
        }
        assert_eq!(sandbox.read("src/b.rs"), "pub fn b() {}\n// formatted\n");
        assert_eq!(sandbox.read("docs/files.txt"), "a.rs\nb.rs\n");
    }

    #[test]
    fn backend_example_works() {
        let mut sandbox = machine();
        sandbox.add_to_path(PathBuf::from(BINARY).parent().expect("a folder"));
        let text = read("backends.md");
        let example = text.split("## Add a backend").nth(1).expect("the section");
        let steps = "write core/new.txt <<END\nnew\nEND\ncomplete wrote it\n";
        let steps = put(&sandbox, "steps.txt", steps);
        let by_script = format!("\"agent\", \"--script\", {steps:?}]");
        for (language, body) in blocks(example) {
            match language.as_str() {
                "toml" => own(&sandbox, "scribe", &body.replace("\"agent\"]", &by_script)),
                "sh" => type_all(&sandbox, &body),
                _ => {}
            }
        }
        let plan = sandbox.plan(
            "name = \"x\"\n[[task]]\nid = \"a\"\nagent = \"scribe\"\nregion = \"core\"\nprompt = \"Write it.\"\n",
        );
        sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0).says("1 of 1 completed");
    }
}
