use super::*;
use pitcrew_process::{Cancel, Run, run_trusted};
use std::{
    fs,
    os::unix::fs::{MetadataExt, symlink},
    path::PathBuf,
};
use tempfile::TempDir;

const NOW: u64 = 1_800_000_000_000;
const HOUR: u64 = 3_600_000;
const APART_MS: u64 = 180_000;

fn credential(token: u64, expires: u64) -> String {
    format!(
        r#"{{"account":"ada","oauth":{{"accessToken":"a{token}","refreshToken":"r{token}","expiresAt":{expires}}}}}"#
    )
}

fn format() -> LoginFormat {
    LoginFormat { expires: vec!["oauth.expiresAt".into()], account: vec!["account".into()] }
}

/// A user with a login, and agents with copies of it.
struct Stage {
    dir: TempDir,
    entries: Vec<Entry>,
}

impl Stage {
    fn new(agents_count: u64) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut stage = Self { dir, entries: Vec::new() };
        fs::write(stage.user(), credential(1, NOW + 8 * HOUR)).unwrap();
        for slot in 1..=agents_count {
            let home = stage.dir.path().join(format!("home-{slot}"));
            let copied =
                Copied { user: stage.user(), copy: home.join("login.json"), from: String::new() };
            let mut record = Record {
                backend: "fake".into(),
                home,
                sooner_ms: slot * APART_MS,
                format: format(),
                copies: vec![copied],
            };
            fs::create_dir(&record.home).unwrap();
            let copy = &record.copies[0];
            record.copies[0].from = put(&copy.user, &copy.copy, &record, NOW).unwrap();
            let attempt = AttemptId(slot);
            stage.entries.push(Entry { attempt, record, has_ended: false });
        }
        stage
    }

    /// One agent, whose login is in a folder of its home.
    fn nested() -> Self {
        let mut stage = Self::new(1);
        let record = &mut stage.entries[0].record;
        let copy = record.home.join("inner/login.json");
        fs::create_dir(copy.parent().unwrap()).unwrap();
        fs::rename(&record.copies[0].copy, &copy).unwrap();
        record.copies[0].copy = copy;
        stage
    }

    fn outside(&self) -> PathBuf {
        self.dir.path().join("outside")
    }

    fn user(&self) -> PathBuf {
        self.dir.path().join("login.json")
    }

    fn copy(&self, index: usize) -> PathBuf {
        self.entries[index].record.copies[0].copy.clone()
    }

    fn round(&mut self) -> Done {
        in_step(&mut self.entries, NOW)
    }

    /// The token and the expiry time in a file.
    fn says(path: &Path) -> (String, u64) {
        let value: serde_json::Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
        let login = &value["oauth"];
        (login["refreshToken"].as_str().unwrap().to_owned(), login["expiresAt"].as_u64().unwrap())
    }
}

#[test]
fn every_copy_expires_at_its_own_time_before_the_users() {
    let mut stage = Stage::new(3);
    let times: Vec<u64> = (0..3).map(|it| Stage::says(&stage.copy(it)).1).collect();
    let end = NOW + 8 * HOUR;
    assert_eq!(times, [end - APART_MS, end - 2 * APART_MS, end - 3 * APART_MS]);
    let before: Vec<Vec<u8>> = (0..3).map(|it| fs::read(stage.copy(it)).unwrap()).collect();
    assert!(stage.round().notes.is_empty(), "this is not a change");
    let after: Vec<Vec<u8>> = (0..3).map(|it| fs::read(stage.copy(it)).unwrap()).collect();
    assert_eq!(before, after);
    assert_eq!(stage.copy(0).metadata().unwrap().mode() & 0o777, 0o600);
}

#[test]
fn an_expiring_credential_is_copied_as_expired() {
    let said = |expires_at: u64, sooner_ms: u64| {
        let bytes = given(credential(1, expires_at).as_bytes(), &format(), sooner_ms, NOW);
        Credential::read(&bytes, &format()).unwrap().expires_at_ms.unwrap()
    };
    assert_eq!(said(NOW + HOUR / 10, 1), NOW);
    assert_eq!(said(NOW - HOUR, 1), NOW - HOUR);
    assert_eq!(said(NOW + HOUR, HOUR), NOW + HOUR / 2, "half of the time is left");
}

#[test]
fn a_refreshed_credential_reaches_the_user_and_all_others() {
    let mut stage = Stage::new(3);
    let fresh = credential(2, NOW + 9 * HOUR);
    fs::write(stage.copy(1), &fresh).unwrap();
    let notes = stage.round().notes;
    assert_eq!(fs::read_to_string(stage.user()).unwrap(), fresh);
    assert_eq!(fs::read_to_string(stage.copy(1)).unwrap(), fresh);
    for index in [0, 2] {
        let (token, expires) = Stage::says(&stage.copy(index));
        assert_eq!(token, "r2");
        assert!(expires < NOW + 9 * HOUR);
    }
    assert_eq!(notes.len(), 3, "{notes:?}");
    assert!(!notes.join("\n").contains("r2"), "{notes:?}");
    assert!(stage.round().notes.is_empty(), "everything is synchronized");
}

