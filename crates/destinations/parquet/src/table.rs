//! Existing tables: their files, and the footers of the files.

use std::fs::File;
use std::path::{Path, PathBuf};

use inrush_destination::{Error, Result, TargetColumn, TargetFacts};
use inrush_rows::column_type::ColumnType;
use parquet::basic::Repetition;
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};
use parquet::schema::types::Type;

use crate::files;
use crate::ledger::{GENERATION, Generation, Root};
use crate::{names, types};

/// A table that exists.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) generation: Option<Generation>,
    /// Files with rows, by their paths.
    pub(super) files: Vec<TableFile>,
    /// Files that readers ignore; they stay with the table.
    pub(super) others: Vec<PathBuf>,
    /// Its columns, including partition columns.
    pub(super) columns: Vec<TableColumn>,
    pub(super) partitioned_by: Vec<String>,
    pub(super) obstacle: Option<(String, String)>,
    pub(super) notes: Vec<String>,
}

/// A file of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TableFile {
    /// Its path, relative to the table's folder.
    pub(super) path: PathBuf,
    /// The folder of its partition; empty without partitions.
    pub(super) partition: String,
    pub(super) rows: u64,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TableColumn {
    pub(super) name: String,
    pub(super) sql: String,
    pub(super) column_type: Option<ColumnType>,
    pub(super) not_null: bool,
}

impl Table {
    /// Reads the table; `None` if there is none.
    pub(super) fn read(root: &Root, path: &Path) -> Result<Option<Table>> {
        let folder = root.folder().join(path);
        let metadata = match std::fs::symlink_metadata(&folder) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::file("cannot look at", &folder)(error)),
        };
        let mut table = Table {
            generation: None,
            files: Vec::new(),
            others: Vec::new(),
            columns: Vec::new(),
            partitioned_by: Vec::new(),
            obstacle: None,
            notes: Vec::new(),
        };
        if !metadata.is_dir() {
            table.obstacle = Some((
                format!("{} is not a folder", folder.display()),
                "a table is a separate folder that a new folder replaces: give the table another \
                 name or, if this is a link, name the folder itself"
                    .to_owned(),
            ));
            return Ok(Some(table));
        }
        table.generation = root.generation(path)?;
        let mut walk = Walk {
            folder: &folder,
            table: &mut table,
        };
        walk.folder("", &mut Vec::new())?;
        if table.files.is_empty() && table.others.is_empty() && table.obstacle.is_none() {
            return Ok(None);
        }
        table.read_footers(&folder)?;
        table.take_stored_columns();
        Ok(Some(table))
    }

    /// The number of its rows.
    pub(super) fn rows(&self) -> u64 {
        self.files.iter().map(|file| file.rows).sum()
    }

    /// The table as the contract of destinations describes it.
    pub(super) fn facts(self) -> TargetFacts {
        TargetFacts {
            has_rows: self.rows() > 0,
            columns: self
                .columns
                .into_iter()
                .map(|column| TargetColumn {
                    name: column.name,
                    sql: column.sql,
                    column_type: column.column_type,
                    not_null: column.not_null,
                    has_default: false,
                    generated: false,
                })
                .collect(),
            partitioned_by: self.partitioned_by,
            takes_new_bounds: false,
            obstacle: self.obstacle,
            notes: self.notes,
        }
    }

    /// Reads the columns and rows in each file's footer; all must have the same columns.
    fn read_footers(&mut self, folder: &Path) -> Result<()> {
        let mut first: Option<(PathBuf, Vec<TableColumn>)> = None;
        for file in &mut self.files {
            let path = folder.join(&file.path);
            let footer = match footer(&path) {
                Ok(footer) => footer,
                Err(error @ Error::File { .. }) => return Err(error),
                Err(error) => {
                    self.obstacle.get_or_insert((
                        error.to_string(),
                        "a table's folder may contain only complete Parquet files: move it away"
                            .to_owned(),
                    ));
                    continue;
                }
            };
            file.rows = row_count(&footer);
            let columns = footer
                .file_metadata()
                .schema_descr()
                .root_schema()
                .get_fields()
                .iter()
                .map(|column| TableColumn::of(column))
                .collect::<Vec<_>>();
            match &mut first {
                None => first = Some((file.path.clone(), columns)),
                Some((_, known)) if agree(known, &columns) => {
                    for (known, column) in known.iter_mut().zip(&columns) {
                        known.not_null &= column.not_null;
                    }
                }
                Some((path, known)) => {
                    let difference = difference(known, &columns);
                    self.obstacle.get_or_insert((
                        format!(
                            "the files of {} do not have the same columns: {difference}, in {} and {}",
                            folder.display(),
                            path.display(),
                            file.path.display()
                        ),
                        "rewrite the older files with the columns of the newer ones, or move them away"
                            .to_owned(),
                    ));
                }
            }
        }
        self.columns = first.map(|(_, columns)| columns).unwrap_or_default();
        for name in &self.partitioned_by {
            if self.columns.iter().any(|column| column.name == *name) {
                self.obstacle.get_or_insert((
                    format!(
                        "the files of {} have a column {name:?}, which is also one of its partitions",
                        folder.display()
                    ),
                    "rewrite the files without this column".to_owned(),
                ));
                continue;
            }
            self.columns.push(TableColumn {
                name: name.clone(),
                sql: "text".to_owned(),
                column_type: Some(ColumnType::Text {
                    characters_max: None,
                    blank_padded: false,
                }),
                not_null: false,
            });
        }
        Ok(())
    }

    /// The generation file describes columns more precisely than the Parquet files: types of partition columns,
    /// lengths, and the order. It is used as long as the Parquet files do not contradict it.
    fn take_stored_columns(&mut self) {
        let Some(generation) = &self.generation else {
            return;
        };
        if generation.partitioned_by != self.partitioned_by
            || generation.columns.len() != self.columns.len()
        {
            return;
        }
        let mut columns = Vec::with_capacity(self.columns.len());
        for stored in &generation.columns {
            let found = self
                .columns
                .iter()
                .find(|column| column.name == stored.name);
            let (Some(found), Ok(resolved)) = (found, types::resolve(&stored.type_name)) else {
                return;
            };
            let in_files = !self.partitioned_by.contains(&stored.name);
            if in_files && found.column_type != in_a_file(&resolved.column_type) {
                return;
            }
            columns.push(TableColumn {
                name: stored.name.clone(),
                sql: resolved.sql,
                column_type: Some(resolved.column_type),
                not_null: match in_files {
                    true => found.not_null,
                    false => stored.not_null,
                },
            });
        }
        self.columns = columns;
    }
}

