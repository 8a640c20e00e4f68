//! Formats counts and times for people.

use crate::plain;
use pitcrew_model::{LeftBehind, Timestamp};

/// Left-behind files that are named in one line.
const NAMED_MAX: usize = 5;

/// `1 file`, `2 files`.
pub fn counted(count: u64, word: &str) -> String {
    format!("{count} {}", plural(count, word))
}

pub fn plural(count: u64, word: &str) -> String {
    if count == 1 { word.to_owned() } else { format!("{word}s") }
}

/// What a plan left behind, in one line.
pub fn left_behind(left: &LeftBehind) -> Option<String> {
    if left.is_none() {
        return None;
    }
    let shown = left.files.iter().take(NAMED_MAX);
    let names: Vec<String> =
        shown.map(|it| format!("{} ({})", plain::line(&it.path), plain::line(&it.sign))).collect();
    let more = match left.count.saturating_sub(names.len() as u64) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let (what, verb) = if left.count == 1 { ("file", "looks") } else { ("files", "look") };
    let (count, names) = (left.count, names.join(", "));
    let (like, it) = if left.count == 1 { ("a secret", "it") } else { ("secrets", "them") };
    Some(format!(
        "{count} uncommitted {what} stayed behind and {verb} like {like}: {names}{more}; `include` \
         in the plan takes {it} along"
    ))
}

/// `12 400`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

/// `0.4 s`, `12 s`, `3 min 20 s`, `2 h 5 min`, `1 d 1 h`.
pub fn duration(milliseconds: u64) -> String {
    let seconds = milliseconds / 1_000;
    match seconds {
        0..10 => format!("{seconds}.{} s", milliseconds % 1_000 / 100),
        10..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        3_600..86_400 => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
        86_400.. => format!("{} d {} h", seconds / 86_400, seconds % 86_400 / 3_600),
    }
}

/// `2026-11-15T09:49:00` in UTC.
pub fn stamp(at: Timestamp) -> String {
    let seconds = at.0 / 1_000;
    let (year, month, day) = civil(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")
}

/// Parses `2026-11-15`, `2026-11-15T09:49` or `2026-11-15T09:49:00` in UTC, optionally with a space
/// instead of the `T`, and a `Z` at the end.
pub fn parse_stamp(text: &str) -> Option<Timestamp> {
    let text = text.trim().trim_end_matches('Z').replace(' ', "T");
    let (date, time) = text.split_once('T').unwrap_or((&text, "00:00:00"));
    let numbers = |text: &str, by: char| -> Option<Vec<u64>> {
        let is_number = |it: &&str| !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit());
        text.split(by).map(|it| Some(it).filter(is_number)?.parse().ok()).collect()
    };
    let [year, month, day] = numbers(date, '-')?.try_into().ok()?;
    let (hour, minute, second) = match numbers(time, ':')?[..] {
        [hour, minute] => (hour, minute, 0),
        [hour, minute, second] => (hour, minute, second),
        _ => return None,
    };
    if hour > 23 || minute > 59 || second > 59 || !(1_970..=9_999).contains(&year) {
        return None;
    }
    // Without leap days, which are added below.
    let first = (year - 1_970) * 365;
    let days = (first..first + 366 + 2_500).find(|it| civil(*it) == (year, month, day))?;
    Some(Timestamp(((days * 24 + hour) * 60 + minute) * 60_000 + second * 1_000))
}

/// Formats `14:00 UTC`, with the date if it is more than a day from `now`.
pub fn clock(at: Timestamp, now: Timestamp) -> String {
    let stamp = stamp(at);
    let is_near = at.since(now) < 24 * 60 * 60 * 1_000;
    match stamp.split_once('T') {
        Some((_, time)) if is_near => format!("{} UTC", &time[..5]),
        Some((date, time)) => format!("{date} {} UTC", &time[..5]),
        None => stamp,
    }
}

/// Returns the Gregorian date of a day counted from 1970-01-01.
fn civil(days: u64) -> (u64, u64, u64) {
    let mut year = 1_970;
    let mut left = days;
    loop {
        let length = if is_leap(year) { 366 } else { 365 };
        if left < length {
            break;
        }
        left -= length;
        year += 1;
    }
    let february = if is_leap(year) { 29 } else { 28 };
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if left < length {
            break;
        }
        left -= length;
        month += 1;
    }
    (year, month, left + 1)
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_has_its_significant_units() {
        let said: Vec<String> =
            [0, 95, 9_999, 59_999, 60_000, 200_000, 3_600_000, 7_500_000, 90_000_000]
                .map(duration)
                .into();
        assert_eq!(
            said,
            [
                "0.0 s",
                "0.0 s",
                "9.9 s",
                "59 s",
                "1 min 0 s",
                "3 min 20 s",
                "1 h 0 min",
                "2 h 5 min",
                "1 d 1 h"
            ]
        );
    }

    #[test]
    fn a_time_of_another_day_has_its_date() {
        let now = Timestamp(1_709_210_096_000);
        assert_eq!(clock(now.plus(60_000), now), "12:35 UTC");
        assert_eq!(clock(now.plus(25 * 3_600_000), now), "2024-03-01 13:34 UTC");
    }

    #[test]
    fn a_stamp_round_trips() {
        for at in [0, 1_709_210_096_000, 1_767_225_599_000] {
            assert_eq!(parse_stamp(&stamp(Timestamp(at))), Some(Timestamp(at)));
        }
        let begun = Some(Timestamp(1_709_164_800_000));
        assert_eq!(parse_stamp("2024-02-29"), begun);
        assert_eq!(parse_stamp("2024-02-29 00:00Z"), begun);
        for wrong in
            ["", "2024-02-30", "2024-13-01", "24-1-1", "2024-02-29T24:00", "x", "2024-2--1"]
        {
            assert_eq!(parse_stamp(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_stamp_is_a_date() {
        assert_eq!(stamp(Timestamp(0)), "1970-01-01T00:00:00");
        assert_eq!(stamp(Timestamp(1_709_210_096_000)), "2024-02-29T12:34:56");
        assert_eq!(stamp(Timestamp(1_767_225_599_000)), "2025-12-31T23:59:59");
    }
}
