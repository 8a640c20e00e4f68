//! The settings that an agent offers for a session: the permission mode and the model.
//!
//! Parsed by hand from the answer to `session/new`: agents offer them as an option, as modes, or in
//! a deprecated form.

use crate::{
    frame::number,
    plain::one_line,
    schema::{SessionId, SetSessionConfigOptionRequest, SetSessionModeRequest},
};
use pitcrew_model::EffectId;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Choices of one setting that are examined.
const CHOICES_MAX: usize = 1_000;
/// Choices that an error message lists.
const NAMED_MAX: usize = 8;
const NAME_BYTES_MAX: usize = 80;

/// A setting of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Setting<'a> {
    Mode,
    Model {
        /// The category or the id of its option, if that is not `model`.
        option: Option<&'a str>,
    },
}

/// A request that changes a setting.
#[derive(Debug, PartialEq)]
pub(crate) struct Change {
    pub number: u64,
    pub method: &'static str,
    pub params: Value,
}

impl Setting<'_> {
    /// The protocol's word for it, and ours.
    fn word(self) -> &'static str {
        match self {
            Self::Mode => "mode",
            Self::Model { .. } => "model",
        }
    }

    fn number(self, open: EffectId) -> u64 {
        match self {
            Self::Mode => number::set_mode(open),
            Self::Model { .. } => number::set_model(open),
        }
    }

    /// The request that is needed to select `wanted`, or `None` if it is selected already. The
    /// error lists what the agent offers.
    pub fn change(
        self,
        session: &Value,
        wanted: &str,
        open: EffectId,
    ) -> Result<Option<Change>, String> {
        let Some(offer) = self.offer(session) else {
            let word = self.word();
            return Err(format!(
                "{word} `{wanted}` is configured, but the agent does not let clients choose a {word}"
            ));
        };
        let Some(choice) = offer.find(wanted) else { return Err(self.missing(&offer, wanted)) };
        if offer.current == Some(&choice.id) {
            return Ok(None);
        }
        let id = SessionId::new(session["sessionId"].as_str().unwrap_or_default());
        let (method, params) = match offer.way {
            Method::Option(option) => {
                let request =
                    SetSessionConfigOptionRequest::new(id, option.to_owned(), choice.id.as_str());
                ("session/set_config_option", serde_json::to_value(request))
            }
            Method::Mode => {
                let request = SetSessionModeRequest::new(id, choice.id.clone());
                ("session/set_mode", serde_json::to_value(request))
            }
            Method::Model => {
                ("session/set_model", Ok(json!({ "sessionId": id, "modelId": choice.id })))
            }
        };
        let params = params.map_err(|error| error.to_string())?;
        Ok(Some(Change { number: self.number(open), method, params }))
    }

    /// The current value according to the agent.
    pub fn current(self, session: &Value) -> Option<&str> {
        self.offer(session)?.current
    }

    /// Whether the agent's answer to a change shows another value.
    pub fn differs(self, answer: &Value, change: &Change) -> bool {
        let now = self.option(answer).and_then(|it| it.current);
        now.is_some_and(|it| change.params["value"].as_str().is_some_and(|wanted| wanted != it))
    }

    fn offer<'s>(&self, session: &'s Value) -> Option<Offer<'s>> {
        self.option(session).or_else(|| match self {
            Self::Mode => listed(&session["modes"], "availableModes", "id", "currentModeId")
                .map(|it| Offer { way: Method::Mode, ..it }),
            // From an older protocol version; some agents know only this form.
            Self::Model { .. } => {
                listed(&session["models"], "availableModels", "modelId", "currentModelId")
                    .map(|it| Offer { way: Method::Model, ..it })
            }
        })
    }

    fn option<'s>(&self, session: &'s Value) -> Option<Offer<'s>> {
        let options = session["configOptions"].as_array()?;
        let name = match self {
            Self::Mode => "mode",
            Self::Model { option } => option.unwrap_or("model"),
        };
        let listed_by = |key: &str| {
            let is_it = |it: &&Value| it[key] == name && it["options"].is_array();
            options.iter().take(CHOICES_MAX).find(is_it)
        };
        let option = listed_by("category").or_else(|| listed_by("id"))?;
        let offer = listed(option, "options", "value", "currentValue")?;
        Some(Offer { way: Method::Option(option["id"].as_str()?), ..offer })
    }

    fn missing(self, offer: &Offer<'_>, wanted: &str) -> String {
        let mut near: Vec<(usize, &Choice)> =
            offer.choices.iter().map(|it| (similarity(&it.id, wanted), it)).collect();
        // A stable sort: equally similar names stay in the agent's order.
        near.sort_by_key(|it| std::cmp::Reverse(it.0));
        let names: Vec<String> =
            near.iter().take(NAMED_MAX).map(|it| one_line(&it.1.id, NAME_BYTES_MAX)).collect();
        let more = near.len().saturating_sub(NAMED_MAX);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let word = self.word();
        format!("the agent has no {word} `{wanted}`; its {word}s: {}{more}", names.join(", "))
    }
}

struct Offer<'a> {
    way: Method<'a>,
    current: Option<&'a str>,
    choices: Vec<Choice>,
}

/// How to set it.
enum Method<'a> {
    /// An option with this id.
    Option(&'a str),
    Mode,
    Model,
}

struct Choice {
    id: String,
    name: String,
}

impl Offer<'_> {
    /// By its id, its name, or the fragment of an id that is a URL.
    fn find(&self, wanted: &str) -> Option<&Choice> {
        let is_part = |it: &&Choice| it.id.rsplit_once('#').is_some_and(|it| it.1 == wanted);
        let is_name = |it: &&Choice| it.name.eq_ignore_ascii_case(wanted);
        let by_id = self.choices.iter().find(|it| it.id == wanted);
        by_id
            .or_else(|| self.choices.iter().find(is_part))
            .or_else(|| self.choices.iter().find(is_name))
    }
}

