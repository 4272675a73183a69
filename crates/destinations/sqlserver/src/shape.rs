//! The shape of a table: what a staging table must have in common with its target, so that SWITCH can move its rows.

use inrush_destination::Result;

use crate::catalog::{self, CatalogColumn};
use crate::connection::SqlSession;
use crate::indexes::{self, Check, Compression, Index};
use crate::partitions::Partitioning;
use crate::sql;
use crate::switch_obstacles;

const DOING: &str = "cannot read the shape of a table";

/// The shape of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableShape {
    /// Its columns, in its order.
    pub columns: Vec<CatalogColumn>,
    /// The filegroup or partition scheme of its rows.
    pub data_space: String,
    /// The filegroup or partition scheme of its large values, such as those of `varchar(max)`, if it has such columns.
    pub large_value_space: Option<String>,
    /// How it is partitioned, if it is.
    pub partitioning: Option<Partitioning>,
    /// The compression of its rows, if it is a heap.
    pub compression: Compression,
    /// Its indexes, the clustered one first.
    pub indexes: Vec<Index>,
    /// Its CHECKs.
    pub checks: Vec<Check>,
    /// Foreign keys of other tables refer to it, so that no rows can be switched out of it (error 4967).
    pub is_referenced: bool,
    /// Another reason against SWITCH, in words that follow "because".
    other_obstacle: Option<String>,
}

impl TableShape {
    /// Reads the shape of a table that exists.
    pub fn read(session: &mut SqlSession, table: &str) -> Result<TableShape> {
        let object = sql::text(table);
        let spaces = session.rows(
            DOING,
            &format!(
                "SELECT d.name FROM sys.indexes i JOIN sys.data_spaces d ON d.data_space_id = i.data_space_id WHERE \
                 i.object_id = OBJECT_ID({object}) AND i.index_id < 2"
            ),
        )?;
        let columns = catalog::catalog_columns(session, table)?;
        Ok(TableShape {
            large_value_space: large_value_space(session, table, &columns)?,
            columns,
            data_space: spaces
                .into_iter()
                .flatten()
                .flatten()
                .next()
                .unwrap_or_default(),
            partitioning: Partitioning::of_table(session, table)?,
            compression: Compression::read(session, table, 0)?,
            indexes: indexes::read(session, table)?,
            checks: indexes::checks(session, table)?,
            is_referenced: is_referenced(session, table)?,
            other_obstacle: switch_obstacles::find(session, table)?,
        })
    }