impl TableColumn {
    fn of(column: &Type) -> TableColumn {
        let (column_type, sql) = types::column_type(column);
        TableColumn {
            name: column.name().to_owned(),
            sql,
            column_type,
            not_null: column.get_basic_info().repetition() == Repetition::REQUIRED,
        }
    }
}

/// The type that a reader of the file alone sees for a column of this type.
pub(super) fn in_a_file(column_type: &ColumnType) -> Option<ColumnType> {
    let column = types::parquet_type("column", column_type, true).ok()?;
    types::column_type(&column).0
}

fn agree(left: &[TableColumn], right: &[TableColumn]) -> bool {
    left.len() == right.len()
        && left
            .iter()
            .zip(right)
            .all(|(left, right)| left.name == right.name && left.sql == right.sql)
}

fn difference(left: &[TableColumn], right: &[TableColumn]) -> String {
    let say = |column: Option<&TableColumn>| match column {
        Some(column) => format!("{:?} {}", column.name, column.sql),
        None => "none".to_owned(),
    };
    let places = left.len().max(right.len());
    (0..places)
        .map(|place| (place, left.get(place), right.get(place)))
        .find(|(_, left, right)| match (left, right) {
            (Some(left), Some(right)) => left.name != right.name || left.sql != right.sql,
            _ => true,
        })
        .map(|(place, left, right)| {
            format!("column {} is {} and {}", place + 1, say(left), say(right))
        })
        .unwrap_or_default()
}

