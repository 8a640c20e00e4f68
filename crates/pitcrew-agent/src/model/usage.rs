//! What the calls of a model took.

use super::Prices;
use pitcrew_model::Usage;

/// Tokens by kind. Each is counted in one of them only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tokens {
    pub input: u64,
    pub output: u64,
    /// Input that was read from the provider's cache.
    pub cached: u64,
    /// Input that was put there.
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

    /// Millionths of a US dollar, rounded up: what was spent is never told as less.
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
    fn the_cost_is_exact_and_never_less_than_what_was_spent() {
        // Three dollars for a million tokens in, fifteen out, thirty cents from the cache.
        let prices = Prices { input: 3_000_000, output: 15_000_000, cached: 300_000 };
        let tokens = Tokens { input: 1_000, output: 200, cached: 10_000, stored: 0 };
        assert_eq!(tokens.cost_micros(prices), 3_000 + 3_000 + 3_000);
        let one = Tokens { cached: 1, ..Tokens::default() };
        assert_eq!(one.cost_micros(prices), 1, "0.3 millionths are told as one");
        let huge = Tokens { input: u64::MAX, output: u64::MAX, cached: u64::MAX, stored: 9 };
        assert_eq!(huge.plus(huge).total(), u64::MAX);
        assert_eq!(huge.cost_micros(prices), u64::MAX);
    }
}
