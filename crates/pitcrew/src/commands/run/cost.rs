//! Says before a run which agents a cap for the cost cannot hold.

use pitcrew_config::{CostTold, Settings};
use pitcrew_model::PlanSpec;
use std::collections::BTreeMap;

/// Warnings about agents whose cost nobody will know; none where no cap asks for it.
pub fn unheld(spec: &PlanSpec, settings: &Settings) -> Vec<String> {
    let is_capped = spec.head.caps.cost_micros.is_some();
    let capped = spec.tasks.iter().filter(|it| is_capped || it.caps.cost_micros.is_some());
    let vendors = capped.filter_map(|it| Some((it.vendor()?, it.model.as_deref())));
    let warnings: BTreeMap<&str, String> = vendors
        .filter_map(|(vendor, model)| {
            let (holds, why) = match settings.cost_known(vendor, model) {
                CostTold::Told => return None,
                CostTold::Partly => ("may not hold", "what it costs is known of some models only"),
                CostTold::None => ("cannot hold", "what it costs is not known"),
            };
            // The built-in agent has its prices beside its model.
            let table = if vendor == "builtin" { "model".into() } else { format!("prices.{vendor}") };
            Some((vendor, format!("warning: the cap for the cost {holds} {vendor}: {why}. Set `price_in` and `price_out` in `[{table}]` of your settings, or cap tokens with --max-tokens")))
        })
        .collect();
    warnings.into_values().collect()
}
