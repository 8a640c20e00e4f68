//! Settings: layers, origins, and the limits of each layer.

use expect_test::{Expect, expect};
use pitcrew_config::{
    Dirs, Layer, LayerPaths, LayerText, Origins, Settings, Sources, Trust, read_layers,
};
use pitcrew_model::{Caps, Tier};
use std::{collections::BTreeMap, fs, path::Path};

fn layer(file: &str, text: &str, trust: Trust) -> LayerText {
    LayerText { file: file.into(), text: text.into(), trust }
}

fn user(text: &str) -> Sources {
    Sources { user: Some(layer("user.toml", text, Trust::Person)), ..Sources::default() }
}

fn repository(text: &str) -> LayerText {
    layer("repo.toml", text, Trust::Repository)
}

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn load(sources: &Sources) -> (Settings, Origins) {
    Settings::load(sources).unwrap_or_else(|it| panic!("{it}"))
}

fn check_error(sources: &Sources, expected: &Expect) {
    expected.assert_eq(&Settings::load(sources).expect_err("it is wrong").to_string());
}

/// The output of `config show --origin`.
fn shown(sources: &Sources) -> String {
    let (settings, origins) = load(sources);
    let rows = origins.rows(&settings).into_iter();
    let lines = rows.map(|(key, value, origin)| format!("{key} = {value}  # {origin}"));
    let ignored = origins
        .ignored
        .iter()
        .map(|it| format!("ignored: {} = {} at {}: {}", it.key, it.value, it.origin, it.reason));
    lines.chain(ignored).collect::<Vec<_>>().join("\n")
}

