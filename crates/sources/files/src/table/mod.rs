//! A file of typed rows (Parquet, Arrow IPC).
//!
//! Rows to load are read as the values of the file ([`TypedReader`]): the converters take values of the
//! target's own types unchanged, and the text of all others; a row that does not fit is kept as a line of
//! CSV, to be fixed and loaded again. For a look at a file its rows are read as CSV text
//! ([`TableText`]).
//! Every value's text is exact ([`Cells`](inrush_rows::typed_rows::Cells)). The plan decides which pairs of types would change
//! a value; here the fields tell their types.
//!
//! Such a file is cut at its row groups, or record batches, each of which is found through the file's
//! footer. A place in it is the number of a row: it has neither lines nor bytes of text.
//!
//! This module and [`source_file`](super::source_file) need each other: the readers here take the [`SourceFile`], to name
//! it in errors and to check that nobody wrote to it, and the file holds its [`TableFile`].

mod content;
mod guard;
mod ipc;
mod joined;
mod parquet;
mod places;
mod row_batches;
mod text;
mod typed;

#[cfg(test)]
mod footer_tests;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, DataType};
use guard::guarded;
use inrush_rows::typed_rows;
use inrush_scan::Dialect;
use inrush_source::SourceError;

use super::source_file::SourceFile;

pub(super) use content::TableContent;
pub(super) use text::TableText;
pub(super) use typed::TypedReader;

/// What Parquet files begin and end with.
const PARQUET_MAGIC: &[u8] = b"PAR1";
/// What Arrow IPC files begin and end with.
const ARROW_MAGIC: &[u8] = b"ARROW1";

/// A file of typed rows.
#[derive(Debug)]
pub struct TableFile {
    /// Its form.
    pub kind: TableKind,
    /// Its columns, in order.
    pub fields: Vec<TableField>,
    /// Its row groups, or record batches, in order.
    groups: Vec<RowGroup>,
    /// Bytes that all groups are read with: dictionaries.
    shared: Vec<Range<u64>>,
    size_bytes: u64,
    footer: Footer,
}

/// The forms of files of typed rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableKind {
    /// Apache Parquet.
    Parquet,
    /// Arrow's IPC file format, which is Feather's second version too.
    Arrow,
}

/// A column of a file of typed rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableField {
    /// Its name.
    pub name: String,
    /// Its type, a dictionary's values' in place of the dictionary.
    pub data_type: DataType,
    /// 16 bytes that are marked as a UUID.
    pub is_uuid: bool,
}

/// Rows that can be read by themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
struct RowGroup {
    /// Where it begins in the file.
    start: u64,
    /// Where the last of its bytes stands before.
    end: u64,
    /// Rows of the file before it.
    first_row: u64,
    row_count: u64,
    /// Bytes that it takes in memory, as far as the footer tells.
    decoded_bytes: u64,
}

/// What was read of the file's end.
#[derive(Debug)]
enum Footer {
    Parquet(parquet::Footer),
    Arrow(ipc::Footer),
}

/// Batches of rows of some groups.
type Batches = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send>;

impl TableKind {
    /// As a person calls it.
    pub fn name(self) -> &'static str {
        match self {
            TableKind::Parquet => "Parquet",
            TableKind::Arrow => "Arrow IPC",
        }
    }

    /// The kind that a file's name tells.
    fn of_name(path: &Path) -> Option<TableKind> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        match extension.as_str() {
            "parquet" | "pq" => Some(TableKind::Parquet),
            "arrow" | "feather" => Some(TableKind::Arrow),
            _ => None,
        }
    }

    /// The kind that a file's first and last bytes tell.
    fn of_bytes(first: &[u8], last: &[u8]) -> Option<TableKind> {
        let both = |magic: &[u8]| first.starts_with(magic) && last.ends_with(magic);
        if both(PARQUET_MAGIC) {
            Some(TableKind::Parquet)
        } else if both(ARROW_MAGIC) {
            Some(TableKind::Arrow)
        } else {
            None
        }
    }
}

impl TableField {
    /// Whether its values can be written as text.
    pub fn is_readable(&self) -> bool {
        typed_rows::is_readable(&self.data_type)
    }
}

