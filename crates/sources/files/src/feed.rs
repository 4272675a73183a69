//! One reader that serves several streams, for files that cannot be read from the middle: compressed files,
//! members of archives, text of other encodings, pipes.
//!
//! A thread reads, decompresses and translates the text once and cuts it into ranges of whole records, which follow
//! each other without a gap. The stream that asks next gets the next range, and finds its records and fields on its own
//! core; the thread only finds ends of records.
//!
//! Ranges are counted in the decompressed file, in the encoding that it is written in. They are
//! the same in every run of one file, one dialect and one `range_bytes`, so that a stopped run
//! can be resumed with the ranges that are missing.
//!
//! Memory: one range for each stream, one that waits and one that is being filled.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

use inrush_rows::chunk::Chunk;
use inrush_rows::encoding::TextEncoding;
use inrush_scan::{Dialect, Records, Scanner, TextEnd};
use inrush_source::{PARTS_AHEAD, SourceError, SourceMeter, nanoseconds_since};
use tokio::sync::{Mutex as AsyncMutex, mpsc};

use super::buffers::BufferPool;
use super::record_ends::Cutter;
use super::signature::SIGNATURE_BYTES;
use super::skip_lines;
use super::source_file::{FileOrigin, SourceFile};
use super::stored::Purpose;
use super::text::Text;
use super::window::{Window, check_utf8};

/// The settings of a feed.
#[derive(Clone, Copy, Debug)]
pub struct FeedSettings {
    /// The approximate bytes of text in a range, in UTF-8; a range has more only if one record is longer.
    pub range_bytes: usize,
    /// The approximate bytes of text in a chunk.
    pub chunk_bytes: usize,
    /// The number of streams that take ranges.
    pub streams: usize,
}

/// A file of which several streams take ranges.
#[derive(Debug)]
pub struct Feed {
    file: Arc<SourceFile>,
    header: Option<Vec<String>>,
    encoding_found: Option<TextEncoding>,
    ranges: AsyncMutex<mpsc::Receiver<Result<Sent, SourceError>>>,
    /// An error is returned once; later callers get the error that the feed has failed.
    state: Mutex<FeedState>,
    shared: Arc<Shared>,
    dialect: Dialect,
    thread: Option<JoinHandle<()>>,
}

/// How far a feed has read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FeedState {
    Reading,
    /// The whole file was handed out.
    Ended,
    Failed,
}

#[derive(Debug)]
struct Shared {
    pool: Mutex<BufferPool>,
    /// The cost of reading so far.
    meter: Mutex<SourceMeter>,
    usual_bytes: usize,
}

/// The messages of the thread. The end is a message, so that a panic of the thread is not mistaken for the end.
#[derive(Debug)]
enum Sent {
    Range(SentRange),
    End,
}

/// A range that is sent to a stream.
#[derive(Debug)]
struct SentRange {
    text_range: Range<u64>,
    first_line: u64,
    header_skipped_count: u64,
    chunks: VecDeque<Chunk>,
    /// True if it is the last range of the file.
    ends_file: bool,
}

