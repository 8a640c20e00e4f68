//! Calculates the cost of tokens for agents that do not report it.

use pitcrew_model::Usage;
use std::collections::BTreeMap;

/// Millionths of a US dollar per million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prices {
    pub input: u64,
    pub output: u64,
    /// For input from the provider's cache.
    pub cached: u64,
}

impl Prices {
    /// Millionths of a US dollar, rounded up so that the cost is never understated.
    pub fn cost_micros(self, usage: Usage) -> u64 {
        let priced = |tokens: u64, price: u64| u128::from(tokens) * u128::from(price);
        let sum = priced(usage.tokens_in, self.input)
            + priced(usage.tokens_cached, self.cached)
            + priced(usage.tokens_out, self.output);
        u64::try_from(sum.div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }
}

/// The prices that are known when an agent starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PriceList {
    pub by_model: BTreeMap<String, Prices>,
    /// For any model without its own price.
    pub otherwise: Option<Prices>,
}

impl PriceList {
    /// The usage with its cost, unless the agent reported one.
    pub(crate) fn priced(&self, usage: Usage, model: Option<&str>) -> Usage {
        let of_model = model.and_then(|it| self.by_model.get(it)).copied();
        match of_model.or(self.otherwise).filter(|_| usage.cost_micros == 0) {
            Some(prices) => Usage { cost_micros: prices.cost_micros(usage), ..usage },
            None => usage,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reported_cost_takes_precedence_over_prices() {
        let price = |input| Prices { input, output: 15_000_000, cached: 300_000 };
        let by_model = [("large".to_owned(), price(3_000_000))].into();
        let list = PriceList { by_model, otherwise: Some(price(0)) };
        let usage =
            Usage { tokens_in: 1_000, tokens_out: 200, tokens_cached: 10_000, cost_micros: 0 };
        let cost = |usage, model| list.priced(usage, model).cost_micros;
        assert_eq!(cost(usage, Some("large")), 3_000 + 3_000 + 3_000);
        assert_eq!(cost(usage, Some("small")), 3_000 + 3_000);
        assert_eq!(cost(usage, None), 3_000 + 3_000);
        assert_eq!(cost(Usage { cost_micros: 7, ..usage }, Some("large")), 7);
        assert_eq!(PriceList::default().priced(usage, Some("large")), usage);
    }
}
