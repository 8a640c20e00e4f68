//! Aligned columns.

use super::words::width;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    Left,
    Right,
}

/// Rows with aligned cells. The last column is not padded.
pub struct Table {
    aligns: Vec<Align>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new(aligns: &[Align]) -> Self {
        Self { aligns: aligns.to_vec(), rows: Vec::new() }
    }

    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Renders each row as a line after `indent`.
    pub fn lines(&self, indent: &str) -> Vec<String> {
        let widths: Vec<usize> = (0..self.aligns.len())
            .map(|column| {
                self.rows.iter().filter_map(|it| it.get(column)).map(|it| width(it)).max()
            })
            .map(Option::unwrap_or_default)
            .collect();
        self.rows.iter().map(|row| self.line(row, &widths, indent)).collect()
    }

    fn line(&self, row: &[String], widths: &[usize], indent: &str) -> String {
        let mut line = indent.to_owned();
        for (column, cell) in row.iter().enumerate() {
            // A column that is empty in every row is left out.
            let (Some(align), Some(room)) = (self.aligns.get(column), widths.get(column)) else {
                continue;
            };
            if *room == 0 {
                continue;
            }
            if line.len() > indent.len() {
                line.push_str("  ");
            }
            let padding = " ".repeat(room.saturating_sub(width(cell)));
            match align {
                Align::Left => line.extend([cell.as_str(), &padding]),
                Align::Right => line.extend([padding.as_str(), cell]),
            }
        }
        line.trim_end().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::Style;

    #[test]
    fn cells_are_aligned_for_any_content() {
        let mut table = Table::new(&[Align::Left, Align::Left, Align::Right, Align::Left]);
        table.row(["日本".into(), String::new(), "7".into(), "one".into()]);
        table.row([Style::coloured().red("abcdef"), String::new(), "12".into(), String::new()]);
        assert_eq!(table.lines("  "), ["  日本     7  one", "  \u{1b}[1;31mabcdef\u{1b}[0m  12"]);
    }
}
