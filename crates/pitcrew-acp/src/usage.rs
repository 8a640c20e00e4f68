//! Collects tokens and cost from all places where agents report them.

use crate::{profile::UsageScope, schema::UsageUpdate};
use pitcrew_model::Usage;
use serde::Deserialize;
use serde_json::Value;

/// Adds up what a session reports, and divides it among turns.
///
/// A report after the end of a turn belongs to the next turn, so that nothing is lost or counted
/// twice.
#[derive(Debug, Default)]
pub(crate) struct UsageMeter {
    scope: UsageScope,
    /// The cost of the session, and the part that was assigned to turns.
    cost_micros: u64,
    cost_micros_assigned: u64,
    /// The size of the context, and its growth in the turn.
    context_tokens: u64,
    context_growth: u64,
    /// The usage of the turn's model calls, if each is reported.
    calls: Option<Usage>,
    /// The report in the last answer to a prompt.
    answered: Option<Usage>,
    /// The usage assigned to all turns, and to the last one.
    assigned: Usage,
    assigned_last: Usage,
    /// There is a report that was not taken yet.
    has_news: bool,
}

impl UsageMeter {
    pub fn new(scope: UsageScope) -> Self {
        Self { scope, ..Self::default() }
    }

    pub fn update(&mut self, update: &UsageUpdate) {
        let growth = update.used.saturating_sub(self.context_tokens);
        self.context_growth = self.context_growth.saturating_add(growth);
        self.context_tokens = update.used;
        if let Some(cost) = &update.cost
            && cost.currency.eq_ignore_ascii_case("usd")
            && let Some(micros) = micros(cost.amount)
        {
            self.has_news |= micros > self.cost_micros;
            self.cost_micros = self.cost_micros.max(micros);
        }
    }

    /// Adds one model call, for agents that report each.
    pub fn call(&mut self, report: &Value) {
        if let Some(usage) = tokens(report) {
            self.calls = Some(self.calls.unwrap_or_default().plus(usage));
            self.has_news = true;
        }
    }

    pub fn has_news(&self) -> bool {
        self.has_news
    }

    /// The usage so far if it is new.
    pub fn take_news(&mut self) -> Option<Usage> {
        std::mem::take(&mut self.has_news).then(|| self.so_far())
    }

    /// The reported usage of the open turn.
    pub fn so_far(&self) -> Usage {
        let cost_micros = self.cost_micros - self.cost_micros_assigned;
        Usage { cost_micros, ..self.calls.unwrap_or_default() }
    }

    /// The usage of the turn that ends with `answer`.
    pub fn end_turn(&mut self, answer: &Value, end: TurnKind) -> Usage {
        self.assigned_last = self.turn(answer, end);
        self.assigned = self.assigned.plus(self.assigned_last);
        self.assigned_last
    }

    /// Corrects the usage of the last turn with the totals of the session.
    pub fn total(&mut self, answer: &Value) {
        let Some(total) = Totals::of(answer) else { return };
        let before = self.assigned.without(self.assigned_last);
        let usage = Usage {
            tokens_in: total.tokens_in.saturating_sub(before.tokens_in),
            tokens_out: total.tokens_out.saturating_sub(before.tokens_out),
            ..self.assigned_last
        };
        let cost = total.cost.and_then(micros).map(|it| it.saturating_sub(before.cost_micros));
        self.assigned_last = Usage { cost_micros: cost.unwrap_or(usage.cost_micros), ..usage };
        self.assigned = before.plus(self.assigned_last);
    }

    /// The corrected usage of the last turn.
    pub fn last_turn(&self) -> Usage {
        self.assigned_last
    }

