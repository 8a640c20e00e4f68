//! Compares the contents of agents' credential files.
//!
//! The contents are never kept or shown. Only a digest, the paths of the secrets and the expiry
//! time leave this module. Nothing here touches a file.

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};

/// The layout of a vendor's credential file.
///
/// A path is a list of names, such as `claudeAiOauth.expiresAt`; `*` matches any name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoginFormat {
    /// When access tokens expire: a number (seconds or milliseconds since the epoch), or a token
    /// that contains its own expiry time. The object that contains it is the login.
    pub expires: Vec<String>,
    /// The account of the login: a name, or a token that contains its own subject.
    pub account: Vec<String>,
}

/// A credential without its secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credential {
    /// Equal for two files that hold the same tokens, regardless of formatting and stated expiry
    /// times.
    pub digest: String,
    /// When the last of its access tokens expires, if known.
    pub expires_at_ms: Option<u64>,
    /// Whether the format was recognized.
    pub is_understood: bool,
    /// Equal for two files that differ only in the tokens of the same accounts. `None` if a
    /// renewable login does not name its account.
    pub account: Option<String>,
    /// The paths of complete logins, and of all other secrets. A login without tokens is not a
    /// login.
    holds: BTreeSet<String>,
}

impl Credential {
    /// Reads a credential, or returns `None` if the bytes are not one.
    ///
    /// Every secret outside a login counts separately. Text that is not JSON is one secret. The
    /// refresh tokens of an unknown account do not count, because agents never get them.
    pub fn read(bytes: &[u8], format: &LoginFormat) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok().map(str::trim).filter(|it| !it.is_empty())?;
        let root = match serde_json::from_str::<Value>(text) {
            Ok(root) if root.as_object().is_some_and(|it| !it.is_empty()) => root,
            Ok(_) => return None,
            // This is only a truncated piece of JSON.
            Err(_) if text.starts_with('{') => return None,
            Err(_) => Value::String(text.to_owned()),
        };
        let is_any = |it: &Self| format.expires.is_empty() || !it.holds.is_empty();
        Self::of(root, format).filter(is_any)
    }

    fn of(mut root: Value, format: &LoginFormat) -> Option<Self> {
        let account = account(&root, format);
        if account.is_none() {
            for_each_renewable(&mut root, "", &mut |_, login| {
                login.retain(|name, _| !is_refresh_token(name));
            });
        }
        let (mut times, mut logins) = (Vec::new(), BTreeSet::new());
        for_each_login(&mut root, &format.expires, |place, login, name| {
            let time = login.get(name).and_then(time_ms);
            if let Some(time) = time.filter(|_| is_whole(login)) {
                times.push(time);
                logins.insert(place.to_owned());
            }
            // A token is a fact; a number is only a note beside it.
            if login.get(name).is_some_and(|it| !it.is_string()) {
                login.remove(name);
            }
        });
        let mut holds = BTreeSet::new();
        secrets(&root, "", root.is_string(), &mut holds);
        // The tokens of a login count as one: the vendor decides which of them a login contains.
        holds.retain(|it| it.rsplit_once('/').is_none_or(|(login, _)| !logins.contains(login)));
        holds.append(&mut logins);
        // Formatting and key order do not matter.
        root.sort_all_objects();
        let is_understood = root.is_object() && !holds.is_empty();
        let expires_at_ms = times.into_iter().max();
        let digest = digest_of(&serde_json::to_vec(&root).ok()?);
        Some(Self { digest, expires_at_ms, is_understood, account, holds })
    }

    /// Whether it contains every login and every other secret of `other`.
    pub fn keeps(&self, other: &Self) -> bool {
        self.holds.is_superset(&other.holds)
    }
}

/// Returns the credential to give to an agent. A numeric expiry later than `time_ms` becomes
/// `time_ms`, so that the agent refreshes sooner.
///
/// If the account is unknown, the refresh token is removed: a login that the agent renewed could
/// not be distinguished from the agent's own login, and discarding it would log the user out.
pub fn for_agent(bytes: &[u8], format: &LoginFormat, time_ms: Option<u64>) -> Vec<u8> {
    let Ok(mut root) = serde_json::from_slice::<Value>(bytes) else { return bytes.to_owned() };
    if account(&root, format).is_none() {
        // The key stays, because some agents treat a login without it as broken.
        for_each_renewable(&mut root, "", &mut |_, login| {
            let tokens = login.iter_mut().filter(|it| is_refresh_token(it.0));
            tokens.for_each(|it| *it.1 = "".into());
        });
        return root.to_string().into_bytes();
    }
    let Some(time_ms) = time_ms else { return bytes.to_owned() };
    let mut is_changed = false;
    for_each_login(&mut root, &format.expires, |_, login, name| {
        let Some(written) = login.get(name).and_then(Value::as_u64) else { return };
        if milliseconds(written) > time_ms {
            let reported = if is_in_seconds(written) { time_ms / 1_000 } else { time_ms };
            login.insert(name.to_owned(), reported.into());
            is_changed = true;
        }
    });
    // If nothing changed, keep the original bytes.
    if is_changed { root.to_string().into_bytes() } else { bytes.to_owned() }
}

/// Calls `look` with every object in which one of `places` ends, its path, and the final name.
fn for_each_login(
    root: &mut Value,
    places: &[String],
    mut look: impl FnMut(&str, &mut Map<String, Value>, &str),
) {
    for place in places {
        let names: Vec<&str> = place.split('.').collect();
        walk(root, "", &names, &mut look);
    }
}

