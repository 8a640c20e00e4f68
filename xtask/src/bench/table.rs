//! Renders rows as a Markdown table that is also readable in a terminal.

use super::json::{Row, Value};

struct Column {
    /// The heading, then a cell for every row.
    cells: Vec<String>,
    width: usize,
    side: Side,
}

#[derive(Clone, Copy)]
enum Side {
    Left,
    /// Numbers are right-aligned.
    Right,
}

/// A column for every key, in the order of first appearance.
pub fn render(rows: &[Row]) -> String {
    let mut keys: Vec<&str> = Vec::new();
    for (key, _) in rows.iter().flatten() {
        if !keys.contains(&key.as_str()) {
            keys.push(key);
        }
    }
    let columns: Vec<Column> = keys.iter().map(|key| column(rows, key)).collect();
    let mut lines = vec![line(&columns, |it| it.place(&it.cells[0])), line(&columns, Column::rule)];
    for index in 1..=rows.len() {
        lines.push(line(&columns, |it| it.place(&it.cells[index])));
    }
    lines.concat()
}

fn line(columns: &[Column], cell: impl Fn(&Column) -> String) -> String {
    let cells: Vec<String> = columns.iter().map(cell).collect();
    format!("| {} |\n", cells.join(" | "))
}

fn column(rows: &[Row], key: &str) -> Column {
    let mut cells = vec![key.to_owned()];
    cells.extend(rows.iter().map(|row| cell(row, key)));
    let is_number = |it: &String| it.is_empty() || it.parse::<f64>().is_ok();
    let side = if cells[1..].iter().all(is_number) { Side::Right } else { Side::Left };
    let width = cells.iter().map(|it| it.chars().count()).fold(3, usize::max);
    Column { cells, width, side }
}

fn cell(row: &Row, key: &str) -> String {
    match row.iter().find(|it| it.0 == key) {
        Some((_, Value::Text(text))) => text.replace('|', "\\|").replace('\n', " "),
        Some((_, Value::Bare(text))) => text.clone(),
        None => String::new(),
    }
}

impl Column {
    fn place(&self, text: &str) -> String {
        let width = self.width;
        match self.side {
            Side::Left => format!("{text:<width$}"),
            Side::Right => format!("{text:>width$}"),
        }
    }

    fn rule(&self) -> String {
        match self.side {
            Side::Left => "-".repeat(self.width),
            Side::Right => "-".repeat(self.width - 1) + ":",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::json::read, *};

    #[test]
    fn rows_with_different_keys_share_a_table() {
        let rows: Vec<Row> = [
            r#"{"what":"bare loop","rows":1000,"seconds":1.25}"#,
            r#"{"what":"journal | ours","rows":20,"note":"grün"}"#,
        ]
        .iter()
        .map(|line| read(line).expect(line))
        .collect();
        let expected = "\
| what            | rows | seconds | note |
| --------------- | ---: | ------: | ---- |
| bare loop       | 1000 |    1.25 |      |
| journal \\| ours |   20 |         | grün |
";
        assert_eq!(render(&rows), expected);
    }
}
