//! Finds when a provider's limit resets, in the text or data of an error.

use jiff::{
    SignedDuration, Zoned, civil,
    tz::{Offset, TimeZone},
};
use pitcrew_model::Timestamp;
use serde_json::Value;

/// No limit lasts longer; a later time is a misreading.
const LONGEST_MS: u64 = 40 * 24 * 60 * 60 * 1_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reset {
    At(Timestamp),
    /// After this many milliseconds.
    In(u64),
}

impl Reset {
    /// From the structured part of an error.
    pub fn structured(data: &Value) -> Option<Self> {
        let at = ["resetAt", "resetsAt", "reset_at", "resets_at"];
        let after = ["retryAfter", "retry_after", "retryAfterSeconds", "retry_after_seconds"];
        let at = at.iter().find_map(|it| match &data[*it] {
            Value::Number(number) => Some(Self::At(unix(number.as_u64()?))),
            Value::String(text) => exact(text),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        });
        at.or_else(|| {
            let seconds = after.iter().find_map(|it| data[*it].as_u64())?;
            Some(Self::In(seconds.saturating_mul(1_000)))
        })
    }

    /// The time itself, unless it is past or implausibly far away.
    pub fn after(self, now: Timestamp) -> Option<Timestamp> {
        let at = match self {
            Self::At(at) => at,
            Self::In(milliseconds) => now.plus(milliseconds),
        };
        (at > now && at.since(now) <= LONGEST_MS).then_some(at)
    }
}

/// From text that was received at `now`.
pub(super) fn reset_in(text: &str, now: Timestamp) -> Option<Reset> {
    reset_where(text, now, &TimeZone::system())
}

/// `here` is the time zone of times without one.
fn reset_where(text: &str, now: Timestamp, here: &TimeZone) -> Option<Reset> {
    let said: Vec<&str> =
        text.split([' ', '\n', '\t', '|', ',', '"']).filter(|it| !it.is_empty()).collect();
    let lower: Vec<String> = said.iter().map(|it| it.to_ascii_lowercase()).collect();
    let words: Vec<&str> = lower.iter().map(String::as_str).collect();
    let possible = |it: &Reset| it.after(now).is_some();
    // These words precede a time.
    let opens = ["after", "in", "at", "on", "resets", "reset", "retry-after:"];
    // The first time counts; later ones are about something else.
    (0..words.len()).find_map(|place| {
        let rest = place + 1;
        let found = exact(words[place]).or_else(|| {
            let opened = opens.contains(&words[place]);
            let lasts = || duration_ms(&words[rest..]).map(Reset::In);
            opened.then(|| lasts().or_else(|| clock(&words[rest..], &said[rest..], now, here)))?
        });
        found.filter(possible)
    })
}

/// A self-contained time: RFC 3339, or seconds or milliseconds since the epoch.
fn exact(word: &str) -> Option<Reset> {
    let word = word.trim_matches(|it: char| !it.is_ascii_alphanumeric()).to_ascii_uppercase();
    if (10..=13).contains(&word.len()) && word.bytes().all(|it| it.is_ascii_digit()) {
        return Some(Reset::At(unix(word.parse().ok()?)));
    }
    let time: jiff::Timestamp = word.parse().ok()?;
    Some(Reset::At(Timestamp(u64::try_from(time.as_millisecond()).ok()?)))
}

fn unix(number: u64) -> Timestamp {
    let is_seconds = number < 100_000_000_000;
    Timestamp(if is_seconds { number * 1_000 } else { number })
}

/// `1200s`, `1.5s`, `20 minutes`, `1h30m`, `2 days 3 hours`, in milliseconds; the default unit is
/// seconds.
fn duration_ms(words: &[&str]) -> Option<u64> {
    let mut total = None;
    let mut number = None;
    for word in words.iter().take(6) {
        let mut rest = word.trim_end_matches(['.', ')', ';']);
        while !rest.is_empty() {
            let digits = length(rest, |it| it.is_ascii_digit() || it == '.');
            if digits > 0 {
                number = Some(thousandths(&rest[..digits])?);
                rest = &rest[digits..];
                continue;
            }
            let letters = length(rest, |it| it.is_ascii_alphabetic());
            let (Some(count), Some(unit)) = (number, unit_ms(&rest[..letters])) else {
                return total;
            };
            let part = count.saturating_mul(unit).div_ceil(1_000);
            total = Some(total.unwrap_or(0_u64).saturating_add(part));
            number = None;
            rest = &rest[letters..];
        }
    }
    // Thousandths of seconds are milliseconds.
    total.or_else(|| (words.len() == 1).then_some(number)?)
}