#[test]
fn without_any_layer_the_defaults_apply() {
    let (settings, origins) = load(&Sources::default());
    assert_eq!(settings, Settings::default());
    assert_eq!(origins.get("max_agents").map(|it| it.layer), Some(Layer::Default));
    expect![[r#"
        max_agents = 5  # default
        max_live_agents = 20  # default
        agent = (none)  # default
        worktrees = (none)  # default
        task_timeout = "1h"  # default
        lease = "2min"  # default
        query_tokens = 2000  # default
        query_plan_tokens = 20000  # default
        query_deadline = "1min"  # default
        max_tokens = (none)  # default
        max_cost = (none)  # default
        denied = (none)  # default
        reads = "guided"  # default
        backends.claude = command = ["claude-agent-acp"]  # default
        backends.codex = command = ["codex-acp"]  # default
        backends.copilot = command = ["copilot", "--acp"]  # default
        backends.gemini = command = ["gemini", "--acp"]  # default
        backends.goose = command = ["goose", "acp"]  # default
        backends.opencode = command = ["opencode", "acp"]  # default
        backends.qwen = command = ["qwen", "--acp"]  # default
        backends.vibe = command = ["vibe-acp"]  # default"#]]
    .assert_eq(&shown(&Sources::default()));
}

#[test]
fn a_stronger_layer_overrides_and_is_the_origin() {
    let mut sources = user(
        "max_agents = 8\nagent = \"claude\"\ntask_timeout = \"2h\"\n\n[backends.mine]\ncommand = [\"my-agent\", \"--acp\"]\nenv = { MY_KEY = \"secret\" }\n",
    );
    sources.repository = Some(repository("max_agents = 4\nagent = \"goose\"\n"));
    sources.local =
        Some(layer("local.toml", "\nmax_agents = 6\nworktrees = \"~/trees\"\n", Trust::Person));
    sources.environment = map(&[("PITCREW_TASK_TIMEOUT", "90"), ("HOME", "/homes/me")]);
    sources.flags = map(&[("agent", "codex:fast")]);
    let shown = shown(&sources);
    assert!(!shown.contains("secret"));
    expect![[r#"
        max_agents = 6  # local.toml:2
        max_live_agents = 20  # default
        agent = "codex:fast"  # --agent
        worktrees = "/homes/me/trees"  # local.toml:3
        task_timeout = "1min30s"  # PITCREW_TASK_TIMEOUT
        lease = "2min"  # default
        query_tokens = 2000  # default
        query_plan_tokens = 20000  # default
        query_deadline = "1min"  # default
        max_tokens = (none)  # default
        max_cost = (none)  # default
        denied = (none)  # default
        reads = "guided"  # default
        backends.claude = command = ["claude-agent-acp"]  # default
        backends.codex = command = ["codex-acp"]  # default
        backends.copilot = command = ["copilot", "--acp"]  # default
        backends.gemini = command = ["gemini", "--acp"]  # default
        backends.goose = command = ["goose", "acp"]  # default
        backends.mine = command = ["my-agent", "--acp"]  # user.toml:6
        backends.opencode = command = ["opencode", "acp"]  # default
        backends.qwen = command = ["qwen", "--acp"]  # default
        backends.vibe = command = ["vibe-acp"]  # default
        backends.mine.env = MY_KEY (values hidden)  # user.toml:7"#]]
    .assert_eq(&shown);
    let (settings, _) = load(&sources);
    assert_eq!(settings.backends["mine"].env["MY_KEY"], "secret");
    assert!(!format!("{settings:?}").contains("secret"));
    let defaults = settings.plan_defaults();
    let agent = settings.default_agent().map(|it| it.to_string());
    assert_eq!(agent.as_deref(), Some("codex:fast"));
    assert_eq!(defaults.timeout_ms, 90_000);
    assert!(defaults.backends.contains("mine") && defaults.backends.contains("claude"));
}

#[test]
fn each_layer_overrides_the_previous_one() {
    let all = Sources {
        flags: map(&[("max_agents", "2")]),
        environment: map(&[("PITCREW_MAX_AGENTS", "3")]),
        local: Some(layer("local.toml", "max_agents = 4", Trust::Person)),
        repository: Some(repository("max_agents = 5")),
        user: Some(layer("user.toml", "max_agents = 6", Trust::Person)),
        backends: Vec::new(),
    };
    let steps: [fn(&mut Sources); 5] = [
        |it| it.flags.clear(),
        |it| it.environment.clear(),
        |it| it.local = None,
        |it| it.repository = None,
        |it| it.user = None,
    ];
    let mut sources = all;
    let mut seen = vec![load(&sources).0.max_agents];
    for step in steps {
        step(&mut sources);
        seen.push(load(&sources).0.max_agents);
    }
    assert_eq!(seen, [2, 3, 4, 5, 6, 5]);
}

#[test]
fn a_repository_only_tightens_limits() {
    let mut sources = user("max_agents = 3\ntask_timeout = \"10min\"\n");
    sources.repository =
        Some(repository("max_agents = 9\nmax_live_agents = 10\ntask_timeout = \"1h\"\n"));
    expect![[r#"
        max_agents = 3  # user.toml:1
        max_live_agents = 10  # repo.toml:2
        agent = (none)  # default
        worktrees = (none)  # default
        task_timeout = "10min"  # user.toml:2
        lease = "2min"  # default
        query_tokens = 2000  # default
        query_plan_tokens = 20000  # default
        query_deadline = "1min"  # default
        max_tokens = (none)  # default
        max_cost = (none)  # default
        denied = (none)  # default
        reads = "guided"  # default
        backends.claude = command = ["claude-agent-acp"]  # default
        backends.codex = command = ["codex-acp"]  # default
        backends.copilot = command = ["copilot", "--acp"]  # default
        backends.gemini = command = ["gemini", "--acp"]  # default
        backends.goose = command = ["goose", "acp"]  # default
        backends.opencode = command = ["opencode", "acp"]  # default
        backends.qwen = command = ["qwen", "--acp"]  # default
        backends.vibe = command = ["vibe-acp"]  # default
        ignored: max_agents = 9 at repo.toml:1: a repository may only lower it from 3
        ignored: task_timeout = 1h at repo.toml:3: a repository may only lower it from 10min"#]]
    .assert_eq(&shown(&sources));
    let mut sources = user("");
    sources.local = Some(layer("local.toml", "max_agents = 50", Trust::Repository));
    assert_eq!(load(&sources).0.max_agents, 5, "a committed local file came with the repository");
}

#[test]
fn a_repository_may_only_lower_spending_caps() {
    let mut sources = user("max_tokens = 1000\n");
    sources.repository = Some(repository("max_tokens = 2000\nmax_cost = 3\n"));
    let (settings, origins) = load(&sources);
    assert_eq!(settings.caps, Caps { tokens: Some(1_000), cost_micros: Some(3_000_000) });
    let ignored: Vec<&str> = origins.ignored.iter().map(|it| it.key.as_str()).collect();
    assert_eq!(ignored, ["max_tokens"]);
    sources.environment.insert("PITCREW_MAX_COST".into(), "$0.50".into());
    assert_eq!(load(&sources).0.plan_defaults().caps.cost_micros, Some(500_000));
    sources.environment.insert("PITCREW_MAX_COST".into(), "free".into());
    assert!(Settings::load(&sources).is_err());
}

#[test]
fn a_repository_cannot_choose_programs_or_folders() {
    let mut sources = user("");
    sources.repository = Some(repository(
        "worktrees = \"/homes/me/.config\"\n[backends.claude]\ncommand = [\"evil\"]\n",
    ));
    sources.local =
        Some(layer("local.toml", "[backends.x]\ncommand = [\"evil\"]\n", Trust::Person));
    check_error(
        &sources,
        &expect![[r#"
        repo.toml:1:1: error: a file that comes with the repository cannot choose where checkouts are made
         1 | worktrees = "/homes/me/.config"
           | ^^^^^^^^^
        help: put `worktrees` into your own settings, usually `~/.config/pitcrew/config.toml`

        repo.toml:2:2: error: only your own settings may name the programs to run, not a file in the repository
         2 | [backends.claude]
           |  ^^^^^^^^
        help: move `[backends]` to your own settings, usually `~/.config/pitcrew/config.toml`

        local.toml:1:2: error: only your own settings may name the programs to run, not a file in the repository
         1 | [backends.x]
           |  ^^^^^^^^
        help: move `[backends]` to your own settings, usually `~/.config/pitcrew/config.toml`"#]],
    );
}

#[test]
fn every_slot_has_room_for_a_process() {
    let (raised, _) = load(&user("max_agents = 30"));
    assert_eq!((raised.max_agents, raised.max_live_agents), (30, 30));
    let (lowered, origins) = load(&user("max_agents = 30\nmax_live_agents = 10"));
    assert_eq!((lowered.max_agents, lowered.max_live_agents), (10, 10));
    assert_eq!(origins.ignored[0].reason, "`max_live_agents` allows only 10");
    let (lowered, _) = load(&user("max_live_agents = 2"));
    assert_eq!((lowered.max_agents, lowered.max_live_agents), (2, 2));
}

#[test]
fn reports_all_problems_of_all_layers() {
    let mut sources = user(
        "max_agent = 3\nmax_live_agents = 0\nagent = \"command\"\nworktrees = \"trees\"\ntask_timeout = true\n",
    );
    sources.repository = Some(repository("max_agents = \n"));
    sources.environment = map(&[
        ("PITCREW_MAX_AGENTS", "many"),
        ("PITCREW_MAX_AGENT", "3"),
        ("PITCREW_TOKEN", "left alone"),
        ("PITCREW_WORKTREES", ""),
        ("PITCREW_BACKENDS", "x"),
    ]);
    sources.flags = map(&[("max_agents", "0"), ("task_timeout", "soon"), ("agent", "@x")]);
    check_error(
        &sources,
        &expect![[r#"
        user.toml:1:1: error: unknown key `max_agent` in the settings
         1 | max_agent = 3
           | ^^^^^^^^^
        help: did you mean `max_agents`?

        user.toml:2:19: error: `max_live_agents` is 0, but must be between 1 and 1000
         2 | max_live_agents = 0
           |                   ^

        user.toml:3:9: error: `agent` cannot be `command`: it needs a command, not a prompt
         3 | agent = "command"
           |         ^^^^^^^^^
        help: name a backend that works from a prompt, such as `claude`

        user.toml:4:13: error: `worktrees` is `trees`, which depends on the folder you are in
         4 | worktrees = "trees"
           |             ^^^^^^^
        help: write an absolute path, or one that begins with `~/`

        user.toml:5:16: error: `task_timeout` must be a duration, not a boolean
         5 | task_timeout = true
           |                ^^^^
        help: write a number with a unit, such as "30s", "10min" or "1h30min", or whole seconds

        repo.toml:1:14: error: this is not TOML: string values must be quoted, expected literal string
         1 | max_agents =
           |              ^

        environment:1:18: error: `PITCREW_BACKENDS` cannot be set like this
         1 | PITCREW_BACKENDS=x
           |                  ^
        help: write it into your settings file

        environment:1:1: error: `PITCREW_MAX_AGENT` is not a setting
         1 | PITCREW_MAX_AGENT=3
           | ^^^^^^^^^^^^^^^^^
        help: did you mean `PITCREW_MAX_AGENTS`?

        environment:1:20: error: `PITCREW_MAX_AGENTS` cannot be `many`
         1 | PITCREW_MAX_AGENTS=many
           |                    ^^^^
        help: write a whole number between 1 and 1000

        command line:1:9: error: `--agent` cannot be `@x`: it names no backend
         1 | --agent @x
           |         ^^
        help: write `BACKEND:x`

        command line:1:14: error: `--max-agents` is 0, but must be between 1 and 1000
         1 | --max-agents 0
           |              ^
        help: write a whole number between 1 and 1000

        command line:1:16: error: `--task-timeout` is invalid: `soon` is not a duration
         1 | --task-timeout soon
           |                ^^^^
        help: write a number with a unit, such as "30s", "10min" or "1h30min", or whole seconds"#]],
    );
}

#[test]
fn a_backend_must_name_a_program_on_the_path() {
    let text = r#"
        [backends]
        number = 1
        builtin = { command = ["x"] }
        "a b" = { command = ["x"] }
        none = {}
        empty = { command = [] }
        here = { command = ["./agent"] }
        shell = { command = "agent --acp" }
        typo = { comand = ["x"] }
        env1 = { command = ["x"], env = { "A=B" = "1", C = 2 } }
        env2 = { command = ["x"], env = "A=1" }
    "#;
    check_error(
        &user(text),
        &expect![[r#"
            user.toml:3:9: error: backend `number` must be a table, not an integer
             3 |         number = 1
               |         ^^^^^^
            help: write `[backends.number]` and below it `command = ["program"]`

            user.toml:4:9: error: `builtin` is built in, and cannot be configured
             4 |         builtin = { command = ["x"] }
               |         ^^^^^^^
            help: choose another name

            user.toml:5:9: error: `a b` is not a backend name
             5 |         "a b" = { command = ["x"] }
               |         ^^^^^
            help: use letters, digits, `-`, `_` and `.`

            user.toml:6:9: error: backend `none` has no `command`
             6 |         none = {}
               |         ^^^^
            help: write the program and its arguments: command = ["program", "--flag"]

            user.toml:7:29: error: `command` names no program
             7 |         empty = { command = [] }
               |                             ^^
            help: write the program and its arguments: command = ["program", "--flag"]

            user.toml:8:28: error: `command` names `./agent`, which depends on the folder it is started in
             8 |         here = { command = ["./agent"] }
               |                            ^^^^^^^^^^^
            help: write the bare name of a program on your PATH, or an absolute path

            user.toml:9:29: error: `command` is one word with a space in it: `agent --acp`
             9 |         shell = { command = "agent --acp" }
               |                             ^^^^^^^^^^^^^
            help: commands do not run in a shell; write: command = ["agent", "--acp"]

            user.toml:10:18: error: unknown key `comand` in backend `typo`
             10 |         typo = { comand = ["x"] }
                |                  ^^^^^^
            help: did you mean `command`?

            user.toml:11:51: error: `A=B` is not a variable name
             11 |         env1 = { command = ["x"], env = { "A=B" = "1", C = 2 } }
                |                                                   ^^^
            help: write it like `MY_API_KEY`

            user.toml:11:60: error: `C` must be a string, not an integer
             11 |         env1 = { command = ["x"], env = { "A=B" = "1", C = 2 } }
                |                                                            ^

            user.toml:12:41: error: `env` must be a table, not a string
             12 |         env2 = { command = ["x"], env = "A=1" }
                |                                         ^^^^^
            help: write `env = { NAME = "value" }`"#]],
    );
}

#[test]
fn a_backend_is_a_name_or_a_path_with_arguments() {
    let good =
        "[backends.a]\ncommand = \"agent\"\n[backends.b]\ncommand = [\"/opt/b\", \"./arg\"]\n";
    let (settings, _) = load(&user(good));
    assert_eq!(settings.backends["a"].command, ["agent"]);
    assert_eq!(settings.backends["b"].command, ["/opt/b", "./arg"]);
    check_error(
        &user("backends = 3"),
        &expect![[r#"
        user.toml:1:12: error: `backends` must be a table, not an integer
         1 | backends = 3
           |            ^
        help: write `[backends.NAME]`"#]],
    );
}

#[test]
fn files_that_exist_are_read() {
    let home = tempfile::tempdir().expect("a folder");
    let environment = map(&[("HOME", home.path().to_str().expect("a plain path"))]);
    let dirs = Dirs::from_env(&environment, 1_000).expect("a home");
    let root = home.path().join("repo");
    let paths = LayerPaths::new(&dirs, &root);
    assert_eq!(read_layers(&paths).expect("nothing there"), Sources::default());
    fs::create_dir_all(&dirs.config).expect("a folder");
    fs::create_dir_all(root.join(".pitcrew")).expect("a folder");
    fs::write(dirs.config.join("config.toml"), "max_agents = 9").expect("a file");
    fs::write(root.join(".pitcrew/config.toml"), "max_agents = 7").expect("a file");
    fs::write(root.join(".pitcrew/config.local.toml"), "max_agents = 8").expect("a file");
    let sources = read_layers(&paths).expect("three files");
    assert_eq!(sources.repository.as_ref().map(|it| it.trust), Some(Trust::Repository));
    let (settings, origins) = load(&sources);
    assert_eq!(settings.max_agents, 8);
    let origin = origins.get("max_agents").expect("an origin").to_string();
    assert!(origin.ends_with(".pitcrew/config.local.toml:1"), "{origin}");
}

#[test]
fn an_unreadable_file_is_reported() {
    let home = tempfile::tempdir().expect("a folder");
    let path = |name: &str| home.path().join(name);
    let backends = path("b");
    let paths = LayerPaths { user: path("u"), repository: path("r"), local: path("l"), backends };
    fs::write(&paths.local, b"\xff").expect("a file");
    let error = read_layers(&paths).expect_err("not UTF-8");
    assert_eq!(error.path, paths.local);
    fs::write(&paths.local, vec![b'#'; 2 * 1_024 * 1_024]).expect("a file");
    let error = read_layers(&paths).expect_err("too long");
    assert_eq!(error.source.to_string(), "it has more than 1048576 bytes");
    fs::remove_file(&paths.local).expect("it is there");
    fs::create_dir(&paths.local).expect("a folder");
    let error = read_layers(&paths).expect_err("a folder");
    assert_eq!(error.source.to_string(), "it is not a file");
    assert!(error.to_string().starts_with("failed to read the settings at `"));
}

#[test]
fn hosts_and_ports_are_parsed_and_displayed() {
    let text = "egress_allow = [\"API.example.com\", \"*.example.org\", \"db.example.com:5432\"]\nforward = [5432]\n";
    let (settings, _) = load(&user(text));
    let hosts: Vec<String> = settings.egress_allow.iter().map(ToString::to_string).collect();
    assert_eq!(hosts, ["api.example.com", "*.example.org", "db.example.com:5432"]);
    assert_eq!(settings.forward, [5432]);
    let shown = shown(&user(text));
    assert!(shown.contains("forward = [5432]  # user.toml:2"), "{shown}");
    assert!(!self::shown(&Sources::default()).contains("egress_allow"));
}

#[test]
fn a_repository_only_removes_hosts_and_ports() {
    let mut sources =
        user("egress_allow = [\"*.example.org\", \"a.example\"]\nforward = [5432, 6379]\n");
    sources.repository = Some(repository(
        "egress_allow = [\"x.example.org\", \"evil.example\"]\nforward = [6379, 2222]\n",
    ));
    let (settings, origins) = load(&sources);
    assert_eq!(settings.egress_allow, ["x.example.org".parse().expect("a host")]);
    assert_eq!(settings.forward, [6379]);
    let ignored: Vec<&str> = origins.ignored.iter().map(|it| it.value.as_str()).collect();
    assert_eq!(ignored, ["evil.example", "2222"]);
    sources.user = None;
    let (settings, _) = load(&sources);
    assert!(settings.egress_allow.is_empty() && settings.forward.is_empty());
}

#[test]
fn invalid_hosts_and_ports_are_reported_with_their_location() {
    let text = "egress_allow = [\n  \"a.example\",\n  \"https://b.example\",\n  \"0x7f.1\",\n]\nforward = [0, \"x\", 80]\n";
    check_error(
        &user(text),
        &expect![[r#"
            user.toml:3:3: error: `https://b.example` in `egress_allow` is not a host: its port is not a number from 1 to 65535
             3 |   "https://b.example",
               |   ^^^^^^^^^^^^^^^^^^^
            help: write `api.example.com`, `*.example.com` or `db.example.com:5432`, without scheme and path

            user.toml:4:3: error: `0x7f.1` in `egress_allow` is not a host: it is a number that is read differently by different programs
             4 |   "0x7f.1",
               |   ^^^^^^^^
            help: write `api.example.com`, `*.example.com` or `db.example.com:5432`, without scheme and path

            user.toml:6:12: error: an element of `forward` is not a port
             6 | forward = [0, "x", 80]
               |            ^
            help: write whole numbers from 1024 to 65535: forward = [5432]

            user.toml:6:15: error: an element of `forward` is not a port
             6 | forward = [0, "x", 80]
               |               ^^^
            help: write whole numbers from 1024 to 65535: forward = [5432]

            user.toml:6:20: error: port 80 cannot be forwarded: a program in a box cannot listen below 1024
             6 | forward = [0, "x", 80]
               |                    ^^
            help: make the service listen on port 1024 or higher and forward that port"#]],
    );
}

/// No layer can lift another layer's denial, and a repository can only be stricter.
#[test]
fn a_denial_by_one_layer_stays() {
    use pitcrew_model::Reads;
    let mut sources = user("denied = [\"infra\"]\nreads = \"zone\"");
    sources.repository = Some(repository("denied = \"docs/**\"\nreads = \"guided\""));
    let (settings, origins) = load(&sources);
    let denied: Vec<String> = settings.denied.iter().map(ToString::to_string).collect();
    assert_eq!((denied.join(" ").as_str(), settings.reads), ("infra docs", Reads::Zone));
    assert_eq!(origins.ignored.len(), 1);
    assert_eq!(origins.ignored[0].reason, "a repository may only be stricter than \"zone\"");
    let defaults = settings.plan_defaults();
    assert_eq!((defaults.denied.len(), defaults.reads), (2, Reads::Zone));
    sources.user = None;
    sources.environment = map(&[("PITCREW_READS", "zone")]);
    assert_eq!(load(&sources).0.reads, Reads::Zone);
    sources.environment = map(&[("PITCREW_READS", "none")]);
    assert!(Settings::load(&sources).is_err());
    sources.environment.clear();
    sources.repository = Some(repository("denied = [\"../x\"]"));
    check_error(
        &sources,
        &expect![[r#"
        repo.toml:1:11: error: `denied` cannot contain `../x`: it leaves the repository
         1 | denied = ["../x"]
           |           ^^^^^^
        help: name a path below the root of the repository"#]],
    );
}

#[test]
fn a_repository_may_only_raise_the_required_tier() {
    let wanted = |user_text: &str, repository_text: &str| {
        let mut sources = user(user_text);
        sources.repository = Some(repository(repository_text));
        let (settings, origins) = load(&sources);
        (settings.sandbox.min_tier, origins.ignored.len())
    };
    let sandbox = |tier: &str| format!("[sandbox]\nmin_tier = \"{tier}\"\n");
    assert_eq!(wanted("", &sandbox("T3")), (Some(Tier::T3), 0));
    assert_eq!(wanted(&sandbox("T2"), &sandbox("T3")), (Some(Tier::T3), 0));
    assert_eq!(wanted(&sandbox("T3"), &sandbox("T2")), (Some(Tier::T3), 1));
    // T1 needs a person's consent, and no repository can give it.
    assert_eq!(wanted("", &sandbox("T1")), (None, 1));
    assert_eq!(wanted(&sandbox("T3"), &sandbox("best")), (Some(Tier::T3), 1));
}

#[test]
fn user_files_and_variables_widen_the_sandbox() {
    let mut sources = user("[sandbox]\nread = [\"/opt/data\"]\nwrite = [\"~/shared\"]\n");
    sources.environment =
        map(&[("HOME", "/homes/me"), ("PITCREW_SANDBOX", "T2"), ("PITCREW_SANDBOX_READ", "/a:/b")]);
    let sandbox = load(&sources).0.sandbox;
    assert_eq!(sandbox.tier, Some(Tier::T2));
    assert_eq!(sandbox.read, [Path::new("/a"), Path::new("/b")]);
    assert_eq!(sandbox.write, [Path::new("/homes/me/shared")]);
}
