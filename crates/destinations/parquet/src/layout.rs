//! The layout of a target's columns: which are in the files, and which are folders of partitions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, new_null_array};
use arrow_schema::{Field, Schema, SchemaRef};
use inrush_destination::{ColumnPlan, Error, Result, TargetPlan};
use inrush_rows::column_type::ColumnType;
use parquet::schema::types::{SchemaDescriptor, Type};

use crate::ledger::{StoredColumn, digest};
use crate::table::{Table, in_a_file};
use crate::{names, types};

/// The layout of a target's columns.
#[derive(Debug)]
pub(super) struct Layout {
    /// The columns in the files, in their order.
    pub(super) columns: Vec<FileColumn>,
    /// The partition columns, the outermost first.
    pub(super) partitions: Vec<FileColumn>,
    /// All columns of the table, as the generation file lists them.
    pub(super) stored: Vec<StoredColumn>,
    pub(super) arrow: SchemaRef,
    pub(super) parquet: SchemaDescriptor,
}

/// A column of a target.
#[derive(Clone, Debug)]
pub(super) struct FileColumn {
    pub(super) name: String,
    pub(super) column_type: ColumnType,
    pub(super) nullable: bool,
    /// Its index in the batches; `None` if the run does not fill it.
    pub(super) source: Option<usize>,
}

impl Layout {
    /// The layout for a target, which must match the existing table.
    pub(super) fn new(plan: &TargetPlan, table: Option<&Table>) -> Result<Layout> {
        refuse_columns_twice(plan)?;
        let columns = match table.filter(|table| !table.columns.is_empty()) {
            None => own_columns(plan),
            Some(table) => columns_of_table(plan, table)?,
        };
        let stored = columns
            .iter()
            .map(|column| StoredColumn {
                name: column.name.clone(),
                type_name: types::sql(&column.column_type),
                not_null: !column.nullable,
            })
            .collect();
        let (in_folders, in_files): (Vec<_>, Vec<_>) = columns
            .into_iter()
            .partition(|column| plan.partition_by.contains(&column.name));
        if in_files.is_empty() {
            return Err(unsuitable(
                plan,
                "no column is left for its files".to_owned(),
                "make partitions by fewer columns",
            ));
        }
        let names = plan.partition_by.iter();
        let partitions = names
            .map(|name| partition_column(plan, name, &in_folders))
            .collect::<Result<Vec<_>>>()?;
        let fields: Vec<Field> = in_files
            .iter()
            .map(|column| Field::new(&column.name, column.column_type.arrow(), column.nullable))
            .collect();
        let parquet_fields = in_files
            .iter()
            .map(|column| types::parquet_type(&column.name, &column.column_type, column.nullable))
            .collect::<Result<Vec<_>>>()?;
        let root = Type::group_type_builder("schema")
            .with_fields(parquet_fields)
            .build()
            .map_err(|error| unsuitable(plan, error.to_string(), "give the columns other names"))?;
        Ok(Layout {
            columns: in_files,
            partitions,
            stored,
            arrow: Arc::new(Schema::new(fields)),
            parquet: SchemaDescriptor::new(Arc::new(root)),
        })
    }

    /// A digest of the layout. Plans with the same digest can use each other's files.
    pub(super) fn digest(&self, plan: &TargetPlan) -> String {
        // The text has the form of a generation file. Its field names never change.
        let text = serde_json::to_string(&(&self.stored, &plan.partition_by))
            .expect("columns are texts and flags");
        digest(&[&plan.name.sql, &plan.shape, &text])
    }

    /// A batch with only the columns that are in files.
    pub(super) fn project(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let columns: Vec<ArrayRef> = self
            .columns
            .iter()
            .map(|column| match column.source {
                Some(place) => batch.column(place).clone(),
                None => new_null_array(&column.column_type.arrow(), batch.num_rows()),
            })
            .collect();
        RecordBatch::try_new(self.arrow.clone(), columns).map_err(|error| Error::Refused {
            doing: "taking a batch of rows".to_owned(),
            message: error.to_string(),
            hint: None,
        })
    }
}

/// The error for a target that cannot be a table of files.
fn unsuitable(plan: &TargetPlan, what: String, hint: &str) -> Error {
    Error::Unsuitable {
        what: format!("table {}: {what}", plan.name.sql),
        hint: hint.to_owned(),
    }
}