impl Feed {
    /// Opens a file, reads its header and begins to read ahead. `finished` are ranges that are
    /// loaded already: they are skipped.
    ///
    /// Waits for the first bytes of a pipe.
    pub fn start(
        file: &Arc<SourceFile>,
        dialect: &Dialect,
        settings: FeedSettings,
        finished: &[Range<u64>],
    ) -> Result<Feed, SourceError> {
        assert!(settings.range_bytes > 0 && settings.chunk_bytes > 0 && settings.streams > 0);
        dialect.check().map_err(|cause| SourceError::Dialect {
            path: file.path.to_path_buf(),
            cause,
        })?;
        let chunk_bytes = settings.chunk_bytes.min(settings.range_bytes);
        let usual_bytes = chunk_bytes.max(SIGNATURE_BYTES);
        let ranges_max = settings.streams + PARTS_AHEAD;
        let chunks_max = ranges_max * (settings.range_bytes.div_ceil(chunk_bytes) + 1);
        let mut pool = BufferPool::with_spare_max(chunks_max);
        let text = Text::open(file, Purpose::Load)?;
        let encoding_found = text.encoding_found();
        let mut window = Window::new(Arc::clone(file), text, pool.take(usual_bytes), usual_bytes);
        let mut header_skipped_count = 0;
        skip_lines::pass_over(&mut window, dialect, &mut header_skipped_count)?;
        let header = if dialect.header {
            window.fill(usual_bytes)?;
            let mut scanner = Scanner::new(dialect);
            window.read_header(dialect, &mut scanner, &mut header_skipped_count)?
        } else {
            None
        };
        let shared = Arc::new(Shared {
            pool: Mutex::new(pool),
            meter: Mutex::default(),
            usual_bytes,
        });
        // One range waits here; each stream has one, and one is being filled.
        let (sender, receiver) = mpsc::channel(1);
        let mut finished = finished.to_vec();
        finished.sort_by_key(|range| range.start);
        let mut feeder = Feeder {
            window,
            cutter: Cutter::new(dialect),
            dialect: dialect.clone(),
            range_bytes: settings.range_bytes,
            chunk_bytes,
            shared: Arc::clone(&shared),
            finished: finished.into(),
            next_start: 0,
            header_skipped_count,
            cut_ns: 0,
        };
        let thread = std::thread::Builder::new()
            .name("inrush-feed".to_owned())
            .spawn(move || feeder.run(&sender))
            .map_err(|cause| SourceError::Thread {
                path: file.path.to_path_buf(),
                cause,
            })?;
        Ok(Feed {
            file: Arc::clone(file),
            header,
            encoding_found,
            ranges: AsyncMutex::new(receiver),
            state: Mutex::new(FeedState::Reading),
            shared,
            dialect: dialect.clone(),
            thread: Some(thread),
        })
    }

    /// The file.
    pub fn file(&self) -> &Arc<SourceFile> {
        &self.file
    }

    /// The names in the file's header; `None` if the dialect has no header or the file is empty.
    pub fn header(&self) -> Option<&[String]> {
        self.header.as_deref()
    }

    /// The encoding, if it is not UTF-8 and only the text shows it.
    pub fn encoding_found(&self) -> Option<TextEncoding> {
        self.encoding_found
    }