impl TableFile {
    /// Reads the end of a file of typed rows; nothing where it is another kind of file. One whose name
    /// says that it is one, and whose bytes do not, is refused.
    pub(super) fn open(path: &Path) -> Result<Option<TableFile>, SourceError> {
        let unreadable = |cause| SourceError::Unreadable {
            path: path.to_path_buf(),
            cause,
        };
        let mut file = File::open(path).map_err(unreadable)?;
        let size_bytes = file.metadata().map_err(unreadable)?.len();
        let (first, last) = ends(&mut file, size_bytes).map_err(unreadable)?;
        let named = TableKind::of_name(path);
        let Some(kind) = TableKind::of_bytes(&first, &last) else {
            return match named {
                None => Ok(None),
                Some(named) => Err(not_one(path, named, &first)),
            };
        };
        let read = || match kind {
            TableKind::Parquet => parquet::open(&file),
            TableKind::Arrow => ipc::open(&file),
        };
        let opened = guarded(read).map_err(|reason| damaged(path, kind, reason))?;
        if opened.fields.is_empty() {
            return Err(SourceError::TableKind {
                path: path.to_path_buf(),
                what: "the file has no columns, so it has no values to load",
                mend: "write it again with columns, or name another file",
            });
        }
        Ok(Some(TableFile {
            kind,
            fields: opened.fields,
            groups: opened.groups,
            shared: opened.shared,
            size_bytes,
            footer: opened.footer,
        }))
    }

    /// How its rows are written: as CSV with a header.
    pub fn dialect() -> Dialect {
        Dialect {
            header: true,
            ..Dialect::csv()
        }
    }

    /// Rows in all.
    pub fn row_count(&self) -> u64 {
        self.groups.iter().map(|group| group.row_count).sum()
    }

    /// The most memory that reading one of its groups takes.
    pub fn decoded_bytes_max(&self) -> u64 {
        let sizes = self.groups.iter().map(|group| group.decoded_bytes);
        sizes.max().unwrap_or(0)
    }

    /// Ranges of the file's bytes that follow each other from its first to its last, each of which holds
    /// whole groups and has `wanted_bytes` at least, but for the last. What stands before the first group
    /// belongs to it, what stands behind the last one to that.
    pub(super) fn ranges(&self, wanted_bytes: u64) -> Vec<Range<u64>> {
        let mut ranges = Vec::new();
        let mut start = 0;
        for group in self.groups.iter().skip(1) {
            if group.start >= start + wanted_bytes {
                ranges.push(start..group.start);
                start = group.start;
            }
        }
        ranges.push(start..self.size_bytes);
        ranges
    }

    /// What stands for the rows of a range of [`ranges`](TableFile::ranges) in a hash of what was read, as
    /// the chunks of a [`RowReader`](super::RowReader) have it, group by group.
    pub fn digests(
        file: &Arc<SourceFile>,
        table: &Arc<TableFile>,
        range: &Range<u64>,
    ) -> Result<impl Iterator<Item = Result<Vec<u8>, SourceError>>, SourceError> {
        let mut content = TableContent::open(file, table, range)?;
        Ok(std::iter::from_fn(move || {
            let mut digest = Vec::new();
            let next = content.append_next(&mut digest);
            next.map(|is_one| is_one.then_some(digest)).transpose()
        }))
    }

    /// Which groups begin in a range of [`ranges`](TableFile::ranges).
    fn groups_in(&self, range: &Range<u64>) -> Range<usize> {
        let index = |place: u64| match place {
            0 => 0,
            place if place == self.size_bytes => self.groups.len(),
            place => self.groups.partition_point(|group| group.start < place),
        };
        index(range.start)..index(range.end)
    }

    /// The rows of groups, a few at a time.
    fn batches(
        &self,
        file: File,
        groups: Range<usize>,
        batch_rows: usize,
    ) -> Result<Batches, String> {
        guarded(|| match &self.footer {
            Footer::Parquet(footer) => footer.batches(file, groups, batch_rows),
            Footer::Arrow(footer) => footer.batches(file, groups, batch_rows),
        })
    }
}

impl PartialEq for TableFile {
    fn eq(&self, other: &TableFile) -> bool {
        (self.kind, &self.fields, &self.groups) == (other.kind, &other.fields, &other.groups)
    }
}

