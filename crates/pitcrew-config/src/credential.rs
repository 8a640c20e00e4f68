//! What the content of an agent's credential file is worth.
//!
//! What it says is never kept, shown or compared: only a digest, the places of its secrets and its
//! time of expiry leave this module. Nothing here touches a file.

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;

/// A credential, as far as one may know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credential {
    /// The same for two files that hold the same tokens, however they are written and whatever they
    /// say of when these expire.
    pub digest: String,
    /// When the last of its access tokens expires, where it says so.
    pub expires_at_ms: Option<u64>,
    /// Whether it was understood, and not only taken for what it is.
    pub is_understood: bool,
    /// The places of whole logins in it, and of all secrets beside them. A login without its tokens
    /// is none.
    holds: BTreeSet<String>,
}

impl Credential {
    /// Reads a credential; nothing where the bytes are none. `expires` are the places of the times
    /// at which tokens expire, such as `claudeAiOauth.expiresAt`, where `*` is any name.
    ///
    /// Such a place holds a number (seconds or milliseconds since the epoch) or a token that says
    /// itself when it expires; what stands beside it is the login. Every other
    /// secret counts by itself; a text that is not JSON is one secret.
    pub fn read(bytes: &[u8], expires: &[String]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok().map(str::trim).filter(|it| !it.is_empty())?;
        let root = match serde_json::from_str::<Value>(text) {
            Ok(root) if root.as_object().is_some_and(|it| !it.is_empty()) => root,
            Ok(_) => return None,
            // Of what is JSON, this is only a part.
            Err(_) if text.starts_with('{') => return None,
            Err(_) => Value::String(text.to_owned()),
        };
        Self::of(root, expires).filter(|it| expires.is_empty() || !it.holds.is_empty())
    }

    fn of(mut root: Value, expires: &[String]) -> Option<Self> {
        let (mut times, mut logins) = (Vec::new(), BTreeSet::new());
        for_each_login(&mut root, expires, |place, login, name| {
            let time = login.get(name).and_then(time_ms);
            if let Some(time) = time.filter(|_| is_whole(login)) {
                times.push(time);
                logins.insert(place.to_owned());
            }
            // A token is what it is; a number is only what somebody wrote beside it.
            if login.get(name).is_some_and(|it| !it.is_string()) {
                login.remove(name);
            }
        });
        let mut holds = BTreeSet::new();
        secrets(&root, "", root.is_string(), &mut holds);
        // The tokens of a login are one matter: which of them it has is up to its vendor.
        holds.retain(|it| it.rsplit_once('/').is_none_or(|(login, _)| !logins.contains(login)));
        holds.append(&mut logins);
        // How it is written does not matter, nor the order of its names.
        root.sort_all_objects();
        let digest = Sha256::digest(serde_json::to_vec(&root).ok()?);
        let digits: Vec<String> = digest.iter().map(|it| format!("{it:02x}")).collect();
        let is_understood = root.is_object() && !holds.is_empty();
        let expires_at_ms = times.into_iter().max();
        Some(Self { digest: digits.concat(), expires_at_ms, is_understood, holds })
    }

    /// Whether it has every login and every other secret that the other one has.
    pub fn keeps(&self, other: &Self) -> bool {
        self.holds.is_superset(&other.holds)
    }
}

/// The same credential, said to expire at `time_ms` where it says a later time by a number.
///
/// Who reads it believes that the token expires sooner, and refreshes it sooner.
pub fn told_to_expire_at(bytes: &[u8], expires: &[String], time_ms: u64) -> Vec<u8> {
    let Ok(mut root) = serde_json::from_slice::<Value>(bytes) else { return bytes.to_owned() };
    let mut is_changed = false;
    for_each_login(&mut root, expires, |_, login, name| {
        let Some(written) = login.get(name).and_then(Value::as_u64) else { return };
        if milliseconds(written) > time_ms {
            let told = if is_in_seconds(written) { time_ms / 1_000 } else { time_ms };
            login.insert(name.to_owned(), told.into());
            is_changed = true;
        }
    });
    // Nobody is served by other bytes that say the same.
    if is_changed { root.to_string().into_bytes() } else { bytes.to_owned() }
}

/// Every object in which one of `places` ends, with its own place and the name that is meant in it.
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

/// The names under which agents keep what must not be lost.
fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["token", "refresh", "access", "key", "secret"].iter().any(|it| name.contains(it))
}

fn is_text(value: &Value) -> bool {
    value.as_str().is_some_and(|it| !it.trim().is_empty())
}

/// The places of all secrets that are not empty. What a secret name stands for is secret as a whole.
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

/// Whether a login has its tokens. Who logs out, or is logged out, often leaves empty ones.
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

/// As seconds, the milliseconds of today are more than a thousand years away.
fn is_in_seconds(number: u64) -> bool {
    number < 100_000_000_000
}

fn milliseconds(number: u64) -> u64 {
    if is_in_seconds(number) { number * 1_000 } else { number }
}

/// What a JSON web token says of itself, unproven.
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
