//! Backends: the files that come with Pitcrew, the user's own files, and their validation.

use expect_test::{Expect, expect};
use pitcrew_config::{
    BackendSettings, BackendText, Dirs, ErrorKind, ErrorPattern, ErrorRule, LayerPaths, LayerText,
    LoginEvidence, McpServers, Resume, Settings, Sources, Trust, UsageScope, read_layers,
};
use std::{collections::BTreeMap, fs, path::Path};

fn file(name: &str, text: &str) -> BackendText {
    BackendText { name: name.into(), file: format!("{name}.toml"), text: text.into() }
}

fn sources(backends: Vec<BackendText>, user: &str) -> Sources {
    let user = LayerText { file: "user.toml".into(), text: user.into(), trust: Trust::Person };
    Sources { backends, user: Some(user), ..Sources::default() }
}

fn load(sources: &Sources) -> Settings {
    Settings::load(sources).unwrap_or_else(|it| panic!("{it}")).0
}

fn check_error(sources: &Sources, expected: &Expect) {
    expected.assert_eq(&Settings::load(sources).expect_err("it is wrong").to_string());
}

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn every_known_backend_is_complete() {
    let backends = Settings::default().backends;
    let names: Vec<&str> = backends.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        ["claude", "codex", "copilot", "gemini", "goose", "opencode", "qwen", "vibe"]
    );
    for (name, it) in &backends {
        assert!(!it.title.is_empty() && it.install.is_some() && it.login.is_some(), "{name}");
        assert!(!it.login_env.is_empty() && !it.login_files.is_empty(), "{name}");
        assert!(!it.state_env.is_empty() && !it.egress_hosts.is_empty(), "{name}");
        assert!(it.mode.is_some(), "{name}: its mode is set, never left to its own default");
        for kind in [ErrorKind::Auth, ErrorKind::Quota, ErrorKind::Model] {
            assert!(it.errors.iter().any(|it| it.kind == kind), "{name}: {kind:?}");
        }
        let is_moved = |path: &String| {
            it.state_env.values().any(|stands| stands == "." || path.starts_with(stands))
        };
        let files = it.login_files.iter().chain(&it.state_files).chain(it.state_first.keys());
        assert!(files.into_iter().all(is_moved), "{name}: each file moves with its state");
    }
}

#[test]
fn a_user_file_adds_a_backend() {
    let text = r#"
        title = "Mine"
        command = ["my-agent", "--acp"]
        pass_env = "MY_ENDPOINT"
        login_env = ["MY_KEY"]
        login_files = [".mine/login.json"]
        state_env = { MINE_HOME = ".mine" }
        egress_hosts = ["api.example.com", "*.example.org"]
        resume = "load"
        mcp = "none"
        usage = "session"
        errors = [{ says = "no money", kind = "quota" }, { says = "-32000", kind = "auth" }]
        version_args = []
    "#;
    let settings = load(&sources(vec![file("mine", text)], ""));
    let mine = &settings.backends["mine"];
    assert_eq!(mine.title_or("mine"), "Mine");
    assert_eq!(mine.pass_env, ["MY_ENDPOINT"], "one string stands for a list of one");
    assert_eq!(
        (mine.resume, mine.mcp, mine.usage),
        (Resume::Load, McpServers::None, UsageScope::Session)
    );
    let quota = ErrorRule { says: ErrorPattern::Text("no money".into()), kind: ErrorKind::Quota };
    let auth = ErrorRule { says: ErrorPattern::Code(-32000), kind: ErrorKind::Auth };
    assert_eq!(mine.errors, [quota, auth]);
    assert!(settings.plan_defaults().backends.contains("mine"));
}