fn walk(
    value: &mut Value,
    place: &str,
    names: &[&str],
    look: &mut impl FnMut(&str, &mut Map<String, Value>, &str),
) {
    let (Some(object), Some((first, rest))) = (value.as_object_mut(), names.split_first()) else {
        return;
    };
    if rest.is_empty() {
        if object.contains_key(*first) {
            look(place, object, first);
        }
        return;
    }
    for (name, inner) in object.iter_mut().filter(|it| *first == "*" || it.0 == first) {
        walk(inner, &format!("{place}/{name}"), rest, look);
    }
}

/// The accounts of a file, and everything else that no refresh changes: other keys, addresses.
/// `None` if a renewable login names no account.
fn account(root: &Value, format: &LoginFormat) -> Option<String> {
    let mut root = root.clone();
    let mut facts = BTreeMap::new();
    let mut named = BTreeSet::new();
    for_each_login(&mut root, &format.account, |place, login, name| {
        if let Some(account) = login.get(name).and_then(identity) {
            facts.insert(format!("{place}/{name}"), account);
            named.insert(place.to_owned());
        }
    });
    let mut is_named = true;
    for_each_renewable(&mut root, "", &mut |place, login| {
        let covers = |it: &String| place.strip_prefix(it.as_str()).is_some_and(is_end);
        is_named &= named.iter().any(covers);
        login.retain(|name, it| !(it.is_string() && is_secret(name)));
    });
    if !is_named {
        return None;
    }
    // A decoded token is represented by its subject alone.
    for_each_login(&mut root, &format.account, |_, login, name| drop(login.remove(name)));
    for_each_login(&mut root, &format.expires, |_, login, name| drop(login.remove(name)));
    texts(&root, "", &mut facts);
    Some(digest_of(&serde_json::to_vec(&facts).ok()?))
}

fn is_end(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with('/')
}

/// The subject of a token, or the name itself.
fn identity(value: &Value) -> Option<String> {
    let text = value.as_str().filter(|it| !it.trim().is_empty())?;
    match claims(text) {
        Some(claims) => Some(format!("{} {}", claims["iss"], claims.get("sub")?.as_str()?)),
        None => Some(text.to_owned()),
    }
}

/// Calls `look` with every object that can hold a refresh token.
fn for_each_renewable(
    value: &mut Value,
    place: &str,
    look: &mut impl FnMut(&str, &mut Map<String, Value>),
) {
    let Some(object) = value.as_object_mut() else { return };
    for (name, inner) in object.iter_mut() {
        for_each_renewable(inner, &format!("{place}/{name}"), look);
    }
    if object.iter().any(|(name, it)| is_refresh_token(name) && it.is_string()) {
        look(place, object);
    }
}

fn is_refresh_token(name: &str) -> bool {
    let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    let name = name.to_ascii_lowercase();
    name == "refresh" || name.ends_with("refreshtoken")
}

/// All strings except those that a refresh may change: timestamps and scopes.
fn texts(value: &Value, place: &str, found: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(object) => {
            let lasts = |it: &(&String, &Value)| !is_changed_by_refresh(it.0);
            for (name, inner) in object.iter().filter(lasts) {
                texts(inner, &format!("{place}/{name}"), found);
            }
        }
        Value::Array(items) => {
            for (index, inner) in items.iter().enumerate() {
                texts(inner, &format!("{place}/{index}"), found);
            }
        }
        Value::String(text) => drop(found.insert(place.to_owned(), text.clone())),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn is_changed_by_refresh(name: &str) -> bool {
    name.starts_with("last_") || ["scope", "scopes"].contains(&name)
}

fn digest_of(bytes: &[u8]) -> String {
    let digits: Vec<String> = Sha256::digest(bytes).iter().map(|it| format!("{it:02x}")).collect();
    digits.concat()
}

/// The key names under which agents store secrets.
fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["token", "refresh", "access", "key", "secret"].iter().any(|it| name.contains(it))
}

fn is_text(value: &Value) -> bool {
    value.as_str().is_some_and(|it| !it.trim().is_empty())
}

/// The paths of all nonempty secrets. Everything below a secret key is secret.
fn secrets(value: &Value, place: &str, is_secret_name: bool, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (name, inner) in object {
                let is_secret = is_secret_name || is_secret(name);
                secrets(inner, &format!("{place}/{name}"), is_secret, found);
            }
        }
        Value::String(_) if is_secret_name && is_text(value) => {
            found.insert(place.to_owned());
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {}
    }
}

/// Whether a login has its tokens. A logout often leaves empty ones.
fn is_whole(login: &Map<String, Value>) -> bool {
    let is_token = |it: &(&String, &Value)| is_secret(it.0) && (it.1.is_string() || it.1.is_null());
    let mut tokens = login.iter().filter(is_token).map(|it| is_text(it.1)).peekable();
    tokens.peek().is_some() && tokens.all(|it| it)
}

fn time_ms(value: &Value) -> Option<u64> {
    let claimed = || value.as_str().and_then(claims)?.get("exp")?.as_u64();
    let number = value.as_u64().or_else(claimed);
    number.filter(|it| *it > 0).map(milliseconds)
}

/// Read as seconds, today's milliseconds would be more than a thousand years ahead.
fn is_in_seconds(number: u64) -> bool {
    number < 100_000_000_000
}

fn milliseconds(number: u64) -> u64 {
    if is_in_seconds(number) { number * 1_000 } else { number }
}

/// The claims of a JSON web token, not verified.
fn claims(token: &str) -> Option<Value> {
    let parts: Vec<&str> = token.split('.').collect();
    let [_, claims, _] = parts[..] else { return None };
    serde_json::from_slice(&base64url(claims)?).ok()
}

fn base64url(text: &str) -> Option<Vec<u8>> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0u32, 0);
    for digit in text.trim_end_matches('=').bytes() {
        let value = DIGITS.iter().position(|it| *it == digit)?;
        bits = bits << 6 | u32::try_from(value).ok()?;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(bits >> count & 0xff).ok()?);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests;
