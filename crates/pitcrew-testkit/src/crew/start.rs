//! How long agents take until they can be prompted, read from their spools.

use crate::Sandbox;
use serde_json::Value;
use std::{collections::HashMap, fs};

/// Milliseconds, one for each agent that was started.
#[derive(Debug, Default)]
pub struct Starts {
    pub initialize: Vec<u64>,
    pub new_session: Vec<u64>,
}

/// Agents that are external programs, or the built-in one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Program,
    BuiltIn,
}

pub fn starts(sandbox: &Sandbox, kind: Kind) -> Starts {
    let mut starts = Starts::default();
    let attempts = sandbox.states().into_iter().map(|it| it.join("attempts"));
    let folders = attempts.filter_map(|it| fs::read_dir(it).ok()).flatten().flatten();
    for folder in folders {
        let spool = fs::read_to_string(folder.path().join("spool.ndjson")).unwrap_or_default();
        let is_builtin = spool.contains(r#"\"name\":\"pitcrew-agent\""#);
        if is_builtin == (kind == Kind::BuiltIn) {
            read(&spool, &mut starts);
        }
    }
    starts
}

fn read(spool: &str, starts: &mut Starts) {
    let mut asked: HashMap<u64, (String, u64)> = HashMap::new();
    for record in spool.lines().filter_map(|it| serde_json::from_str::<Value>(it).ok()) {
        let part = |name: &str| {
            let record = record.get(name)?;
            let line: Value = serde_json::from_str(record["line"].as_str()?).ok()?;
            Some((record["time"].as_u64()?, line["id"].as_u64()?, line))
        };
        if let Some((time, id, line)) = part("in") {
            let method = line["method"].as_str().unwrap_or_default();
            asked.insert(id, (method.to_owned(), time));
        } else if let Some((time, id, line)) = part("out") {
            if !line["method"].is_null() {
                continue;
            }
            match asked.remove(&id) {
                Some((method, since)) if method == "initialize" => {
                    starts.initialize.push(time.saturating_sub(since));
                }
                Some((method, since)) if method == "session/new" => {
                    starts.new_session.push(time.saturating_sub(since));
                }
                Some(_) | None => {}
            }
        }
    }
}