/// What the end of a file told.
struct Opened {
    fields: Vec<TableField>,
    groups: Vec<RowGroup>,
    shared: Vec<Range<u64>>,
    footer: Footer,
}

/// The first bytes of a file and its last ones.
fn ends(file: &mut File, size_bytes: u64) -> std::io::Result<(Vec<u8>, Vec<u8>)> {
    let most = ARROW_MAGIC.len() as u64;
    let mut first = Vec::new();
    (&mut *file).take(most).read_to_end(&mut first)?;
    file.seek(SeekFrom::Start(size_bytes.saturating_sub(most)))?;
    let mut last = Vec::new();
    (&mut *file).take(most).read_to_end(&mut last)?;
    file.rewind()?;
    Ok((first, last))
}

/// What a file is that has the name of one and is none.
fn not_one(path: &Path, named: TableKind, first: &[u8]) -> SourceError {
    let other = |what, mend| SourceError::TableKind {
        path: path.to_path_buf(),
        what,
        mend,
    };
    match first {
        [b'P', b'A', b'R', b'E', ..] => other(
            "an encrypted Parquet file, for which Inrush has no key",
            "write it again without encryption",
        ),
        [b'F', b'E', b'A', b'1', ..] => other(
            "a file of Feather's first version",
            "write it again as version 2, which is Arrow's IPC file format",
        ),
        [0xff, 0xff, 0xff, 0xff, ..] if named == TableKind::Arrow => other(
            "Arrow's stream format, which has no footer to find its rows by",
            "write it again in Arrow's file format",
        ),
        _ => {
            let magic = match named {
                TableKind::Parquet => PARQUET_MAGIC,
                TableKind::Arrow => ARROW_MAGIC,
            };
            let end = match first.starts_with(magic) {
                true => "last",
                false => "first",
            };
            damaged(path, named, format!("its {end} bytes are not those of one"))
        }
    }
}

fn damaged(path: &Path, kind: TableKind, reason: String) -> SourceError {
    if reason == parquet::ENCRYPTED {
        return SourceError::TableKind {
            path: path.to_path_buf(),
            what: "a Parquet file with encrypted columns, for which Inrush has no key",
            mend: "write it again without encryption",
        };
    }
    if reason == joined::JOINED {
        return SourceError::TableKind {
            path: path.to_path_buf(),
            what: "several files of typed rows that were joined into one (cat a.parquet b.parquet), of which only the \
                   last has a footer where readers look for it",
            mend: "load the files one by one, as they were before they were joined",
        };
    }
    let lower = reason.to_lowercase();
    if lower.contains("utf-8") || lower.contains("utf8") {
        return SourceError::TableKind {
            path: path.to_path_buf(),
            what: "a file with a string that is not valid UTF-8, at an unknown place",
            mend: "write it again with valid strings, or with that column as binary",
        };
    }
    SourceError::Table {
        path: path.to_path_buf(),
        kind: kind.name(),
        reason,
    }
}

/// The fields of a schema. Marks of types are found in their metadata.
fn field_of(field: &arrow_schema::Field, is_uuid: bool) -> TableField {
    let data_type = match field.data_type() {
        DataType::Dictionary(_, values) => values.as_ref(),
        other => other,
    };
    // How values are laid out in memory is nobody's matter.
    let data_type = match data_type {
        DataType::LargeUtf8 | DataType::Utf8View => DataType::Utf8,
        DataType::LargeBinary | DataType::BinaryView => DataType::Binary,
        other => other.clone(),
    };
    let marked = field
        .metadata()
        .get("ARROW:extension:name")
        .is_some_and(|name| name == "arrow.uuid");
    TableField {
        name: field.name().clone(),
        is_uuid: (is_uuid || marked) && data_type == DataType::FixedSizeBinary(16),
        data_type,
    }
}

/// Notes how many rows stand before each group.
fn with_first_rows(mut groups: Vec<RowGroup>) -> Vec<RowGroup> {
    let mut row = 0;
    for group in &mut groups {
        group.first_row = row;
        row += group.row_count;
    }
    groups
}

/// Whether each group begins behind the one before.
fn is_in_order(groups: &[RowGroup]) -> bool {
    groups.windows(2).all(|pair| pair[0].start < pair[1].start)
}
