//! The arguments of a call, in the forms that models write.

use serde_json::{Map, Value};

#[derive(Clone, Copy)]
pub(super) struct Arguments<'a>(pub &'a Map<String, Value>);

impl<'a> Arguments<'a> {
    pub fn text(self, key: &str) -> Result<&'a str, String> {
        let text = self.text_if_any(key)?;
        text.ok_or_else(|| format!("the argument `{key}` is missing; it must be a string"))
    }

    /// An empty string counts as missing: some models fill in every argument.
    pub fn text_if_any(self, key: &str) -> Result<Option<&'a str>, String> {
        match self.0.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(format!("the argument `{key}` must be a string, but is: {other}")),
        }
    }

    /// A whole number from 1 on, also in the forms `3.0` or `"3"`.
    pub fn number(self, key: &str) -> Result<Option<u64>, String> {
        let number = match self.0.get(key) {
            None | Some(Value::Null) => return Ok(None),
            Some(Value::String(text)) => text.trim().parse().ok(),
            Some(other) => other.as_f64().map(|it| format!("{it}")).and_then(|it| it.parse().ok()),
        };
        let number = number.filter(|it| *it > 0).map(Some);
        number.ok_or_else(|| format!("the argument `{key}` must be a whole number of at least 1"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn accepts_numbers_in_all_forms() {
        let number = |value: Value| {
            let map = Map::from_iter([("n".to_owned(), value)]);
            Arguments(&map).number("n")
        };
        for three in [json!(3), json!(3.0), json!("3"), json!(" 3 ")] {
            assert_eq!(number(three), Ok(Some(3)));
        }
        assert_eq!(number(Value::Null), Ok(None));
        for wrong in [json!(0), json!(-1), json!(1.5), json!("x"), json!([]), json!(1e300)] {
            assert!(number(wrong.clone()).is_err(), "{wrong}");
        }
    }
}