fn refuse_columns_twice(plan: &TargetPlan) -> Result<()> {
    let mut names: BTreeSet<&str> = BTreeSet::new();
    for column in &plan.columns {
        if !names.insert(&column.name) {
            return Err(unsuitable(
                plan,
                format!("column {:?} comes twice", column.name),
                "give each column its own name",
            ));
        }
    }
    Ok(())
}

/// The columns of a table that the load creates.
fn own_columns(plan: &TargetPlan) -> Vec<FileColumn> {
    let columns = plan.columns.iter().enumerate();
    let file_column = |(place, column): (usize, &ColumnPlan)| FileColumn {
        name: column.name.clone(),
        column_type: column.column_type.clone(),
        nullable: column.nullable,
        source: Some(place),
    };
    columns.map(file_column).collect()
}

/// The partition column with this name. Fails if its values cannot be folder names.
fn partition_column(
    plan: &TargetPlan,
    name: &str,
    in_folders: &[FileColumn],
) -> Result<FileColumn> {
    let Some(column) = in_folders.iter().find(|column| column.name == name) else {
        return Err(unsuitable(
            plan,
            format!("there is no column {name:?} to make partitions by"),
            "name columns of the table, each once",
        ));
    };
    if !names::may_name_partitions(name) {
        return Err(unsuitable(
            plan,
            format!("column {name:?} cannot be the name of folders ({name}=value)"),
            "give it a name without / \\ = % * ? [ ] { } and without . or _ at its beginning",
        ));
    }
    if !types::may_partition(&column.column_type) || column.source.is_none() {
        return Err(unsuitable(
            plan,
            format!(
                "values of column {name:?} ({}) cannot be the names of folders",
                types::sql(&column.column_type)
            ),
            "make partitions by a column of text, whole numbers, decimals, dates, timestamps, \
             booleans or uuid that the load fills",
        ));
    }
    Ok(column.clone())
}

/// The columns of an existing table, filled by the plan's columns with the same names.
fn columns_of_table(plan: &TargetPlan, table: &Table) -> Result<Vec<FileColumn>> {
    if table.partitioned_by != plan.partition_by {
        return Err(unsuitable(
            plan,
            format!(
                "it is partitioned by ({}), but the load asks for ({})",
                table.partitioned_by.join(", "),
                plan.partition_by.join(", ")
            ),
            "name the same columns in the same order, or load into a table of another name",
        ));
    }
    let names: BTreeSet<&str> = table.columns.iter().map(|it| it.name.as_str()).collect();
    let is_unknown = |column: &&ColumnPlan| !names.contains(column.name.as_str());
    if let Some(column) = plan.columns.iter().find(is_unknown) {
        return Err(unsuitable(
            plan,
            format!("it has no column {:?}", column.name),
            "a table has the columns of its files: leave the column out, or load into a new table",
        ));
    }
    let places = plan.columns.iter().enumerate();
    let places: BTreeMap<&str, usize> = places.map(|(at, it)| (it.name.as_str(), at)).collect();
    let mut columns = Vec::with_capacity(table.columns.len());
    for column in &table.columns {
        let Some(column_type) = &column.column_type else {
            return Err(unsuitable(
                plan,
                format!(
                    "column {:?} is {}, which cannot be written here",
                    column.name, column.sql
                ),
                "load into a new table",
            ));
        };
        let source = places.get(column.name.as_str()).copied();
        match source {
            None if column.not_null => {
                return Err(unsuitable(
                    plan,
                    format!(
                        "column {:?} is not nullable, and the load does not fill it",
                        column.name
                    ),
                    "fill it",
                ));
            }
            Some(place)
                if in_a_file(&plan.columns[place].column_type) != in_a_file(column_type) =>
            {
                return Err(unsuitable(
                    plan,
                    format!(
                        "column {:?} is {} in the table, but {} in the load",
                        column.name, column.sql, plan.columns[place].sql
                    ),
                    "give it the type that it has in the table, or load into a new table",
                ));
            }
            _ => {}
        }
        columns.push(FileColumn {
            name: column.name.clone(),
            // Batches have the plan's type. Files store the types of plan and table in the same way.
            column_type: source
                .map_or(column_type, |place| &plan.columns[place].column_type)
                .clone(),
            nullable: !column.not_null,
            source,
        });
    }
    Ok(columns)
}
