//! One Parquet file, from its first row group to its footer.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use inrush_destination::{Error, Result};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::errors::ParquetError;
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
use parquet::schema::types::ColumnPath;

use crate::encoding::{self, DICTIONARY_BYTES_MAX};
use crate::layout::Layout;
use crate::options::Options;
use crate::table;
use crate::write_back;

/// A file that is being written.
pub(super) struct DataFile {
    writer: ArrowWriter<Sink>,
    path: PathBuf,
}

impl DataFile {
    /// Creates the file. `sample` has the first rows; a row group has `rows` rows.
    pub(super) fn create(
        path: PathBuf,
        layout: &Layout,
        options: &Options,
        sample: &[RecordBatch],
        rows: usize,
    ) -> Result<DataFile> {
        let sink = Sink::create(&path).map_err(Error::file("cannot write", &path))?;
        let properties = properties(layout, options, sample, rows);
        let writer = ArrowWriter::try_new_with_options(
            sink,
            Arc::clone(&layout.arrow),
            ArrowWriterOptions::new()
                .with_properties(properties)
                .with_parquet_schema(layout.parquet.clone())
                // The metadata would describe our internal form of texts, which readers do not need.
                .with_skip_arrow_metadata(true),
        )
        .map_err(|error| refused(&path, error))?;
        Ok(DataFile { writer, path })
    }

    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.writer
            .write(batch)
            .map_err(|error| refused(&self.path, error))
    }

    /// Ends the row group, and closes the file handle until more is written.
    pub(super) fn rest(&mut self) -> Result<()> {
        self.writer
            .flush()
            .map_err(|error| refused(&self.path, error))?;
        self.writer.inner_mut().file = None;
        Ok(())
    }

    /// Bytes that are written, without the current row group.
    pub(super) fn bytes_written(&self) -> u64 {
        self.writer.bytes_written() as u64
    }

    /// Writes the footer and flushes the file (`fsync`). Returns the number of rows in the footer, and the file's size.
    pub(super) fn close(self) -> Result<(u64, u64)> {
        self.writer
            .close()
            .map_err(|error| refused(&self.path, error))?;
        File::open(&self.path)
            .and_then(|file| file.sync_all())
            .map_err(Error::file("cannot make lasting", &self.path))?;
        measure(&self.path)
    }

    /// Closes the file and removes it.
    pub(super) fn discard(self) -> Result<()> {
        let DataFile { writer, path } = self;
        drop(writer);
        fs::remove_file(&path).map_err(Error::file("cannot remove", &path))
    }
}

/// After this many bytes the system is asked to write them to the disk.
const WRITE_BACK_BYTES: u64 = 4 << 20;

/// The file that takes the bytes; it is opened again after a pause.
struct Sink {
    path: PathBuf,
    file: Option<File>,
    written: u64,
    /// Bytes that the system was asked to write.
    begun: u64,
}

impl Sink {
    fn create(path: &Path) -> io::Result<Sink> {
        Ok(Sink {
            path: path.to_owned(),
            file: Some(File::create_new(path)?),
            written: 0,
            begun: 0,
        })
    }

    /// Starts writing to the disk while rows are encoded, so that the final flush has little left to do.
    fn begin_write_back(&mut self) {
        if self.written - self.begun < WRITE_BACK_BYTES {
            return;
        }
        if let Some(file) = &self.file {
            write_back::begin(file, self.begun..self.written);
        }
        self.begun = self.written;
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(OpenOptions::new().append(true).open(&self.path)?),
        };
        let count = file.write(bytes)?;
        self.written += count as u64;
        self.begin_write_back();
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The number of rows in the footer of a file, and the file's size in bytes.
pub(super) fn measure(path: &Path) -> Result<(u64, u64)> {
    let rows = table::row_count(&table::footer(path)?);
    let metadata = fs::metadata(path).map_err(Error::file("cannot look at", path))?;
    Ok((rows, metadata.len()))
}

/// An error of the writer, with the system's own error if there is one.
fn refused(path: &Path, error: ParquetError) -> Error {
    match error {
        ParquetError::External(source) => match source.downcast::<std::io::Error>() {
            Ok(source) => Error::file("cannot write", path)(*source),
            Err(source) => told(path, source.to_string()),
        },
        other => told(path, other.to_string()),
    }
}

fn told(path: &Path, message: String) -> Error {
    Error::Refused {
        doing: format!("writing {}", path.display()),
        message,
        hint: None,
    }
}

fn properties(
    layout: &Layout,
    options: &Options,
    sample: &[RecordBatch],
    rows: usize,
) -> WriterProperties {
    let mut properties = WriterProperties::builder()
        .set_compression(options.compression)
        .set_max_row_group_row_count(Some(options.row_group_rows))
        .set_max_row_group_bytes(Some(options.row_group_bytes_max))
        .set_dictionary_enabled(options.dictionary)
        .set_dictionary_page_size_limit(DICTIONARY_BYTES_MAX)
        .set_statistics_enabled(options.statistics)
        .set_created_by(format!(
            "inrush version {} (build parquet-rs)",
            env!("CARGO_PKG_VERSION")
        ));
    let dictionaries = match options.dictionary {
        true => encoding::dictionaries(sample, rows),
        false => Vec::new(),
    };
    for (place, column) in layout.columns.iter().enumerate() {
        let path = ColumnPath::new(vec![column.name.clone()]);
        if dictionaries.get(place) == Some(&false) {
            properties = properties.set_column_dictionary_enabled(path.clone(), false);
        }
        if let Some(encoding) = encoding::fallback(&column.column_type, options.encodings) {
            properties = properties.set_column_encoding(path.clone(), encoding);
        }
        if options.bloom_filters.contains(&column.name) {
            properties = bloom_filter(properties, path, options);
        }
    }
    properties.build()
}

fn bloom_filter(
    properties: WriterPropertiesBuilder,
    path: ColumnPath,
    options: &Options,
) -> WriterPropertiesBuilder {
    properties
        .set_column_bloom_filter_enabled(path.clone(), true)
        .set_column_bloom_filter_max_ndv(path, options.row_group_rows as u64)
}
