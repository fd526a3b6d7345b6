//! Tables in Markdown.

use std::fmt;

/// A table that is filled row by row; it displays as Markdown, a line break at its end.
pub struct Table {
    columns: usize,
    text: String,
}

impl Table {
    /// An empty table with these headings.
    pub fn new<S: AsRef<str>>(headings: &[S]) -> Table {
        let mut table = Table { columns: headings.len(), text: String::new() };
        table.row(headings);
        table.text += &format!("|{}\n", "---|".repeat(headings.len()));
        table
    }

    /// Adds a row of as many cells as there are headings.
    pub fn row<S: AsRef<str>>(&mut self, cells: &[S]) {
        debug_assert_eq!(cells.len(), self.columns, "a cell for each heading");
        self.text += "|";
        for cell in cells {
            self.text += &format!(" {} |", cell.as_ref());
        }
        self.text += "\n";
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_a_line_of_dashes_below_its_headings() {
        let mut table = Table::new(&["a", "b"]);
        table.row(&["1", "2"]);
        assert_eq!(table.to_string(), "| a | b |\n|---|---|\n| 1 | 2 |\n");
    }
}
