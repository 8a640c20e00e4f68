//! Which variables a program gets. Secrets, preloads and redirections never pass by accident:
//! confined programs get an allow-list, trusted ones everything but what could redirect git or say
//! that they are somebody else's.

use crate::{
    Policy,
    marker::{OWNER_MARKER, RUN_MARKER},
};
use std::ffi::{OsStr, OsString};

/// Names that every program may see. What is not here has to be given by name.
const KEPT: &[&str] = &[
    "PATH",
    "HOME",
    "LANG",
    "LANGUAGE",
    "TERM",
    "TZ",
    "TMPDIR",
    "USER",
    "LOGNAME",
    "SHELL",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
];

fn is_kept(name: &str) -> bool {
    KEPT.contains(&name) || name.starts_with("LC_")
}

/// The environment of an agent: the names of ours that are on the allow-list, then `extra`.
///
/// A later value replaces an earlier one of the same name. Variables of ours that are not UTF-8
/// are left out.
pub fn agent_environment(extra: &[(String, String)]) -> Vec<(String, String)> {
    let ours = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    merge(ours.filter(|(name, _)| is_kept(name)), extra.iter().cloned())
}

/// The environment of a program that is not ours. Whatever it is given, it has this marker.
pub(crate) fn confined(
    policy: &Policy,
    extra: Vec<(OsString, OsString)>,
    marker: &str,
) -> Vec<(OsString, OsString)> {
    let kept = std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_kept));
    let policy = policy.env.iter().map(|(name, value)| (name.into(), value.into()));
    merge(kept, policy.chain(extra).chain([(RUN_MARKER.into(), marker.into())]))
}

/// The environment of our own programs. What marks us does not mark them: they may outlive the run
/// that we are part of, and its owner.
pub(crate) fn trusted(extra: Vec<(OsString, OsString)>) -> Vec<(OsString, OsString)> {
    let ours = std::env::vars_os().filter(|(name, _)| !is_withheld(name));
    merge(ours, extra)
}

fn is_withheld(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b"GIT_") || name == RUN_MARKER || name == OWNER_MARKER
}

fn merge<T: Ord>(
    base: impl IntoIterator<Item = (T, T)>,
    extra: impl IntoIterator<Item = (T, T)>,
) -> Vec<(T, T)> {
    let merged: std::collections::BTreeMap<T, T> = base.into_iter().chain(extra).collect();
    merged.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_and_preloads_are_not_on_the_allow_list() {
        for name in [
            "GITHUB_TOKEN",
            "OPENAI_API_KEY",
            "AWS_SECRET_ACCESS_KEY",
            "SSH_AUTH_SOCK",
            "LD_PRELOAD",
            "GIT_DIR",
            "NODE_OPTIONS",
            "PYTHONPATH",
            "BASH_ENV",
            "ENV",
            RUN_MARKER,
            OWNER_MARKER,
        ] {
            assert!(!is_kept(name), "{name}");
        }
        assert!(is_kept("PATH") && is_kept("LC_ALL"));
    }

    #[test]
    fn what_is_given_by_name_replaces_what_is_inherited() {
        let given = [("PATH".to_owned(), "/given".to_owned()), ("X_KEY".into(), "1".into())];
        let environment = agent_environment(&given);
        assert!(environment.contains(&given[0]) && environment.contains(&given[1]));
        assert_eq!(environment.iter().filter(|(name, _)| name == "PATH").count(), 1);
    }

    #[test]
    fn nothing_redirects_our_git_or_marks_it() {
        for name in ["GIT_DIR", RUN_MARKER, OWNER_MARKER] {
            assert!(is_withheld(OsStr::new(name)), "{name}");
        }
        assert!(!is_withheld(OsStr::new("PATH")));
    }
}
