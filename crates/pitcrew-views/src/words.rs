//! Counts and times as people say them.

/// `1 file`, `2 files`.
pub fn counted(count: u64, word: &str) -> String {
    format!("{count} {}", plural(count, word))
}

pub fn plural(count: u64, word: &str) -> String {
    if count == 1 { word.to_owned() } else { format!("{word}s") }
}

/// `0.4 s`, `12 s`, `3 min 20 s`, `2 h 5 min`.
pub fn duration(milliseconds: u64) -> String {
    let seconds = milliseconds / 1_000;
    match seconds {
        0..10 => format!("{seconds}.{} s", milliseconds % 1_000 / 100),
        10..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        3_600.. => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_has_the_units_that_matter() {
        let said: Vec<String> =
            [0, 95, 9_999, 59_999, 60_000, 200_000, 3_600_000, 7_500_000, u64::MAX]
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
                "5124095576030 h 25 min"
            ]
        );
    }
}
