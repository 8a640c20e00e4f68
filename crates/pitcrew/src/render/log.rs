//! Lines of a task's log.

use super::Style;
use pitcrew_api::{LogLine, LogSource};
use pitcrew_views::plain;

/// Who said it, and what; every line of it has the name before it.
pub fn log_line(line: &LogLine, style: Style) -> String {
    let (name, quiet) = match line.source {
        LogSource::Orchestrator => ("pitcrew", true),
        LogSource::Prompt => ("prompt", true),
        LogSource::Agent => ("agent", false),
        LogSource::Thought => ("thought", true),
        LogSource::Tool => ("tool", false),
        LogSource::Stderr => ("stderr", false),
        LogSource::Unknown => ("other", false),
    };
    let name = format!("{name:>7} |");
    let name = if quiet { style.dim(&name) } else { style.cyan(&name) };
    let text = plain::block(line.text.trim_end());
    if text.is_empty() {
        return name;
    }
    text.lines().map(|it| format!("{name} {it}")).collect::<Vec<_>>().join("\n")
}
