//! Tables in Markdown.

use seqtune_kernel::spelling::cell;
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
        for text in cells {
            self.text += &format!(" {} |", cell(text.as_ref()));
        }
        self.text += "\n";
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Text whose Markdown tables are laid out for a terminal of `width` columns: aligned where they fit, else a block for each row with a line
/// for each cell. All other lines stay as they are.
pub fn fit_width(text: &str, width: usize) -> String {
    let mut shown = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let is_table = line.starts_with("| ") && lines.peek().is_some_and(|next| next.starts_with("|---"));
        if !is_table {
            shown += &format!("{line}\n");
            continue;
        }
        let mut rows = vec![cells(line)];
        lines.next();
        while let Some(row) = lines.next_if(|next| next.starts_with('|')) {
            rows.push(cells(row));
        }
        shown += &align(&rows, width).unwrap_or_else(|| blocks(&rows));
    }
    match text.ends_with('\n') {
        true => shown,
        false => shown.trim_end_matches('\n').to_string(),
    }
}

fn cells(line: &str) -> Vec<&str> {
    line.trim().trim_start_matches('|').trim_end_matches('|').split(" | ").map(str::trim).collect()
}

/// Rows in columns, headings first; `None` where they are wider than `width`.
fn align(rows: &[Vec<&str>], width: usize) -> Option<String> {
    let columns = rows.iter().map(Vec::len).max()?;
    let cell = |row: &Vec<&str>, column: usize| row.get(column).map_or(0, |text| text.chars().count());
    let widths: Vec<usize> = (0..columns).map(|c| rows.iter().map(|row| cell(row, c)).max().unwrap_or(0)).collect();
    if widths.iter().sum::<usize>() + 2 * (columns - 1) > width {
        return None;
    }
    let line = |row: &Vec<&str>| {
        let columns: Vec<String> = row.iter().zip(&widths).map(|(text, width)| format!("{text:width$}")).collect();
        format!("{}\n", columns.join("  ").trim_end())
    };
    Some(rows.iter().map(line).collect())
}

/// A block for each row: its first cell, then a line for each other cell behind its heading.
fn blocks(rows: &[Vec<&str>]) -> String {
    let Some((headings, rows)) = rows.split_first() else { return String::new() };
    let widest = headings.iter().skip(1).map(|heading| heading.chars().count()).max().unwrap_or(0);
    let block = |row: &Vec<&str>| {
        let lines = headings.iter().zip(row).skip(1).map(|(heading, cell)| format!("  {heading:widest$}  {cell}\n"));
        format!("{}\n{}", row.first().unwrap_or(&""), lines.collect::<String>())
    };
    rows.iter().map(block).collect()
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

    #[test]
    fn a_terminal_shows_columns_where_they_fit_and_blocks_where_they_do_not() {
        let mut table = Table::new(&["problem", "measured us", "config"]);
        table.row(&["M=1", "3.5", "A=1,B=2"]);
        table.row(&["M=100", "123.25", "A=1,B=2,C=3"]);
        let text = format!("{table}\n2 problems\n");
        let wide = "problem  measured us  config\nM=1      3.5          A=1,B=2\nM=100    123.25       A=1,B=2,C=3\n\n2 problems\n";
        assert_eq!(fit_width(&text, 33), wide);
        let narrow = "M=1\n  measured us  3.5\n  config       A=1,B=2\nM=100\n  measured us  123.25\n  config       A=1,B=2,C=3\n\n2 problems\n";
        assert_eq!(fit_width(&text, 32), narrow);
    }

    #[test]
    fn lines_that_are_no_table_stay_as_they_are() {
        for text in ["", "a | b", "| a line that begins so\nand goes on\n", "M=1\n\n  0.5 %  A=1"] {
            assert_eq!(fit_width(text, 10), text);
        }
    }

    #[test]
    fn a_cell_ends_neither_its_column_nor_its_row() {
        let mut table = Table::new(&["a"]);
        table.row(&["x | y\n| \u{1b}[2J"]);
        assert_eq!(table.to_string().lines().last(), Some("| x \\| y\\n\\| \\u{1b}[2J |"));
    }
}
