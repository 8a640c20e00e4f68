//! The built-in agent's order on the wire: a field of the prompt request.
//!
//! It is in `_meta`, which only the client writes. The text of a prompt quotes others, so no order
//! is read from it.

use pitcrew_model::BuiltinOrder;
use serde_json::{Map, Value, json};

const NAMESPACE: &str = "pitcrew";
const FIELD: &str = "order";

/// The `_meta` of a request with an order.
pub(crate) fn to_meta(order: &BuiltinOrder) -> Map<String, Value> {
    Map::from_iter([(NAMESPACE.to_owned(), json!({ FIELD: order }))])
}

/// The order in a `_meta`, if any. An invalid order is an error, never ignored.
pub fn order_in(meta: Option<&Map<String, Value>>) -> Result<Option<BuiltinOrder>, OrderError> {
    match meta.and_then(|it| it.get(NAMESPACE)?.get(FIELD)) {
        None => Ok(None),
        Some(order) => Ok(Some(serde_json::from_value(order.clone())?)),
    }
}

#[derive(Debug, thiserror::Error)]
#[error("`_meta.pitcrew.order` is neither a script nor a command: {0}")]
pub struct OrderError(#[from] serde_json::Error);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_round_trips() {
        for order in [
            BuiltinOrder::Command { command: " make\r\n\n```\u{0}\u{202e} ".into() },
            BuiltinOrder::Script { script: String::new() },
        ] {
            assert_eq!(order_in(Some(&to_meta(&order))).expect("an order"), Some(order));
        }
    }

    #[test]
    fn an_invalid_order_is_not_ignored() {
        let read = |meta: Value| order_in(meta.as_object());
        assert_eq!(read(json!({ "other": 1 })).expect("no order"), None);
        assert_eq!(read(json!({ "pitcrew": { "stop": 1 } })).expect("no order"), None);
        for order in [json!(null), json!("make"), json!({ "kind": "magic" })] {
            let error = read(json!({ "pitcrew": { "order": order } })).expect_err("no order");
            assert!(error.to_string().contains("_meta.pitcrew.order"), "{error}");
        }
    }
}