#[test]
fn an_ended_agent_is_not_synchronized() {
    let mut stage = Stage::new(2);
    stage.entries[0].has_ended = true;
    stage.entries[1].has_ended = true;
    fs::write(stage.copy(0), credential(2, NOW + 9 * HOUR)).unwrap();
    assert!(stage.round().undone.is_empty());
    assert_eq!(Stage::says(&stage.user()).0, "r2");
    assert_eq!(Stage::says(&stage.copy(1)).0, "r1");
}

#[test]
fn a_broken_copy_affects_no_others() {
    let stub = r#"{"oauth":{"accessToken":"","refreshToken":"","expiresAt":0}}"#;
    let cut = &credential(2, NOW + 9 * HOUR)[..30];
    for spoilt in ["", "{}", "null", "no json", stub, cut] {
        let mut stage = Stage::new(2);
        let before = fs::read(stage.user()).unwrap();
        fs::write(stage.copy(0), spoilt).unwrap();
        stage.round();
        assert_eq!(fs::read(stage.user()).unwrap(), before, "{spoilt}");
        assert_eq!(fs::read_to_string(stage.copy(0)).unwrap(), spoilt, "the copy is left alone");
    }
    let mut stage = Stage::new(1);
    fs::remove_file(stage.copy(0)).unwrap();
    symlink("/dev/null", stage.copy(0)).unwrap();
    let before = fs::read(stage.user()).unwrap();
    stage.round();
    assert_eq!(fs::read(stage.user()).unwrap(), before);
}

#[test]
fn a_new_login_of_the_user_reaches_the_agents_and_is_not_overwritten() {
    let mut stage = Stage::new(2);
    fs::write(stage.user(), credential(5, NOW + 20 * HOUR)).unwrap();
    // Belongs to the old login, and was refreshed at the same moment.
    fs::write(stage.copy(0), credential(2, NOW + 9 * HOUR)).unwrap();
    let notes = stage.round().notes.join("\n");
    assert_eq!(Stage::says(&stage.user()).0, "r5");
    assert_eq!(Stage::says(&stage.copy(0)).0, "r5");
    assert_eq!(Stage::says(&stage.copy(1)).0, "r5");
    assert!(notes.contains("both had changed"), "{notes}");
}

#[test]
fn an_agent_that_is_writing_is_not_disturbed() {
    let mut stage = Stage::new(1);
    fs::write(stage.user(), credential(5, NOW + 20 * HOUR)).unwrap();
    fs::write(stage.copy(0), "").unwrap();
    let written_ms = written_ms(&stage.copy(0).metadata().unwrap());
    let done = in_step(&mut stage.entries, written_ms);
    assert_eq!(done.undone, [stage.entries[0].attempt]);
    assert_eq!(fs::read(stage.copy(0)).unwrap(), b"");
    in_step(&mut stage.entries, written_ms + WRITING_MS_MAX);
    assert_eq!(Stage::says(&stage.copy(0)).0, "r5");
}

#[test]
fn a_copy_that_could_not_be_updated_is_retried() {
    let mut stage = Stage::new(1);
    fs::write(stage.user(), credential(5, NOW + 20 * HOUR)).unwrap();
    let copy = stage.copy(0);
    fs::remove_file(&copy).unwrap();
    fs::create_dir_all(copy.join("in the way")).unwrap();
    let done = stage.round();
    assert_eq!(done.undone, [stage.entries[0].attempt]);
    assert!(done.complaints[0].1.contains("could not be updated"), "{:?}", done.complaints);
    fs::remove_dir_all(&copy).unwrap();
    let done = stage.round();
    assert!(done.undone.is_empty() && done.complaints.is_empty());
    assert_eq!(Stage::says(&copy).0, "r5");
}

/// The copy contains the only valid token, and the user's agent is about to write the user's file.
#[test]
fn an_ended_agents_copy_is_kept_while_the_user_writes() {
    let mut stage = Stage::new(1);
    stage.entries[0].has_ended = true;
    fs::write(stage.copy(0), credential(2, NOW + 9 * HOUR)).unwrap();
    fs::write(stage.user(), "").unwrap();
    let written_ms = written_ms(&stage.user().metadata().unwrap());
    let done = in_step(&mut stage.entries, written_ms);
    assert_eq!(done.undone, [stage.entries[0].attempt]);
    fs::write(stage.user(), credential(1, NOW + 8 * HOUR)).unwrap();
    assert!(stage.round().undone.is_empty());
    assert_eq!(Stage::says(&stage.user()).0, "r2");
}

#[test]
fn a_later_login_reaches_agents_without_one() {
    let mut stage = Stage::new(0);
    fs::remove_file(stage.user()).unwrap();
    let mut late = Stage::new(1);
    late.entries[0].record.copies[0].user = stage.user();
    late.entries[0].record.copies[0].from = String::new();
    fs::remove_file(late.copy(0)).unwrap();
    stage.entries = late.entries.clone();
    assert!(stage.round().notes.is_empty());
    assert!(!late.copy(0).exists());
    fs::write(stage.user(), credential(7, NOW + HOUR)).unwrap();
    stage.round();
    assert_eq!(Stage::says(&late.copy(0)).0, "r7");
}