/// The number of leading bytes that satisfy a condition.
fn length(text: &str, matches: impl Fn(char) -> bool) -> usize {
    text.find(|it| !matches(it)).unwrap_or(text.len())
}

/// `1.898`, `37.5`, `20`, rounded up.
fn thousandths(number: &str) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if !fraction.bytes().all(|it| it.is_ascii_digit()) {
        return None;
    }
    let (near, rest) = fraction.split_at(fraction.len().min(3));
    let near: u64 = format!("{near:0<3}").parse().ok()?;
    let more = u64::from(rest.bytes().any(|it| it != b'0'));
    let whole: u64 = whole.parse().ok()?;
    Some(whole.saturating_mul(1_000).saturating_add(near + more))
}

fn unit_ms(word: &str) -> Option<u64> {
    match word {
        "ms" | "milliseconds" => Some(1),
        "s" | "sec" | "secs" | "second" | "seconds" => Some(1_000),
        "m" | "min" | "mins" | "minute" | "minutes" => Some(60_000),
        "h" | "hr" | "hrs" | "hour" | "hours" => Some(3_600_000),
        "d" | "day" | "days" => Some(86_400_000),
        _ => None,
    }
}

/// `3pm`, `15:30`, `3:05 pm (europe/berlin)`, `nov 20th 2026 3:05 pm`: the next time that matches.
///
/// `said` are the same words in their original case. `None` if the time zone is unknown.
fn clock(words: &[&str], said: &[&str], now: Timestamp, here: &TimeZone) -> Option<Reset> {
    let words = words.iter().copied().zip(said.iter().copied());
    let mut words = words.filter(|it| !["at", "on"].contains(&it.0)).peekable();
    let month = words.next_if(|it| month(it.0).is_some()).and_then(|it| month(it.0));
    let day = month.and_then(|_| number(words.next()?.0));
    let year = words.next_if(|it| it.0.len() == 4 && it.0.parse::<i16>().is_ok());
    let first = words.next()?.0;
    let half = words.next_if(|it| ["am", "pm"].contains(&it.0.trim_end_matches('.')));
    let half = half.map(|it| it.0);
    let is_end_of_sentence = half.unwrap_or(first).ends_with('.');
    let first = first.trim_end_matches(['.', ')']);
    let (first, suffix) = first.split_at(first.find(['+', '-', 'z']).unwrap_or(first.len()));
    let time = time_of_day(first, half.map(|it| it.trim_end_matches('.')))?;
    let zone = match words.next() {
        _ if !suffix.is_empty() => zone(suffix)?,
        Some((word, said)) if !is_end_of_sentence && is_zone(said) => zone(word)?,
        Some(_) | None => here.clone(),
    };
    let from = jiff::Timestamp::from_millisecond(i64::try_from(now.0).ok()?).ok()?.to_zoned(zone);
    let zoned = match (month, day) {
        (Some(month), Some(day)) => {
            let found = year.and_then(|it| it.0.parse().ok());
            let day = i8::try_from(day).ok()?;
            let date = |year| civil::Date::new(year, month, day).ok();
            let zoned =
                |it: civil::Date| it.to_datetime(time).to_zoned(from.time_zone().clone()).ok();
            let at = date(found.unwrap_or(from.year())).and_then(zoned);
            // `Jan 2` in December is in the next year.
            let next_year = || date(from.year() + 1).and_then(zoned);
            match found {
                Some(_) => at?,
                None => at.filter(|it| *it > from).or_else(next_year)?,
            }
        }
        _ => next(&from, time)?,
    };
    let at = zoned.timestamp().as_millisecond();
    Some(Reset::At(Timestamp(u64::try_from(at).ok()?)))
}

