//! Foreign bytes: paths, ids and stored lines are parsed or refused, and have one meaning.

use pitcrew_model::{
    AttemptId, Command, Effect, EffectId, Entry, Event, PlanId, RepoPath, RequestId, TaskId,
    WorkerId, Zone, overlap, text,
};
use pitcrew_testkit::corpus;
use serde::{Serialize, de::DeserializeOwned};
use std::{fmt::Debug, fs, path::Path, str::FromStr};

#[test]
fn paths_are_refused_or_normalised() {
    corpus!("path").check(1_000, |bytes| {
        let text = String::from_utf8_lossy(bytes);
        for parsed in [RepoPath::parse(&text), RepoPath::parse_prefix(&text)] {
            let Ok(path) = parsed else { continue };
            let normal = path.as_str();
            assert!(!normal.starts_with('/') && !normal.ends_with('/') && !normal.contains("//"));
            let is_odd = |it: &str| it == "." || it == ".." || it.eq_ignore_ascii_case(".git");
            assert!(!normal.split('/').any(is_odd), "{normal}");
            assert!(!normal.contains(|it: char| it.is_control() || it == '\\'), "{normal:?}");
            assert_eq!(RepoPath::parse(&path.to_string()), Ok(path.clone()), "it is stable");
            let stored = serde_json::to_string(&path).expect("a path is a text");
            assert_eq!(serde_json::from_str::<RepoPath>(&stored).ok().as_ref(), Some(&path));
            assert!(path.contains(normal) && path.contains(&format!("{normal}/x")));
            assert!(path.is_root() || !path.contains(&format!("{normal}x")));
            let zone = Zone { region: vec![path.clone()], ..Zone::default() };
            let denied = Zone { denied: vec![path.clone()], ..zone.clone() };
            assert!(zone.allows(normal) && !denied.allows(normal));
            assert!(overlap(&zone.region, &[RepoPath::root()]));
        }
        for bytes_max in [0, 1, 7, 40] {
            assert!(text::cut(&text, bytes_max).len() <= bytes_max);
            assert!(text::tail(&text, bytes_max).len() <= bytes_max);
        }
        let slug = text::slug(&text);
        assert!(slug.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'-'), "{slug}");
        assert!(!slug.is_empty() && slug.len() <= 40 && text::slug(&slug) == slug, "{slug}");
    });
}

fn try_id<T: FromStr + ToString + Serialize + DeserializeOwned + PartialEq + Debug>(text: &str) {
    if let Ok(id) = text.parse::<T>() {
        assert_eq!(id.to_string().parse::<T>().ok().as_ref(), Some(&id));
        assert_eq!(serde_json::from_value::<T>(text.into()).ok().as_ref(), Some(&id));
    } else {
        assert!(serde_json::from_value::<T>(text.into()).is_err());
    }
}

#[test]
fn ids_are_refused_or_one_number() {
    corpus!("id").check(1_000, |bytes| {
        let text = String::from_utf8_lossy(bytes);
        try_id::<TaskId>(&text);
        try_id::<PlanId>(&text);
        try_id::<AttemptId>(&text);
        try_id::<WorkerId>(&text);
        try_id::<RequestId>(&text);
        try_id::<EffectId>(&text);
        let kinds = [text.parse::<TaskId>().is_ok(), text.parse::<PlanId>().is_ok()];
        assert!(kinds != [true, true], "an id has one kind");
    });
}

/// A parsed value is written as a line that parses to the same value.
fn try_stored<T: Serialize + DeserializeOwned + PartialEq + Debug>(bytes: &[u8]) {
    match serde_json::from_slice::<T>(bytes) {
        Ok(value) => {
            let line = serde_json::to_string(&value).expect("plain data");
            assert!(!line.contains('\n'));
            assert_eq!(serde_json::from_str::<T>(&line).expect("what we wrote"), value);
        }
        Err(error) => assert!(error.line() >= 1 || error.is_data() || error.is_eof(), "{error}"),
    }
}

#[test]
fn stored_lines_are_parsed_or_refused() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let lines = ["event", "effect", "effect_result", "command", "entry", "failure"]
        .map(|it| fs::read_to_string(golden.join(format!("{it}.ndjson"))).expect("golden lines"))
        .concat();
    let lines = lines.lines().map(|it| it.as_bytes().to_vec());
    corpus!("stored").with("golden", lines).check(1_000, |bytes| {
        try_stored::<Event>(bytes);
        try_stored::<Effect>(bytes);
        try_stored::<Command>(bytes);
        try_stored::<Entry>(bytes);
    });
}
