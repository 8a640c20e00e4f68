//! The environment of a program. Secrets, preloads and redirections are never passed by accident:
//! confined programs get an allow-list, and trusted ones get everything except variables that
//! redirect git or set another owner.

use crate::{
    Policy,
    marker::{OWNER_MARKER, RUN_MARKER},
};
use std::ffi::{OsStr, OsString};

/// Variables that are passed to every program, whatever their value. Others must be allowed by
/// name.
const KEPT: &[&str] = &[
    "PATH",
    "HOME",
    "TMPDIR",
    "USER",
    "LOGNAME",
    "SHELL",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
];

/// Likewise, if the value is a locale or a list of locales.
const LOCALES: &[&str] = &[
    "LANG",
    "LANGUAGE",
    "LC_ADDRESS",
    "LC_ALL",
    "LC_COLLATE",
    "LC_CTYPE",
    "LC_IDENTIFICATION",
    "LC_MEASUREMENT",
    "LC_MESSAGES",
    "LC_MONETARY",
    "LC_NAME",
    "LC_NUMERIC",
    "LC_PAPER",
    "LC_TELEPHONE",
    "LC_TIME",
];

/// Likewise, if the value is a short name of a terminal or a time zone.
const NAMED: &[&str] = &["TERM", "TZ"];

const NAME_BYTES_MAX: usize = 64;

fn is_kept(name: &str, value: &str) -> bool {
    KEPT.contains(&name)
        || LOCALES.contains(&name) && value.split(':').all(|it| it.is_empty() || is_locale(it))
        || NAMED.contains(&name) && is_name(value)
}

/// `C`, `POSIX`, or a language with territory, character set and modifier: `de_AT.UTF-8@euro`.
fn is_locale(value: &str) -> bool {
    let (value, modifier) = value.split_once('@').unwrap_or((value, "x"));
    let (value, charset) = value.split_once('.').unwrap_or((value, "x"));
    let (language, territory) = value.split_once('_').unwrap_or((value, "XX"));
    let is_language = matches!(language, "C" | "POSIX")
        || matches!(language.len(), 2 | 3) && language.bytes().all(|it| it.is_ascii_lowercase());
    let is_territory = matches!(territory.len(), 2 | 3)
        && territory.bytes().all(|it| it.is_ascii_uppercase() || it.is_ascii_digit());
    let is_word = |it: &str| {
        matches!(it.len(), 1..=12) && it.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'-')
    };
    is_language && is_territory && is_word(charset) && is_word(modifier)
}

fn is_name(value: &str) -> bool {
    let is_plain = |it: u8| it.is_ascii_alphanumeric() || b"-_+./:,<>".contains(&it);
    value.len() <= NAME_BYTES_MAX && value.bytes().all(is_plain)
}

/// Returns the environment of an agent: our variables that are on the allow-list, then `extra`.
///
/// A later value replaces an earlier one of the same name. Variables that are not UTF-8 are left
/// out.
pub fn agent_environment(extra: &[(String, String)]) -> Vec<(String, String)> {
    let ours = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    merge(ours.filter(|(name, value)| is_kept(name, value)), extra.iter().cloned())
}

/// Returns the environment of a foreign program. It always contains the marker of the run.
pub(crate) fn confined(
    policy: &Policy,
    extra: Vec<(OsString, OsString)>,
    marker: &str,
) -> Vec<(OsString, OsString)> {
    let kept = std::env::vars_os().filter(|(name, value)| match (name.to_str(), value.to_str()) {
        (Some(name), Some(value)) => is_kept(name, value),
        // A `PATH` need not be UTF-8.
        (Some(name), None) => KEPT.contains(&name),
        (None, _) => false,
    });
    let policy = policy.env.iter().map(|(name, value)| (name.into(), value.into()));
    merge(kept, policy.chain(extra).chain([(RUN_MARKER.into(), marker.into())]))
}

/// Returns the environment of our own programs. Our markers are not passed on, because these
/// programs may outlive our run and its owner.
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
            assert!(!is_kept(name, "C"), "{name}");
        }
        assert!(is_kept("PATH", "/bin") && is_kept("TZ", "Europe/Vienna"));
    }

    #[test]
    fn locale_variables_are_kept_if_they_contain_locales() {
        let locales = [
            "",
            "C",
            "POSIX",
            "C.UTF-8",
            "de",
            "de_AT",
            "de_AT.UTF-8@euro",
            "sr_RS@latin",
            "es_419",
        ];
        for value in locales {
            assert!(is_kept("LC_ALL", value), "{value}");
        }
        assert!(is_kept("LANGUAGE", "de_AT:de:en") && is_kept("LC_PAPER", "en_US.utf8"));
        assert!(!is_kept("LC_TOKEN", "C") && !is_kept("LC_", "C"));
        for value in ["ghp_0123456789abcdef", "sk-ant-1234", "/opt/ada/locale", "de_AT.UTF-8/../x"]
        {
            assert!(!is_kept("LC_ALL", value), "{value}");
        }
        assert!(!is_kept("TERM", "a secret") && !is_kept("TZ", &"x".repeat(65)));
    }

    #[test]
    fn explicit_variables_replace_inherited_ones() {
        let given = [("PATH".to_owned(), "/given".to_owned()), ("X_KEY".into(), "1".into())];
        let environment = agent_environment(&given);
        assert!(environment.contains(&given[0]) && environment.contains(&given[1]));
        assert_eq!(environment.iter().filter(|(name, _)| name == "PATH").count(), 1);
    }

    #[test]
    fn git_redirections_and_markers_are_not_passed_on() {
        for name in ["GIT_DIR", RUN_MARKER, OWNER_MARKER] {
            assert!(is_withheld(OsStr::new(name)), "{name}");
        }
        assert!(!is_withheld(OsStr::new("PATH")));
    }
}
