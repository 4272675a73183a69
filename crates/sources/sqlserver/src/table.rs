//! Reads from the catalog the size of a table, the key by which it is stored, and its partitions.

use inrush_rows::sql_text::identifier;
use inrush_tdsclient::{Session, SessionError};

/// A table that is stored by rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableFacts {
    /// The number of its rows; `None` if the catalog only estimates it.
    pub rows: Option<u64>,
    /// Bytes of its rows on the server's disk; `None` if the catalog does not say.
    pub bytes: Option<u64>,
    /// The leading column of its clustered index.
    pub key: Option<String>,
    /// Its partitions.
    pub partitioning: Option<Partitioning>,
}

/// How a table is partitioned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partitioning {
    /// The partition function.
    function: String,
    /// The column by whose values the table is partitioned.
    pub column: String,
    /// The number of partitions.
    pub count: u64,
}

impl Partitioning {
    /// The SQL expression of the number of a row's partition; numbers start at 1. `value` is the partitioning column in
    /// SQL.
    pub fn number(&self, value: &str) -> String {
        format!("$PARTITION.{}({value})", identifier(&self.function))
    }
}

impl TableFacts {
    /// Asks the catalog about `name`, which is written as in statements. `None` if this is not a table that is stored
    /// by rows. Babelfish has no view of sizes, and its counts of rows are estimates of PostgreSQL: 0 until somebody
    /// runs ANALYZE.
    pub fn ask(
        session: &mut Session,
        name: &str,
        is_babelfish: bool,
    ) -> Result<Option<TableFacts>, SessionError> {
        let object = format!("OBJECT_ID(N'{}')", name.replace('\'', "''"));
        let mut ask = |question: &str| -> Result<Vec<String>, SessionError> {
            let rows = session.run(question)?.into_rows();
            let row = rows.into_iter().next().unwrap_or_default();
            Ok(row.into_iter().map(Option::unwrap_or_default).collect())
        };
        let kind = ask(&format!(
            "SELECT o.type FROM sys.objects o WHERE o.object_id = {object}"
        ))?;
        if kind.first().map(|kind| kind.trim_end()) != Some("U") {
            return Ok(None);
        }
        let mut number = |question: &str| -> Result<Option<u64>, SessionError> {
            match is_babelfish {
                true => Ok(None),
                false => Ok(ask(question)?.first().and_then(|text| text.parse().ok())),
            }
        };
        let rows = number(&format!(
            "SELECT COALESCE(SUM(p.rows), 0) FROM sys.partitions p WHERE p.object_id = {object} AND p.index_id < 2"
        ))?;
        let bytes = number(&format!(
            "SELECT COALESCE(SUM(a.total_pages), 0) * 8192 FROM sys.partitions p JOIN sys.allocation_units a ON a.container_id = \
             p.hobt_id WHERE p.object_id = {object} AND p.index_id < 2"
        ))?;
        let key = ask(&format!(
            "SELECT c.name FROM sys.indexes i JOIN sys.index_columns k ON k.object_id = i.object_id AND k.index_id = i.index_id \
             JOIN sys.columns c ON c.object_id = k.object_id AND c.column_id = k.column_id WHERE i.object_id = {object} AND \
             i.index_id = 1 AND i.type = 1 AND k.key_ordinal = 1"
        ))?;
        let partitioned = ask(&format!(
            "SELECT f.name, f.fanout, c.name FROM sys.indexes i JOIN sys.partition_schemes s ON s.data_space_id = i.data_space_id \
             JOIN sys.partition_functions f ON f.function_id = s.function_id JOIN sys.index_columns k ON k.object_id = i.object_id \
             AND k.index_id = i.index_id JOIN sys.columns c ON c.object_id = k.object_id AND c.column_id = k.column_id WHERE \
             i.object_id = {object} AND i.index_id < 2 AND k.partition_ordinal = 1"
        ))?;
        Ok(Some(TableFacts {
            rows,
            bytes,
            key: key.into_iter().next(),
            partitioning: match <[String; 3]>::try_from(partitioned) {
                Ok([function, fanout, column]) => Some(Partitioning {
                    function,
                    column,
                    count: fanout.parse().unwrap_or(0),
                }),
                Err(_) => None,
            },
        }))
    }
}
