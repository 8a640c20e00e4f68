//! Reads and writes flat JSON objects: the lines that a bench prints.
//!
//! The order of the keys is preserved, because it is the order of the columns. Nested lists and
//! objects are rejected.

use std::{iter::Peekable, str::Chars};

/// One row: keys and values in the printed order.
pub type Row = Vec<(String, Value)>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Text(String),
    /// A number, `true`, `false` or `null`, as printed.
    Bare(String),
}

pub fn read(line: &str) -> Result<Row, String> {
    let mut reader = Reader { rest: line.trim().chars().peekable() };
    let row = reader.object()?;
    match reader.rest.next() {
        None => Ok(row),
        Some(more) => Err(format!("`{more}` after the object")),
    }
}

struct Reader<'a> {
    rest: Peekable<Chars<'a>>,
}

impl Reader<'_> {
    fn object(&mut self) -> Result<Row, String> {
        let mut row = Row::new();
        self.take('{')?;
        if self.peek() == Some('}') {
            self.take('}')?;
            return Ok(row);
        }
        loop {
            let key = self.string()?;
            self.take(':')?;
            row.push((key, self.value()?));
            if self.peek() != Some(',') {
                self.take('}')?;
                return Ok(row);
            }
            self.take(',')?;
        }
    }

    fn value(&mut self) -> Result<Value, String> {
        match self.peek() {
            Some('"') => Ok(Value::Text(self.string()?)),
            Some('{' | '[') => Err("a list or object inside the object".to_owned()),
            Some(_) => self.bare(),
            None => Err("the end instead of a value".to_owned()),
        }
    }

    fn bare(&mut self) -> Result<Value, String> {
        let mut text = String::new();
        let belongs = |it: &char| it.is_ascii_alphanumeric() || "+-.".contains(*it);
        while let Some(character) = self.rest.next_if(belongs) {
            text.push(character);
        }
        let is_word = matches!(text.as_str(), "true" | "false" | "null");
        if is_word || text.parse::<f64>().is_ok_and(f64::is_finite) {
            Ok(Value::Bare(text))
        } else {
            Err(format!("`{text}` is not a value"))
        }
    }

    fn string(&mut self) -> Result<String, String> {
        self.take('"')?;
        let mut text = String::new();
        loop {
            match self.rest.next() {
                Some('"') => return Ok(text),
                Some('\\') => text.push(self.escaped()?),
                Some(character) => text.push(character),
                None => return Err("the end inside a string".to_owned()),
            }
        }
    }

    fn escaped(&mut self) -> Result<char, String> {
        match self.rest.next() {
            Some(plain @ ('"' | '\\' | '/')) => Ok(plain),
            Some('n') => Ok('\n'),
            Some('r') => Ok('\r'),
            Some('t') => Ok('\t'),
            Some('u') => {
                let digits: String = self.rest.by_ref().take(4).collect();
                let code = u32::from_str_radix(&digits, 16).map_err(|it| it.to_string())?;
                char::from_u32(code).ok_or_else(|| format!("\\u{digits} is half a character"))
            }
            other => Err(format!("{other:?} after a backslash")),
        }
    }

    fn peek(&mut self) -> Option<char> {
        while self.rest.next_if(char::is_ascii_whitespace).is_some() {}
        self.rest.peek().copied()
    }

    fn take(&mut self, wanted: char) -> Result<(), String> {
        match self.peek() {
            Some(found) if found == wanted => {
                self.rest.next();
                Ok(())
            }
            Some(found) => Err(format!("`{found}` instead of `{wanted}`")),
            None => Err(format!("the end instead of `{wanted}`")),
        }
    }
}

pub fn write(row: &[(String, Value)]) -> String {
    let pairs: Vec<String> = row
        .iter()
        .map(|(key, value)| match value {
            Value::Text(text) => format!("{}:{}", quoted(key), quoted(text)),
            Value::Bare(text) => format!("{}:{text}", quoted(key)),
        })
        .collect();
    format!("{{{}}}", pairs.join(","))
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            it if it.is_control() => quoted.extend(format!("\\u{:04x}", u32::from(it)).chars()),
            it => quoted.push(it),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_round_trip_in_order() {
        for line in [
            r#"{"name":"bare loop","rows":1000,"ratio":0.82,"ok":true,"note":null}"#,
            r#"{"z":-1.5e3,"a":"\"quoted\" \\ \u0007 grün"}"#,
            "{}",
        ] {
            assert_eq!(write(&read(line).expect(line)), line);
        }
        let spaced = read(r#" { "a" : "x\n\u00fc" , "b" : 2 } "#).expect("spaces are fine");
        assert_eq!(spaced[0], ("a".to_owned(), Value::Text("x\nü".to_owned())));
        assert_eq!(spaced[1], ("b".to_owned(), Value::Bare("2".to_owned())));
    }

    #[test]
    fn other_input_is_rejected() {
        for (line, reason) in [
            ("", "the end instead of `{`"),
            ("warming up", "`w` instead of `{`"),
            (r#"{"a":1"#, "the end instead of `}`"),
            (r#"{"a":1} x"#, "` ` after the object"),
            (r#"{"a":[1]}"#, "a list or object inside the object"),
            (r#"{"a":yes}"#, "`yes` is not a value"),
            (r#"{"a":inf}"#, "`inf` is not a value"),
            (r#"{"a":"#, "the end instead of a value"),
            (r#"{"a":"x"#, "the end inside a string"),
        ] {
            assert_eq!(read(line), Err(reason.to_owned()), "{line}");
        }
    }
}
