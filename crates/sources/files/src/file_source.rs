//! Files as a source: each file an input, its byte ranges the splits.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use inrush_rows::plural::counted;
use inrush_scan::Dialect;
use inrush_source::{
    Input, InputState, ReadSettings, ShareSettings, SharedSplit, Source, SourceColumn, SourceError,
    SourceSplit, SourceStream, SplitContent,
};

use super::feed::FED_RANGE_BYTES;
use super::file_stream::{FileStream, SourceFiles};
use super::first_record::needs_place;
use super::pieces::pieces_of;
use super::preview::Preview;
use super::same_content::has_same_content;
use super::shared_file::share_file;
use super::source_file::{FileOrigin, SourceFile};
use super::split::Split;
use super::split_facts::SplitFacts;
use super::split_starts::first_records;

/// Files that are written in one way, and whose rows have the same fields.
#[derive(Debug)]
pub struct FileSource {
    files: Vec<Arc<SourceFile>>,
    form: Arc<FileForm>,
}

/// How the files of a flow are written, and what each must begin and end with.
#[derive(Clone, Debug)]
pub struct FileForm {
    /// How records and fields are written.
    pub dialect: Dialect,
    /// The header that each file must have.
    pub header: Option<Vec<String>>,
    /// How the last record of a file begins, where that is a trailer and not a row.
    pub trailer_starts_with: Option<String>,
    /// Text of a part of a shared file.
    pub part_bytes: usize,
}

impl FileForm {
    /// Files without a header that is known, and without trailers.
    pub fn new(dialect: Dialect) -> FileForm {
        FileForm {
            dialect,
            header: None,
            trailer_starts_with: None,
            part_bytes: FED_RANGE_BYTES,
        }
    }

    /// Refuses a file whose header is not that of the first file: columns were matched by it.
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
    /// Files that were [found](super::resolve), one at least: either all are text, or all have the same typed columns.
    pub fn new(files: Vec<Arc<SourceFile>>, form: FileForm) -> FileSource {
        assert!(!files.is_empty(), "a source of files has a file");
        FileSource {
            files,
            form: Arc::new(form),
        }
    }

    pub(super) fn split_of(&self, split: &SourceSplit) -> Split {
        Split {
            file: Arc::clone(&self.files[split.input]),
            byte_range: split.range.clone(),
            first_record: split.first_record,
            is_fed: split.is_shared,
        }
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
        };
        let Some(table) = self.files[0].table() else {
            return Ok(self.header_names()?.into_iter().map(text).collect());
        };
        let fields = table.fields.iter().map(|field| SourceColumn {
            name: field.name.clone(),
            data_type: Some(field.data_type.clone()),
            is_uuid: field.is_uuid,
        });
        Ok(fields.collect())
    }

    fn input_count(&self) -> usize {
        self.files.len()
    }

    fn input(&self, index: usize) -> Input {
        let file = &self.files[index];
        Input {
            name: Arc::clone(&file.path),
            state: InputState {
                size_bytes: file.size_bytes,
                modified_ns: file.modified_ns,
                mark: file.state.to_string(),
            },
            row_count: file.table().map(|table| table.row_count()),
            is_read_once: file.is_pipe(),
            is_shareable: file.table().is_none(),
        }
    }

    fn identity(&self, input: usize) -> Vec<String> {
        self.files[input].identity()
    }

    fn splits(&self, input: usize, wanted_bytes: u64) -> Result<Vec<SourceSplit>, SourceError> {
        let whole = Split::whole(Arc::clone(&self.files[input]));
        let pieces = pieces_of(&whole, wanted_bytes.clamp(1, 1 << 62))?;
        let splits = pieces.into_iter().map(|piece| SourceSplit {
            input,
            size_bytes: piece.size_bytes(),
            range: piece.byte_range,
            first_record: piece.first_record,
            is_shared: piece.is_fed,
        });
        Ok(splits.collect())
    }

    fn locate(&self, splits: &mut [SourceSplit], threads: usize) -> Result<(), SourceError> {
        let [first, _, ..] = splits else {
            return Ok(());
        };
        let file = &self.files[first.input];
        // Row groups are found by their file's footer.
        if file.table().is_some() || !needs_place(&self.form.dialect) {
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

    fn state_now(&self, input: usize) -> Option<InputState> {
        let file = &self.files[input];
        let (state, modified_ns) = file.state_now()?;
        Some(InputState {
            size_bytes: size_now(file)?,
            modified_ns,
            mark: state.to_string(),
        })
    }

    fn has_same_content(&self, input: usize, read: &[SplitContent]) -> Result<bool, SourceError> {
        let file = &self.files[input];
        let FileForm {
            dialect,
            part_bytes,
            ..
        } = &*self.form;
        has_same_content(file, dialect, *part_bytes, read, file.stop())
    }
}

/// Bytes of a file now. A member has those that it had, as long as its archive has.
fn size_now(file: &SourceFile) -> Option<u64> {
    let bytes = |path: &Path| Some(std::fs::metadata(path).ok()?.len());
    match &file.origin {
        FileOrigin::File | FileOrigin::Table(_) => bytes(&file.path),
        FileOrigin::Pipe(_) => None,
        FileOrigin::ZipMember(member) => {
            let archive_bytes = bytes(&member.archive)?;
            Some(match archive_bytes == member.archive_bytes {
                true => file.size_bytes,
                false => archive_bytes,
            })
        }
    }
}
