//! Token usage and cost per model backend.

use super::table::{Align, Table};
use pitcrew_model::{BACKEND_BUILTIN, BudgetScope, Dollars, Measure, Spending, Usage};
use pitcrew_views::{QueryTally, plain, supervision};
use std::collections::BTreeMap;

/// One line per backend and one for supervision; empty if no model was used.
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
    let is_reported = is_cost_reported(usage);
    let cost = if is_reported {
        Dollars(usage.cost_micros).to_string()
    } else {
        "not reported".to_owned()
    };
    let [tokens_in, tokens_out, cached] =
        [usage.tokens_in, usage.tokens_out, usage.tokens_cached].map(|it| it.to_string());
    [name.to_owned(), tokens_in, tokens_out, cached, cost]
}

/// Not every agent reports its cost.
fn is_cost_reported(usage: &Usage) -> bool {
    usage.cost_micros > 0 || usage.of(Measure::Tokens) == 0
}

/// Renders how many tokens queries saved; `None` if there were no queries.
pub fn queries(tally: &QueryTally) -> Option<String> {
    (!tally.is_empty()).then(|| format!("  {tally}"))
}

/// The caps that are used to four fifths or more, and the backends that a cost cap does not apply
/// to. The backends of sub-tasks are not known before the run.
pub fn caps<'a>(
    caps: impl IntoIterator<Item = &'a Spending>,
    vendors: &BTreeMap<String, Usage>,
) -> Vec<String> {
    let caps: Vec<&Spending> = caps.into_iter().collect();
    let is_near = |it: &&&Spending| u128::from(it.used) * 5 >= u128::from(it.cap) * 4;
    let near = caps.iter().filter(is_near).map(|it| format!("  {it}"));
    let is_of_cost =
        |it: &&Spending| it.measure == Measure::Cost && matches!(it.scope, BudgetScope::Plan(_));
    let is_capped = caps.iter().any(is_of_cost);
    let uncapped = vendors.iter().filter(|it| is_capped && !is_cost_reported(it.1));
    let uncapped = uncapped.map(|(vendor, _)| {
        let (name, table) = (plain::line(vendor), price_table(vendor));
        format!("  the cost cap does not apply to {name}, which does not report its cost: set its prices in `[{table}]` of your settings")
    });
    near.chain(uncapped).collect()
}

/// The settings table with the prices of a backend.
pub fn price_table(backend: &str) -> String {
    // The prices of the built-in agent are set together with its model.
    if backend == BACKEND_BUILTIN {
        "model".into()
    } else {
        format!("prices.{}", plain::line(backend))
    }
}
