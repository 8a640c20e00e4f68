//! Files that an agent reaches through us, and questions in its text.

use crate::stage::{END, LONG, OPEN, Stage, launch};
use pitcrew_acp::{Event, FileScope, Launch, Outline, Profile, SessionEvents, attach, open};
use pitcrew_model::{Access, CheckoutRole, EffectId, RepoPath, Zone};
use std::{fs, path::Path, sync::Arc, time::Duration};
use tokio::time::timeout;

/// `read ID PATH` and `write ID PATH`; `answer` has the result.
const FILES: &str = r#"
call() { printf '{"jsonrpc":"2.0","id":"%s","method":"fs/%s","params":{"sessionId":"s1","path":"%s/%s","content":"new"}}\n' "$1" "$2" "$PWD" "$3"; read -r answer; printf '%s\n' "$answer" >> answers; }
get() { call "$1" read_text_file "$2"; }
put() { call "$1" write_text_file "$2"; }
"#;

fn reach() -> FileScope {
    let path = |it| RepoPath::parse(it).expect("a path");
    let zone = Zone { region: vec![path("ui")], ..Zone::default() };
    let outline: Outline = Arc::new(|it| Box::pin(async move { Some(format!("{it}: fn f()")) }));
    FileScope { zone, sees: Vec::new(), stay: CheckoutRole::Owner, outline }
}

async fn stage(turn: &str) -> Stage {
    let home = tempfile::tempdir().expect("a folder");
    let script = format!("{OPEN}{FILES}{turn}");
    let launch = Launch { reach: Some(reach()), ..launch(home.path(), &["sh", "-c", &script]) };
    for (file, text) in [("ui/a.txt", "a"), ("core/b.rs", "fn f() { 1 }")] {
        let file = launch.cwd.join(file);
        fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        fs::write(file, text).expect("a file");
    }
    let (session, events) = open(launch).await.expect("a session");
    Stage { session, events, home }
}

/// Answers every refusal, and returns the refused path.
async fn note(events: &mut SessionEvents) -> (u64, Access, String) {
    loop {
        let event = timeout(LONG, events.next()).await.expect("in time").expect("an event");
        if let Event::Blocked { place, access, path, .. } = event {
            return (place, access, path);
        }
    }
}

fn answers(home: &Path) -> Vec<serde_json::Value> {
    let text = fs::read_to_string(home.join("checkout/answers")).unwrap_or_default();
    text.lines().map(|it| serde_json::from_str(it).expect("an answer")).collect()
}

/// S0-044, S0-045, S0-098: files in the zone are served; others are refused after the refusal was
/// recorded.
#[tokio::test]
async fn files_in_the_zone_are_served_and_others_refused() {
    let turn = format!("get 1 ui/a.txt; put 2 ui/new/b.txt; get 3 core/b.rs; put 4 core/b.rs{END}");
    let mut stage = stage(&turn).await;
    let session = stage.session.clone();
    let prompt = session.prompt(EffectId(2), "go");
    let noted = async {
        for expected in [Access::Read, Access::Write] {
            let (place, access, path) = note(&mut stage.events).await;
            assert_eq!((access, path.as_str()), (expected, "core/b.rs"));
            let before = answers(stage.home.path()).len();
            stage.events.answer_blocked(place).await;
            stage.events.answer_blocked(place).await;
            assert!(before >= 2, "allowed files need no decision");
        }
    };
    let (end, ()) = tokio::join!(prompt, noted);
    end.expect("a turn");
    let answers = answers(stage.home.path());
    assert_eq!(answers.len(), 4, "{answers:?}");
    assert_eq!(answers[0]["result"]["content"], "a");
    assert!(answers[1]["result"].is_object(), "{answers:?}");
    assert_eq!(answers[2]["error"]["code"], -32001);
    assert_eq!(answers[2]["error"]["data"]["outline"], "core/b.rs: fn f()");
    assert_eq!(answers[3]["error"]["code"], -32001);
    let checkout = stage.home.path().join("checkout");
    assert_eq!(fs::read_to_string(checkout.join("ui/new/b.txt")).expect("a file"), "new");
    assert_eq!(fs::read_to_string(checkout.join("core/b.rs")).expect("a file"), "fn f() { 1 }");
    stage.session.stop(Duration::from_millis(100)).await;
}