    /// The next range; `None` at the end, also when called again. An error is returned to the next caller, and later
    /// callers get [`SourceError::FeedFailed`]. To stop waiting, drop the returned future.
    pub async fn next_range(&self) -> Result<Option<FeedRange>, SourceError> {
        // The lock is held until the state is updated, so that callers see the messages in order.
        let mut ranges = self.ranges.lock().await;
        let next = ranges.recv().await;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match (next, *state) {
            (Some(Ok(Sent::Range(sent))), FeedState::Reading) => Ok(Some(FeedRange::new(
                sent,
                &self.dialect,
                Arc::clone(&self.shared),
            ))),
            (Some(Ok(Sent::End)), FeedState::Reading) => {
                *state = FeedState::Ended;
                // A feed outlives the reading of its file, and a thousand feeds must not keep a thousand pools of
                // buffers.
                *self
                    .shared
                    .pool
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner) = BufferPool::with_spare_max(0);
                Ok(None)
            }
            (Some(Err(error)), FeedState::Reading) => {
                *state = FeedState::Failed;
                Err(error)
            }
            (None, FeedState::Ended) => Ok(None),
            _ => {
                *state = FeedState::Failed;
                Err(SourceError::FeedFailed {
                    path: self.file.path.to_path_buf(),
                })
            }
        }
    }

    /// The cost of reading so far: bytes, and the time for reading, decompressing and cutting. Records are counted by
    /// the ranges.
    pub fn meter(&self) -> SourceMeter {
        *self
            .shared
            .meter
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
impl Feed {
    /// The memory of free buffers, in bytes.
    pub(super) fn spare_bytes(&self) -> usize {
        self.shared
            .pool
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .spare_bytes()
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        // The thread may be waiting because the queue is full, or for a pipe.
        self.ranges.get_mut().close();
        while self.ranges.get_mut().try_recv().is_ok() {}
        if let FileOrigin::Pipe(pipe) = &self.file.origin {
            pipe.abandon();
        }
        if let Some(thread) = self.thread.take()
            && let Err(panic) = thread.join()
            && !std::thread::panicking()
        {
            std::panic::resume_unwind(panic);
        }
    }
}

/// The thread that reads.
struct Feeder {
    window: Window,
    cutter: Cutter,
    dialect: Dialect,
    range_bytes: usize,
    chunk_bytes: usize,
    shared: Arc<Shared>,
    finished: VecDeque<Range<u64>>,
    /// The position of the next range. The first range begins before the byte order mark and the header.
    next_start: u64,
    header_skipped_count: u64,
    cut_ns: u64,
}

impl Feeder {
    fn run(&mut self, sender: &mpsc::Sender<Result<Sent, SourceError>>) {
        loop {
            let next = self.next_range();
            self.note_cost();
            let sent = match next {
                Ok(Some(sent)) => match self.is_finished(&sent.text_range) {
                    Ok(false) => Ok(Sent::Range(sent)),
                    Ok(true) => {
                        self.recycle(sent.chunks);
                        continue;
                    }
                    Err(error) => Err(error),
                },
                Ok(None) => match self.finished.pop_front() {
                    // The range was loaded by an earlier run, and is skipped.
                    Some(range) => Err(self.ranges_differ(range)),
                    None => Ok(Sent::End),
                },
                Err(error) => Err(error),
            };
            let is_last = !matches!(sent, Ok(Sent::Range(_)));
            // Sending fails if no stream takes ranges any more.
            if sender.blocking_send(sent).is_err() || is_last {
                return;
            }
        }
    }

    /// Cuts the next range off the text. Its end depends only on the text and `range_bytes`: it is the last record end
    /// within `range_bytes`, or the end of the first record if that is longer.
    fn next_range(&mut self) -> Result<Option<SentRange>, SourceError> {
        let start = self.next_start;
        let first_line = match start {
            0 => 1,
            _ => self.window.line_offset + 1,
        };
        let mut chunks = VecDeque::new();
        let mut left_bytes = self.range_bytes;
        let mut wanted_bytes = self.chunk_bytes.min(left_bytes);
        loop {
            self.window.fill(wanted_bytes)?;
            let begun = Instant::now();
            let seen_bytes = self.window.bytes().len().min(wanted_bytes);
            let at_end = self.window.at_end && seen_bytes == self.window.bytes().len();
            let cut = self.cutter.cut(&self.window.bytes()[..seen_bytes], at_end);
            self.cut_ns += nanoseconds_since(begun);
            let cut = cut.map_err(|cause| self.window.scan_error(cause))?;
            if cut.bytes > 0 {
                chunks.push_back(self.take(cut.bytes, cut.line_ends));
                left_bytes = left_bytes.saturating_sub(cut.bytes);
                if left_bytes == 0 || at_end {
                    break;
                }
                wanted_bytes = self.chunk_bytes.min(left_bytes);
            } else if at_end {
                break;
            } else if wanted_bytes < left_bytes {
                // The record is longer than a chunk, but may still end within the range.
                wanted_bytes = self.more_than(wanted_bytes).min(left_bytes);
            } else if !chunks.is_empty() {
                break;
            } else {
                // The range's first record is longer than the range, so the range is this record.
                chunks.push_back(self.take_first_record(wanted_bytes)?);
                break;
            }
        }
        let end = self.window.byte_offset;
        if end == start {
            return Ok(None);
        }
        self.next_start = end;
        Ok(Some(SentRange {
            text_range: start..end,
            first_line,
            header_skipped_count: std::mem::take(&mut self.header_skipped_count),
            chunks,
            ends_file: self.window.at_end && self.window.bytes().is_empty(),
        }))
    }

    /// The record at the window's front, up to its end. It has no end within the first `wanted_bytes`.
    fn take_first_record(&mut self, mut wanted_bytes: usize) -> Result<Chunk, SourceError> {
        let mut scanner = Scanner::new(&self.dialect);
        let mut records = Records::default();
        loop {
            wanted_bytes = self.more_than(wanted_bytes);
            self.window.fill(wanted_bytes)?;
            let (text, at_end) = (self.window.bytes(), self.window.at_end);
            let first = super::record_ends::first_line_bytes(
                &self.dialect,
                &mut scanner,
                text,
                at_end,
                &mut records,
            );
            let cause = match first {
                Ok(None) => continue,
                Ok(Some(bytes)) => {
                    let line_ends = u64::from(self.dialect.line_count(&text[..bytes]));
                    return Ok(self.take(bytes, line_ends));
                }
                Err(cause) => cause,
            };
            return Err(self.window.scan_error(cause));
        }
    }

    fn more_than(&self, wanted_bytes: usize) -> usize {
        self.window.more_than(wanted_bytes, &self.dialect)
    }

    fn take(&mut self, bytes: usize, line_ends: u64) -> Chunk {
        let mut pool = self
            .shared
            .pool
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        self.window.take(bytes, line_ends, &mut pool, false)
    }

    /// True if a range is already loaded. It cannot be loaded in part, because the cuts are always the same.
    fn is_finished(&mut self, range: &Range<u64>) -> Result<bool, SourceError> {
        match self.finished.front() {
            Some(finished) if finished == range => {
                self.finished.pop_front();
                Ok(true)
            }
            Some(finished) if finished.start < range.end => {
                let finished = finished.clone();
                Err(self.ranges_differ(finished))
            }
            _ => Ok(false),
        }
    }

    fn ranges_differ(&self, range: Range<u64>) -> SourceError {
        SourceError::RangesDiffer {
            path: self.window.file.path.to_path_buf(),
            range,
        }
    }

    fn recycle(&self, chunks: VecDeque<Chunk>) {
        let mut pool = self
            .shared
            .pool
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        for chunk in chunks {
            pool.recycle(chunk.text.into_memory(), self.shared.usual_bytes);
        }
    }

    fn note_cost(&self) {
        let mut meter = SourceMeter {
            scan_ns: self.cut_ns,
            ..SourceMeter::default()
        };
        self.window.text.add_to(&mut meter);
        *self
            .shared
            .meter
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = meter;
    }
}

/// A range of a file's text, which one stream reads.
#[derive(Debug)]
pub struct FeedRange {
    /// Its position in the decompressed file, in bytes of the file's own encoding. The first range begins at 0 and
    /// contains the byte order mark and the header.
    pub text_range: Range<u64>,
    /// The line at its beginning, counted from 1.
    pub first_line: u64,
    chunks: VecDeque<Chunk>,
    ends_file: bool,
    scanner: Scanner,
    shared: Arc<Shared>,
    meter: SourceMeter,
}

impl FeedRange {
    fn new(sent: SentRange, dialect: &Dialect, shared: Arc<Shared>) -> FeedRange {
        FeedRange {
            first_line: sent.first_line,
            chunks: sent.chunks,
            ends_file: sent.ends_file,
            scanner: Scanner::new(dialect),
            shared,
            meter: SourceMeter {
                text_bytes: sent.text_range.end - sent.text_range.start,
                skipped_line_count: sent.header_skipped_count,
                ..SourceMeter::default()
            },
            text_range: sent.text_range,
        }
    }

    /// The next whole records; `records` gets their positions in the chunk. `None` at the end. The records are found
    /// on the caller's core.
    pub fn next_chunk(&mut self, records: &mut Records) -> Result<Option<Chunk>, SourceError> {
        records.clear();
        let Some(mut chunk) = self.chunks.pop_front() else {
            return Ok(None);
        };
        let start = Instant::now();
        // The cut left only whole records. Only at the file's end may the last record lack its terminator, and only
        // there does COPY's end-of-data marker mean the end.
        let end = match self.ends_file && self.chunks.is_empty() {
            true => TextEnd::File,
            false => TextEnd::MoreRecords,
        };
        let scan = self.scanner.scan(chunk.text(), end, records);
        if let Err(cause) = scan {
            let inrush_scan::ScanError::RecordTooLong { start, line, .. } = cause;
            let location = chunk.location(start, line);
            return Err(SourceError::Scan { location, cause });
        }
        check_utf8(&mut chunk, records);
        self.meter.scan_ns += nanoseconds_since(start);
        self.meter.chunk_count += 1;
        self.meter.record_count += records.len() as u64;
        self.meter.skipped_line_count += records.skipped_count();
        Ok(Some(chunk))
    }

    /// Takes back the memory of a chunk, for the text to come.
    pub fn recycle(&mut self, chunk: Chunk) {
        let mut pool = self
            .shared
            .pool
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if !pool.recycle(chunk.text.into_memory(), self.shared.usual_bytes) {
            self.meter.buffer_lost_count += 1;
        }
    }

    /// The costs and counts of this range so far. Reading and decompressing are counted in [`Feed::meter`].
    pub fn meter(&self) -> SourceMeter {
        self.meter
    }
}