#[test]
fn each_layer_replaces_single_keys_and_is_the_origin() {
    let own = file("claude", "mode = \"plan\"\nenv = { A = \"file\", B = \"file\" }\n");
    let user = "[backends.claude]\nmodel = \"opus\"\nvendor_program = \"\"\nenv = { B = \"settings\", ENABLE_TOOL_SEARCH = \"\" }\n";
    let sources = sources(vec![own], user);
    let (settings, origins) = Settings::load(&sources).expect("settings");
    let claude = &settings.backends["claude"];
    assert_eq!(claude.command, ["claude-agent-acp"], "keys that were not replaced stay");
    assert_eq!(claude.mode.as_deref(), Some("plan"));
    assert_eq!(claude.model.as_deref(), Some("opus"));
    assert_eq!(claude.vendor_program, None, "an empty string takes a value away");
    assert_eq!((claude.env["A"].as_str(), claude.env["B"].as_str()), ("file", "settings"));
    let environment = claude.environment(&BTreeMap::new(), false);
    assert!(!environment.contains_key("ENABLE_TOOL_SEARCH"), "an empty variable is taken away");
    assert_eq!(environment["DISABLE_AUTOUPDATER"], "1", "the others are still there");
    let rows = origins.rows(&settings);
    let shown = rows.iter().filter(|it| it.0.starts_with("backends.claude"));
    let shown: Vec<String> =
        shown.map(|(key, value, at)| format!("{key} = {value} # {at}")).collect();
    expect![[r#"
        backends.claude = command = ["claude-agent-acp"] # default
        backends.claude.env = A, B, CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC, CLAUDE_CODE_MAX_RETRIES, DISABLE_AUTOUPDATER, DISABLE_ERROR_REPORTING, DISABLE_TELEMETRY, ENABLE_TOOL_SEARCH, NO_BROWSER (values hidden) # user.toml:4
        backends.claude.mode = "plan" # claude.toml:1
        backends.claude.model = "opus" # user.toml:2"#]]
    .assert_eq(&shown.join("\n"));
}

#[test]
fn a_backend_error_names_the_line_and_the_fix() {
    let text = r#"
comand = ["x"]
mode = 3
resume = "reload"
login_files = ["/etc/passwd", "~/.mine", "a/../../b"]
state_env = { MINE_HOME = "/tmp", "A B" = "c" }
egress_hosts = ["https://example.com"]
pass_env = ["A=1"]
"#;
    check_error(
        &sources(vec![file("mine", text)], ""),
        &expect![[r#"
            mine.toml:2:1: error: unknown key `comand` in backend `mine`
             2 | comand = ["x"]
               | ^^^^^^
            help: did you mean `command`?

            mine.toml:3:8: error: `mode` must be a string, not an integer
             3 | mode = 3
               |        ^

            mine.toml:4:10: error: `resume` cannot be `reload`
             4 | resume = "reload"
               |          ^^^^^^^^
            help: did you mean `load`?

            mine.toml:5:16: error: `/etc/passwd` in `login_files` is not a path below the home folder
             5 | login_files = ["/etc/passwd", "~/.mine", "a/../../b"]
               |                ^^^^^^^^^^^^^
            help: write a path below your home folder, such as `.codex/auth.json`

            mine.toml:5:31: error: `~/.mine` in `login_files` is not a path below the home folder
             5 | login_files = ["/etc/passwd", "~/.mine", "a/../../b"]
               |                               ^^^^^^^^^
            help: write a path below your home folder, such as `.codex/auth.json`

            mine.toml:5:42: error: `a/../../b` in `login_files` is not a path below the home folder
             5 | login_files = ["/etc/passwd", "~/.mine", "a/../../b"]
               |                                          ^^^^^^^^^^^
            help: write a path below your home folder, such as `.codex/auth.json`

            mine.toml:6:27: error: `MINE_HOME` is not a path below the home folder
             6 | state_env = { MINE_HOME = "/tmp", "A B" = "c" }
               |                           ^^^^^^
            help: write the folder below your home that it stands for, such as `.codex`, or `.`

            mine.toml:6:43: error: `A B` is not a variable name
             6 | state_env = { MINE_HOME = "/tmp", "A B" = "c" }
               |                                           ^^^
            help: write it like `MY_API_KEY`

            mine.toml:7:17: error: `https://example.com` in `egress_hosts` is not a host name
             7 | egress_hosts = ["https://example.com"]
               |                 ^^^^^^^^^^^^^^^^^^^^^
            help: write a name such as `api.example.com` or `*.example.com`, without scheme and port

            mine.toml:8:13: error: `A=1` in `pass_env` is not a variable name
             8 | pass_env = ["A=1"]
               |             ^^^^^
            help: write it like `MY_API_KEY`"#]],
    );
}

#[test]
fn errors_in_inner_and_unpack_keys_are_reported() {
    let text = r#"
inner_programs = ["../agent", "@vendor/agent"]
inner_answers = { " " = "x" }
inner_env = "A B"
unpack_to = "A=B"
command = ["x"]
"#;
    check_error(
        &sources(vec![file("mine", text)], ""),
        &expect![[r#"
            mine.toml:2:19: error: `../agent` in `inner_programs` is not a file in a package
             2 | inner_programs = ["../agent", "@vendor/agent"]
               |                   ^^^^^^^^^^
            help: write the package and the file in it, such as `@vendor/agent-linux-x64/agent`

            mine.toml:3:25: error: ` ` is not a call that can be answered
             3 | inner_answers = { " " = "x" }
               |                         ^^^
            help: separate the arguments with spaces, such as `auth status --json`

            mine.toml:4:13: error: `A B` in `inner_env` is not a variable name
             4 | inner_env = "A B"
               |             ^^^^^
            help: write it like `MY_API_KEY`

            mine.toml:5:13: error: `A=B` in `unpack_to` is not a variable name
             5 | unpack_to = "A=B"
               |             ^^^^^
            help: write it like `MY_API_KEY`"#]],
    );
}

#[test]
fn a_mistake_in_an_error_rule_is_reported() {
    let text = r#"
command = ["x"]
[[errors]]
says = ""
kind = "money"
[[errors]]
say = "x"
"#;
    check_error(
        &sources(vec![file("mine", text)], ""),
        &expect![[r#"
            mine.toml:4:8: error: `says` is empty
             4 | says = ""
               |        ^^
            help: an empty string would match every error

            mine.toml:5:8: error: `kind` cannot be `money`
             5 | kind = "money"
               |        ^^^^^^^
            help: possible values: auth, quota, unreachable, model

            mine.toml:6:1: error: an error of a backend needs `kind`
             6 | [[errors]]
               | ^^^^^^^^^^
            help: write `says = "part of the message"` and `kind = "auth"`, `"quota"`, `"unreachable"` or `"model"`

            mine.toml:7:1: error: unknown key `say` in an error of a backend
             7 | say = "x"
               | ^^^
            help: did you mean `says`?"#]],
    );
}

#[test]
fn an_invalid_backend_file_is_reported() {
    check_error(
        &sources(vec![file("cluade", "mode = \"plan\"")], ""),
        &expect![[r#"
        cluade.toml:1:1: error: backend `cluade` has no `command`
         1 | mode = "plan"
           | ^
        help: did you mean `claude`?"#]],
    );
    check_error(
        &sources(vec![file("builtin", "command = [\"x\"]")], ""),
        &expect![[r#"
        builtin.toml:1:1: error: `builtin` is built in, and cannot be configured
         1 | command = ["x"]
           | ^
        help: choose another name"#]],
    );
    check_error(
        &sources(vec![], "[backends.claude]\nerrors = \"401\""),
        &expect![[r#"
        user.toml:2:10: error: `errors` must be a list of tables, not a string
         2 | errors = "401"
           |          ^^^^^
        help: write `[[errors]]` and below it `says = "..."` and `kind = "auth"`"#]],
    );
    check_error(
        &sources(vec![file("mine", "command = [\n")], ""),
        &expect![[r#"
        mine.toml:1:12: error: this is not TOML: unclosed array, expected `]`
         1 | command = [
           |            ^"#]],
    );
}

/// Nothing that comes with a repository chooses programs to run.
#[test]
fn backend_files_belong_to_the_user() {
    let home = tempfile::tempdir().expect("a folder");
    let environment = map(&[("HOME", &home.path().display().to_string())]);
    let dirs = Dirs::from_env(&environment, 1000).expect("folders");
    let repository = home.path().join("repository");
    for folder in [dirs.config.join("backends"), repository.join(".pitcrew/backends")] {
        fs::create_dir_all(&folder).expect("a folder");
        let name = if folder.starts_with(&repository) { "theirs" } else { "mine" };
        fs::write(folder.join(format!("{name}.toml")), "command = [\"x\"]").expect("a file");
        fs::write(folder.join("notes.md"), "not a backend").expect("a file");
    }
    let paths = LayerPaths::new(&dirs, &repository);
    let settings = load(&read_layers(&paths).expect("files"));
    assert!(settings.backends.contains_key("mine"));
    assert!(!settings.backends.contains_key("theirs"));
    fs::write(paths.backends.join("bad.toml"), b"\xff").expect("a file");
    let error = read_layers(&paths).expect_err("not UTF-8");
    assert_eq!(error.path, paths.backends.join("bad.toml"));
}

#[test]
fn a_backend_gets_only_the_variables_it_names() {
    let settings = load(&sources(
        vec![],
        r#"
        [backends.mine]
        command = ["x"]
        env = { SET = "by us", BOTH = "by us" }
        root_env = { ROOT = "1" }
        pass_env = ["PASSED", "BOTH", "ABSENT"]
        login_env = ["KEY"]
        proxy_env = ["HTTPS_PROXY"]
        state_env = { MINE_HOME = ".mine" }
        "#,
    ));
    let user = map(&[
        ("PASSED", "p"),
        ("BOTH", "by the user"),
        ("KEY", "k"),
        ("HTTPS_PROXY", "h"),
        ("MINE_HOME", "/elsewhere"),
        ("SECRET", "s"),
    ]);
    let mine = &settings.backends["mine"];
    let expected = map(&[
        ("SET", "by us"),
        ("BOTH", "by us"),
        ("PASSED", "p"),
        ("KEY", "k"),
        ("HTTPS_PROXY", "h"),
        ("MINE_HOME", "/elsewhere"),
    ]);
    assert_eq!(mine.environment(&user, false), expected);
    assert_eq!(mine.environment(&user, true)["ROOT"], "1");
}

#[test]
fn finds_a_login_in_the_users_own_folder() {
    let home = tempfile::tempdir().expect("a folder");
    let at = |path: &str| home.path().join(path);
    let text = |path: &str| at(path).display().to_string();
    let codex = &Settings::default().backends["codex"];
    let user = map(&[("HOME", &text(""))]);
    assert_eq!(codex.login_evidence(&user), None);
    write(&at(".codex/auth.json"), "{}");
    assert_eq!(codex.login_evidence(&user), None, "an empty login is none");
    let logged_out = r#"{"tokens":{"access_token":"","refresh_token":""}}"#;
    write(&at(".codex/auth.json"), logged_out);
    assert_eq!(codex.login_evidence(&user), None, "nor is what a logout leaves");
    write(&at(".codex/auth.json"), r#"{"tokens":{"access_token":"a","refresh_token":"r"}}"#);
    assert_eq!(codex.login_evidence(&user), Some(LoginEvidence::File(at(".codex/auth.json"))));
    let mut moved = user.clone();
    moved.insert("CODEX_HOME".into(), text("moved"));
    assert_eq!(codex.login_evidence(&moved), None, "the user's own variable says where it is");
    let places = codex.login_places(&moved);
    assert_eq!(places[0].source, at("moved/auth.json"));
    assert_eq!(places[0].below, Path::new(".codex/auth.json"), "its place in a private state");
    moved.insert("OPENAI_API_KEY".into(), "key".into());
    assert_eq!(
        codex.login_evidence(&moved),
        Some(LoginEvidence::Variable("OPENAI_API_KEY".into()))
    );
}

#[test]
fn copies_credentials_only_to_backends_that_use_them() {
    let backends = Settings::default().backends;
    let keys = ["HOME", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "COPILOT_GITHUB_TOKEN"];
    let user = map(&keys.map(|it| (it, "/some")));
    let home = map(&[("HOME", "/some")]);
    let copied = |name: &str, user: &BTreeMap<String, String>| {
        let places = backends[name].credential_places(user).into_iter();
        places.map(|it| it.below.display().to_string()).collect::<Vec<_>>()
    };
    assert_eq!(copied("claude", &user), [""; 0]);
    assert_eq!(copied("claude", &home), [".claude/.credentials.json"]);
    // For these backends a login in their folder takes precedence.
    assert_eq!(copied("codex", &user), [".codex/auth.json"]);
    assert_eq!(copied("opencode", &user), [".local/share/opencode/auth.json"]);
    assert_eq!(copied("copilot", &user), [""; 0], "it is a file with settings");
    let settings = backends["copilot"].state_places(&user);
    assert!(settings.iter().any(|it| it.below == Path::new(".copilot/config.json")));
}

#[test]
fn a_private_state_has_the_layout_of_a_home() {
    let backends = Settings::default().backends;
    let state = |it: &BackendSettings| it.private_state(Path::new("/private"));
    assert_eq!(state(&backends["codex"])["CODEX_HOME"], Path::new("/private/.codex"));
    assert_eq!(state(&backends["gemini"])["GEMINI_CLI_HOME"], Path::new("/private"));
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, text).expect("a file");
}
