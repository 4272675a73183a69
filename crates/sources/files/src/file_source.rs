//! Files as a source: each file an input, its byte ranges the splits.

use std::ops::Range;
use std::sync::Arc;

use inrush_rows::plural::counted;
use inrush_scan::Dialect;
use inrush_source::{
    FirstRow, Input, PART_BYTES, ReadSettings, ShareSettings, SharedSplit, Source, SourceColumn,
    SourceError, SourceSplit, SourceStream, SplitContent,
};

use super::file_stream::{FileStream, SourceFiles};
use super::first_record::needs_place;
use super::last_record::last_field;
use super::pieces::pieces_of;
use super::preview::Preview;
use super::same_content::has_same_content;
use super::shared_file::share_file;
use super::source_file::SourceFile;
use super::split::Split;
use super::split_facts::SplitFacts;
use super::split_starts::first_records;

/// Files in one format, whose rows have the same fields.
#[derive(Debug)]
pub struct FileSource {
    files: Vec<Arc<SourceFile>>,
    form: Arc<FileForm>,
}

/// The format of a flow's files, and what each file must begin and end with.
#[derive(Clone, Debug)]
pub struct FileForm {
    /// How records and fields are written.
    pub dialect: Dialect,
    /// The header that each file must have.
    pub header: Option<Vec<String>>,
    /// The beginning of the last record of a file, if that record is a trailer and not a row.
    pub trailer_starts_with: Option<String>,
    /// The number of bytes of text in each part of a shared file.
    pub part_bytes: usize,
}

impl FileForm {
    /// The form of files without trailers, whose header is not known.
    pub fn new(dialect: Dialect) -> FileForm {
        FileForm {
            dialect,
            header: None,
            trailer_starts_with: None,
            part_bytes: PART_BYTES,
        }
    }

    /// Refuses a file whose header differs from the header of the first file, because the columns were matched by that
    /// header.
    pub(super) fn check_header(
        &self,
        file: &SourceFile,
        found: Option<&[String]>,
    ) -> Result<(), SourceError> {
        match (found, &self.header) {
            (Some(found), Some(expected)) if found != expected.as_slice() => {
                Err(SourceError::HeaderDiffers {
                    path: file.path.to_path_buf(),
                    found: found.join(", "),
                    expected: expected.join(", "),
                })
            }
            _ => Ok(()),
        }
    }

    pub(super) fn facts(&self) -> SplitFacts {
        SplitFacts::new(self.trailer_starts_with.as_deref())
    }
}

impl FileSource {
    /// All files that were [found](super::resolve) together. Either all are text, or all have the same typed columns.
    ///
    /// # Panics
    ///
    /// If there is no file, or if the files are not in the order in which they were found.
    pub fn new(mut files: Vec<Arc<SourceFile>>, form: FileForm) -> FileSource {
        // A list that was collected in place keeps the memory of the longer list from which it was made.
        files.shrink_to_fit();
        assert!(!files.is_empty(), "a source of files has a file");
        let mut numbered = files.iter().zip(0..);
        assert!(
            numbered.all(|(file, index)| file.index == index),
            "a source has all files that were found, in their order"
        );
        FileSource {
            files,
            form: Arc::new(form),
        }
    }

    pub(super) fn split_of(&self, split: &SourceSplit) -> Split {
        Split::of(Arc::clone(&self.files[split.input]), split.clone())
    }

    /// The names in the header of the first file that has one.
    fn header_names(&self) -> Result<Vec<String>, SourceError> {
        if let Some(header) = &self.form.header {
            return Ok(header.clone());
        }
        if self.form.dialect.header {
            for file in &self.files {
                if let Some(header) = Preview::read(file, &self.form.dialect, 1)?.header {
                    return Ok(header);
                }
            }
        }
        Ok(Vec::new())
    }
}

impl Source for FileSource {
    fn describe(&self) -> String {
        let first = self.files[0].path.display();
        match self.files.len() {
            1 => format!("the file {first}"),
            count => format!("{}, the first one {first}", counted(count as u64, "file")),
        }
    }

