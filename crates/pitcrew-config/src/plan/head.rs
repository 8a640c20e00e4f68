//! The top of a plan file: everything except the tasks.

use super::{
    PlanDefaults,
    keys::{LIST_ITEMS_MAX, shared_default},
    zone,
};
use crate::{
    diagnostic::Problems,
    document::{Section, Spanned},
    suggest::did_you_mean,
};
use pitcrew_model::{Deploy, Effort, Overlap, PathError, PlanHead, RepoPath, limits};

const DEPLOYS: &[(&str, Deploy)] = &[("auto", Deploy::Auto), ("manual", Deploy::Manual)];
const OVERLAPS: &[(&str, Overlap)] = &[("wait", Overlap::Wait), ("allow", Overlap::Allow)];
const EFFORTS: &[(&str, Effort)] =
    &[("low", Effort::Low), ("medium", Effort::Medium), ("high", Effort::High)];

/// The keys that take path prefixes; the others take files.
const PREFIX_KEYS: &[&str] = &["region", "shared", "denied", "include"];

/// The task defaults, with the plan's own values applied.
pub(super) fn plan_wide(
    root: &Section,
    defaults: &PlanDefaults,
    problems: &mut Problems,
) -> PlanDefaults {
    let mut defaults = defaults.clone();
    if let Some(attempts) = attempts(root, problems) {
        defaults.attempts_max = attempts;
    }
    if let Some(timeout) = root.duration("timeout", limits::TASK_TIMEOUT_MS_MAX, problems) {
        defaults.timeout_ms = timeout.value;
    }
    defaults
}

pub(super) fn attempts(section: &Section, problems: &mut Problems) -> Option<u32> {
    let range = 1..=limits::ATTEMPTS_PER_TASK_MAX;
    section.integer("max_attempts", &range, problems).map(|it| it.value)
}

pub(super) fn read(
    root: &Section,
    defaults: &PlanDefaults,
    problems: &mut Problems,
) -> Option<PlanHead> {
    let name = name(root, problems);
    let description = text(root, "description", problems).map(|it| it.value).unwrap_or_default();
    let base = base(root, problems);
    let include = paths(root, "include", problems, RepoPath::parse_prefix);
    let deploy = root.choice("deploy", DEPLOYS, problems).unwrap_or_default();
    let overlap = root.choice("overlap", OVERLAPS, problems).unwrap_or_default();
    let effort = root.choice("effort", EFFORTS, problems).unwrap_or_default();
    let shared = paths(root, "shared", problems, RepoPath::parse_prefix);
    let denied = zone::denied(root, defaults, problems);
    let reads = zone::reads(root, defaults, problems);
    let setup = commands(root, "setup", problems);
    let setup_inputs = paths(root, "setup_inputs", problems, parse_file).unwrap_or_default();
    let caps = root.caps(problems).or(defaults.caps);
    Some(PlanHead {
        name: name?,
        description,
        base,
        deploy,
        overlap,
        effort,
        shared: shared.unwrap_or_else(shared_default),
        setup,
        setup_inputs,
        caps,
        denied,
        reads,
        include: include.unwrap_or_default(),
        agents_max: None,
    })
}

fn name(root: &Section, problems: &mut Problems) -> Option<String> {
    if root.lacks("name") {
        let help = Some("write at the top, for example: name = \"Add a login page\"".into());
        problems.error(&(0..0), "the plan has no `name`", help);
        return None;
    }
    let name = root.string("name", problems)?;
    let value = name.value.trim();
    if value.is_empty() {
        problems.error(&name.span, "`name` is empty", None);
    } else if value.len() > limits::NAME_BYTES_MAX {
        let message = format!(
            "`name` has {} bytes; at most {} are allowed",
            value.len(),
            limits::NAME_BYTES_MAX
        );
        problems.error(&name.span, message, Some("move the rest to `description`".into()));
    } else if value.chars().any(char::is_control) {
        problems.error(&name.span, "`name` contains a line break or a control character", None);
    } else {
        return Some(value.to_owned());
    }
    None
}

fn base(root: &Section, problems: &mut Problems) -> Option<String> {
    let base = root.string("base", problems)?;
    match check_base(&base.value) {
        Ok(()) => Some(base.value),
        Err(reason) => {
            let help = Some("write a branch, a tag or a commit, such as \"main\"".into());
            problems.error(&base.span, format!("`base` cannot be used: {reason}"), help);
            None
        }
    }
}

