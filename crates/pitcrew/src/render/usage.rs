//! Who has used how much of which model.

use super::table::{Align, Table};
use pitcrew_model::{Dollars, Measure, Spending, Usage};
use pitcrew_views::{QueryTally, plain, supervision};
use std::collections::BTreeMap;

/// A line for each backend and one for ourselves; nothing where no model was used.
pub fn usage(vendors: &BTreeMap<String, Usage>, total: &Usage) -> Vec<String> {
    if vendors.is_empty() {
        return Vec::new();
    }
    let numbers = [Align::Right; 4];
    let mut table = Table::new(&[&[Align::Left], &numbers[..]].concat());
    table.row(["tokens", "in", "out", "cached", "cost"].map(String::from));
    for (backend, usage) in vendors {
        table.row(row(&plain::line(backend), usage));
    }
    table.row(row("supervision", &supervision(vendors, *total)));
    if vendors.len() > 1 {
        table.row(row("total", total));
    }
    table.lines("  ")
}

fn row(name: &str, usage: &Usage) -> [String; 5] {
    // Not every agent knows its price.
    let is_told = usage.cost_micros > 0 || usage.of(Measure::Tokens) == 0;
    let cost = if is_told { Dollars(usage.cost_micros).to_string() } else { "not told".to_owned() };
    let [tokens_in, tokens_out, cached] =
        [usage.tokens_in, usage.tokens_out, usage.tokens_cached].map(|it| it.to_string());
    [name.to_owned(), tokens_in, tokens_out, cached, cost]
}

/// What questions about code of others have spared; nothing where there were none.
pub fn queries(tally: &QueryTally) -> Option<String> {
    (!tally.is_empty()).then(|| format!("  {tally}"))
}

/// The caps of which four fifths or more are used.
pub fn caps<'a>(caps: impl IntoIterator<Item = &'a Spending>) -> Vec<String> {
    let is_near = |it: &&Spending| u128::from(it.used) * 5 >= u128::from(it.cap) * 4;
    caps.into_iter().filter(is_near).map(|it| format!("  {it}")).collect()
}
