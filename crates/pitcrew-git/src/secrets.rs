//! Recognizes files that look like secrets, by their name or by the beginning of their content.

use std::{fs::File, io::Read, path::Path};

/// The part of a file that is searched.
pub(crate) const SEARCHED_BYTES_MAX: u64 = 1_024 * 1_024;

/// Files that only programs and their logins use.
const NAMES: [&str; 15] = [
    ".git-credentials",
    ".netrc",
    "_netrc",
    ".pgpass",
    ".pypirc",
    ".my.cnf",
    ".htpasswd",
    ".dockercfg",
    ".envrc",
    ".vault-token",
    "kubeconfig",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
];
/// Folders of logins in a home folder.
const FOLDERS: [&str; 4] = [".ssh", ".gnupg", ".aws", ".kube"];
const ENDINGS: [&str; 11] = [
    ".pem",
    ".key",
    ".p12",
    ".pfx",
    ".jks",
    ".keystore",
    ".kdbx",
    ".ppk",
    ".tfstate",
    ".env",
    ".pkcs12",
];
/// Names without their ending that are secrets in a file of data, but not in a source file.
const STEMS: [&str; 7] = [
    "credential",
    "credentials",
    "secret",
    "secrets",
    "service-account",
    "service_account",
    "client_secret",
];
const DATA_ENDINGS: [&str; 10] =
    ["json", "yml", "yaml", "toml", "ini", "xml", "csv", "txt", "properties", "conf"];
/// The endings of files that show what a secret file looks like.
const PATTERNS: [&str; 6] = ["example", "sample", "template", "dist", "defaults", "tmpl"];

/// Whether the name of a file says that it is a secret.
pub(crate) fn has_secret_name(path: &str) -> bool {
    let path = path.to_lowercase();
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", &path));
    if folder.split('/').any(|it| FOLDERS.contains(&it)) {
        return true;
    }
    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
    if PATTERNS.contains(&ending) || PATTERNS.iter().any(|it| stem.ends_with(&format!(".{it}"))) {
        return false;
    }
    NAMES.contains(&name)
        || name.starts_with(".env.")
        || ENDINGS.iter().any(|it| name.ends_with(it))
        || STEMS.contains(&name)
        || STEMS.contains(&stem) && DATA_ENDINGS.contains(&ending)
}

/// A text in a file that looks like a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found<'a> {
    /// `a private key`, `a GitHub token`.
    pub(crate) sign: &'static str,
    pub(crate) text: &'a [u8],
}

/// The form of a token: a prefix, and how many characters follow it.
struct Shape {
    sign: &'static str,
    prefix: &'static [u8],
    length_min: usize,
    characters: fn(u8) -> bool,
}

const fn shape(
    sign: &'static str,
    prefix: &'static str,
    length_min: usize,
    characters: fn(u8) -> bool,
) -> Shape {
    Shape { sign, prefix: prefix.as_bytes(), length_min, characters }
}

fn plain(it: u8) -> bool {
    it.is_ascii_alphanumeric()
}

fn upper(it: u8) -> bool {
    it.is_ascii_uppercase() || it.is_ascii_digit()
}

fn wide(it: u8) -> bool {
    it.is_ascii_alphanumeric() || it == b'_' || it == b'-'
}

const SHAPES: [Shape; 26] = [
    shape("an AWS access key", "AKIA", 16, upper),
    shape("an AWS access key", "ASIA", 16, upper),
    shape("a GitHub token", "ghp_", 36, plain),
    shape("a GitHub token", "gho_", 36, plain),
    shape("a GitHub token", "ghu_", 36, plain),
    shape("a GitHub token", "ghs_", 36, plain),
    shape("a GitHub token", "ghr_", 36, plain),
    shape("a GitHub token", "github_pat_", 22, wide),
    shape("a GitLab token", "glpat-", 20, wide),
    shape("a Slack token", "xoxb-", 20, wide),
    shape("a Slack token", "xoxp-", 20, wide),
    shape("a Slack token", "xoxa-", 20, wide),
    shape("a Slack token", "xoxs-", 20, wide),
    shape("an Anthropic key", "sk-ant-", 24, wide),
    shape("an OpenAI key", "sk-proj-", 24, wide),
    shape("an OpenAI key", "sk-", 48, plain),
    shape("a Stripe key", "sk_live_", 16, plain),
    shape("a Stripe key", "rk_live_", 16, plain),
    shape("a Google key", "AIza", 35, wide),
    shape("an npm token", "npm_", 36, plain),
    shape("a PyPI token", "pypi-AgEI", 40, wide),
    shape("a Hugging Face token", "hf_", 30, plain),
    shape("a DigitalOcean token", "dop_v1_", 64, plain),
    shape("a Shopify token", "shpat_", 32, plain),
    shape("an npm login", ":_authToken=", 8, wide),
    shape("an age key", "AGE-SECRET-KEY-1", 58, upper),
];

const KEY_BEGIN: &[u8] = b"-----BEGIN ";
const KEY_END: &[u8] = b"PRIVATE KEY";
/// The longest name of a kind of key, such as `OPENSSH `.
const KEY_KIND_BYTES_MAX: usize = 24;