/// A list of choices, which may be grouped.
fn listed<'a>(of: &'a Value, list: &str, id: &str, current: &str) -> Option<Offer<'a>> {
    let list = of[list].as_array()?;
    let single = |it: &&Value| it[id].is_string();
    let grouped = list.iter().filter_map(|it| it["options"].as_array()).flatten();
    let choices = list.iter().filter(single).chain(grouped).take(CHOICES_MAX).filter_map(|it| {
        let name = it["name"].as_str().unwrap_or_default().to_owned();
        Some(Choice { id: it[id].as_str()?.to_owned(), name })
    });
    let choices = choices.collect();
    Some(Offer { way: Method::Mode, current: of[current].as_str(), choices })
}

/// The similarity of two names: the number of adjacent letter pairs in common.
fn similarity(one: &str, other: &str) -> usize {
    let pairs = |it: &str| -> BTreeSet<[u8; 2]> {
        let lower = it.to_ascii_lowercase();
        lower.as_bytes().windows(2).map(|it| [it[0], it[1]]).collect()
    };
    pairs(one).intersection(&pairs(other)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPEN: EffectId = EffectId(1);
    const MODEL: Setting<'static> = Setting::Model { option: None };

    fn session() -> Value {
        json!({
            "sessionId": "s1",
            "modes": {"currentModeId": "agent", "availableModes": [{"id": "agent", "name": "Agent"}]},
            "configOptions": [
                {"id": "effort", "category": "thought_level", "type": "select", "currentValue": "low", "options": []},
                {"id": "perm", "category": "mode", "type": "select", "currentValue": "agent", "options": [
                    {"value": "agent", "name": "Agent"}, {"value": "https://x#plan", "name": "Plan it"}]},
                {"id": "model", "category": "model", "type": "select", "currentValue": "big-2", "options": [
                    {"group": "a", "name": "A", "options": [{"value": "big-2", "name": "Big"}]},
                    {"group": "b", "name": "B", "options": [{"value": "small-1", "name": "Small"}]}]},
            ]
        })
    }

    fn change(setting: Setting<'_>, session: &Value, wanted: &str) -> Option<Change> {
        setting.change(session, wanted, OPEN).expect("it is offered")
    }

    #[test]
    fn a_current_value_is_not_set_again() {
        assert_eq!(change(Setting::Mode, &session(), "agent"), None);
        assert_eq!(change(MODEL, &session(), "Big"), None);
    }

    #[test]
    fn an_option_takes_precedence_over_modes_and_may_be_grouped() {
        let method = "session/set_config_option";
        for wanted in ["plan", "Plan it", "https://x#plan"] {
            let params = json!({"sessionId": "s1", "configId": "perm", "value": "https://x#plan"});
            let wanted = change(Setting::Mode, &session(), wanted);
            assert_eq!(wanted, Some(Change { number: 11, method, params }));
        }
        let params = json!({"sessionId": "s1", "configId": "model", "value": "small-1"});
        let wanted = change(MODEL, &session(), "small-1");
        assert_eq!(wanted, Some(Change { number: 12, method, params }));
    }

    #[test]
    fn an_option_may_have_another_name() {
        let effort = Setting::Model { option: Some("effort") };
        let session = json!({"configOptions": [
            {"id": "effort", "category": "thought_level", "currentValue": "low", "options": [{"value": "low"}]}]});
        assert_eq!(effort.change(&session, "low", OPEN), Ok(None));
        assert!(MODEL.change(&session, "low", OPEN).is_err());
    }

    #[test]
    fn modes_and_the_deprecated_form_for_models_work() {
        let session = json!({
            "sessionId": "s1",
            "modes": {"currentModeId": "auto", "availableModes": [{"id": "auto"}, {"id": "ask"}]},
            "models": {"currentModelId": "a", "availableModels": [{"modelId": "a"}, {"modelId": "b"}]},
        });
        let mode = change(Setting::Mode, &session, "ask").expect("another mode");
        assert_eq!((mode.number, mode.method), (11, "session/set_mode"));
        assert_eq!(mode.params, json!({"sessionId": "s1", "modeId": "ask"}));
        let model = change(MODEL, &session, "b").expect("another model");
        assert_eq!((model.number, model.method), (12, "session/set_model"));
        assert_eq!(model.params, json!({"sessionId": "s1", "modelId": "b"}));
    }

    #[test]
    fn an_unknown_choice_lists_the_offered_ones() {
        let missing = |setting: Setting<'_>, wanted| {
            setting.change(&session(), wanted, OPEN).expect_err("it is not offered")
        };
        assert_eq!(
            missing(Setting::Mode, "yolo"),
            "the agent has no mode `yolo`; its modes: agent, https://x#plan"
        );
        assert_eq!(
            missing(MODEL, "smaller"),
            "the agent has no model `smaller`; its models: small-1, big-2"
        );
        let nothing = Setting::Mode.change(&json!({"sessionId": "s1"}), "ask", OPEN);
        let reason = "mode `ask` is configured, but the agent does not let clients choose a mode";
        assert_eq!(nothing, Err(reason.to_owned()));
    }

    #[test]
    fn an_agent_that_keeps_its_setting_is_detected() {
        let change = Setting::Mode.change(&session(), "plan", OPEN).expect("offered").expect("new");
        assert!(Setting::Mode.differs(&session(), &change));
        assert!(!Setting::Mode.differs(&Value::Null, &change), "most agents do not report it");
    }
}
