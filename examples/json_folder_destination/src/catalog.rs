//! `catalog.json`: the tables, and the runs that are switched. One rename of it publishes a run.

use std::collections::BTreeMap;
use std::fs::File;

use inrush_destination::{ResolvedType, Result, TargetColumn, TargetFacts, TargetPlan};
use inrush_rows::ids::RunId;
use serde::{Deserialize, Serialize};

use crate::files::{self, Doing, Layout};
use crate::types;

/// What readers see.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Catalog {
    /// The tables, by name.
    pub tables: BTreeMap<String, Entry>,
    /// When each run was switched, in microseconds since 1970-01-01T00:00:00Z.
    pub switched: BTreeMap<RunId, i64>,
    /// Folders of rows that were replaced. The next run removes them. Until then, readers that still use the earlier
    /// catalog find its files.
    pub replaced: Vec<String>,
}

/// Why an entry of the catalog that is not a table is refused.
pub const NO_TABLE: &str = "the catalog has something under this name that is not a table";
/// How to fix that.
pub const REMOVE_IT: &str = "use another name, or remove the entry from catalog.json";

/// What the catalog has under a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Entry {
    Table(Table),
    /// Something that this destination did not create. It is not changed.
    Other(serde_json::Value),
}

/// A table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    /// Its columns, in its order.
    pub columns: Vec<Column>,
    /// The folders of its rows.
    pub parts: Vec<Part>,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    pub name: String,
    #[serde(rename = "type")]
    pub type_name: String,
    pub nullable: bool,
}

/// The rows that one run wrote into a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    pub folder: String,
    pub run: RunId,
    pub rows: u64,
}

impl Entry {
    /// The entry as the plan gets it.
    pub fn facts(&self) -> TargetFacts {
        let nothing = Table::default();
        let (table, obstacle) = match self {
            Entry::Table(table) => (table, None),
            Entry::Other(_) => (&nothing, Some((NO_TABLE.to_owned(), REMOVE_IT.to_owned()))),
        };
        TargetFacts {
            columns: table.columns.iter().map(Column::facts).collect(),
            has_rows: table.rows() > 0,
            partitioned_by: Vec::new(),
            takes_new_bounds: false,
            obstacle,
            notes: Vec::new(),
        }
    }

    /// The folder of the rows that a run wrote into the table, if the table still has them.
    pub fn part_of(&self, run: RunId) -> Option<&Part> {
        match self {
            Entry::Table(table) => table.parts.iter().find(|part| part.run == run),
            Entry::Other(_) => None,
        }
    }
}

impl Table {
    /// A table with the columns of a plan.
    pub fn of(plan: &TargetPlan) -> Table {
        let column = |column: &inrush_destination::ColumnPlan| Column {
            name: column.name.clone(),
            type_name: column.sql.clone(),
            nullable: column.nullable,
        };
        Table {
            columns: plan.columns.iter().map(column).collect(),
            parts: Vec::new(),
        }
    }

    pub fn rows(&self) -> u64 {
        self.parts.iter().map(|part| part.rows).sum()
    }
}

impl Column {
    /// The column as the plan gets it.
    fn facts(&self) -> TargetColumn {
        let resolved = types::resolve(&self.type_name).ok();
        TargetColumn {
            name: self.name.clone(),
            sql: self.type_name.clone(),
            column_type: resolved.map(|ResolvedType { column_type, .. }| column_type),
            not_null: !self.nullable,
            has_default: false,
            generated: false,
        }
    }
}

impl Catalog {
    /// The catalog as it is now; an empty one if there is none.
    pub fn read(layout: &Layout) -> Result<Catalog> {
        Ok(files::read_json(&layout.catalog())?.unwrap_or_default())
    }

    /// Changes the catalog in one step, under a lock. `before_rename` is called after the change and before the catalog
    /// is written. If it fails, the catalog stays unchanged.
    pub fn change<T>(
        layout: &Layout,
        change: impl FnOnce(&mut Catalog) -> Result<T>,
        before_rename: impl FnOnce() -> Result<()>,
    ) -> Result<T> {
        let lock = layout.catalog_lock();
        let opened = File::create(&lock).doing("cannot open the lock", &lock)?;
        // The lock is held only while a small file is written or a few files are removed.
        opened.lock().doing("cannot take the lock", &lock)?;
        let mut catalog = Catalog::read(layout)?;
        let answer = change(&mut catalog)?;
        before_rename()?;
        files::write_json(&layout.catalog(), &catalog)?;
        Ok(answer)
    }

    /// Removes the folders of replaced rows.
    pub fn tidy(layout: &Layout) -> Result<()> {
        if Catalog::read(layout)?.replaced.is_empty() {
            return Ok(());
        }
        let remove = |catalog: &mut Catalog| {
            for folder in catalog.replaced.drain(..) {
                let folder = layout.folder().join(folder);
                files::remove_folder(&folder)?;
                // The run's folder, once its last target is gone.
                if let Some(run) = folder.parent() {
                    let _ = std::fs::remove_dir(run);
                }
            }
            Ok(())
        };
        Catalog::change(layout, remove, || Ok(()))
    }
}
