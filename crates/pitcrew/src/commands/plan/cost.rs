//! Warns before a run about agents that a cost cap does not apply to.

use super::PlanProblem;
use crate::render::price_table;
use pitcrew_config::{CostReporting, Settings};
use pitcrew_model::PlanSpec;
use std::collections::BTreeMap;

/// The capped agents whose cost is not known.
pub fn uncapped(spec: &PlanSpec, settings: &Settings) -> Vec<PlanProblem> {
    let is_capped = spec.head.caps.cost_micros.is_some();
    let capped = spec.tasks.iter().filter(|it| is_capped || it.caps.cost_micros.is_some());
    let vendors = capped.filter_map(|it| Some((it.vendor()?, it.model.as_deref())));
    let uncapped: BTreeMap<&str, PlanProblem> = vendors
        .filter_map(|(vendor, model)| {
            let (applies, why) = match settings.cost_known(vendor, model) {
                CostReporting::Full => return None,
                CostReporting::Partly => ("may not apply", "its cost is known for some models only"),
                CostReporting::None => ("does not apply", "its cost is not known"),
            };
            let message = format!("the cost cap {applies} to {vendor}: {why}");
            let table = price_table(vendor);
            let help = format!("set `price_in` and `price_out` in `[{table}]` of your settings, or limit tokens with `max_tokens` or `--max-tokens`");
            Some((vendor, PlanProblem { message, help }))
        })
        .collect();
    uncapped.into_values().collect()
}