fn next(from: &Zoned, time: civil::Time) -> Option<Zoned> {
    let today = from.date().to_datetime(time).to_zoned(from.time_zone().clone()).ok()?;
    if today > *from { Some(today) } else { today.checked_add(SignedDuration::from_hours(24)).ok() }
}

/// `3pm`, `3:05pm`, `15:30`, optionally followed by am or pm.
fn time_of_day(word: &str, half: Option<&str>) -> Option<civil::Time> {
    let half = half.or_else(|| ["am", "pm"].into_iter().find(|it| word.ends_with(it)));
    let digits = word.trim_end_matches(['a', 'p', 'm']);
    let (hour, minute) = match digits.split_once(':') {
        Some((hour, minute)) => (hour, minute.get(..2)?.parse().ok()?),
        // A number alone is not a time.
        None => (digits, half.map(|_| 0)?),
    };
    let hour: i8 = hour.parse().ok()?;
    let hour = match half {
        Some("pm") if hour < 12 => hour + 12,
        Some("am") if hour == 12 => 0,
        Some(_) | None => hour,
    };
    civil::Time::new(hour, minute, 0, 0).ok()
}

fn month(word: &str) -> Option<i8> {
    let months =
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let place = months.iter().position(|it| word.starts_with(it))?;
    i8::try_from(place + 1).ok()
}

/// `20`, `20th`.
fn number(word: &str) -> Option<u64> {
    word.trim_end_matches(|it: char| !it.is_ascii_digit()).parse().ok()
}

/// Whether the word after a time is a time zone: `(PST)`, `EDT`, `Europe/Berlin`, `+02:00`.
fn is_zone(said: &str) -> bool {
    let name = said.trim_matches(|it: char| !it.is_ascii_alphanumeric());
    let is_short = (1..=5).contains(&name.len()) && name.bytes().all(|it| it.is_ascii_uppercase());
    said.starts_with(['(', '+', '-'])
        || name.contains(['/', '+'])
        || is_short
        || zone(name).is_some()
}

