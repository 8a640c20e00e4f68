//! Says before a run which agents a cap for the cost cannot hold.

use super::Trouble;
use crate::render::price_table;
use pitcrew_config::{CostReporting, Settings};
use pitcrew_model::PlanSpec;
use std::collections::BTreeMap;

/// The agents whose cost nobody will know; none where no cap asks for it.
pub fn unheld(spec: &PlanSpec, settings: &Settings) -> Vec<Trouble> {
    let is_capped = spec.head.caps.cost_micros.is_some();
    let capped = spec.tasks.iter().filter(|it| is_capped || it.caps.cost_micros.is_some());
    let vendors = capped.filter_map(|it| Some((it.vendor()?, it.model.as_deref())));
    let unheld: BTreeMap<&str, Trouble> = vendors
        .filter_map(|(vendor, model)| {
            let (holds, why) = match settings.cost_known(vendor, model) {
                CostReporting::Full => return None,
                CostReporting::Partly => ("may not hold", "what it costs is known of some models only"),
                CostReporting::None => ("cannot hold", "what it costs is not known"),
            };
            let message = format!("the cap for the cost {holds} {vendor}: {why}");
            let table = price_table(vendor);
            let help = format!("set `price_in` and `price_out` in `[{table}]` of your settings, or cap tokens: `max_tokens` or --max-tokens");
            Some((vendor, Trouble { message, help }))
        })
        .collect();
    unheld.into_values().collect()
}
