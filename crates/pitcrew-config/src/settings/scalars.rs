//! Single settings from a file, a variable or a flag.

use super::{
    Origin,
    draft::{Draft, Found},
    model, sandbox,
};
use crate::{
    document::{check_duration, out_of_range},
    duration::DURATION_HELP,
    money::{DOLLARS_HELP, parse_dollars},
    plan::{BACKEND_BUILTIN, BACKEND_COMMAND, READS},
};
use pitcrew_model::{AgentRef, Reads, limits};
use std::{
    ops::RangeInclusive,
    path::{Path, PathBuf},
};

pub(super) const AGENTS_RANGE: RangeInclusive<u32> = 1..=limits::AGENTS_MAX;
/// With zero tokens no question is ever asked.
pub(super) const QUERY_TOKENS_RANGE: RangeInclusive<u32> = 0..=limits::QUERY_TOKENS_MAX;

/// Why a value is invalid (the end of a sentence that starts with its key), and how to fix it.
pub(super) struct InvalidValue {
    pub reason: String,
    pub help: String,
}

pub(super) fn invalid<T>(
    reason: impl Into<String>,
    help: impl Into<String>,
) -> Result<T, InvalidValue> {
    Err(InvalidValue { reason: reason.into(), help: help.into() })
}

/// Sets a draft value from the text of a variable or a flag.
pub(super) fn set(
    draft: &mut Draft,
    key: &str,
    text: &str,
    home: Option<&str>,
    origin: Origin,
) -> Result<(), InvalidValue> {
    match key {
        "max_agents" => {
            draft.max_agents = Some(Found { value: count(key, text, &AGENTS_RANGE)?, origin });
        }
        "max_live_agents" => {
            draft.max_live_agents = Some(Found { value: count(key, text, &AGENTS_RANGE)?, origin });
        }
        "query_tokens" => {
            let value = count(key, text, &QUERY_TOKENS_RANGE)?;
            draft.query_tokens = Some(Found { value, origin });
        }
        "query_plan_tokens" => {
            let value = count(key, text, &QUERY_TOKENS_RANGE)?;
            draft.query_plan_tokens = Some(Found { value, origin });
        }
        "query_deadline" => {
            let value = duration(text, limits::QUERY_DEADLINE_MS_MAX)?;
            draft.query_deadline_ms = Some(Found { value, origin });
        }
        "reads" => draft.reads = Some(Found { value: reads(text)?, origin }),
        "agent" => draft.agent = Some(Found { value: agent(text)?, origin }),
        "worktrees" => draft.worktrees = Some(Found { value: worktrees(text, home)?, origin }),
        "task_timeout" => {
            let value = duration(text, limits::TASK_TIMEOUT_MS_MAX)?;
            draft.task_timeout_ms = Some(Found { value, origin });
        }
        "lease" => {
            let value = duration(text, limits::LEASE_MS_MAX)?;
            draft.lease_ms = Some(Found { value, origin });
        }
        "max_tokens" => {
            let help = "write a whole number above zero";
            let value = text.trim().parse::<u64>().ok().filter(|it| *it > 0);
            let value = value.map_or_else(|| invalid(format!("cannot be `{text}`"), help), Ok)?;
            draft.max_tokens = Some(Found { value, origin });
        }
        "max_cost" => {
            let value = parse_dollars(text);
            let value =
                value.or_else(|reason| invalid(format!("is invalid: {reason}"), DOLLARS_HELP))?;
            draft.max_cost_micros = Some(Found { value, origin });
        }
        "sandbox" => {
            draft.sandbox.tier = Some(Found { value: sandbox::tier(text)?, origin });
        }
        "model" => {
            let (provider, name) = model::pair(text)?;
            let found = |value| Found { value, origin: origin.clone() };
            draft.model.insert("provider", found(provider));
            draft.model.insert("name", found(name));
        }
        _ => return invalid("cannot be set like this", "write it into your settings file"),
    }
    Ok(())
}

