//! The kinds of inputs, in the words of messages and plans.

use inrush_rows::plural::counted;

/// What kind of input it is for the user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InputKind {
    /// A file or a pipe.
    #[default]
    File,
    /// A table or a view of a database, or a partition of one.
    Table,
    /// A range of a key of a table, view or query, if each range is an input.
    Range,
    /// The rows of a SELECT.
    Query,
    /// The rows of a Python program.
    Stream,
}

impl InputKind {
    /// `1 file`, `2 tables`.
    pub fn counted(self, count: usize) -> String {
        let one = match self {
            InputKind::File => "file",
            InputKind::Table => "table",
            InputKind::Range => "range",
            InputKind::Query => return "a query".to_owned(),
            InputKind::Stream => return "an Arrow stream".to_owned(),
        };
        counted(count as u64, one)
    }

    /// How a user corrects one row, as the beginning of a hint: `fix the file`.
    pub fn fix_row(self) -> &'static str {
        match self {
            InputKind::File => "fix the file",
            InputKind::Table | InputKind::Range | InputKind::Query => "fix the row in the source",
            InputKind::Stream => "fix the row in the program",
        }
    }

    /// How a user corrects several rows: `fix the files`.
    pub fn fix_rows(self) -> &'static str {
        match self {
            InputKind::File => "fix the files",
            InputKind::Table | InputKind::Range | InputKind::Query => "fix the rows in the source",
            InputKind::Stream => "fix the rows in the program",
        }
    }

    /// The beginning of a hint for rows outside the partition of their input: the rule, and how to cut the input.
    pub fn fit_partition(self) -> &'static str {
        match self {
            InputKind::File => "a file must lie within one partition: cut the files by the key",
            InputKind::Table | InputKind::Range | InputKind::Query => {
                "a range of the source must lie within one partition: split it by the key (`split_by`)"
            }
            InputKind::Stream => {
                "a stream must lie within one partition: send each partition by itself"
            }
        }
    }

    /// The settings that say how its rows are read: `the flow's columns`.
    pub fn settings(self) -> &'static str {
        match self {
            InputKind::File => "the flow's format and columns",
            InputKind::Query => "the query",
            InputKind::Table | InputKind::Range | InputKind::Stream => "the flow's columns",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_and_tables_are_counted() {
        assert_eq!(InputKind::File.counted(2), "2 files");
        assert_eq!(InputKind::Table.counted(1), "1 table");
        assert_eq!(InputKind::Query.counted(1), "a query");
    }
}
