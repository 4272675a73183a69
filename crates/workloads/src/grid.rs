//! Tables of results, for Markdown and for terminals.

/// A table: a head, and rows below it.
pub struct Grid<const COLUMNS: usize> {
    /// The names of the columns.
    pub head: [&'static str; COLUMNS],
    /// The cells, as they are shown.
    pub rows: Vec<[String; COLUMNS]>,
}

impl<const COLUMNS: usize> Grid<COLUMNS> {
    /// The table in Markdown.
    pub fn markdown(&self) -> String {
        let line = |cells: &[&str]| format!("| {} |\n", cells.join(" | "));
        let mut text = line(&self.head);
        text.push('|');
        for column in 0..COLUMNS {
            text.push_str(if column == 0 { "---|" } else { "---:|" });
        }
        text.push('\n');
        for row in &self.rows {
            let cells: Vec<&str> = row.iter().map(String::as_str).collect();
            text.push_str(&line(&cells));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_is_a_table_of_markdown() {
        let grid = Grid {
            head: ["a", "b"],
            rows: vec![["x".to_owned(), "1".to_owned()]],
        };
        assert_eq!(grid.markdown(), "| a | b |\n|---|---:|\n| x | 1 |\n");
    }
}
