//! The goals for the figures. A missing figure misses no goal.

use super::json::{Row, Value};

/// The limit for one figure of one bench.
struct Goal {
    bench: &'static str,
    /// Applies only to rows with this value in this column.
    only: Option<(&'static str, &'static str)>,
    column: &'static str,
    bound: Bound,
}

#[derive(Clone, Copy)]
enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

const fn goal(bench: &'static str, column: &'static str, bound: Bound) -> Goal {
    Goal { bench, only: None, column, bound }
}

const fn of(
    bench: &'static str,
    only: (&'static str, &'static str),
    column: &'static str,
    bound: Bound,
) -> Goal {
    Goal { bench, only: Some(only), column, bound }
}

const GOALS: &[Goal] = &[
    goal("start", "ratio", Bound::AtMost(1.3)),
    of("spawn", ("workspace", "read_only"), "spawn_ms", Bound::AtMost(100.0)),
    of("spawn", ("workspace", "isolated"), "ratio", Bound::AtMost(1.3)),
    goal("journal", "ratio", Bound::AtLeast(0.7)),
    goal("plan", "ratio", Bound::AtMost(2.0)),
    goal("relay", "relay_p99_us", Bound::AtMost(2_000.0)),
    goal("sessions", "serve_peak_rss_mb", Bound::AtMost(100.0)),
    goal("queue", "messages_per_s", Bound::AtLeast(10_000.0)),
    goal("queue", "hop_p50_ms", Bound::AtMost(5.0)),
    goal("symbols", "cold_ratio", Bound::AtLeast(0.9)),
    goal("symbols", "first_answer_ms", Bound::AtMost(2_000.0)),
    goal("symbols", "warm_ratio", Bound::AtLeast(10.0)),
    goal("symbols", "update_ms", Bound::AtMost(10.0)),
    goal("symbols", "lookup_p99_us", Bound::AtMost(100.0)),
    goal("symbols", "bytes_per_symbol", Bound::AtMost(1_024.0)),
    goal("box", "more_ms", Bound::AtMost(20.0)),
];

/// The goals of a bench that its rows miss, one line for each.
pub fn missed(bench: &str, rows: &[Row]) -> Vec<String> {
    let of_bench = || GOALS.iter().filter(|it| it.bench == bench);
    rows.iter().flat_map(|row| of_bench().filter_map(|it| it.missed_by(row))).collect()
}

impl Goal {
    fn missed_by(&self, row: &Row) -> Option<String> {
        let value = |key: &str| row.iter().find(|it| it.0 == key).map(|it| &it.1);
        if let Some((column, word)) = self.only
            && value(column) != Some(&Value::Text(word.to_owned()))
        {
            return None;
        }
        let Value::Bare(text) = value(self.column)? else { return None };
        let figure: f64 = text.parse().ok()?;
        let (fits, bound) = match self.bound {
            Bound::AtLeast(least) => (figure >= least, format!("at least {least}")),
            Bound::AtMost(most) => (figure <= most, format!("at most {most}")),
        };
        let which = self.only.map(|it| format!(" of {}", it.1)).unwrap_or_default();
        let said =
            || format!("{}: {}{which} is {text}, but should be {bound}", self.bench, self.column);
        (!fits).then(said)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{bench::json::read, program};
    use std::fs;

    fn missed_by(bench: &str, line: &str) -> Vec<String> {
        missed(bench, &[read(line).expect("a row")])
    }

    /// A slow queue fails its bench.
    #[test]
    fn a_slow_queue_misses_its_goal() {
        let slow = r#"{"messages":20000,"messages_per_s":99,"hop_p50_ms":0.20}"#;
        let told = "queue: messages_per_s is 99, but should be at least 10000";
        assert_eq!(missed_by("queue", slow), [told]);
        let quick = r#"{"messages":20000,"messages_per_s":44000,"hop_p50_ms":0.20}"#;
        assert_eq!(missed_by("queue", quick), [""; 0]);
    }

    /// A sub-task that waits too long for its agent fails the bench.
    #[test]
    fn a_late_sub_task_misses_its_goal() {
        let row = |workspace: &str, ms: &str, ratio: &str| {
            format!(r#"{{"workspace":"{workspace}","spawn_ms":{ms},"ratio":{ratio}}}"#)
        };
        assert_eq!(missed_by("spawn", &row("read_only", "99.9", "2.0")), [""; 0]);
        assert_eq!(missed_by("spawn", &row("isolated", "180.0", "1.1")), [""; 0]);
        let late = "spawn: spawn_ms of read_only is 100.1, but should be at most 100";
        assert_eq!(missed_by("spawn", &row("read_only", "100.1", "0.5")), [late]);
        let late = "spawn: ratio of isolated is 1.4, but should be at most 1.3";
        assert_eq!(missed_by("spawn", &row("isolated", "80.0", "1.4")), [late]);
    }

    /// The rows of a table in the document.
    fn published(bench: &str) -> Vec<Row> {
        let document = program::root().join("docs/benchmarks.md");
        let text = fs::read_to_string(document).expect("the figures");
        let block = text.split_once(&format!("<!-- bench {bench} -->")).expect("its table").1;
        let block = block.split_once("<!-- end").expect("an end").0;
        let cells = |line: &str| -> Vec<String> {
            line.trim_matches('|').split('|').map(|it| it.trim().to_owned()).collect()
        };
        let mut lines = block.lines().filter(|it| it.starts_with('|')).map(cells);
        let keys = lines.next().expect("a heading");
        let value = |cell: &String| match cell.parse::<f64>() {
            Ok(_) => Value::Bare(cell.clone()),
            Err(_) => Value::Text(cell.clone()),
        };
        lines.skip(1).map(|it| keys.iter().cloned().zip(it.iter().map(value)).collect()).collect()
    }

    /// S4-146: the published figures of the last measurement.
    #[test]
    fn published_figures_meet_their_goals() {
        for (bench, column) in [("spawn", "spawn_ms"), ("queue", "messages_per_s")] {
            let rows = published(bench);
            assert!(rows.iter().flatten().any(|it| it.0 == column), "{bench}: {rows:?}");
            assert_eq!(missed(bench, &rows), [""; 0]);
        }
    }

    #[test]
    fn a_missing_figure_misses_no_goal() {
        assert_eq!(missed_by("symbols", r#"{"files":100,"ctags_ms":"no ctags here"}"#), [""; 0]);
        assert_eq!(missed_by("demo", r#"{"seconds":600}"#), [""; 0]);
    }
}
