//! Tokens and money, gathered from wherever an agent reports them.

use crate::schema::UsageUpdate;
use pitcrew_model::Usage;
use serde_json::Value;

/// Adds up what a session reports as running totals, and hands it out turn by turn.
///
/// What comes after a turn's end belongs to the next turn, so that nothing is lost or counted twice.
#[derive(Debug, Default)]
pub(crate) struct UsageMeter {
    cost_micros: u64,
    cost_micros_told: u64,
    context_tokens: u64,
    context_tokens_told: u64,
}

impl UsageMeter {
    pub fn update(&mut self, update: &UsageUpdate) {
        self.context_tokens = update.used;
        if let Some(cost) = &update.cost
            && cost.currency.eq_ignore_ascii_case("usd")
            && let Some(micros) = micros(cost.amount)
        {
            self.cost_micros = self.cost_micros.max(micros);
        }
    }

    /// The usage of the turn that ends with `answer`.
    pub fn end_turn(&mut self, answer: &Value) -> Usage {
        let cost_micros = self.cost_micros - self.cost_micros_told;
        let context_growth = self.context_tokens.saturating_sub(self.context_tokens_told);
        self.cost_micros_told = self.cost_micros;
        self.context_tokens_told = self.context_tokens;
        let reported =
            [&answer["usage"], &answer["_meta"]["usage"], &answer["_meta"]["quota"]["token_count"]]
                .into_iter()
                .find_map(tokens);
        match reported {
            Some(usage) => Usage { cost_micros, ..usage },
            // The growth of the context is the least that the turn can have read.
            None => Usage { tokens_in: context_growth, cost_micros, ..Usage::default() },
        }
    }
}

fn tokens(report: &Value) -> Option<Usage> {
    let count = |keys: &[&str]| keys.iter().find_map(|it| report[*it].as_u64());
    let tokens_in = count(&["inputTokens", "input_tokens", "promptTokens", "prompt_tokens"]);
    let tokens_out =
        count(&["outputTokens", "output_tokens", "completionTokens", "completion_tokens"]);
    if tokens_in.is_none() && tokens_out.is_none() {
        return None;
    }
    let tokens_cached = count(&["cachedReadTokens", "cached_read_tokens", "cachedTokens"]);
    Some(Usage {
        tokens_in: tokens_in.unwrap_or(0),
        tokens_out: tokens_out.unwrap_or(0),
        tokens_cached: tokens_cached.unwrap_or(0),
        cost_micros: 0,
    })
}

/// Millionths of an amount; absent for what is no amount of money.
fn micros(amount: f64) -> Option<u64> {
    if !amount.is_finite() || amount < 0.0 {
        return None;
    }
    // By way of decimal digits: sums of whole numbers stay exact.
    format!("{amount:.6}").replace('.', "").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::SessionUpdate;
    use serde_json::json;

    fn told(meter: &mut UsageMeter, update: Value) {
        let update = serde_json::from_value(update).expect("an update");
        let SessionUpdate::UsageUpdate(update) = update else { panic!("another update") };
        meter.update(&update);
    }

    #[test]
    fn running_totals_become_turns() {
        let mut meter = UsageMeter::default();
        let update = |used: u64, amount: f64| json!({"sessionUpdate": "usage_update", "used": used, "size": 9000, "cost": {"amount": amount, "currency": "USD"}});
        told(&mut meter, update(100, 0.25));
        assert_eq!(
            meter.end_turn(&json!({"usage": {"totalTokens": 9, "inputTokens": 7, "outputTokens": 2, "cachedReadTokens": 1}})),
            Usage { tokens_in: 7, tokens_out: 2, tokens_cached: 1, cost_micros: 250_000 }
        );
        told(&mut meter, update(130, 0.250_001));
        assert_eq!(
            meter.end_turn(&json!({"stopReason": "end_turn"})),
            Usage { tokens_in: 30, cost_micros: 1, ..Usage::default() }
        );
        assert_eq!(meter.end_turn(&Value::Null), Usage::default(), "nothing is counted twice");
    }

    #[test]
    fn other_places_for_tokens_are_known() {
        let quota =
            json!({"_meta": {"quota": {"token_count": {"input_tokens": 5, "output_tokens": 3}}}});
        let usage = Usage { tokens_in: 5, tokens_out: 3, ..Usage::default() };
        assert_eq!(UsageMeter::default().end_turn(&quota), usage);
        let meta = json!({"_meta": {"usage": {"inputTokens": 5, "outputTokens": 3}}});
        assert_eq!(UsageMeter::default().end_turn(&meta), usage);
    }

    #[test]
    fn impossible_amounts_are_not_believed() {
        for amount in [f64::NAN, f64::INFINITY, -1.0, 1e300] {
            assert_eq!(micros(amount), None, "{amount}");
        }
        assert_eq!(micros(1.5), Some(1_500_000));
    }
}