    fn turn(&mut self, answer: &Value, end: TurnKind) -> Usage {
        let so_far = self.so_far();
        // If no tokens are reported, the growth of the context is a lower bound for the input. Only
        // at the end of the turn, because some of it may turn out to be cached.
        let least = match self.calls {
            Some(_) => so_far,
            None => Usage { tokens_in: self.context_growth, ..so_far },
        };
        self.cost_micros_assigned = self.cost_micros;
        self.context_growth = 0;
        self.calls = None;
        self.has_news = false;
        let reported =
            [&answer["usage"], &answer["_meta"]["usage"], &answer["_meta"]["quota"]["token_count"]]
                .into_iter()
                .find_map(tokens);
        let Some(reported) = reported else { return least };
        let before = self.answered.replace(reported);
        let usage = match (self.scope, before) {
            (UsageScope::Session, Some(before)) => beyond(reported, before),
            // A failed call is not the last call that was counted.
            (UsageScope::Call, Some(before)) if end == TurnKind::Failed && before == reported => {
                Usage::default()
            }
            (UsageScope::Turn | UsageScope::Session | UsageScope::Call, _) => reported,
        };
        Usage { cost_micros: so_far.cost_micros, ..usage }
    }
}

/// Whether the model completed a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TurnKind {
    Done,
    Failed,
}

/// An agent's answer to a query for a session's totals. The rest, which may be the whole
/// conversation, is skipped.
#[derive(Deserialize)]
struct Totals {
    #[serde(rename = "accumulated_input_tokens")]
    tokens_in: u64,
    #[serde(rename = "accumulated_output_tokens")]
    tokens_out: u64,
    /// In US dollars.
    #[serde(rename = "accumulated_cost")]
    cost: Option<f64>,
}

impl Totals {
    /// Some agents put it into their answer as a string.
    fn of(answer: &Value) -> Option<Self> {
        match answer["data"].as_str() {
            Some(text) => serde_json::from_str(text).ok(),
            None => Self::deserialize(answer).ok(),
        }
    }
}

/// The difference to an earlier total, or everything if the earlier total is not a part of it.
fn beyond(total: Usage, before: Usage) -> Usage {
    let rest = || {
        Some(Usage {
            tokens_in: total.tokens_in.checked_sub(before.tokens_in)?,
            tokens_out: total.tokens_out.checked_sub(before.tokens_out)?,
            tokens_cached: total.tokens_cached.checked_sub(before.tokens_cached)?,
            cost_micros: 0,
        })
    };
    rest().unwrap_or(total)
}

/// Cached tokens do not count as input. Some agents include them there too, and their total reveals
/// that. The same holds for thoughts and output.
fn tokens(report: &Value) -> Option<Usage> {
    let count = |keys: &[&str]| keys.iter().find_map(|it| report[*it].as_u64());
    let reported_in = count(&["inputTokens", "input_tokens", "promptTokens", "prompt_tokens"]);
    let reported_out =
        count(&["outputTokens", "output_tokens", "completionTokens", "completion_tokens"]);
    if reported_in.is_none() && reported_out.is_none() {
        return None;
    }
    let (tokens_in, tokens_out) = (reported_in.unwrap_or(0), reported_out.unwrap_or(0));
    let cached =
        count(&["cachedReadTokens", "cached_read_tokens", "cachedTokens", "cachedInputTokens"]);
    let cached = cached.unwrap_or(0);
    let written = count(&["cachedWriteTokens", "cached_write_tokens"]).unwrap_or(0);
    let thought = count(&["thoughtTokens", "thought_tokens"]).unwrap_or(0);
    let besides = count(&["totalTokens", "total_tokens"])
        .and_then(|it| it.checked_sub(tokens_in.checked_add(tokens_out)?));
    let (written, thought) = match besides {
        None | Some(0) => (0, 0),
        Some(besides) if besides >= cached.saturating_add(written).saturating_add(thought) => {
            (written, thought)
        }
        Some(_) => (written, 0),
    };
    let counted_twice = if besides == Some(0) { cached.min(tokens_in) } else { 0 };
    Some(Usage {
        tokens_in: (tokens_in - counted_twice).saturating_add(written),
        tokens_out: tokens_out.saturating_add(thought),
        tokens_cached: cached,
        cost_micros: 0,
    })
}

