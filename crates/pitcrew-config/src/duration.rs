//! Durations as people write them: `30s`, `10min`, `1h30min`.

/// A string that is not a duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    #[error("`{text}` is not a duration")]
    Shape { text: String },
    #[error("`{number}` has no unit")]
    NoUnit { number: String },
    #[error("`{unit}` is not a unit of time")]
    Unit { unit: String },
    #[error("`{text}` is too long")]
    TooLong { text: String },
}

/// The help line for every invalid duration.
pub(crate) const DURATION_HELP: &str =
    "write a number with a unit, such as \"30s\", \"10min\" or \"1h30min\", or whole seconds";

const UNITS: &[(&str, u64)] = &[
    ("ms", 1),
    ("s", 1_000),
    ("sec", 1_000),
    ("m", 60_000),
    ("min", 60_000),
    ("h", 3_600_000),
    ("d", 86_400_000),
];

/// Parses a duration with units into milliseconds.
pub fn parse_duration(text: &str) -> Result<u64, DurationError> {
    let mut rest = text.trim();
    if !rest.starts_with(|it: char| it.is_ascii_digit()) {
        return Err(DurationError::Shape { text: text.into() });
    }
    let too_long = || DurationError::TooLong { text: text.into() };
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let digits = rest.find(|it: char| !it.is_ascii_digit()).unwrap_or(rest.len());
        let (number, after) = rest.split_at(digits);
        if number.is_empty() {
            return Err(DurationError::Shape { text: text.into() });
        }
        let after = after.trim_start();
        let letters = after.find(|it: char| !it.is_alphabetic()).unwrap_or(after.len());
        let (unit, after) = after.split_at(letters);
        if unit.is_empty() {
            return Err(DurationError::NoUnit { number: number.into() });
        }
        let Some((_, scale)) = UNITS.iter().find(|(name, _)| *name == unit) else {
            return Err(DurationError::Unit { unit: unit.into() });
        };
        let number: u64 = number.parse().map_err(|_| too_long())?;
        let part = number.checked_mul(*scale).ok_or_else(too_long)?;
        total = total.checked_add(part).ok_or_else(too_long)?;
        rest = after.trim_start();
    }
    Ok(total)
}

/// Formats milliseconds with the largest units that are exact.
pub fn format_duration(milliseconds: u64) -> String {
    const SHOWN: [(&str, u64); 5] =
        [("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1_000), ("ms", 1)];
    let mut rest = milliseconds;
    let mut text = String::new();
    for (unit, scale) in SHOWN {
        if rest >= scale {
            text.push_str(&(rest / scale).to_string());
            text.push_str(unit);
            rest %= scale;
        }
    }
    if text.is_empty() { "0s".into() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_and_formats_durations() {
        let cases = [
            ("30s", 30_000),
            ("10min", 600_000),
            ("10 m", 600_000),
            ("1h", 3_600_000),
            ("1h30min", 5_400_000),
            ("2d 1s", 172_801_000),
            ("500ms", 500),
        ];
        for (text, milliseconds) in cases {
            assert_eq!(parse_duration(text), Ok(milliseconds), "{text}");
            assert_eq!(parse_duration(&format_duration(milliseconds)), Ok(milliseconds), "{text}");
        }
        assert_eq!(format_duration(5_400_000), "1h30min");
        assert_eq!(format_duration(0), "0s");
    }

    #[test]
    fn an_invalid_duration_gives_the_reason() {
        let cases = [
            ("", "`` is not a duration"),
            ("soon", "`soon` is not a duration"),
            ("-5s", "`-5s` is not a duration"),
            ("10", "`10` has no unit"),
            ("1h30", "`30` has no unit"),
            ("5 fortnights", "`fortnights` is not a unit of time"),
            ("1.5h", "`1` has no unit"),
            ("99999999999999999999s", "`99999999999999999999s` is too long"),
            ("9999999999999999999d", "`9999999999999999999d` is too long"),
        ];
        for (text, message) in cases {
            assert_eq!(parse_duration(text).expect_err(text).to_string(), message);
        }
    }
}
