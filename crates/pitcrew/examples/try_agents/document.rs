//! The document with what was found.

use crate::trial::Tried;
use pitcrew_testkit::{can_be_offline, crew::Aspect};
use std::{fmt::Write, fs};

pub fn write(tried: &[Tried]) -> String {
    let mut out = String::from("# Agents that were tested\n\n");
    let _ = writeln!(out, "Written on {} by `cargo xtask agents`, on {}.\n", today(), machine());
    out.push_str(PREFACE);
    out.push_str("\n## What works\n\n");
    out.push_str(&aspects(tried));
    out.push_str("\n## What does not, and why\n\n");
    out.push_str(&reasons(tried));
    out.push_str("\n## What it takes\n\n");
    out.push_str(&costs(tried));
    out
}

const PREFACE: &str = "\
Each agent is the real program in its pinned version, with a scripted model on this machine and no other network. It plays \
every part of one plan of four tasks: it edits and completes; a check fails and its next attempt fixes it; it runs a \
command that a person has to allow; it writes outside its region. The orchestrator is killed with `kill -9` in the middle \
of a turn. Then its model fails, refuses its key, has no quota, and hangs until the task is cancelled. An agent that asks \
outside its sandbox runs commands within a sandbox of its own without asking. \
`cargo xtask agents NAME` tries one, prints its part of this and keeps it; `cargo xtask agents --all` tries all and writes \
this, and `cargo xtask agents --table` writes it from what is kept.
";

fn aspects(tried: &[Tried]) -> String {
    let mut rows = vec![vec![String::new()]];
    rows[0].extend(tried.iter().map(|it| it.name.clone()));
    let mut versions = vec!["version".to_owned()];
    versions.extend(tried.iter().map(|it| it.version.clone()));
    rows.push(versions);
    let mut dates = vec!["tried on".to_owned()];
    dates.extend(tried.iter().map(|it| it.date.clone()));
    rows.push(dates);
    let mut tiers = vec!["in tier".to_owned()];
    let shown =
        |it: &Tried| it.tiers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    tiers.extend(tried.iter().map(shown));
    rows.push(tiers);
    for aspect in Aspect::ALL {
        let mut row = vec![aspect.title().to_owned()];
        row.extend(tried.iter().map(|it| match it.findings.0.get(aspect) {
            Some(Ok(remark)) if remark.is_empty() => "yes".to_owned(),
            Some(Ok(remark)) => remark.clone(),
            Some(Err(_)) => "**no**".to_owned(),
            None => "-".to_owned(),
        }));
        rows.push(row);
    }
    table(&rows)
}

fn reasons(tried: &[Tried]) -> String {
    let mut out = String::new();
    for agent in tried {
        if let Some(reason) = &agent.missing {
            let _ = writeln!(out, "- {}: **not tried**: {}", agent.name, one_line(reason));
        }
        for aspect in Aspect::ALL {
            if let Some(Err(reason)) = agent.findings.0.get(aspect) {
                let _ = writeln!(out, "- {}, {}: {}", agent.name, aspect.title(), one_line(reason));
            }
        }
        for reason in &agent.broken {
            let _ = writeln!(out, "- {}: the trial broke: {}", agent.name, one_line(reason));
        }
    }
    if out.is_empty() { "Nothing.\n".into() } else { out }
}

fn costs(tried: &[Tried]) -> String {
    let head = ["", "initialize, s", "session/new, s", "memory at most, MiB", "load"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for agent in tried.iter().filter(|it| it.missing.is_none()) {
        rows.push(vec![
            agent.name.clone(),
            seconds(agent.initialize),
            seconds(agent.new_session),
            agent.peak_mib.to_string(),
            agent.load.clone(),
        ]);
    }
    let note = "\nThe least and the most of all starts of the plan; the memory is that of one agent with all that it started; the load is that of the machine when it began.\n";
    table(&rows) + note
}

fn seconds(range: Option<(u64, u64)>) -> String {
    let Some((least, most)) = range else { return "-".into() };
    let text = |ms: u64| format!("{}.{:02}", ms / 1_000, ms % 1_000 / 10);
    format!("{} to {}", text(least), text(most))
}

fn table(rows: &[Vec<String>]) -> String {
    let mut out = String::new();
    for (index, row) in rows.iter().enumerate() {
        let _ = writeln!(out, "| {} |", row.join(" | "));
        if index == 0 {
            let _ = writeln!(out, "|{}", "---|".repeat(row.len()));
        }
    }
    out
}

/// Nothing that would break the table, or name this machine's folders.
fn one_line(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "/");
    let shown: String = text.chars().take(240).collect();
    let home = std::env::var("HOME").unwrap_or_default();
    if home.len() > 1 { shown.replace(&home, "~") } else { shown }
}

fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let memory = memory.lines().find_map(|it| it.strip_prefix("MemTotal:")).unwrap_or_default();
    let memory: u64 = memory.trim().trim_end_matches(" kB").parse().unwrap_or(0);
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let network = match can_be_offline() {
        Ok(()) => "a network of nothing but loopback",
        Err(_) => "its own network, as an empty one cannot be made there",
    };
    let (memory, kernel) = (memory / 1_048_576, kernel.trim());
    format!("a machine with {cores} cores, {memory} GiB of memory and Linux {kernel}, in {network}")
}

/// That of the last minute.
pub fn load() -> String {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split(' ').next().unwrap_or_default().to_owned()
}

/// The date in UTC, by the days since 1970.
pub fn today() -> String {
    let seconds = std::time::UNIX_EPOCH.elapsed().unwrap_or_default().as_secs();
    let days = i64::try_from(seconds / 86_400).unwrap_or(0);
    // Counted from 1 March of a year that begins a cycle of 400 years.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    format!("{:04}-{month:02}-{day:02}", year + era * 400 + next)
}