/// Millionths of an amount; `None` if it is not an amount of money.
fn micros(amount: f64) -> Option<u64> {
    if !amount.is_finite() || amount < 0.0 {
        return None;
    }
    // Through decimal digits, so that sums of whole numbers stay exact.
    format!("{amount:.6}").replace('.', "").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{TurnKind::Done, *};
    use crate::schema::SessionUpdate;
    use serde_json::json;

    fn report(meter: &mut UsageMeter, update: Value) {
        let update = serde_json::from_value(update).expect("an update");
        let SessionUpdate::UsageUpdate(update) = update else { panic!("another update") };
        meter.update(&update);
    }

    fn usage(tokens_in: u64, tokens_out: u64, tokens_cached: u64) -> Usage {
        Usage { tokens_in, tokens_out, tokens_cached, cost_micros: 0 }
    }

    fn update(used: u64, amount: f64) -> Value {
        json!({"sessionUpdate": "usage_update", "used": used, "size": 9000, "cost": {"amount": amount, "currency": "USD"}})
    }

    #[test]
    fn running_totals_are_divided_among_turns() {
        let mut meter = UsageMeter::default();
        report(&mut meter, update(100, 0.25));
        assert_eq!(meter.so_far(), Usage { cost_micros: 250_000, ..usage(0, 0, 0) });
        assert_eq!(
            meter.end_turn(&json!({"usage": {"totalTokens": 10, "inputTokens": 7, "outputTokens": 2, "cachedReadTokens": 1}}), Done),
            Usage { cost_micros: 250_000, ..usage(7, 2, 1) }
        );
        assert_eq!(meter.so_far(), Usage::default());
        report(&mut meter, update(130, 0.250_001));
        report(&mut meter, update(40, 0.250_001));
        report(&mut meter, update(45, 0.250_001));
        let wanted = Usage { cost_micros: 1, ..usage(35, 0, 0) };
        assert_eq!(meter.take_news(), Some(Usage { cost_micros: 1, ..Usage::default() }));
        let end = meter.end_turn(&json!({"stopReason": "end_turn"}), Done);
        assert_eq!(end, wanted, "a context may shrink in between");
        assert_eq!(
            meter.end_turn(&Value::Null, Done),
            Usage::default(),
            "nothing is counted twice"
        );
    }

    /// The same two turns in each agent's format: two calls with 100 + 20 and 50 + 7 tokens, of
    /// which 5 and 3 were cached, and one with 30 + 4.
    #[test]
    fn parses_each_agents_reports() {
        let [first, second] = [usage(142, 27, 8), usage(30, 4, 0)];
        // claude, codex
        let mut meter = UsageMeter::default();
        let answer = json!({"usage": {"inputTokens": 142, "outputTokens": 27, "cachedReadTokens": 8, "cachedWriteTokens": 0, "totalTokens": 177}});
        assert_eq!(meter.end_turn(&answer, Done), first);
        let answer = json!({"usage": {"inputTokens": 30, "outputTokens": 4, "cachedReadTokens": 0, "cachedWriteTokens": 0, "totalTokens": 34}});
        assert_eq!(meter.end_turn(&answer, Done), second);
        // copilot: totals of the session, where cached tokens are part of the input
        let mut meter = UsageMeter::new(UsageScope::Session);
        let answer = |tokens_in: u64, tokens_out: u64| json!({"usage": {"inputTokens": tokens_in, "outputTokens": tokens_out, "totalTokens": tokens_in + tokens_out, "cachedReadTokens": 8}});
        assert_eq!(meter.end_turn(&answer(150, 27), Done), first);
        assert_eq!(meter.end_turn(&answer(180, 31), Done), second);
        // qwen: each call separately
        let mut meter = UsageMeter::default();
        let call = |tokens_in: u64, tokens_out: u64, cached: u64| json!({"inputTokens": tokens_in, "outputTokens": tokens_out, "totalTokens": tokens_in + tokens_out, "thoughtTokens": 0, "cachedReadTokens": cached});
        meter.call(&call(100, 20, 5));
        meter.call(&call(50, 7, 3));
        assert_eq!((meter.take_news(), meter.take_news()), (Some(first), None));
        assert_eq!(meter.end_turn(&json!({"stopReason": "end_turn"}), Done), first);
        meter.call(&call(30, 4, 0));
        assert_eq!(meter.end_turn(&json!({"stopReason": "end_turn"}), Done), second);
        // gemini
        let quota = json!({"_meta": {"quota": {"token_count": {"input_tokens": 150, "output_tokens": 27}}}});
        assert_eq!(UsageMeter::default().end_turn(&quota, Done), usage(150, 27, 0));
    }

    /// goose reports the tokens of the last call, even if a later one failed.
    #[test]
    fn the_last_call_is_not_counted_twice_after_a_failed_one() {
        let mut meter = UsageMeter::new(UsageScope::Call);
        let answer = json!({"usage": {"totalTokens": 57, "inputTokens": 50, "outputTokens": 7}});
        assert_eq!(meter.end_turn(&answer, Done), usage(50, 7, 0));
        assert_eq!(meter.end_turn(&answer, TurnKind::Failed), usage(0, 0, 0));
        assert_eq!(meter.end_turn(&answer, Done), usage(50, 7, 0), "two may be alike");
    }

    /// goose again: its totals are queried, and it does not always know them.
    #[test]
    fn session_totals_correct_the_turns() {
        let mut meter = UsageMeter::new(UsageScope::Call);
        let answer = json!({"usage": {"inputTokens": 50, "outputTokens": 7}});
        let totals = |tokens_in: u64, tokens_out: u64, cost: Value| {
            let text = json!({"input_tokens": 50, "accumulated_input_tokens": tokens_in,
                "accumulated_output_tokens": tokens_out, "accumulated_cost": cost,
                "conversation": [{"text": "accumulated"}]});
            json!({"data": text.to_string()})
        };
        meter.end_turn(&answer, Done);
        meter.total(&totals(150, 27, Value::Null));
        assert_eq!(meter.last_turn(), usage(150, 27, 0));
        assert_eq!(meter.end_turn(&answer, Done), usage(50, 7, 0));
        meter.total(&Value::Null);
        assert_eq!(meter.last_turn(), usage(50, 7, 0), "nothing was reported");
        meter.end_turn(&answer, Done);
        meter.total(&totals(300, 50, json!(0.5)));
        let rest = Usage { cost_micros: 500_000, ..usage(100, 16, 0) };
        assert_eq!(meter.last_turn(), rest, "the missing part is added");
        meter.total(&totals(300, 50, json!(0.5)));
        assert_eq!(meter.last_turn(), rest, "repeated");
    }

    #[test]
    fn totals_reveal_how_tokens_are_counted() {
        for (report, wanted) in [
            (json!({"inputTokens": 5, "outputTokens": 3, "cachedReadTokens": 2}), usage(5, 3, 2)),
            (
                json!({"inputTokens": 5, "outputTokens": 3, "cachedReadTokens": 2, "cachedWriteTokens": 4, "thoughtTokens": 1, "totalTokens": 15}),
                usage(9, 4, 2),
            ),
            (
                json!({"inputTokens": 5, "outputTokens": 3, "cachedReadTokens": 2, "cachedWriteTokens": 4, "thoughtTokens": 1, "totalTokens": 14}),
                usage(9, 3, 2),
            ),
            (
                json!({"inputTokens": 5, "outputTokens": 3, "cachedReadTokens": 9, "thoughtTokens": 1, "totalTokens": 8}),
                usage(0, 3, 9),
            ),
            (json!({"inputTokens": 5, "outputTokens": 3, "totalTokens": 1}), usage(5, 3, 0)),
            (
                json!({"inputTokens": u64::MAX, "outputTokens": 3, "cachedWriteTokens": u64::MAX, "totalTokens": u64::MAX}),
                usage(u64::MAX, 3, 0),
            ),
        ] {
            assert_eq!(tokens(&report), Some(wanted), "{report}");
        }
        assert_eq!(tokens(&json!({"totalTokens": 1})), None);
    }

    #[test]
    fn shrinking_totals_belong_to_another_session() {
        let mut meter = UsageMeter::new(UsageScope::Session);
        let answer = |count: u64| json!({"usage": {"inputTokens": count, "outputTokens": count}});
        assert_eq!(meter.end_turn(&answer(9), Done), usage(9, 9, 0));
        assert_eq!(meter.end_turn(&answer(4), Done), usage(4, 4, 0));
    }

    #[test]
    fn impossible_amounts_are_ignored() {
        for amount in [f64::NAN, f64::INFINITY, -1.0, 1e300] {
            assert_eq!(micros(amount), None, "{amount}");
        }
        assert_eq!(micros(1.5), Some(1_500_000));
    }
}