/// The footer of a file.
pub(super) fn footer(path: &Path) -> Result<ParquetMetaData> {
    let file = File::open(path).map_err(Error::file("cannot open", path))?;
    ParquetMetaDataReader::new()
        .parse_and_finish(&file)
        .map_err(|error| Error::Refused {
            doing: format!("reading the end of {}", path.display()),
            message: error.to_string(),
            hint: Some("it is not a Parquet file, or was cut off while it was written".to_owned()),
        })
}

/// The number of rows of a file, by its row groups.
pub(super) fn row_count(footer: &ParquetMetaData) -> u64 {
    footer
        .row_groups()
        .iter()
        .map(|group| u64::try_from(group.num_rows()).unwrap_or(0))
        .sum()
}

/// A walk through a table's folder.
struct Walk<'a> {
    folder: &'a Path,
    table: &'a mut Table,
}

impl Walk<'_> {
    /// Reads a partition's folder; `columns` are the partition columns in its path.
    fn folder(&mut self, partition: &str, columns: &mut Vec<String>) -> Result<()> {
        let folder = self.folder.join(partition);
        let mut has_files = false;
        for path in files::list(&folder)? {
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
                self.object(
                    format!("the name of {} is not UTF-8", path.display()),
                    "give it another name",
                );
                continue;
            };
            let below = match partition {
                "" => name.to_owned(),
                partition => format!("{partition}/{name}"),
            };
            let hidden = name.starts_with(['_', '.']);
            if !path.is_dir() {
                match (hidden, name) {
                    (true, GENERATION) if partition.is_empty() => {}
                    // One file with all footers, as Spark once wrote it, would lack the new files.
                    (true, "_metadata" | "_common_metadata") => self.table.notes.push(format!(
                        "{} describes only the old files, and is removed",
                        path.display()
                    )),
                    (true, _) => self.table.others.push(PathBuf::from(below)),
                    (false, _) => {
                        has_files = true;
                        self.table.files.push(TableFile {
                            path: PathBuf::from(below),
                            partition: partition.to_owned(),
                            rows: 0,
                        });
                    }
                }
                continue;
            }
            if name == "_delta_log"
                || name == ".hoodie"
                || (name == "metadata" && is_iceberg(&path))
            {
                self.object(
                    format!(
                        "{} is a table of Delta Lake, Hudi or Iceberg, whose log would not have the new files",
                        self.folder.display()
                    ),
                    "load into a folder of plain Parquet files, and import them into the table from there",
                );
                continue;
            }
            if hidden {
                self.object(
                    format!(
                        "{} is a folder of another program in a table",
                        path.display()
                    ),
                    "move it away, or give the table another name",
                );
                continue;
            }
            match names::partition_column(name) {
                Some(column) => {
                    columns.push(column.to_owned());
                    self.folder(&below, columns)?;
                    columns.pop();
                }
                None => self.object(
                    format!(
                        "{} is a folder in a table, but not a partition (column=value)",
                        path.display()
                    ),
                    "a table contains files and partition folders: give the table, or the schema \
                     of that name, another name",
                ),
            }
        }
        if has_files {
            self.take_partitioning(partition, columns);
        }
        Ok(())
    }

    /// All files must be partitioned by the same columns.
    fn take_partitioning(&mut self, partition: &str, columns: &[String]) {
        let is_first = self
            .table
            .files
            .iter()
            .all(|file| file.partition == partition);
        if is_first {
            self.table.partitioned_by = columns.to_vec();
        } else if self.table.partitioned_by != columns {
            self.object(
                format!(
                    "the files of {} are partitioned by ({}), but those in {partition:?} by ({})",
                    self.folder.display(),
                    self.table.partitioned_by.join(", "),
                    columns.join(", ")
                ),
                "move the files that do not belong to the table away",
            );
        }
    }

    fn object(&mut self, what: String, hint: &str) {
        self.table.obstacle.get_or_insert((what, hint.to_owned()));
    }
}

/// True if this is the metadata folder of an Iceberg table.
fn is_iceberg(path: &Path) -> bool {
    files::list(path).is_ok_and(|paths| {
        paths
            .iter()
            .any(|path| path.to_string_lossy().ends_with(".metadata.json"))
    })
}
