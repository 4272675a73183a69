//! Indexes, CHECKs and compression of a table, read from the catalog and written as statements for another one.

use std::collections::BTreeMap;

use inrush_destination::Result;

use crate::connection::SqlSession;
use crate::sql;

const DOING: &str = "cannot read the indexes of a table";

/// The type of `sys.indexes` that has all columns and rows of a table as a columnstore.
pub const CLUSTERED_COLUMNSTORE: u64 = 5;

/// Types of `sys.indexes`.
mod kind {
    pub const CLUSTERED: u64 = 1;
    pub const NONCLUSTERED: u64 = 2;
    pub const CLUSTERED_COLUMNSTORE: u64 = super::CLUSTERED_COLUMNSTORE;
    pub const NONCLUSTERED_COLUMNSTORE: u64 = 6;
}

/// The compression of the partitions of a heap or an index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compression {
    /// The compression of each partition, by its number. Partitions that are not compressed are left out.
    by_number: BTreeMap<u64, String>,
    /// It has several partitions.
    is_partitioned: bool,
}

/// A CHECK.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// Its name.
    pub name: String,
    /// Its condition, in parentheses.
    pub definition: String,
    /// It checks nothing.
    pub is_disabled: bool,
    /// It does not check the rows of replication agents.
    is_not_for_replication: bool,
}

/// An index, or a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    /// Its name.
    pub name: String,
    kind: u64,
    is_unique: bool,
    is_primary_key: bool,
    is_unique_constraint: bool,
    is_disabled: bool,
    ignores_duplicates: bool,
    filter: Option<String>,
    /// Its filegroup or partition scheme.
    pub data_space: String,
    /// Columns of the key, and whether they are descending.
    keys: Vec<(String, bool)>,
    included: Vec<String>,
    compression: Compression,
}

impl Check {
    /// Why rows cannot be switched into its table, in words that follow "because".
    pub fn obstacle(&self) -> Option<String> {
        let name = &self.name;
        if self.is_disabled {
            Some(format!("its CHECK {name} is disabled"))
        } else if self.is_not_for_replication {
            // Error 4975.
            Some(format!("its CHECK {name} is NOT FOR REPLICATION"))
        } else {
            None
        }
    }

    /// True if its condition names a column. The catalog writes names in brackets.
    pub fn mentions(&self, column: &str) -> bool {
        mentions(&self.definition, column)
    }
}

fn mentions(condition: &str, column: &str) -> bool {
    let name = format!("[{}]", column.replace(']', "]]"));
    condition.to_lowercase().contains(&name.to_lowercase())
}

impl Compression {
    /// Reads the compression of a table's index with this number; 0 is a heap.
    pub fn read(session: &mut SqlSession, table: &str, index_id: u64) -> Result<Compression> {
        let question = format!(
            "SELECT partition_number, data_compression_desc FROM sys.partitions WHERE object_id = OBJECT_ID({}) AND index_id = \
             {index_id}",
            sql::text(table)
        );
        let rows = session.rows(DOING, &question)?;
        let pairs = rows.iter().filter_map(|row| match &row[..] {
            [Some(number), Some(name)] if name != "NONE" => {
                Some((number.parse().ok()?, name.clone()))
            }
            _ => None,
        });
        let by_number: BTreeMap<u64, String> = pairs.collect();
        Ok(Compression {
            is_partitioned: rows.len() > 1 && !by_number.is_empty(),
            by_number,
        })
    }

    /// The clause that compresses a new table, with a blank before it.
    pub fn clause(&self) -> String {
        match self.options() {
            options if options.is_empty() => String::new(),
            options => format!(" WITH ({})", options.join(", ")),
        }
    }

    fn options(&self) -> Vec<String> {
        let mut by_name: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (number, name) in &self.by_number {
            // Other names are those of columnstore indexes, which have no such option unless they are archived.
            if matches!(name.as_str(), "ROW" | "PAGE" | "COLUMNSTORE_ARCHIVE") {
                by_name.entry(name).or_default().push(number.to_string());
            }
        }
        let options = by_name
            .into_iter()
            .map(|(name, numbers)| match self.is_partitioned {
                false => format!("DATA_COMPRESSION = {name}"),
                true => format!(
                    "DATA_COMPRESSION = {name} ON PARTITIONS ({})",
                    numbers.join(", ")
                ),
            });
        options.collect()
    }
}

impl Index {
    /// True if it is a columnstore with all columns and rows of its table.
    pub fn is_clustered_columnstore(&self) -> bool {
        self.kind == kind::CLUSTERED_COLUMNSTORE
    }

    /// True if it belongs to a PRIMARY KEY or UNIQUE constraint.
    pub fn is_constraint(&self) -> bool {
        self.is_primary_key || self.is_unique_constraint
    }

    /// The columns whose values must be unique; none if it is not unique.
    pub fn unique_columns(&self) -> impl Iterator<Item = &str> {
        let is_unique = self.is_unique && !self.is_disabled;
        let keys = self.keys.iter().map(|(name, _)| name.as_str());
        keys.filter(move |_| is_unique)
    }

