//! Amounts of money as people write them: `2`, `2.50`, `$0.75`.

/// A string that is not an amount in US dollars.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DollarsError {
    #[error("`{text}` is not an amount in dollars")]
    Shape { text: String },
    #[error("`{text}` has more than six decimal places")]
    TooFine { text: String },
    #[error("it is zero")]
    Zero,
    #[error("`{text}` is too large")]
    TooMuch { text: String },
}

/// The help line for every invalid amount.
pub(crate) const DOLLARS_HELP: &str = "write US dollars, such as 2, 2.5 or \"$0.75\"";

/// Parses dollars into millionths, exactly.
pub fn parse_dollars(text: &str) -> Result<u64, DollarsError> {
    let shape = || DollarsError::Shape { text: text.into() };
    let number = text.trim();
    let number = number.strip_prefix('$').unwrap_or(number);
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let plain = |it: &str| it.bytes().all(|it| it.is_ascii_digit());
    if whole.is_empty() || !plain(whole) || !plain(part) {
        return Err(shape());
    }
    if part.len() > 6 {
        return Err(DollarsError::TooFine { text: text.into() });
    }
    let too_much = || DollarsError::TooMuch { text: text.into() };
    let digits = format!("{whole}{part:0<6}");
    match digits.parse::<u64>() {
        Ok(0) => Err(DollarsError::Zero),
        // The largest number means "no cap".
        Ok(u64::MAX) | Err(_) => Err(too_much()),
        Ok(micros) => Ok(micros),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_dollars_exactly() {
        let read = ["2", "2.5", "$0.75", " 0.000001 ", "18446744073709"].map(parse_dollars);
        let wanted = [2_000_000, 2_500_000, 750_000, 1, 18_446_744_073_709_000_000];
        assert_eq!(read, wanted.map(Ok));
        for wrong in
            ["", "$", ".5", "-1", "1,5", "1e3", "2 $", "0", "0.00", "0.0000001", "99999999999999"]
        {
            assert!(parse_dollars(wrong).is_err(), "{wrong}");
        }
    }
}
