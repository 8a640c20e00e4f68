//! The usage of model calls.

use super::Prices;
use pitcrew_model::Usage;

/// Tokens by kind. Each token is counted in one kind only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tokens {
    pub input: u64,
    pub output: u64,
    /// Input read from the provider's cache.
    pub cached: u64,
    /// Input written to the cache.
    pub stored: u64,
}

impl Tokens {
    pub fn plus(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            cached: self.cached.saturating_add(other.cached),
            stored: self.stored.saturating_add(other.stored),
        }
    }

    pub fn total(self) -> u64 {
        let input = self.input.saturating_add(self.cached).saturating_add(self.stored);
        input.saturating_add(self.output)
    }

    /// Millionths of a US dollar, rounded up so that the cost is never understated.
    pub fn cost_micros(self, prices: Prices) -> u64 {
        prices.cost_micros(Usage {
            tokens_in: self.input.saturating_add(self.stored),
            tokens_out: self.output,
            tokens_cached: self.cached,
            cost_micros: 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cost_is_exact_and_rounded_up() {
        // Per million tokens: three dollars for input, fifteen for output, thirty cents for cached
        // input.
        let prices = Prices { input: 3_000_000, output: 15_000_000, cached: 300_000 };
        let tokens = Tokens { input: 1_000, output: 200, cached: 10_000, stored: 0 };
        assert_eq!(tokens.cost_micros(prices), 3_000 + 3_000 + 3_000);
        let one = Tokens { cached: 1, ..Tokens::default() };
        assert_eq!(one.cost_micros(prices), 1, "0.3 millionths are rounded up to one");
        let huge = Tokens { input: u64::MAX, output: u64::MAX, cached: u64::MAX, stored: 9 };
        assert_eq!(huge.plus(huge).total(), u64::MAX);
        assert_eq!(huge.cost_micros(prices), u64::MAX);
    }
}
