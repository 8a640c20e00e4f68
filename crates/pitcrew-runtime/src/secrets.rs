//! Removes secrets from tool settings: tokens, passwords, and URLs that contain them.
//!
//! Works line by line, because git, npm, pip and cargo have one setting per line. Unknown lines are
//! kept; lines that could contain a secret are dropped.

/// The suffixes of setting names with a secret value.
const SECRETS: &[&str] =
    &["token", "_auth", "password", "passwd", "smtppass", "secret", "secret-key", "extraheader"];

/// The text without secrets.
pub fn without_secrets(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut is_dropped = false;
    for line in text.split_inclusive('\n') {
        // The continuation lines of a dropped value are dropped with it.
        let goes_on = is_dropped;
        is_dropped = goes_on || is_secret(line);
        if !is_dropped {
            kept.push_str(&without_credentials(line));
        }
        is_dropped &= line.trim_end().ends_with('\\');
    }
    kept
}

pub fn has_secrets(text: &str) -> bool {
    without_secrets(text) != text
}

fn is_secret(line: &str) -> bool {
    // npm's settings for one registry are its login.
    let quotes = ['"', '\''];
    if line.trim_start().trim_start_matches(quotes).starts_with("//") {
        return true;
    }
    // Some tools use a colon, but headings and URLs contain one too.
    let has_colon = !line.contains('=') && !line.contains("://") && !line.starts_with('[');
    let sign = if has_colon { ':' } else { '=' };
    let ends = |it: char| it.is_whitespace() || "{,[\"'!;:?&".contains(it);
    let names = line.match_indices(sign).map(|(at, _)| {
        let before = line[..at].trim_end().trim_end_matches(quotes);
        before.rsplit(ends).next().unwrap_or_default().to_ascii_lowercase()
    });
    let is_secret = |name: String| SECRETS.iter().any(|it| name.ends_with(it));
    names.into_iter().any(is_secret)
}

/// URLs without the name and the password before the host.
fn without_credentials(line: &str) -> String {
    let mut shown = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("://") {
        let ends = |it: char| it.is_whitespace() || "/\"'],;".contains(it);
        let (authority, behind) = after.split_at(after.find(ends).unwrap_or(after.len()));
        let host = match authority.rsplit_once('@') {
            // With key authentication the URL contains only the user name.
            Some((user, _))
                if !before.ends_with("http")
                    && !before.ends_with("https")
                    && !user.contains(':') =>
            {
                authority
            }
            Some((_, host)) => host,
            None => authority,
        };
        shown.push_str(before);
        shown.push_str("://");
        shown.push_str(host);
        rest = behind;
    }
    shown.push_str(&proxy_without_credentials(rest));
    shown
}

/// The URL of a proxy may have no scheme.
fn proxy_without_credentials(line: &str) -> String {
    let Some((name, value)) = line.split_once('=') else { return line.to_owned() };
    match value.rsplit_once('@') {
        Some((_, host)) if name.trim_end().to_ascii_lowercase().ends_with("proxy") => {
            format!("{name}= {host}")
        }
        Some(_) | None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registries_are_kept_without_their_logins() {
        let npm = "registry=https://npm.example/\n@mine:registry=https://me:hidden@mine.example/n/\n\
            //mine.example/n/:_authToken=hidden\n//mine.example/:username=me\n_auth = hidden\n\
            _password=hidden\nsave-exact=true\n";
        let kept = "registry=https://npm.example/\n@mine:registry=https://mine.example/n/\nsave-exact=true\n";
        assert_eq!(without_secrets(npm), kept);
        assert!(has_secrets(npm) && !has_secrets(kept));
        for secret in ["\"//n.example/:_authToken\" = x\n", "\"token\" = \"x\"\n", "aPassword: x\n"]
        {
            assert_eq!(without_secrets(secret), "", "{secret}");
        }
        let pip = "[global]\nindex-url = https://me:hidden@one.example/simple\nextra-index-url =\n    \
            https://hidden@two.example/a\n    https://three.example/b\nproxy = me:hidden@proxy.example:3128\n";
        let kept = "[global]\nindex-url = https://one.example/simple\nextra-index-url =\n    \
            https://two.example/a\n    https://three.example/b\nproxy = proxy.example:3128\n";
        assert_eq!(without_secrets(pip), kept);
    }

    #[test]
    fn git_settings_keep_the_user_and_no_password() {
        let git = "[user]\n\tname = Ada\n\temail = ada@example.org\n[url \"https://x:hidden@host.example/\"]\n\
            \tinsteadOf = git@host.example:\n[http]\n\textraheader = AUTHORIZATION: \\\nbasic hidden\n\
            [github]\n\toauthToken = hidden\n[credential]\n\thelper = \"!f() { echo password=hidden; }; f\"\n\
            \thelper = store\n[remote \"a\"]\n\turl = ssh://git@host.example/a\n";
        let kept = "[user]\n\tname = Ada\n\temail = ada@example.org\n[url \"https://host.example/\"]\n\
            \tinsteadOf = git@host.example:\n[http]\n[github]\n[credential]\n\
            \thelper = store\n[remote \"a\"]\n\turl = ssh://git@host.example/a\n";
        assert_eq!(without_secrets(git), kept);
    }

    #[test]
    fn cargo_registries_are_kept_without_tokens() {
        let cargo = "[registries]\nmine = { index = \"https://m.example\", token = \"hidden\" }\n\
            [registries.other]\nindex = \"sparse+https://me:hidden@o.example/i/\"\ntoken = \"hidden\"\n\
            secret-key = \"hidden\"\n[build]\njobs = 2\n";
        let kept = "[registries]\n[registries.other]\nindex = \"sparse+https://o.example/i/\"\n[build]\njobs = 2\n";
        assert_eq!(without_secrets(cargo), kept);
    }
}
