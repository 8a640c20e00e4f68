//! Applies the settings. A limit that a person set by hand stays until the setting itself changes.

use crate::State;
use alloc::{vec, vec::Vec};
use pitcrew_model::{Event, History, Sign, limits};

pub fn decide(
    state: &State,
    (agents_max, agents_live_max): (u32, u32),
    (history, sign): (History, Sign),
) -> Vec<Event> {
    let agents_max = agents_max.clamp(1, limits::AGENTS_MAX);
    let agents_live_max = agents_live_max.clamp(agents_max, limits::AGENTS_MAX);
    let is_same_landing = (state.history, state.sign) == (history, sign);
    if state.settings == (agents_max, agents_live_max) && is_same_landing {
        return Vec::new();
    }
    let mut events = vec![Event::SettingsApplied { agents_max, agents_live_max, history, sign }];
    if state.settings.0 != agents_max {
        events.push(Event::AgentsMaxSet { count: agents_max });
    }
    events
}