/// Rejects strings that must never be passed to git as a commit name.
pub(super) fn check_base(base: &str) -> Result<(), &'static str> {
    if base.is_empty() {
        Err("it is empty")
    } else if base.starts_with('-') {
        Err("it begins with a dash, like an option")
    } else if base.len() > limits::NAME_BYTES_MAX {
        Err("it is too long")
    } else if base.chars().any(|it| it.is_control() || it.is_whitespace()) {
        Err("it contains a space or a control character")
    } else {
        Ok(())
    }
}

/// A string that reaches an agent: limited in size and never empty.
pub(super) fn text(
    section: &Section,
    key: &str,
    problems: &mut Problems,
) -> Option<Spanned<String>> {
    let text = section.string(key, problems)?;
    check_text(key, &text, problems).then_some(text)
}

fn check_text(key: &str, text: &Spanned<String>, problems: &mut Problems) -> bool {
    let reason = if text.value.trim().is_empty() {
        format!("`{key}` is empty")
    } else if text.value.len() > limits::PROMPT_BYTES_MAX {
        let (bytes, max) = (text.value.len(), limits::PROMPT_BYTES_MAX);
        format!("`{key}` has {bytes} bytes; at most {max} are allowed")
    } else if text.value.contains('\0') {
        format!("`{key}` contains a NUL character")
    } else {
        return true;
    };
    problems.error(&text.span, reason, None);
    false
}

/// A list of strings, for shell commands and acceptance criteria.
pub(super) fn commands(section: &Section, key: &str, problems: &mut Problems) -> Vec<String> {
    let texts = list(section, key, problems).unwrap_or_default();
    let kept = texts.into_iter().filter(|it| check_text(key, it, problems));
    kept.map(|it| it.value).collect()
}

pub(super) fn list(
    section: &Section,
    key: &str,
    problems: &mut Problems,
) -> Option<Vec<Spanned<String>>> {
    let list = section.strings(key, problems)?;
    if list.len() > LIST_ITEMS_MAX {
        let message =
            format!("`{key}` has {} elements; at most {LIST_ITEMS_MAX} are allowed", list.len());
        problems.error(&section.key_span(key), message, None);
        return None;
    }
    Some(list)
}

/// A list of distinct paths. `None` if the key is absent.
pub(super) fn paths(
    section: &Section,
    key: &str,
    problems: &mut Problems,
    parse: fn(&str) -> Result<RepoPath, PathError>,
) -> Option<Vec<RepoPath>> {
    let mut paths = Vec::new();
    for text in list(section, key, problems)? {
        match parse(&text.value) {
            Ok(path) if path.is_root() && key != "region" => {
                let message = format!("`{key}` cannot name the whole repository");
                problems.error(&text.span, message, Some("name the paths in it".into()));
            }
            Ok(path) if paths.contains(&path) => {}
            Ok(path) => paths.push(path),
            Err(reason) => {
                let is_list_of_files = reason == PathError::Glob && !PREFIX_KEYS.contains(&key);
                let reason_text = if is_list_of_files {
                    "it is a glob; name each file".to_owned()
                } else {
                    reason.to_string()
                };
                let message = format!("`{key}` cannot contain `{}`: {reason_text}", text.value);
                problems.error(&text.span, message, path_help(&text.value, &reason));
            }
        }
    }
    Some(paths)
}

/// Parses a file path. Brackets are literal; stars are not allowed.
pub(super) fn parse_file(text: &str) -> Result<RepoPath, PathError> {
    if text.contains(['*', '?']) { Err(PathError::Glob) } else { RepoPath::parse(text.trim()) }
}

/// Suggests a replacement for an invalid path if one can be guessed.
pub(super) fn path_help(text: &str, reason: &PathError) -> Option<String> {
    let guess = match reason {
        PathError::Absolute => text.trim_start_matches('/').to_owned(),
        PathError::Glob => {
            let parts = text.split('/').take_while(|it| !it.contains(['*', '?', '[']));
            parts.collect::<Vec<_>>().join("/")
        }
        PathError::Character => text.replace('\\', "/"),
        PathError::Outside => return Some("name a path below the root of the repository".into()),
        PathError::GitDir => return Some("no task may change files in `.git`".into()),
        PathError::Empty => return None,
    };
    let guess = RepoPath::parse_prefix(&guess).ok().filter(|it| !it.is_root())?;
    Some(did_you_mean(guess.as_str()))
}