    /// The condition of a filtered index; `None` if it has all rows.
    pub fn filter(&self) -> Option<&str> {
        self.filter.as_deref()
    }

    /// True if its condition names a column.
    pub fn filter_mentions(&self, column: &str) -> bool {
        self.filter().is_some_and(|filter| mentions(filter, column))
    }

    /// Why rows cannot be switched into its table, in words that follow "because".
    pub fn obstacle(&self, data_space: &str) -> Option<String> {
        let name = &self.name;
        if !matches!(
            self.kind,
            kind::CLUSTERED
                | kind::NONCLUSTERED
                | kind::CLUSTERED_COLUMNSTORE
                | kind::NONCLUSTERED_COLUMNSTORE
        ) {
            Some(format!(
                "index {name} is of another kind than rowstore or columnstore"
            ))
        } else if self.is_disabled {
            Some(format!("index {name} is disabled"))
        } else if self.data_space != data_space {
            Some(format!(
                "index {name} is not partitioned as the table is, or is in another filegroup"
            ))
        } else {
            None
        }
    }

    /// True if it is the same as an index of another table, apart from its name.
    pub fn is_like(&self, other: &Index) -> bool {
        let named = Index {
            name: self.name.clone(),
            ..other.clone()
        };
        *self == named
    }

    /// The statement that makes an index like this one, with the name `name`, on another table.
    pub fn statement(&self, table: &str, name: &str, on: &str) -> String {
        let name = sql::identifier(name);
        let keys: Vec<String> = self
            .keys
            .iter()
            .map(|(column, is_descending)| {
                let order = if *is_descending { " DESC" } else { "" };
                format!("{}{order}", sql::identifier(column))
            })
            .collect();
        let keys = keys.join(", ");
        let included = sql::names(self.included.iter().map(String::as_str));
        let clustered = match self.kind {
            kind::CLUSTERED | kind::CLUSTERED_COLUMNSTORE => "CLUSTERED",
            _ => "NONCLUSTERED",
        };
        let mut options = self.compression.options();
        if self.ignores_duplicates {
            options.push("IGNORE_DUP_KEY = ON".to_owned());
        }
        let with = match options.is_empty() {
            true => String::new(),
            false => format!(" WITH ({})", options.join(", ")),
        };
        let filter = match &self.filter {
            Some(filter) => format!(" WHERE {filter}"),
            None => String::new(),
        };
        if self.is_constraint() {
            let key = if self.is_primary_key {
                "PRIMARY KEY"
            } else {
                "UNIQUE"
            };
            return format!(
                "ALTER TABLE {table} ADD CONSTRAINT {name} {key} {clustered} ({keys}){with} ON {on}"
            );
        }
        match self.kind {
            kind::CLUSTERED_COLUMNSTORE => {
                format!("CREATE CLUSTERED COLUMNSTORE INDEX {name} ON {table}{with} ON {on}")
            }
            kind::NONCLUSTERED_COLUMNSTORE => format!(
                "CREATE NONCLUSTERED COLUMNSTORE INDEX {name} ON {table} ({included}){filter}{with} ON {on}"
            ),
            _ => {
                let unique = if self.is_unique { "UNIQUE " } else { "" };
                let include = match included.is_empty() {
                    true => String::new(),
                    false => format!(" INCLUDE ({included})"),
                };
                format!(
                    "CREATE {unique}{clustered} INDEX {name} ON {table} ({keys}){include}{filter}{with} ON {on}"
                )
            }
        }
    }
}

/// The indexes of a table, the clustered one first.
pub fn read(session: &mut SqlSession, table: &str) -> Result<Vec<Index>> {
    let object = sql::text(table);
    let rows = session.rows(
        DOING,
        &format!(
            "SELECT i.index_id, i.name, i.type, i.is_unique, i.is_primary_key, i.is_unique_constraint, i.is_disabled, \
             i.ignore_dup_key, i.filter_definition, d.name FROM sys.indexes i JOIN sys.data_spaces d ON d.data_space_id = \
             i.data_space_id WHERE i.object_id = OBJECT_ID({object}) AND i.index_id > 0 ORDER BY i.index_id"
        ),
    )?;
    let columns = session.rows(
        DOING,
        &format!(
            "SELECT k.index_id, c.name, k.is_descending_key, k.is_included_column, k.key_ordinal FROM sys.index_columns k JOIN \
             sys.columns c ON c.object_id = k.object_id AND c.column_id = k.column_id WHERE k.object_id = OBJECT_ID({object}) \
             ORDER BY k.index_id, k.key_ordinal, k.index_column_id"
        ),
    )?;
    let mut found = Vec::with_capacity(rows.len());
    for row in rows {
        let text = |at: usize| row.get(at).cloned().flatten().unwrap_or_default();
        let is = |at: usize| text(at) == "1";
        let index_id = text(0);
        let mut keys = Vec::new();
        let mut included = Vec::new();
        for column in &columns {
            let text = |at: usize| column.get(at).cloned().flatten().unwrap_or_default();
            if text(0) != index_id {
                continue;
            }
            match (text(3) == "1", text(4) == "0") {
                (true, _) => included.push(text(1)),
                // The server adds the partition column to an index without it.
                (false, true) => {}
                (false, false) => keys.push((text(1), text(2) == "1")),
            }
        }
        found.push(Index {
            name: text(1),
            kind: text(2).parse().unwrap_or(0),
            is_unique: is(3),
            is_primary_key: is(4),
            is_unique_constraint: is(5),
            is_disabled: is(6),
            ignores_duplicates: is(7),
            filter: row.get(8).cloned().flatten(),
            data_space: text(9),
            keys,
            included,
            compression: Compression::read(session, table, index_id.parse().unwrap_or(0))?,
        });
    }
    Ok(found)
}

