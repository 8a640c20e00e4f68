use super::*;
use pitcrew_config::LoginFormat;
use proptest::prelude::*;

fn format(expires: &str) -> LoginFormat {
    LoginFormat { expires: vec![expires.into()], account: vec!["account".into()] }
}

/// A credential of this generation: its tokens are `token` and it expires at `expires`.
fn known(token: u8, expires: u64, written_ms: u64) -> Known {
    let text = format!(
        r#"{{"account":"ada","oauth":{{"access_token":"a{token}","refresh_token":"r{token}","expires":{expires}}}}}"#
    );
    let credential = Credential::read(text.as_bytes(), &format("oauth.expires")).unwrap();
    Known { credential, written_ms }
}

fn digest(token: u8) -> String {
    known(token, 1, 0).credential.digest
}

const HOUR: u64 = 3_600_000;
const NOW: u64 = 1_800_000_000_000;

#[test]
fn a_refreshed_copy_replaces_the_users() {
    let (user, copy) = (known(1, NOW, 5), known(2, NOW + HOUR, 6));
    assert_eq!(judge(Some(&user), Some(&copy), &digest(1)), Verdict::Take(Why::Changed));
}

#[test]
fn a_login_of_the_user_replaces_the_copies() {
    let (user, copy) = (known(2, NOW + HOUR, 6), known(1, NOW, 5));
    assert_eq!(judge(Some(&user), Some(&copy), &digest(1)), Verdict::Give(Why::Changed));
    assert_eq!(judge(Some(&user), None, &digest(1)), Verdict::Give(Why::Changed));
    assert_eq!(judge(Some(&user), None, ""), Verdict::Give(Why::Changed));
}

#[test]
fn an_empty_or_older_copy_is_not_used() {
    let user = known(1, NOW, 5);
    assert_eq!(judge(Some(&user), None, &digest(1)), Verdict::Leave(Fault::Blank));
    let older = known(2, NOW - HOUR, 9);
    assert_eq!(judge(Some(&user), Some(&older), &digest(1)), Verdict::Leave(Fault::Older));
    let partial = Credential::read(br#"{"other":{"token":"t"}}"#, &format("oauth.expires"));
    let partial = Known { credential: partial.unwrap(), written_ms: 9 };
    assert_eq!(judge(Some(&user), Some(&partial), &digest(1)), Verdict::Leave(Fault::Blank));
}

#[test]
fn a_logout_is_not_undone() {
    let copy = known(2, NOW + HOUR, 6);
    assert_eq!(judge(None, Some(&copy), &digest(1)), Verdict::Leave(Fault::NoLogin));
    assert_eq!(judge(None, None, &digest(1)), Verdict::Leave(Fault::NoLogin));
}

#[test]
fn the_newer_of_two_changed_credentials_is_used() {
    let (early, late) = (known(2, NOW, 9), known(3, NOW + HOUR, 5));
    let from = digest(1);
    assert_eq!(judge(Some(&early), Some(&late), &from), Verdict::Take(Why::Later));
    assert_eq!(judge(Some(&late), Some(&early), &from), Verdict::Give(Why::Later));
    // Both expire at the same time, so the one that was written later is used.
    let (first, second) = (known(2, NOW, 5), known(3, NOW, 6));
    assert_eq!(judge(Some(&first), Some(&second), &from), Verdict::Take(Why::Later));
    assert_eq!(judge(Some(&second), Some(&first), &from), Verdict::Give(Why::Later));
    assert_eq!(
        judge(Some(&known(2, NOW, 5)), Some(&known(3, NOW, 5)), &from),
        Verdict::Give(Why::Later)
    );
}

#[test]
fn a_refresh_does_not_lose_a_key_that_the_user_added() {
    let format = format("*.expires");
    let known = |text: &str| Known {
        credential: Credential::read(text.as_bytes(), &format).unwrap(),
        written_ms: 5,
    };
    let from = known(r#"{"one":{"access":"a","expires":5}}"#);
    let user = known(r#"{"one":{"access":"a","expires":5},"two":{"key":"k"}}"#);
    let copy = known(r#"{"one":{"access":"b","expires":9}}"#);
    let from = &from.credential.digest;
    assert_eq!(judge(Some(&user), Some(&copy), from), Verdict::Give(Why::Later));
}

#[test]
fn text_in_an_unknown_format_is_never_used() {
    let text = |it: &str, written_ms| Known {
        credential: Credential::read(it.as_bytes(), &LoginFormat::default()).unwrap(),
        written_ms,
    };
    let (user, copy) = (text("KEY: one", 5), text("KEY: two", 6));
    let from = user.credential.digest.clone();
    assert_eq!(judge(Some(&user), Some(&copy), &from), Verdict::Leave(Fault::Unchecked));
    assert_eq!(judge(Some(&user), Some(&copy), ""), Verdict::Give(Why::Later));
}

fn any() -> impl Strategy<Value = Option<Known>> {
    let known = (0..4u8, 1..5u64, 0..4u64)
        .prop_map(|(token, hours, at)| known(token, NOW + hours * HOUR, at));
    proptest::option::of(known)
}

proptest! {
    #[test]
    fn the_users_credential_is_never_replaced_by_a_lesser_one(user in any(), copy in any(), from in 0..4u8) {
        let verdict = judge(user.as_ref(), copy.as_ref(), &digest(from));
        match verdict {
            Verdict::Take(_) => {
                let (user, copy) = (user.unwrap().credential, copy.unwrap().credential);
                prop_assert!(copy.keeps(&user));
                prop_assert!(copy.expires_at_ms >= user.expires_at_ms);
                prop_assert!(copy.account.is_some() && copy.account == user.account);
                prop_assert_ne!(copy.digest, digest(from), "the agent has changed it");
            }
            Verdict::Give(_) => prop_assert!(user.is_some()),
            Verdict::Same => prop_assert_eq!(user.unwrap().credential.digest, copy.unwrap().credential.digest),
            Verdict::Leave(_) => {}
        }
    }

    /// After it is carried out nothing is left to do: two files never swap forever.
    #[test]
    fn applying_a_verdict_is_idempotent(user in any(), copy in any(), from in 0..4u8) {
        let (winner, loser) = match judge(user.as_ref(), copy.as_ref(), &digest(from)) {
            Verdict::Take(_) => (copy, user),
            Verdict::Give(_) => (user, copy),
            Verdict::Same | Verdict::Leave(_) => return Ok(()),
        };
        drop(loser);
        let winner = winner.unwrap();
        let after = judge(Some(&winner), Some(&winner), &winner.credential.digest);
        prop_assert_eq!(after, Verdict::Same);
    }
}
