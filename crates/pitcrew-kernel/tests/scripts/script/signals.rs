//! Parses unsolicited signals of agents.

use super::input::{id, tier};
use pitcrew_model::{
    Access, Confined, EgressDecision, EgressOf, ErrorCause, Exit, PermissionOption,
    PermissionOptionKind, Signal, StopReason, ToolUse, Usage, WorkerId,
};

pub fn of_agent(verb: &str, subject: &str, words: &str) -> Option<Signal> {
    Some(match verb {
        "exited" => Signal::AgentExited { worker: id(subject), exit: exit(words) },
        "reattached" => Signal::AgentReattached {
            worker: id(subject),
            away_ms: words.parse().expect("a number"),
        },
        "confined" => Signal::AgentConfined {
            worker: id(subject),
            confined: Confined { tier: tier(words), policy: "0a1b".into() },
        },
        "uses" => Signal::UsageReported { worker: id(subject), usage: usage(words) },
        "permit" => permission(id(subject), words),
        "blocked" => blocked(id(subject), words),
        "needs" => need(id(subject), words),
        "does" => Signal::Activity { worker: id(subject), note: words.into() },
        "reaches" => egress(egress_of(subject), words, true),
        "is-refused" => egress(egress_of(subject), words, false),
        _ => return None,
    })
}

/// `7 read core/auth.rs`: at this position of the output.
fn blocked(worker: WorkerId, words: &str) -> Signal {
    let mut words = words.split(' ');
    let place = words.next().and_then(|it| it.parse().ok()).expect("a place");
    let access = if words.next() == Some("write") { Access::Write } else { Access::Read };
    let path = words.next().expect("a path").into();
    Signal::AccessBlocked { worker, place, access, path, bytes_saved: 100 }
}

/// `n1 AuthValidator core/auth.rs`
fn need(worker: WorkerId, words: &str) -> Signal {
    let mut words = words.split(' ').map(String::from);
    let (nonce, symbol) = (words.next().expect("a nonce"), words.next().expect("a symbol"));
    let context = words.next().unwrap_or_default();
    Signal::NeedLine { worker, nonce, symbol, context }
}

fn egress_of(subject: &str) -> EgressOf {
    if subject.starts_with("plan") {
        EgressOf::Plan(id(subject))
    } else {
        EgressOf::Attempt(id(subject))
    }
}

/// `HOST OFFSET`: a line of the record that ends there.
fn egress(whose: EgressOf, words: &str, allowed: bool) -> Signal {
    let (host, offset) = words.split_once(' ').expect("a host and an offset");
    Signal::EgressDecided(EgressDecision {
        whose,
        host: host.into(),
        port: 443,
        allowed,
        reason: "because".into(),
        count: 1,
        offset: offset.parse().expect("a number"),
    })
}

/// `40`: tokens, half of them input. `$3`: dollars. `max`: an absurd number.
pub fn usage(words: &str) -> Usage {
    let mut usage = Usage::default();
    for word in words.split_whitespace() {
        if let Some(dollars) = word.strip_prefix('$') {
            usage.cost_micros = dollars.parse::<u64>().expect("a number") * 1_000_000;
        } else if word == "max" {
            usage.tokens_in = u64::MAX;
        } else {
            let tokens: u64 = word.parse().expect("a number");
            (usage.tokens_in, usage.tokens_out) = (tokens / 2, tokens - tokens / 2);
        }
    }
    usage
}

pub fn error(cause: ErrorCause, message: &str) -> StopReason {
    StopReason::Error { cause, message: message.into() }
}

fn exit(words: &str) -> Exit {
    let (code, signal) = match words {
        "lost" => (None, None),
        "killed" => (None, Some(9)),
        _ => (Some(1), None),
    };
    Exit { code, signal, stderr: String::new() }
}

/// `edit src/a` inside the checkout, `edit /etc/passwd` outside it, `execute make`, `read src/a`;
/// `edit src/a $ make` is a call that names a command beside its path.
fn permission(worker: WorkerId, words: &str) -> Signal {
    let (kind, rest) = words.split_once(' ').unwrap_or((words, ""));
    let (path, hidden) = rest.split_once(" $ ").unwrap_or((rest, ""));
    let (outside, paths): (Vec<String>, Vec<String>) =
        path.split_whitespace().map(str::to_owned).partition(|it| it.starts_with('/'));
    let command = if kind == "execute" { path } else { hidden };
    let command = (!command.is_empty()).then(|| command.to_owned());
    let partial = words.ends_with('…');
    let (title, kind) = (words.into(), kind.into());
    let tool = ToolUse { title, kind, paths, outside, command, partial };
    let option = |id: &str, kind| PermissionOption { id: id.into(), kind };
    let options = vec![
        option("always", PermissionOptionKind::AllowAlways),
        option("yes", PermissionOptionKind::AllowOnce),
        option("no", PermissionOptionKind::RejectOnce),
    ];
    Signal::PermissionAsked { worker, call: format!("call {words}"), tool, options }
}