/// `utc`, `(europe/berlin)`, `+02:00`, `utc+2`. Other short names are ambiguous.
fn zone(word: &str) -> Option<TimeZone> {
    let name = word.trim_matches(['(', ')', '.', ';', '·']);
    let offset = ["utc", "gmt", "z"].iter().find_map(|it| name.strip_prefix(it)).unwrap_or(name);
    if offset.is_empty() {
        return Some(TimeZone::UTC);
    }
    if name.contains('/') {
        return TimeZone::get(name).ok();
    }
    let (sign, offset) = match offset.split_at_checked(1)? {
        ("+", offset) => (1, offset),
        ("-", offset) => (-1, offset),
        _ => return None,
    };
    let (hours, minutes) = offset.split_once(':').unwrap_or((offset, "0"));
    let (hours, minutes): (u8, u8) = (hours.parse().ok()?, minutes.parse().ok()?);
    let seconds = (i32::from(hours) * 60 + i32::from(minutes)) * 60;
    Some(TimeZone::fixed(Offset::from_seconds(sign * seconds).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::tz::offset;
    use serde_json::json;

    /// 2026-11-15T16:26:40Z, a Sunday.
    const NOW: Timestamp = Timestamp(1_794_760_000_000);

    fn until(text: &str) -> Option<String> {
        until_from(NOW, text)
    }

    fn until_from(now: Timestamp, text: &str) -> Option<String> {
        let here = TimeZone::fixed(offset(1));
        let at = reset_where(text, now, &here)?.after(now)?;
        let at = jiff::Timestamp::from_millisecond(i64::try_from(at.0).ok()?).ok()?;
        Some(at.to_string())
    }

    #[test]
    fn parses_times_as_vendors_write_them() {
        for (text, wanted) in [
            ("the quota is used up\nSuggested retry after 1200s.", "2026-11-15T16:46:40Z"),
            ("Please try again in 20 minutes.", "2026-11-15T16:46:40Z"),
            (
                "Rate limit reached. Please try again in 1m30s. Visit the site",
                "2026-11-15T16:28:10Z",
            ),
            ("resets in 2 days 3 hours", "2026-11-17T19:26:40Z"),
            ("Retry-After: 60", "2026-11-15T16:27:40Z"),
            ("quota resets at 2026-11-15T18:00:00Z", "2026-11-15T18:00:00Z"),
            ("quota resets at 2026-11-15T18:00:00+01:00.", "2026-11-15T17:00:00Z"),
            ("Claude AI usage limit reached|1794763600", "2026-11-15T17:26:40Z"),
            ("reset: 1794763600000", "2026-11-15T17:26:40Z"),
            ("You've hit your session limit · resets 7pm (UTC)", "2026-11-15T19:00:00Z"),
            ("You've hit your limit · resets 3:30pm (Europe/Berlin)", "2026-11-16T14:30:00Z"),
            ("limit · resets Nov 18 at 5pm (UTC)", "2026-11-18T17:00:00Z"),
            (
                "You’ve hit your usage limit. Upgrade to Plus, or try again at 7:05 PM.",
                "2026-11-15T18:05:00Z",
            ),
            ("hit your usage limit. Try again at Nov 20th, 2026 3:05 PM.", "2026-11-20T14:05:00Z"),
            ("the limit resets at 18:30", "2026-11-15T17:30:00Z"),
            ("the limit resets at 18:30+02:00", "2026-11-15T16:30:00Z"),
            ("the limit resets at 18:30 +02:00", "2026-11-15T16:30:00Z"),
            ("the limit resets at 18:30Z", "2026-11-15T18:30:00Z"),
            ("resets 7pm (UTC+1)", "2026-11-15T18:00:00Z"),
            ("resets at 7pm. EDT is another matter", "2026-11-15T18:00:00Z"),
            ("resets at 7pm or later", "2026-11-15T18:00:00Z"),
            ("Please try again in 1.898s.", "2026-11-15T16:26:41.898Z"),
            ("Please try again in 37.5s", "2026-11-15T16:27:17.5Z"),
            ("try again in 0.0001s", "2026-11-15T16:26:40.001Z"),
            // The first one counts.
            ("try again in 20s. Plans renew in 3 days", "2026-11-15T16:27:00Z"),
            ("try again in 20s (request 1794763600)", "2026-11-15T16:27:00Z"),
        ] {
            assert_eq!(until(text).as_deref(), Some(wanted), "{text}");
        }
    }

    #[test]
    fn a_january_date_in_december_is_in_the_next_year() {
        // 2026-12-30T16:26:40Z.
        let december = Timestamp(NOW.0 + 45 * 86_400_000);
        let until = |text: &str| until_from(december, text);
        let january = Some("2027-01-02T17:00:00Z");
        assert_eq!(until("limit · resets Jan 2 at 5pm (UTC)").as_deref(), january);
        assert_eq!(until("resets Dec 31 at 5pm (UTC)").as_deref(), Some("2026-12-31T17:00:00Z"));
        assert_eq!(until("resets Jan 2 2026 5pm (UTC)"), None);
    }

    #[test]
    fn other_text_is_not_a_time() {
        for text in [
            "the quota is used up",
            "in 3 files, at line 500",
            "call 0123456789 for help",
            "resets in 9999 days",
            "resets at 2020-01-01T00:00:00Z",
            "retry after 0s",
            "resets at 25:99",
            "resets 7pm (PST)",
            "try again at 7:05 PM EDT",
            "resets at 18:30 (Nowhere/Atall)",
            "request 1694763600",
            "try again in 1.2.3s",
            "in 18446744073709551615 hours",
            "resets",
        ] {
            assert_eq!(until(text), None, "{text}");
        }
    }

    #[test]
    fn parses_structured_times() {
        let until = |data: Value| Reset::structured(&data)?.after(NOW);
        let hour = Some(NOW.plus(3_600_000));
        assert_eq!(until(json!({"resetAt": NOW.0 + 3_600_000})), hour);
        assert_eq!(until(json!({"resetsAt": NOW.0 / 1_000 + 3_600})), hour);
        assert_eq!(until(json!({"reset_at": "2026-11-15T17:26:40Z"})), hour);
        assert_eq!(until(json!({"retryAfter": 3_600})), hour);
        assert_eq!(until(json!({"retryAfter": u64::MAX})), None);
        assert_eq!(until(json!({"resetAt": [1]})), None);
    }
}
