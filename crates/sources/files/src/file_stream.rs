//! Reads the splits of files, one after the other, by the contract of a source.

use std::sync::Arc;

use inrush_rows::chunk::Chunk;
use inrush_scan::Records;
use inrush_source::{
    Chunks, SourceError, SourceMeter, SourceSplit, SourceStream, SplitEnd, SplitReader,
};

use super::buffers::BufferPool;
use super::feed::FeedRange;
use super::file_source::{FileForm, FileSource};
use super::row_reader::RowReader;
use super::split::Split;
use super::split_facts::SplitFacts;

/// Reads splits of files, with the same buffers.
pub struct FileStream {
    form: Arc<FileForm>,
    chunk_bytes: usize,
    pool: BufferPool,
}

impl FileStream {
    /// A stream for files of this form; chunks will have about this many bytes.
    pub fn new(form: Arc<FileForm>, chunk_bytes: usize) -> FileStream {
        FileStream {
            form,
            chunk_bytes,
            pool: BufferPool::default(),
        }
    }

    /// Opens a split. Its file must have the header that the load was planned with.
    pub fn open(&mut self, split: Split) -> Result<SplitRows<'_>, SourceError> {
        let file = Arc::clone(&split.file);
        let pool = std::mem::take(&mut self.pool);
        let reader = RowReader::open(split, &self.form.dialect, self.chunk_bytes, pool)?;
        self.form.check_header(&file, reader.header())?;
        Ok(SplitRows {
            reader,
            facts: self.form.facts(),
            pool: Some(&mut self.pool),
        })
    }
}

/// Reads the files of a source for one thread.
pub(super) struct SourceFiles<'a> {
    source: &'a FileSource,
    stream: FileStream,
}

impl<'a> SourceFiles<'a> {
    pub(super) fn new(source: &'a FileSource, stream: FileStream) -> SourceFiles<'a> {
        SourceFiles { source, stream }
    }
}

impl SourceStream for SourceFiles<'_> {
    fn open(&mut self, split: &SourceSplit) -> Result<Box<dyn SplitReader + '_>, SourceError> {
        let split = self.source.split_of(split);
        Ok(Box::new(self.stream.open(split)?))
    }
}

/// The rows of a split.
pub struct SplitRows<'a> {
    reader: RowReader,
    facts: SplitFacts,
    /// Receives the reader's buffers when the split ends.
    pool: Option<&'a mut BufferPool>,
}

/// Opens a split with its own buffers. Its file must have the header that the load was planned with.
pub fn open_split(
    split: Split,
    form: Arc<FileForm>,
    chunk_bytes: usize,
) -> Result<Box<dyn SplitReader>, SourceError> {
    let mut stream = FileStream::new(form, chunk_bytes);
    let SplitRows { reader, facts, .. } = stream.open(split)?;
    Ok(Box::new(SplitRows {
        reader,
        facts,
        pool: None,
    }))
}

impl Chunks for SplitRows<'_> {
    fn next_chunk(&mut self, records: &mut Records) -> Result<Option<Chunk>, SourceError> {
        let mut next = self.reader.next_chunk(records)?;
        if let Some(chunk) = &mut next {
            self.facts.see(chunk, records)?;
        }
        Ok(next)
    }

    fn recycle(&mut self, chunk: Chunk) {
        self.reader.recycle(chunk);
    }

    fn meter(&self) -> SourceMeter {
        self.facts.counted(self.reader.meter())
    }

    fn meter_of_chunks(&mut self) -> SourceMeter {
        let meter = self.reader.meter_of_chunks();
        self.facts.counted(meter)
    }
}

impl SplitReader for SplitRows<'_> {
    fn end(self: Box<Self>) -> SplitEnd {
        if let Some(pool) = self.pool {
            *pool = self.reader.close();
        }
        self.facts.end()
    }
}

/// The rows of a part of a shared file.
pub(super) struct PartRows {
    range: FeedRange,
    facts: SplitFacts,
}

impl PartRows {
    pub(super) fn new(range: FeedRange, facts: SplitFacts) -> PartRows {
        PartRows { range, facts }
    }
}

impl Chunks for PartRows {
    fn next_chunk(&mut self, records: &mut Records) -> Result<Option<Chunk>, SourceError> {
        let mut next = self.range.next_chunk(records)?;
        if let Some(chunk) = &mut next {
            self.facts.see(chunk, records)?;
        }
        Ok(next)
    }

    fn recycle(&mut self, chunk: Chunk) {
        self.range.recycle(chunk);
    }

    fn meter(&self) -> SourceMeter {
        self.facts.counted(self.range.meter())
    }
}

impl SplitReader for PartRows {
    fn end(self: Box<Self>) -> SplitEnd {
        self.facts.end()
    }
}
