//! Removes secrets from text before it is written: known values, and text that looks like a secret.
//!
//! Reads no files.

const MARK: &str = "[redacted]";
/// Shorter values may be ordinary words.
const SECRET_BYTES_MIN: usize = 6;
/// The number of hexadecimal digits of our tokens.
const TOKEN_DIGITS: usize = 64;

/// The known secrets.
pub struct Redactor {
    /// Longest first, because one may contain another.
    secrets: Vec<String>,
}

impl Redactor {
    /// Collects the values of variables with secret names.
    pub fn new(variables: impl IntoIterator<Item = (String, String)>, tokens: &[&str]) -> Self {
        let named = variables.into_iter().filter(|it| is_secret_name(&it.0)).map(|it| it.1);
        let values = named.chain(tokens.iter().map(ToString::to_string));
        // A secret of several lines, such as a key, may appear line by line.
        let lines =
            values.flat_map(|it| it.lines().map(|it| it.trim().to_owned()).collect::<Vec<_>>());
        let mut secrets: Vec<String> = lines.filter(|it| it.len() >= SECRET_BYTES_MIN).collect();
        secrets.sort_unstable_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        secrets.dedup();
        Self { secrets }
    }

    /// Returns the text without secrets.
    pub fn redact(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in &self.secrets {
            if text.contains(secret) {
                text = text.replace(secret, MARK);
            }
            text = without_beginning(&text, secret);
        }
        without_shapes(&text)
    }
}

/// Removes the beginning of a secret at the end of a text, which may have been truncated there.
fn without_beginning(text: &str, secret: &str) -> String {
    let parts: Vec<&str> = text.split('…').collect();
    let shortened = parts.into_iter().map(|part| {
        let lengths = (SECRET_BYTES_MIN..secret.len()).rev();
        let cut = lengths.filter_map(|it| secret.get(..it)).find(|it| part.ends_with(it));
        match cut {
            Some(cut) => format!("{}{MARK}", &part[..part.len() - cut.len()]),
            None => part.to_owned(),
        }
    });
    shortened.collect::<Vec<_>>().join("…")
}

/// `*_TOKEN`, `*_KEY`, `*_SECRET`, `*PASSWORD*` and the like.
fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let whole = |it: &str| matches!(it, "TOKEN" | "KEY" | "SECRET" | "APIKEY" | "PASS" | "AUTH");
    name.split(['_', '-']).any(whole)
        || ["PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL"].iter().any(|it| name.contains(it))
        || ["TOKEN", "SECRET"].iter().any(|it| name.ends_with(it))
}

/// Headers, URLs, assignments and tokens that have the form of a secret.
fn without_shapes(text: &str) -> String {
    let mut redacted = String::with_capacity(text.len());
    let mut after_scheme = false;
    for word in text.split_inclusive([' ', '"', '\'', '`', ',']) {
        let bare = word.trim_end_matches([' ', '"', '\'', '`', ',']);
        let end = &word[bare.len()..];
        if after_scheme && !bare.is_empty() {
            redacted.push_str(MARK);
        } else {
            redacted.push_str(&without_token(&without_value(&without_login(bare))));
        }
        redacted.push_str(end);
        let is_scheme = bare.eq_ignore_ascii_case("bearer");
        after_scheme = is_scheme && end.starts_with(' ') || after_scheme && bare.is_empty();
    }
    redacted
}

/// `https://name:password@host` without the name and the password.
fn without_login(word: &str) -> String {
    let Some((scheme, rest)) = word.split_once("://") else { return word.to_owned() };
    let host_end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    match rest[..host_end].rfind('@') {
        // In an http URL a lone name is a token; in an ssh URL it is a user name.
        Some(at)
            if rest[..at].contains(':')
                || scheme.ends_with("http")
                || scheme.ends_with("https") =>
        {
            format!("{scheme}://{MARK}{}", &rest[at..])
        }
        Some(_) | None => word.to_owned(),
    }
}

/// `API_KEY=value` without the value.
fn without_value(word: &str) -> String {
    let Some((name, value)) = word.split_once('=') else { return word.to_owned() };
    let is_part = |it: char| it.is_ascii_alphanumeric() || it == '_' || it == '-';
    let name_only = name.rsplit(|it| !is_part(it)).next().unwrap_or_default();
    if value.is_empty() || !is_secret_name(name_only) {
        return word.to_owned();
    }
    format!("{name}={MARK}")
}

/// A run of as many hexadecimal digits as our tokens have.
fn without_token(word: &str) -> String {
    let is_token = |it: &str| it.len() == TOKEN_DIGITS;
    let found = word.split(|it: char| !it.is_ascii_hexdigit()).find(|it| is_token(it));
    match found {
        Some(token) => word.replace(token, MARK),
        None => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redactor() -> Redactor {
        let variable = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        let variables = [
            ("ANTHROPIC_API_KEY", "sk-abc-0123456789"),
            ("DB_PASSWORD", "hunter2!"),
            ("DEPLOY_KEY", "-----BEGIN KEY-----\nMIIBlines\n"),
            ("SHORT_TOKEN", "main"),
            ("LANG", "C.UTF-8"),
        ];
        Redactor::new(variables.map(variable), &["person-token"])
    }

    #[test]
    fn known_secrets_are_removed_everywhere() {
        let cases = [
            ("key sk-abc-0123456789.", "key [redacted]."),
            ("psql -p hunter2! on C.UTF-8", "psql -p [redacted] on C.UTF-8"),
            ("a person-token b", "a [redacted] b"),
            ("x MIIBlines y", "x [redacted] y"),
            ("moved to main", "moved to main"),
            ("cut in sk-abc-01", "cut in [redacted]"),
            ("cut in sk-abc-01…; again", "cut in [redacted]…; again"),
            ("sk-ab", "sk-ab"),
        ];
        for (text, wanted) in cases {
            assert_eq!(redactor().redact(text), wanted);
        }
    }

    #[test]
    fn text_that_looks_like_a_secret_is_removed() {
        let token = "0123456789abcdef".repeat(4);
        let cases = [
            ("Authorization: Bearer abc.def", "Authorization: Bearer [redacted]"),
            ("-H \"authorization: bearer x\" y", "-H \"authorization: bearer [redacted]\" y"),
            ("https://me:pw@host/x?y", "https://[redacted]@host/x?y"),
            ("git clone https://tok@host/x.git", "git clone https://[redacted]@host/x.git"),
            ("ssh://git@host/x and a@b.c", "ssh://git@host/x and a@b.c"),
            ("`export GITHUB_TOKEN=ghx`", "`export GITHUB_TOKEN=[redacted]`"),
            ("key=1 monkey=2 KEYBOARD=us", "key=[redacted] monkey=2 KEYBOARD=us"),
            (&format!("token:{token};"), "token:[redacted];"),
            ("bearer of news", "bearer [redacted] news"),
        ];
        for (text, wanted) in cases {
            assert_eq!(redactor().redact(text), wanted);
        }
        let commit = "a".repeat(40);
        assert_eq!(redactor().redact(&commit), commit);
    }
}