    /// Why rows that fill these columns cannot be switched in, in words that follow "because"; `None` if they can.
    pub fn obstacle<'a>(&self, filled: impl Iterator<Item = &'a str> + Clone) -> Option<String> {
        for column in &self.columns {
            let name = &column.name;
            if column.is_identity {
                return Some(format!("column {name} is an identity column"));
            }
            if column.is_computed {
                return Some(format!("the server computes column {name}"));
            }
            if column.is_encrypted {
                return Some(format!("column {name} is encrypted"));
            }
            if !filled.clone().any(|filled| filled == name) {
                return Some(format!("the load does not fill column {name}"));
            }
        }
        self.standing_obstacle()
    }

    /// The part of [`obstacle`](Self::obstacle) that does not depend on which columns are filled.
    pub fn standing_obstacle(&self) -> Option<String> {
        if self.data_space.is_empty() {
            return Some("the catalog does not say where its rows are".to_owned());
        }
        let indexes = self.indexes.iter();
        let mut obstacles = indexes.map(|index| index.obstacle(&self.data_space));
        let of_index = obstacles.find_map(|obstacle| obstacle);
        let of_check = self.checks.iter().find_map(Check::obstacle);
        of_index
            .or(of_check)
            .or_else(|| self.obstacle_of_large_values())
            .or_else(|| self.other_obstacle.clone())
    }

    /// If a table was partitioned after it was created, its large values stay in their old filegroup (error 4959). A
    /// staging table that is partitioned from the start cannot have them there.
    fn obstacle_of_large_values(&self) -> Option<String> {
        let space = self.large_value_space.as_ref()?;
        let is_elsewhere = self.partitioning.is_some() && *space != self.data_space;
        is_elsewhere
            .then(|| format!("its large values are in {space} and not in its partition scheme"))
    }

    /// Its columnstore, if its rows are in one.
    pub fn columnstore(&self) -> Option<&Index> {
        let mut indexes = self.indexes.iter();
        indexes.find(|index| index.is_clustered_columnstore())
    }

    /// True if all indexes are partitioned as the table is.
    pub fn is_aligned(&self) -> bool {
        self.indexes
            .iter()
            .all(|index| index.data_space == self.data_space)
    }

    /// The statement that makes an empty heap with this shape, without its indexes and CHECKs.
    pub fn create_statement(&self, table: &str) -> String {
        let columns = self.columns.iter().map(|column| {
            let null = if column.is_nullable {
                "NULL"
            } else {
                "NOT NULL"
            };
            format!(
                "{} {} {null}",
                sql::identifier(&column.name),
                column.catalog_type.sql()
            )
        });
        let columns: Vec<String> = columns.collect();
        // Without this clause, large values would be in the default filegroup instead of the target's (error 4959).
        let large_values = match (&self.large_value_space, &self.partitioning) {
            (Some(space), None) => format!(" TEXTIMAGE_ON {}", sql::identifier(space)),
            _ => String::new(),
        };
        format!(
            "CREATE TABLE {table} ({}) ON {}{large_values}{}",
            columns.join(", "),
            self.on(),
            self.compression.clause()
        )
    }

    /// The statements that give an empty or filled heap the indexes and CHECKs of this shape. `has` is the heap's
    /// present shape; the indexes and CHECKs in it are not created again. Names of constraints are unique in a schema,
    /// so they begin with `prefix`.
    pub fn complete_statements(
        &self,
        table: &str,
        prefix: &str,
        has: Option<&TableShape>,
    ) -> Vec<String> {
        let indexes: &[Index] = has.map_or(&[], |has| &has.indexes);
        let checks: &[Check] = has.map_or(&[], |has| &has.checks);
        let mut statements = Vec::new();
        for (number, index) in self.indexes.iter().enumerate() {
            let name = index_name(prefix, number, index);
            if indexes.iter().all(|own| own.name != name) {
                statements.push(index.statement(table, &name, &self.on()));
            }
        }
        for (number, check) in self.checks.iter().enumerate() {
            let name = check_name(prefix, number);
            if checks.iter().all(|own| own.name != name) {
                statements.push(format!(
                    "ALTER TABLE {table} WITH CHECK ADD CONSTRAINT {} CHECK {}",
                    sql::identifier(&name),
                    check.definition
                ));
            }
        }
        statements
    }

    /// True if each index and CHECK of `has` is one that [`complete_statements`](Self::complete_statements) creates.
    pub fn has_those_of(&self, has: &TableShape, prefix: &str) -> bool {
        let is_known_index = |own: &Index| {
            let mut wanted = self.indexes.iter().enumerate();
            wanted.any(|(number, index)| {
                own.name == index_name(prefix, number, index) && own.is_like(index)
            })
        };
        let is_known_check = |own: &Check| {
            let mut wanted = self.checks.iter().enumerate();
            wanted.any(|(number, check)| {
                own.name == check_name(prefix, number) && own.definition == check.definition
            })
        };
        has.indexes.iter().all(is_known_index) && has.checks.iter().all(is_known_check)
    }

    /// True if both shapes have the same columns, filegroups and partitions, so that a heap of one shape was made for
    /// the other.
    pub fn has_columns_and_place_of(&self, other: &TableShape) -> bool {
        let is_same = |one: &CatalogColumn, other: &CatalogColumn| {
            one.name == other.name
                && one.catalog_type == other.catalog_type
                && one.is_nullable == other.is_nullable
        };
        self.data_space == other.data_space
            && self.large_value_space == other.large_value_space
            && self.columns.len() == other.columns.len()
            && self
                .columns
                .iter()
                .zip(&other.columns)
                .all(|(one, other)| is_same(one, other))
            && self.partitioning == other.partitioning
    }

    /// True if rows can be switched from a table of this shape into a table of the other shape.
    pub fn is_like(&self, other: &TableShape) -> bool {
        let definitions = |shape: &TableShape| {
            let checks = shape.checks.iter();
            let mut found: Vec<String> = checks.map(|check| check.definition.clone()).collect();
            found.sort();
            found
        };
        let is_alike = self.indexes.len() == other.indexes.len()
            && self
                .indexes
                .iter()
                .all(|index| other.indexes.iter().any(|own| own.is_like(index)));
        self.has_columns_and_place_of(other)
            && self.compression == other.compression
            && is_alike
            && definitions(self) == definitions(other)
            && self.standing_obstacle().is_none()
    }

    fn on(&self) -> String {
        match &self.partitioning {
            Some(partitioning) => partitioning.on(),
            None => sql::identifier(&self.data_space),
        }
    }
}

/// The name of an index of a staging table.
fn index_name(prefix: &str, number: usize, index: &Index) -> String {
    match index.is_constraint() {
        true => format!("{prefix}_{number}"),
        false => index.name.clone(),
    }
}

/// The name of a CHECK of a staging table.
fn check_name(prefix: &str, number: usize) -> String {
    format!("{prefix}_c{number}")
}

fn is_referenced(session: &mut SqlSession, table: &str) -> Result<bool> {
    let question = format!(
        "SELECT COUNT_BIG(*) FROM sys.foreign_keys WHERE referenced_object_id = OBJECT_ID({})",
        sql::text(table)
    );
    Ok(session.number(DOING, &question)? != Some(0))
}

fn large_value_space(
    session: &mut SqlSession,
    table: &str,
    columns: &[CatalogColumn],
) -> Result<Option<String>> {
    let is_any = columns
        .iter()
        .any(|column| column.catalog_type.has_large_values());
    if !is_any {
        return Ok(None);
    }
    let question = format!(
        "SELECT d.name FROM sys.tables t JOIN sys.data_spaces d ON d.data_space_id = t.lob_data_space_id WHERE t.object_id = \
         OBJECT_ID({})",
        sql::text(table)
    );
    let found = session.rows(DOING, &question)?;
    Ok(found.into_iter().flatten().flatten().next())
}
