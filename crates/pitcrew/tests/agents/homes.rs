//! The user's own files of an agent are the same before and after its work.

use crate::support::with_crew;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// All files below a folder except ours and caches.
fn snapshot(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut snapshot = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.ends_with(".cache") || path.ends_with(".local/state/pitcrew") {
            continue;
        }
        if path.is_dir() {
            snapshot.extend(self::snapshot(&path));
        } else {
            snapshot.push((path.clone(), fs::read(&path).unwrap_or_default()));
        }
    }
    snapshot.sort();
    snapshot
}

fn keeps_the_users_files(test: &str, agent: &str, files: &[(&str, &str)]) {
    with_crew(test, &[agent], |crew| {
        let home = crew.sandbox.home();
        for (path, text) in files {
            let path = home.join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        }
        let before = snapshot(&home);
        let plan = format!(
            "name = \"home\"\n\n[[task]]\nid = \"t\"\nagent = \"{agent}\"\nregion = \"core\"\nprompt = '''\n@write core/new.txt new\n@complete wrote it\n'''\n"
        );
        let plan = crew.sandbox.plan(&plan);
        crew.sandbox.pitcrew(&["run", &plan, "--yes"]).expect(0).says("1 of 1 completed");
        let after = snapshot(&home);
        let names =
            |it: &[(PathBuf, Vec<u8>)]| it.iter().map(|it| it.0.clone()).collect::<Vec<_>>();
        assert_eq!(names(&after), names(&before), "nothing is added and nothing is lost");
        assert_eq!(after, before);
    });
}

#[test]
fn claude_keeps_the_users_files() {
    let credential = r#"{"claudeAiOauth":{"accessToken":"sk-ant-oat01-x","refreshToken":"sk-ant-ort01-x","expiresAt":4000000000000,"scopes":["user:inference"],"subscriptionType":"max"}}"#;
    // Without a key, Claude has to use the login.
    let no_key = "[backends.claude.env]\nANTHROPIC_API_KEY = \"\"\n";
    keeps_the_users_files(
        "homes::claude_keeps_the_users_files",
        "claude",
        &[
            (".config/pitcrew/config.toml", no_key),
            (".claude/.credentials.json", credential),
            (
                ".claude/settings.json",
                r#"{"hooks":{"Stop":[]},"permissions":{"deny":["WebFetch"]}}"#,
            ),
            (".claude/CLAUDE.md", "Answer briefly.\n"),
            (".claude/projects/other/session.jsonl", "{}\n"),
            (".claude.json", r#"{"hasCompletedOnboarding":true,"mcpServers":{}}"#),
            (".gitconfig", "[user]\n\tname = Ada\n"),
        ],
    );
}

#[test]
fn goose_keeps_the_users_files() {
    keeps_the_users_files(
        "homes::goose_keeps_the_users_files",
        "goose",
        &[
            (".config/goose/config.yaml", "GOOSE_MODEL: another\nextensions: {}\n"),
            (".config/goose/secrets.yaml", "OPENAI_API_KEY: k\n"),
            (".config/git/config", "[user]\n\tname = Ada\n"),
            (".local/share/goose/sessions/old.jsonl", "{}\n"),
        ],
    );
}