/// Another account's login, newer than the user's.
fn planted() -> String {
    credential(9, NOW + 90 * HOUR).replace("ada", "eve")
}

#[test]
fn a_login_of_another_account_is_not_copied_back() {
    let address = r#","url":"https://eve.example"}"#;
    let moved = credential(9, NOW + 90 * HOUR).trim_end_matches('}').to_owned() + "}" + address;
    for planted in [planted(), planted().replace("eve", ""), moved] {
        let mut stage = Stage::new(2);
        let before = fs::read(stage.user()).unwrap();
        fs::write(stage.copy(0), &planted).unwrap();
        let done = stage.round();
        assert_eq!(fs::read(stage.user()).unwrap(), before, "{planted}");
        assert_eq!(Stage::says(&stage.copy(1)).0, "r1", "nor given to others");
        let said = &done.complaints[0].1;
        assert!(said.contains("not copied back") && said.contains("another account"), "{said}");
    }
    // The user's file has changed in the meantime.
    let mut stage = Stage::new(1);
    let users = credential(2, NOW + 9 * HOUR);
    fs::write(stage.user(), &users).unwrap();
    fs::write(stage.copy(0), planted()).unwrap();
    stage.round();
    assert_eq!(fs::read_to_string(stage.user()).unwrap(), users);
    assert_eq!(Stage::says(&stage.copy(0)).0, "r2");
}

#[test]
fn a_login_without_an_account_is_not_copied_back() {
    let mut stage = Stage::new(1);
    let record = &mut stage.entries[0].record;
    record.format.account.clear();
    let (user, copy) = (record.copies[0].user.clone(), record.copies[0].copy.clone());
    record.copies[0].from = put(&user, &copy, &record.clone(), NOW).unwrap();
    let before = fs::read(&user).unwrap();
    assert_eq!(Stage::says(&copy), (String::new(), NOW + 8 * HOUR), "without its refresh token");
    let done = stage.round();
    assert!(done.notes.is_empty() && done.complaints.is_empty(), "{:?}", done.complaints);
    fs::write(&copy, credential(2, NOW + 9 * HOUR)).unwrap();
    let done = stage.round();
    assert_eq!(fs::read(&user).unwrap(), before);
    assert!(done.complaints[0].1.contains("does not name the account"), "{:?}", done.complaints);
    fs::write(&user, credential(5, NOW + 20 * HOUR)).unwrap();
    stage.round();
    assert_eq!(Stage::says(&copy), (String::new(), NOW + 20 * HOUR));
}

/// Anything that an agent puts in place of its login or its parent folders.
#[test]
fn planted_files_in_a_home_are_not_followed() {
    type Plant = fn(&Stage, &Path);
    let plants: [(&str, Plant); 5] = [
        ("a link to a file", |stage, copy| {
            fs::remove_file(copy).unwrap();
            symlink(stage.outside().join("login.json"), copy).unwrap();
        }),
        ("a link to a folder", |stage, copy| {
            fs::remove_dir_all(copy.parent().unwrap()).unwrap();
            symlink(stage.outside(), copy.parent().unwrap()).unwrap();
        }),
        ("a pipe", |_, copy| {
            fs::remove_file(copy).unwrap();
            let run = Run::new("mkfifo", "/").arg(copy);
            assert!(run_trusted(run, &Cancel::default()).unwrap().success());
        }),
        ("a folder", |_, copy| {
            fs::remove_file(copy).unwrap();
            fs::create_dir(copy).unwrap();
        }),
        ("too much", |_, copy| {
            let text = credential(9, NOW + 90 * HOUR) + &" ".repeat(2_000_000);
            fs::write(copy, text).unwrap();
        }),
    ];
    for (what, plant) in plants {
        for has_ended in [false, true] {
            let mut stage = Stage::nested();
            let outside = stage.outside().join("login.json");
            fs::create_dir(stage.outside()).unwrap();
            // The same account, so that only its location is wrong.
            let theirs = credential(9, NOW + 90 * HOUR);
            fs::write(&outside, &theirs).unwrap();
            let copy = stage.copy(0);
            plant(&stage, &copy);
            stage.entries[0].has_ended = has_ended;
            let done = stage.round();
            assert_eq!(Stage::says(&stage.user()).0, "r1", "{what}");
            let said = &done.complaints[0].1;
            assert!(said.contains("not copied back"), "{what}: {said}");
            // Writing the copy does not follow it either.
            fs::write(stage.user(), credential(5, NOW + 95 * HOUR)).unwrap();
            stage.round();
            assert_eq!(fs::read_to_string(&outside).unwrap(), theirs, "{what}");
            assert_eq!(fs::read_dir(stage.outside()).unwrap().count(), 1, "{what}");
        }
    }
}