#[tokio::test]
async fn file_access_is_offered_only_if_it_is_served() {
    let say = r#"say "$(printf %s "$initialize" | tr -d '"')"; get 1 ui/a.txt; say "$(printf %s "$answer" | tr -d '"')""#;
    for (offered, expected) in [(true, "content:"), (false, "code:-32601")] {
        let stage = if offered {
            stage(&format!("{say}{END}")).await
        } else {
            Stage::new(&format!("{FILES}{say}{END}")).await
        };
        let words = stage.session.prompt(EffectId(2), "go").await.expect("a turn").last_words;
        assert!(words.contains(&format!("readTextFile:{offered}")), "{words}");
        assert!(words.contains(expected), "{words}");
        stage.session.stop(Duration::from_millis(100)).await;
    }
}

/// The earlier process received the request, and was killed before it answered.
#[tokio::test]
async fn a_request_in_flight_is_answered_once() {
    let mut stage = stage(&format!("get 1 core/b.rs; get 2 ui/a.txt{END}")).await;
    let session = stage.session.clone();
    let turn = tokio::spawn(async move { session.prompt(EffectId(2), "go").await });
    let (first, ..) = note(&mut stage.events).await;
    turn.abort();
    turn.await.expect_err("it was given up");
    let Stage { session, events, home } = stage;
    drop((session, events));
    let (dir, cwd) = (home.path().join("attempt"), home.path().join("checkout"));
    let back = attach(&dir, &cwd, Profile::default(), Some(reach()), LONG).await;
    let mut back = back.expect("a session");
    let (again, access, path) = note(&mut back.events).await;
    assert_eq!((again, access, path.as_str()), (first, Access::Read, "core/b.rs"));
    back.events.answer_blocked(again).await;
    let end = timeout(LONG, back.session.prompt(EffectId(2), "go")).await.expect("in time");
    end.expect("a turn");
    let ids: Vec<String> = answers(home.path()).iter().map(|it| it["id"].to_string()).collect();
    assert_eq!(ids, ["\"1\"", "\"2\""]);
    back.session.stop(Duration::from_millis(100)).await;
}

/// S0-042: questions in the text come with the end of the turn, also after a reattach.
#[tokio::test]
async fn the_end_of_a_turn_contains_its_questions() {
    let turn = format!(
        "say 'I look. NEED: no'; say '\\nNE'; say 'ED: Auth'; say 'Validator from core/auth.rs\\n```\\nNEED: x\\n'\nupdate '{{\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"t\",\"title\":\"look\"}}'\nsay 'NEED: Other'{END}"
    );
    let stage = stage(&turn).await;
    let needs = |end: pitcrew_acp::TurnEnd| -> Vec<String> {
        let show = |it: pitcrew_acp::Need| format!("{}@{}", it.symbol, it.from.unwrap_or_default());
        end.needs.into_iter().map(show).collect()
    };
    let end = stage.session.prompt(EffectId(2), "go").await.expect("a turn");
    assert_eq!(needs(end), ["AuthValidator@core/auth.rs", "Other@"]);
    let Stage { session, events, home } = stage;
    drop((session, events));
    let (dir, cwd) = (home.path().join("attempt"), home.path().join("checkout"));
    let back =
        attach(&dir, &cwd, Profile::default(), Some(reach()), LONG).await.expect("a session");
    let end = back.session.prompt(EffectId(2), "go").await.expect("its kept end");
    assert_eq!(needs(end), ["AuthValidator@core/auth.rs", "Other@"]);
    back.session.stop(Duration::from_millis(100)).await;
}