/// The CHECKs of a table.
pub fn checks(session: &mut SqlSession, table: &str) -> Result<Vec<Check>> {
    let question = format!(
        "SELECT name, definition, is_disabled, is_not_for_replication FROM sys.check_constraints WHERE parent_object_id = \
         OBJECT_ID({}) ORDER BY name",
        sql::text(table)
    );
    let rows = session.rows(DOING, &question)?;
    let check = |row: Vec<Option<String>>| {
        let text = |at: usize| row.get(at).cloned().flatten().unwrap_or_default();
        Check {
            name: text(0),
            definition: text(1),
            is_disabled: text(2) == "1",
            is_not_for_replication: text(3) == "1",
        }
    };
    Ok(rows.into_iter().map(check).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(kind: u64) -> Index {
        Index {
            name: "i".to_owned(),
            kind,
            is_unique: true,
            is_primary_key: false,
            is_unique_constraint: false,
            is_disabled: false,
            ignores_duplicates: false,
            filter: None,
            data_space: "ps".to_owned(),
            keys: vec![("a".to_owned(), false), ("b".to_owned(), true)],
            included: Vec::new(),
            compression: Compression::default(),
        }
    }

    /// The compression of partitions.
    fn compression(pairs: &[(u64, &str)]) -> Compression {
        let pairs = pairs.iter();
        Compression {
            by_number: pairs.map(|(at, name)| (*at, (*name).to_owned())).collect(),
            is_partitioned: true,
        }
    }

    #[test]
    fn indexes_are_written_as_statements() {
        let mut filtered = index(kind::NONCLUSTERED);
        filtered.is_unique = false;
        filtered.filter = Some("([a]>(0))".to_owned());
        filtered.included = vec!["c".to_owned()];
        let mut key = index(kind::CLUSTERED);
        key.is_primary_key = true;
        key.compression = compression(&[(1, "PAGE"), (2, "PAGE"), (3, "ROW")]);
        for (index, statement) in [
            (
                index(kind::CLUSTERED),
                "CREATE UNIQUE CLUSTERED INDEX \"n\" ON t (\"a\", \"b\" DESC) ON \"ps\"(\"a\")",
            ),
            (
                filtered,
                "CREATE NONCLUSTERED INDEX \"n\" ON t (\"a\", \"b\" DESC) INCLUDE (\"c\") WHERE ([a]>(0)) ON \"ps\"(\"a\")",
            ),
            (
                key,
                "ALTER TABLE t ADD CONSTRAINT \"n\" PRIMARY KEY CLUSTERED (\"a\", \"b\" DESC) WITH (DATA_COMPRESSION = PAGE ON \
                 PARTITIONS (1, 2), DATA_COMPRESSION = ROW ON PARTITIONS (3)) ON \"ps\"(\"a\")",
            ),
            (
                index(kind::CLUSTERED_COLUMNSTORE),
                "CREATE CLUSTERED COLUMNSTORE INDEX \"n\" ON t ON \"ps\"(\"a\")",
            ),
        ] {
            assert_eq!(index.statement("t", "n", "\"ps\"(\"a\")"), statement);
        }
    }

    #[test]
    fn compression_is_written_for_partitions_and_for_plain_tables() {
        for (pairs, of_table, of_partitions) in [
            (&[][..], "", ""),
            (
                &[(1, "PAGE")],
                " WITH (DATA_COMPRESSION = PAGE)",
                " WITH (DATA_COMPRESSION = PAGE ON PARTITIONS (1))",
            ),
            (&[(1, "COLUMNSTORE")], "", ""),
        ] {
            let partitioned = compression(pairs);
            assert_eq!(partitioned.clause(), of_partitions);
            let plain = Compression {
                is_partitioned: false,
                ..partitioned
            };
            assert_eq!(plain.clause(), of_table);
        }
    }

    #[test]
    fn indexes_that_switch_cannot_take_are_named() {
        assert_eq!(index(kind::CLUSTERED).obstacle("ps"), None);
        for (index, said) in [
            (index(3), "another kind"),
            (
                Index {
                    is_disabled: true,
                    ..index(1)
                },
                "disabled",
            ),
            (
                Index {
                    data_space: "PRIMARY".to_owned(),
                    ..index(2)
                },
                "not partitioned",
            ),
        ] {
            let obstacle = index.obstacle("ps").expect(said);
            assert!(
                obstacle.contains(said) && obstacle.contains("index i"),
                "{obstacle}"
            );
        }
    }
}