/// Everything in a text that looks like a secret.
pub(crate) fn secrets_in(content: &[u8]) -> Vec<Found<'_>> {
    let mut is_first = [false; 256];
    for prefix in SHAPES.iter().map(|it| it.prefix).chain([KEY_BEGIN]) {
        is_first[usize::from(prefix[0])] = true;
    }
    let mut found = Vec::new();
    let mut at = 0;
    while at < content.len() {
        let secret = is_first[usize::from(content[at])].then(|| secret_at(content, at)).flatten();
        at += secret.as_ref().map_or(1, |it| it.text.len());
        found.extend(secret);
    }
    found
}

fn secret_at(content: &[u8], at: usize) -> Option<Found<'_>> {
    let rest = &content[at..];
    private_key(rest).or_else(|| {
        let is_inside = at > 0 && wide(content[at - 1]);
        SHAPES.iter().find_map(|it| it.at_start(rest)).filter(|_| !is_inside)
    })
}

/// A key with the first lines of its data, so that two keys differ.
fn private_key(rest: &[u8]) -> Option<Found<'_>> {
    let named = rest.strip_prefix(KEY_BEGIN)?;
    let line = named.split(|it| *it == b'\n').next()?;
    let kind = line.windows(KEY_END.len()).position(|it| it == KEY_END)?;
    let is_key = kind <= KEY_KIND_BYTES_MAX;
    let text = &rest[..rest.len().min(KEY_BEGIN.len() + line.len() + 1 + KEY_DATA_BYTES)];
    is_key.then_some(Found { sign: "a private key", text })
}

const KEY_DATA_BYTES: usize = 128;

impl Shape {
    fn at_start<'a>(&self, rest: &'a [u8]) -> Option<Found<'a>> {
        let value = rest.strip_prefix(self.prefix)?;
        let length = value.iter().take_while(|it| (self.characters)(**it)).count();
        let text = &rest[..self.prefix.len() + length];
        // Documentation shows such values.
        let is_example = text.ends_with(b"EXAMPLE") || is_one_character(&value[..length]);
        (length >= self.length_min && !is_example).then_some(Found { sign: self.sign, text })
    }
}

/// Whether a text is a placeholder such as `xxxxxxxx`.
fn is_one_character(text: &[u8]) -> bool {
    text.iter().all(|it| *it == text[0])
}

/// The beginning of a regular file. `None` if it is no file or cannot be read.
pub(crate) fn beginning(path: &Path) -> Option<Vec<u8>> {
    if !std::fs::symlink_metadata(path).ok()?.is_file() {
        return None;
    }
    let mut content = Vec::new();
    File::open(path).ok()?.take(SEARCHED_BYTES_MAX).read_to_end(&mut content).ok()?;
    Some(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_secrets_are_known_by_name() {
        for path in [
            ".env",
            "app/.env.production",
            "prod.env",
            "deploy/id_ed25519",
            "server.PEM",
            "config/credentials.json",
            "secrets.yml",
            "home/.ssh/config",
            ".netrc",
            "credentials",
        ] {
            assert!(has_secret_name(path), "{path}");
        }
        for path in [
            ".env.example",
            ".env.local.sample",
            "id_rsa.pub",
            "id_generator.py",
            "src/credentials.rs",
            "environment.py",
            "src/secrets.ts",
            "keyboard.json",
            "docs/credentials.md",
        ] {
            assert!(!has_secret_name(path), "{path}");
        }
    }

    #[test]
    fn tokens_and_keys_are_found_in_content() {
        let signs = |text: &str| -> Vec<&'static str> {
            secrets_in(text.as_bytes()).iter().map(|it| it.sign).collect()
        };
        let digits = "0123456789abcdefghijABCDEFGHIJ0123456789abcdefghij";
        let key = format!("-----BEGIN OPENSSH {}-----\nabc\n", "PRIVATE KEY");
        assert_eq!(signs(&key), ["a private key"]);
        let github = format!("token = \"{}{}\"", "ghp_", &digits[..36]);
        assert_eq!(signs(&github), ["a GitHub token"]);
        let aws = format!("{}{}", "AKIA", "Q7KD2MZ4XW8TY3NB");
        assert_eq!(signs(&format!("a={aws}\nb={aws}\n")), ["an AWS access key"; 2]);
        assert_eq!(signs(&format!("{}{digits}", "sk-ant-")), ["an Anthropic key"]);
        for text in [
            format!("-----BEGIN {}-----", "PUBLIC KEY"),
            format!("{}{}", "AKIA", "IOSFODNN7EXAMPLE"),
            format!("{}{}", "ghp_", "x".repeat(36)),
            format!("task_{}{}", "sk-", &digits[..20]),
            format!("mask-{digits}{digits}"),
            "risk-assessment-of-everything-that-may-happen-in-a-long-name".to_owned(),
            String::new(),
        ] {
            assert_eq!(signs(&text), [""; 0], "{text}");
        }
    }
}