fn count(key: &str, text: &str, range: &RangeInclusive<u32>) -> Result<u32, InvalidValue> {
    let help = format!("write a whole number between {} and {}", range.start(), range.end());
    match text.trim().parse::<u32>() {
        Ok(count) if range.contains(&count) => Ok(count),
        Ok(count) => {
            let sentence = out_of_range(key, &count.to_string(), range);
            let reason = sentence.strip_prefix(&format!("`{key}` ")).unwrap_or(&sentence);
            invalid(reason, help)
        }
        Err(_) => invalid(format!("cannot be `{text}`"), help),
    }
}

fn duration(text: &str, max_ms: u64) -> Result<u64, InvalidValue> {
    let text = text.trim();
    let seconds = text.bytes().all(|it| it.is_ascii_digit()) && !text.is_empty();
    let with_unit = if seconds { format!("{text}s") } else { text.to_owned() };
    let checked = check_duration(&with_unit, max_ms);
    checked.or_else(|reason| invalid(format!("is invalid: {reason}"), DURATION_HELP))
}

pub(super) fn reads(text: &str) -> Result<Reads, InvalidValue> {
    match READS.iter().find(|it| it.0 == text) {
        Some((_, reads)) => Ok(*reads),
        None => invalid(format!("cannot be `{text}`"), "write `guided` or `zone`"),
    }
}

pub(super) fn agent(text: &str) -> Result<AgentRef, InvalidValue> {
    let agent = match text.parse::<AgentRef>() {
        Ok(agent) => agent,
        Err(shape) => return invalid(format!("cannot be `{text}`"), shape),
    };
    match agent.backend.as_deref() {
        Some(BACKEND_COMMAND) => invalid(
            format!("cannot be `{text}`: it needs a command, not a prompt"),
            "name a backend that works from a prompt, such as `claude`",
        ),
        Some(_) => Ok(agent),
        None => invalid(
            format!("cannot be `{text}`: it names no backend"),
            format!("write `BACKEND:{}`", text.trim_start_matches('@')),
        ),
    }
}

pub(super) fn worktrees(text: &str, home: Option<&str>) -> Result<PathBuf, InvalidValue> {
    let help = "write an absolute path, or one that begins with `~/`";
    if text.contains('\0') {
        return invalid("contains a NUL character", help);
    }
    let path = match (text.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => Path::new(home).join(rest),
        (Some(_), None) => return invalid("begins with `~/`, but HOME is not set", help),
        (None, _) => PathBuf::from(text),
    };
    let climbs = path.components().any(|it| it == std::path::Component::ParentDir);
    if !path.is_absolute() {
        invalid(format!("is `{text}`, which depends on the folder you are in"), help)
    } else if climbs {
        invalid(format!("is `{text}`, which has `..` in it"), help)
    } else {
        Ok(path)
    }
}

pub(super) fn backend_name(name: &str) -> Result<(), InvalidValue> {
    if [BACKEND_BUILTIN, BACKEND_COMMAND].contains(&name) {
        return invalid("is built in, and cannot be configured", "choose another name");
    }
    let plain = name.parse::<AgentRef>().is_ok_and(|it| it.agent.is_none());
    if plain {
        Ok(())
    } else {
        invalid("is not a backend name", "use letters, digits, `-`, `_` and `.`")
    }
}

/// Why a command cannot be started, and how to fix it.
pub(crate) fn command_problem(words: &[String]) -> Option<(String, String)> {
    command(words).err().map(|it| (it.reason, it.help))
}

/// A program found relative to the current folder could be one that an agent wrote.
fn command(words: &[String]) -> Result<(), InvalidValue> {
    let help = "write the program and its arguments: command = [\"program\", \"--flag\"]";
    let Some(program) = words.first().filter(|it| !it.trim().is_empty()) else {
        return invalid("names no program", help);
    };
    if words.iter().any(|it| it.contains('\0')) {
        invalid("contains a NUL character", help)
    } else if program.contains('/') && !program.starts_with('/') {
        invalid(
            format!("names `{program}`, which depends on the folder it is started in"),
            "write the bare name of a program on your PATH, or an absolute path",
        )
    } else if program.contains(char::is_whitespace) && words.len() == 1 {
        let split: Vec<String> = program.split_whitespace().map(|it| format!("\"{it}\"")).collect();
        invalid(
            format!("is one word with a space in it: `{program}`"),
            format!("commands do not run in a shell; write: command = [{}]", split.join(", ")),
        )
    } else {
        Ok(())
    }
}
