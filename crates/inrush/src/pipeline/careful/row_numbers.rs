//! The order of rows that are routed: they stand in the partitions of a staging table, and their
//! places there tell it no longer. So each has its number while the unit is loaded carefully.

/// The column, which no target has.
pub const COLUMN: &str = "\"inrush: number of the row\"";

/// The statements that give a staging table numbers, in the order in which its rows come.
pub fn add_to(table: &str) -> [String; 2] {
    [
        format!("ALTER TABLE {table} ADD COLUMN {COLUMN} bigserial"),
        format!("CREATE INDEX ON {table} ({COLUMN})"),
    ]
}