    fn columns(&self) -> Result<Vec<SourceColumn>, SourceError> {
        let text = |name| SourceColumn {
            name,
            data_type: None,
            is_uuid: false,
            native: None,
            declared: None,
        };
        let Some(table) = self.files[0].table() else {
            return Ok(self.header_names()?.into_iter().map(text).collect());
        };
        let fields = table.fields.iter().map(|field| SourceColumn {
            name: field.name.clone(),
            data_type: Some(field.data_type.clone()),
            is_uuid: field.is_uuid,
            native: None,
            declared: None,
        });
        Ok(fields.collect())
    }

    fn input_count(&self) -> usize {
        self.files.len()
    }

    fn input(&self, index: usize) -> Arc<dyn Input> {
        self.files[index].clone()
    }

    fn whole(&self, input: usize) -> SourceSplit {
        Split::whole(Arc::clone(&self.files[input])).in_source()
    }

    fn splits(&self, input: usize, wanted_bytes: u64) -> Result<Vec<SourceSplit>, SourceError> {
        let whole = Split::whole(Arc::clone(&self.files[input]));
        let pieces = pieces_of(&whole, wanted_bytes.clamp(1, 1 << 62))?;
        Ok(pieces.iter().map(Split::in_source).collect())
    }

    fn needs_locate(&self, input: usize) -> bool {
        // The file's footer has the positions of row groups.
        self.files[input].table().is_none() && needs_place(&self.form.dialect)
    }

    fn locate(&self, splits: &mut [SourceSplit], threads: usize) -> Result<(), SourceError> {
        let [first, _, ..] = splits else {
            return Ok(());
        };
        let file = &self.files[first.input];
        if !self.needs_locate(first.input) {
            return Ok(());
        }
        let ranges: Vec<Range<u64>> = splits.iter().map(|split| split.range.clone()).collect();
        let starts = first_records(file, &self.form.dialect, &ranges, threads, file.stop())?;
        let starts = starts.ok_or_else(|| SourceError::Stopped {
            path: file.path.to_path_buf(),
        })?;
        for (split, start) in splits.iter_mut().zip(starts) {
            split.first_record = start;
        }
        Ok(())
    }

    fn open_stream(
        &self,
        settings: ReadSettings,
    ) -> Result<Box<dyn SourceStream + '_>, SourceError> {
        let stream = FileStream::new(Arc::clone(&self.form), settings.chunk_bytes);
        Ok(Box::new(SourceFiles::new(self, stream)))
    }

    fn share(
        &self,
        split: &SourceSplit,
        settings: ShareSettings,
        finished: &[Range<u64>],
    ) -> Result<Box<dyn SharedSplit>, SourceError> {
        share_file(&self.files[split.input], &self.form, settings, finished)
    }

    fn has_same_content(&self, input: usize, read: &[SplitContent]) -> Result<bool, SourceError> {
        // The caller knows from the state that the file has changed, so only its content is compared.
        let file = Arc::new(self.files[input].as_it_is_now());
        let FileForm {
            dialect,
            part_bytes,
            ..
        } = &*self.form;
        has_same_content(&file, dialect, *part_bytes, read, file.stop())
    }

    fn first_row(&self, input: usize) -> Result<Option<FirstRow>, SourceError> {
        let preview = Preview::read(&self.files[input], &self.form.dialect, 1)?;
        let first = preview.records.into_iter().next();
        Ok(first.map(|record| FirstRow {
            location: record.location,
            fields: record.fields,
        }))
    }

    fn ends_of(&self, split: &SourceSplit, field: usize) -> Option<(String, String)> {
        let split = self.split_of(split);
        let dialect = &self.form.dialect;
        // Only a plain file can be read from its end first, and read twice.
        if !split.file.reads_in_ranges().ok()? {
            return None;
        }
        let end = split.byte_range.end;
        let file = Arc::clone(&split.file);
        let first = Preview::read_split(split, dialect, 1).ok()?;
        let first = first
            .records
            .into_iter()
            .next()?
            .fields
            .into_iter()
            .nth(field)??;
        Some((first, last_field(&file, dialect, end, field)?))
    }
}
