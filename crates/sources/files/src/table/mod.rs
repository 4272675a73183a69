//! A file of typed rows (Parquet, Arrow IPC).
//!
//! Rows to load are read as the values of the file ([`TypedReader`]): the converters use values of the target's own
//! types unchanged, and the text of all others. A rejected row is kept as a line of CSV, to be fixed and loaded again.
//! For a preview of a file, its rows are read as CSV text ([`TableText`]). Every value's text is exact
//! ([`Cells`](inrush_rows::typed_rows::Cells)). The plan decides which pairs of types would change a value; this module
//! returns the types of the fields.
//!
//! Such a file is cut at its row groups or record batches, whose positions are in the file's footer. A place in it is a
//! row number: it has neither lines nor bytes of text.
//!
//! This module and [`source_file`](super::source_file) need each other: the readers here use the [`SourceFile`], to
//! name it in errors and to check that it was not changed, and the file contains its [`TableFile`].

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

/// The mark at the beginning and end of Parquet files.
const PARQUET_MAGIC: &[u8] = b"PAR1";
/// The mark at the beginning and end of Arrow IPC files.
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
    /// The byte ranges that every group needs: dictionaries.
    shared: Vec<Range<u64>>,
    size_bytes: u64,
    footer: Footer,
}

/// The forms of files of typed rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableKind {
    /// Apache Parquet.
    Parquet,
    /// Arrow's IPC file format, which is also Feather's second version.
    Arrow,
}

/// A column of a file of typed rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableField {
    /// Its name.
    pub name: String,
    /// Its type; for a dictionary, the type of its values.
    pub data_type: DataType,
    /// True if its values are 16 bytes that are marked as a UUID.
    pub is_uuid: bool,
}

/// Rows that can be read independently.
#[derive(Clone, Debug, PartialEq, Eq)]
struct RowGroup {
    /// The position of its first byte in the file.
    start: u64,
    /// The position after its last byte.
    end: u64,
    /// The number of rows of the file before it.
    first_row: u64,
    row_count: u64,
    /// The number of bytes that it needs in memory, as far as the footer shows.
    decoded_bytes: u64,
}

/// The footer.
#[derive(Debug)]
enum Footer {
    Parquet(parquet::Footer),
    Arrow(ipc::Footer),
}

/// Batches of rows of some groups.
type Batches = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send>;

impl TableKind {
    /// The name in messages.
    pub fn name(self) -> &'static str {
        match self {
            TableKind::Parquet => "Parquet",
            TableKind::Arrow => "Arrow IPC",
        }
    }

    /// The kind by a file's name.
    fn of_name(path: &Path) -> Option<TableKind> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        match extension.as_str() {
            "parquet" | "pq" => Some(TableKind::Parquet),
            "arrow" | "feather" => Some(TableKind::Arrow),
            _ => None,
        }
    }

    /// The kind by a file's first and last bytes.
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
    /// True if its values can be written as text.
    pub fn is_readable(&self) -> bool {
        typed_rows::is_readable(&self.data_type)
    }
}

impl TableFile {
    /// Reads the footer of a file of typed rows; returns `None` for another kind of file. A file that has the name of
    /// such a file but other content is refused.
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

    /// The dialect of its rows as text: CSV with a header.
    pub fn dialect() -> Dialect {
        Dialect {
            header: true,
            ..Dialect::csv()
        }
    }

    /// The number of all rows.
    pub fn row_count(&self) -> u64 {
        self.groups.iter().map(|group| group.row_count).sum()
    }

    /// The most memory that reading one group needs.
    pub fn decoded_bytes_max(&self) -> u64 {
        let sizes = self.groups.iter().map(|group| group.decoded_bytes);
        sizes.max().unwrap_or(0)
    }

    /// Consecutive byte ranges that cover the whole file. Each contains whole groups, and has at least `wanted_bytes`
    /// except for the last. Bytes before the first group belong to the first range, bytes after the last group to the
    /// last.
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

    /// The digests for the rows of a range of [`ranges`](TableFile::ranges), group by group. They are the same as in
    /// the chunks of a [`RowReader`](super::RowReader), and represent the rows in a content hash.
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

    /// The groups that begin in a range of [`ranges`](TableFile::ranges).
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

/// The footer of a file, by kind.
struct Opened {
    fields: Vec<TableField>,
    groups: Vec<RowGroup>,
    shared: Vec<Range<u64>>,
    footer: Footer,
}

/// The first and the last bytes of a file.
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

/// The error for a file that has the name of a file of typed rows but other content.
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
            damaged(
                path,
                named,
                format!("its {end} bytes are not those of such a file"),
            )
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

/// The fields of a schema. Extension types are in the metadata of fields.
fn field_of(field: &arrow_schema::Field, is_uuid: bool) -> TableField {
    let data_type = match field.data_type() {
        DataType::Dictionary(_, values) => values.as_ref(),
        other => other,
    };
    // The layout of values in memory does not matter.
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

/// Sets the number of rows before each group.
fn with_first_rows(mut groups: Vec<RowGroup>) -> Vec<RowGroup> {
    let mut row = 0;
    for group in &mut groups {
        group.first_row = row;
        row += group.row_count;
    }
    groups
}

/// True if each group begins after the end of the previous one.
fn is_in_order(groups: &[RowGroup]) -> bool {
    groups.windows(2).all(|pair| pair[0].start < pair[1].start)
}
