//! Numbers for routed rows. Routed rows are spread over the partitions of a staging table, so their positions do not
//! show their order. So each row gets a number while the unit is loaded carefully: the first row has 1, and there are
//! no gaps.

use crate::quote::{identifier, literal};

/// The name of the column, which no target has.
pub const COLUMN: &str = "inrush: number of the row";

/// The column as SQL names it.
pub fn column() -> String {
    identifier(COLUMN)
}

/// The statements that give a staging table numbers, in the order in which its rows arrive.
pub fn add_to(table: &str) -> Vec<String> {
    let column = column();
    vec![
        format!("ALTER TABLE {table} ADD COLUMN {column} bigserial"),
        format!("CREATE INDEX ON {table} ({column})"),
    ]
}

/// The statement that resets the sequence after rows were rolled back, because a rollback does not reset a sequence.
pub fn go_on(table: &str) -> String {
    format!(
        "SELECT setval(pg_get_serial_sequence({}, {}), \
         (SELECT coalesce(max({}), 0) + 1 FROM {table}), false)",
        literal(table).trim_start(),
        literal(COLUMN).trim_start(),
        column()
    )
}

/// The statement that drops the numbers from a former partition of a staging table.
pub fn drop_from(table: &str) -> String {
    format!("ALTER TABLE {table} DROP COLUMN {}", column())
}
