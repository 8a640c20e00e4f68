use super::*;
use proptest::prelude::*;

const CLAUDE: &str = "claudeAiOauth.expiresAt";

fn format(expires: &[&str], account: &[&str]) -> LoginFormat {
    let places = |it: &[&str]| it.iter().map(ToString::to_string).collect();
    LoginFormat { expires: places(expires), account: places(account) }
}

fn read_with(text: &str, expires: &[&str]) -> Option<Credential> {
    Credential::read(text.as_bytes(), &format(expires, &[]))
}

fn claude(access: &str, refresh: &str, expires: u64) -> String {
    format!(
        r#"{{"claudeAiOauth":{{"accessToken":"{access}","refreshToken":"{refresh}","expiresAt":{expires},"scopes":["x"]}}}}"#
    )
}

#[test]
fn reads_the_expiry_in_each_agents_format() {
    let milliseconds = read_with(&claude("a", "r", 1_800_000_000_000), &[CLAUDE]).unwrap();
    assert_eq!(milliseconds.expires_at_ms, Some(1_800_000_000_000));
    let seconds = r#"{"access_token":"a","refresh_token":"r","expiry_date":1800000000}"#;
    let seconds = read_with(seconds, &["expiry_date"]).unwrap();
    assert_eq!(seconds.expires_at_ms, Some(1_800_000_000_000));
    // {"exp":1800000000}
    let token = r#"{"tokens":{"access_token":"e30.eyJleHAiOjE4MDAwMDAwMDB9.x","refresh_token":"r"},"last_refresh":"2026-01-01T00:00:00Z"}"#;
    let token = read_with(token, &["tokens.access_token"]).unwrap();
    assert_eq!(token.expires_at_ms, Some(1_800_000_000_000));
    let several = r#"{"one":{"type":"oauth","access":"a","refresh":"r","expires":1800000000000},"two":{"type":"oauth","access":"b","refresh":"s","expires":1900000000000},"three":{"type":"api","key":"k"}}"#;
    let several = read_with(several, &["*.expires"]).unwrap();
    assert_eq!(several.expires_at_ms, Some(1_900_000_000_000));
    let key = read_with(r#"{"OPENAI_API_KEY":"k","tokens":null}"#, &["tokens.access_token"]);
    assert_eq!(key.unwrap().expires_at_ms, None);
}

#[test]
fn data_without_a_token_is_not_a_credential() {
    let stub = claude("", "", 0);
    for text in ["", " \n", "{", "{}", "null", "[]", "\"x\"", "{\"claudeAiOauth\":null}", &stub] {
        assert_eq!(read_with(text, &[CLAUDE]), None, "{text}");
    }
    assert_eq!(read_with(&claude("a", "r", 1)[..40], &[CLAUDE]), None, "cut off");
    assert_eq!(Credential::read(&[0xff, 0xfe], &LoginFormat::default()), None);
    for text in ["", "{}"] {
        assert_eq!(read_with(text, &[]), None, "{text}");
    }
    assert!(read_with("API_KEY: k\n", &[]).is_some(), "it need not be JSON");
}

/// The agent looks for this file, but we cannot tell which logins it holds.
#[test]
fn a_file_without_a_known_secret_is_opaque() {
    let is_understood = |text| read_with(text, &[]).unwrap().is_understood;
    assert!(!is_understood("KEY: k") && !is_understood(r#"{"name":"ada"}"#));
    assert!(!is_understood(r#"{"token":""}"#));
    assert!(is_understood(r#"{"tokens":{"https://example.org:ada":"t"}}"#));
}

#[test]
fn a_credential_that_has_lost_a_login_does_not_keep_it() {
    let whole = read_with(&claude("a", "r", 5), &[CLAUDE]).unwrap();
    let refreshed = read_with(&claude("b", "s", 6), &[CLAUDE]).unwrap();
    assert!(refreshed.keeps(&whole) && whole.keeps(&refreshed));
    let stub = claude("", "r", 5)
        .replace(r#"{"claudeAiOauth""#, r#"{"other":{"token":"t"},"claudeAiOauth""#);
    let stub = read_with(&stub, &[CLAUDE]).unwrap();
    assert!(!stub.keeps(&whole));
    let two = read_with(r#"{"a":{"key":"k"},"b":{"key":"k"}}"#, &[]).unwrap();
    let one = read_with(r#"{"a":{"key":"k"},"b":{"key":""}}"#, &[]).unwrap();
    assert!(two.keeps(&one) && !one.keeps(&two));
}

#[test]
fn a_key_beside_a_login_is_kept_as_well() {
    let login = r#""anthropic":{"type":"oauth","access":"a","refresh":"r","expires":5}"#;
    let second = r#""other":{"type":"oauth","access":"b","refresh":"s","expires":9}"#;
    let key = r#""openrouter":{"type":"api","key":"k"}"#;
    let read = |parts: &[&str]| read_with(&format!("{{{}}}", parts.join(",")), &["*.expires"]);
    let alone = read(&[login]).unwrap();
    for more in [second, key] {
        let both = read(&[login, more]).unwrap();
        assert!(both.keeps(&alone) && !alone.keeps(&both), "{more}");
    }
    let codex = |key: &str, id: &str| {
        let token = "e30.eyJleHAiOjE4MDAwMDAwMDB9.x";
        let text = format!(
            r#"{{"OPENAI_API_KEY":{key},"tokens":{{{id}"access_token":"{token}","refresh_token":"r"}}}}"#
        );
        read_with(&text, &["tokens.access_token"]).unwrap()
    };
    assert!(!codex("null", "").keeps(&codex(r#""k""#, "")));
    assert!(
        codex("null", "").keeps(&codex("null", r#""id_token":"i","#)),
        "both forms are one login"
    );
}

#[test]
fn a_credential_is_the_same_however_it_is_written() {
    let one = read_with(r#"{"b":{"token":"t","expires":7},"a":1}"#, &["b.expires"]).unwrap();
    let same = "{ \"a\": 1,\n \"b\": {\"expires\": 9, \"token\": \"t\"} }";
    assert_eq!(read_with(same, &["b.expires"]).unwrap().digest, one.digest);
    let other = r#"{"b":{"token":"u","expires":7},"a":1}"#;
    assert_ne!(read_with(other, &["b.expires"]).unwrap().digest, one.digest);
}

#[test]
fn an_expiry_can_be_shortened_but_not_extended() {
    let known = format(&[CLAUDE], &["account"]);
    let text = claude("a", "r", 1_800_000_000_000).replacen('{', r#"{"account":"ada","#, 1);
    let reported = for_agent(text.as_bytes(), &known, Some(1_700_000_000_000));
    let read = |it: &[u8]| Credential::read(it, &known).unwrap();
    assert_eq!(read(&reported).expires_at_ms, Some(1_700_000_000_000));
    assert_eq!(read(&reported).digest, read(text.as_bytes()).digest);
    assert_eq!(for_agent(text.as_bytes(), &known, Some(u64::MAX)), text.as_bytes());
    assert_eq!(for_agent(text.as_bytes(), &known, None), text.as_bytes());
    assert_eq!(for_agent(b"no json", &known, Some(0)), b"no json");
}

/// A renewed login could not be distinguished from the agent's own.
#[test]
fn a_login_of_an_unknown_account_loses_its_refresh_token() {
    let unknown = format(&[CLAUDE], &["claudeAiOauth.account"]);
    let text = claude("a", "sesame", 1_800_000_000_000);
    let given = for_agent(text.as_bytes(), &unknown, Some(1_700_000_000_000));
    let shown = String::from_utf8(given.clone()).unwrap();
    assert!(shown.contains(r#""accessToken":"a""#) && !shown.contains("sesame"), "{shown}");
    assert!(shown.contains("1800000000000"), "nothing makes it refresh: {shown}");
    let read = |it: &[u8]| Credential::read(it, &unknown).unwrap();
    assert_eq!(read(&given), read(text.as_bytes()), "it is the same login");
    assert_eq!(read(&given).account, None);
}

/// {"iss":"i","sub":SUB}
fn issued_to(sub: &str) -> &'static str {
    match sub {
        "ada" => "e30.eyJpc3MiOiJpIiwic3ViIjoiYWRhIn0.x",
        _ => "e30.eyJpc3MiOiJpIiwic3ViIjoiZXZlIn0.x",
    }
}

#[test]
fn a_refresh_keeps_the_account_and_another_name_or_address_changes_it() {
    let known = format(&["tokens.expires"], &["tokens.account_id", "tokens.access_token"]);
    let file = |key: &str, sub: &str, id: &str, refresh: &str, more: &str| {
        let access = issued_to(sub);
        let text = format!(
            r#"{{"KEY":"{key}","tokens":{{"access_token":"{access}","refresh_token":"{refresh}","account_id":"{id}","expires":{}}},"last_refresh":"{refresh}"{more}}}"#,
            refresh.len()
        );
        Credential::read(text.as_bytes(), &known).unwrap()
    };
    let users = file("k", "ada", "1", "r", "");
    let refreshed = file("k", "ada", "1", "rr", "");
    assert_ne!(users.digest, refreshed.digest);
    assert!(users.account.is_some());
    assert_eq!(users.account, refreshed.account);
    for other in [
        file("k", "eve", "1", "rr", ""),
        file("k", "ada", "2", "rr", ""),
        file("other", "ada", "1", "rr", ""),
        file("k", "ada", "1", "rr", r#","url":"https://eve.example""#),
        file("k", "ada", "1", "rr", r#","second":{"refresh_token":"x"}"#),
    ] {
        assert_ne!(users.account, other.account);
    }
}

#[test]
fn debug_output_hides_secrets() {
    let credential = read_with(&claude("sesame", "open", 5), &[CLAUDE]).unwrap();
    let shown = format!("{credential:?}");
    assert!(!shown.contains("sesame") && !shown.contains("open"), "{shown}");
}

proptest! {
    /// Any bytes that an agent leaves in its file.
    #[test]
    fn no_content_breaks_the_reader(bytes: Vec<u8>, time: u64) {
        for places in [&[][..], &[CLAUDE, "*.x", "."][..]] {
            let format = format(places, places);
            Credential::read(&bytes, &format);
            for_agent(&bytes, &format, Some(time));
        }
    }

    #[test]
    fn a_truncated_credential_is_rejected(length in 0..claude("a", "r", 1).len() - 1) {
        let text = claude("a", "r", 1);
        prop_assert_eq!(read_with(&text[..length], &[CLAUDE]), None);
    }
}
