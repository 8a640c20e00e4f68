//! Errors that an agent reports only on stderr.

use super::{MESSAGE_BYTES_MAX, cause};
use crate::{plain::one_line, profile::ErrorRule};
use pitcrew_model::{ErrorCause, Timestamp};

/// The error in a stderr line that was written at `at`, or `None` if it is over by `now`.
pub(crate) fn of_log(
    line: &str,
    rules: &[ErrorRule],
    at: Timestamp,
    now: Timestamp,
) -> Option<(ErrorCause, String)> {
    let lower = line.to_ascii_lowercase();
    let (rule, start) = rules.iter().find_map(|it| Some((it, found(&lower, &it.says)?)))?;
    let cause = cause(rule.kind, None, &line[start..], at);
    let is_over = matches!(cause, ErrorCause::Quota { until: Some(until) } if until <= now);
    (!is_over).then(|| (cause, one_line(line, MESSAGE_BYTES_MAX)))
}

/// The position of the first part of `says` if the text contains all parts in order.
fn found(lower: &str, says: &str) -> Option<usize> {
    let says = says.to_ascii_lowercase();
    let mut parts = says.split('*').filter(|it| !it.is_empty());
    let first = parts.next()?;
    let start = lower.find(first)?;
    let mut rest = &lower[start + first.len()..];
    for part in parts {
        rest = &rest[rest.find(part)? + part.len()..];
    }
    Some(start)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::ErrorKind;

    const AT: Timestamp = Timestamp(1_794_700_000_000);

    /// The agents' real output.
    #[test]
    fn a_log_line_names_the_limit() {
        let rule = |says: &str| ErrorRule { says: says.into(), kind: ErrorKind::Quota };
        let rules = [rule("Waiting for API capacity"), rule(r#"message="stream error"*quota"#)];
        let of = |line: &str, now: u64| Some(of_log(line, &rules, AT, Timestamp(AT.0 + now))?.0);
        let qwen = "[qwen-code] Waiting for API capacity... attempt 1, retry in 1170s";
        let until = ErrorCause::Quota { until: Some(AT.plus(1_170_000)) };
        assert_eq!(of(qwen, 10_000), Some(until));
        assert_eq!(of(qwen, 1_170_000), None, "the retry is due by then");
        let opencode = r#"timestamp=2026-11-16T08:38:34.645Z level=ERROR message="stream error" modelID=m error.error="AI_APICallError: the Quota is used up""#;
        assert_eq!(of(opencode, 10_000), Some(ErrorCause::Quota { until: None }));
        for other in [
            r#"level=INFO message=evaluated permission=bash pattern="echo quota""#,
            r#"level=ERROR message="stream error" error.error="AI_APICallError: out of order""#,
            r#"quota message="stream error""#,
            "",
        ] {
            assert_eq!(of(other, 10_000), None, "{other}");
        }
    }
}
