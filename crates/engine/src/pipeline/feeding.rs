//! Files that several streams read through a feed: the ranges that each stream takes, and when all of the file is
//! committed.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use inrush_plan::Reading;
use inrush_rows::cancel::Stop;
use inrush_source::{ShareSettings, SharedPart, SharedSplit, SourceError, SourceMeter, Split};

use super::metering::FedSource;
use crate::error::Error;

/// The ranges that a stream has taken from a feed for one transaction.
#[derive(Debug, Default)]
pub struct TakenRanges {
    /// The ranges, in their order.
    pub ranges: Vec<Range<u64>>,
    /// Bytes of the file in its progress events.
    pub stored_bytes: u64,
}

/// A file that is fed. The feed begins with the first stream that asks.
pub struct FedFile {
    settings: ShareSettings,
    /// Ranges that an earlier attempt has committed.
    finished: Vec<Range<u64>>,
    feed: Mutex<Option<Arc<dyn SharedSplit>>>,
    /// The number of ranges that streams hold, plus the number of streams that may still ask.
    open: AtomicUsize,
    ended: AtomicBool,
    /// One stream reads the file again by itself.
    closed: AtomicBool,
    told: AtomicBool,
    /// The end of the last range that was handed out or is committed.
    end: AtomicU64,
    /// The meter of the feed at the last call of [`FedFile::new_cost`].
    noted: Mutex<SourceMeter>,
    /// The server has refused a row of the file.
    is_suspect: AtomicBool,
}

impl FedFile {
    /// A file whose `finished` ranges are loaded already.
    pub fn new(chunk_bytes: usize, streams: usize, finished: Vec<Range<u64>>) -> FedFile {
        let end = finished.iter().map(|range| range.end).max().unwrap_or(0);
        FedFile {
            settings: ShareSettings {
                chunk_bytes,
                streams,
            },
            finished,
            feed: Mutex::default(),
            open: AtomicUsize::new(0),
            ended: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            told: AtomicBool::new(false),
            end: AtomicU64::new(end),
            noted: Mutex::default(),
            is_suspect: AtomicBool::new(false),
        }
    }

    /// The feed; it is started if it is not running. Waits for the first bytes of a pipe.
    pub fn feed(&self, flow: &Reading, split: &Split) -> Result<Arc<dyn SharedSplit>, SourceError> {
        let mut feed = self.feed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(feed) = &*feed {
            return Ok(Arc::clone(feed));
        }
        let split = split.in_source();
        let begun = flow.source.share(&split, self.settings, &self.finished)?;
        let begun: Arc<dyn SharedSplit> = begun.into();
        *feed = Some(Arc::clone(&begun));
        Ok(begun)
    }

    /// Ends the feed, so that another feed can read the file. No stream may use it any more.
    pub fn close(&self) {
        let mut feed = self.feed.lock().unwrap_or_else(PoisonError::into_inner);
        *feed = None;
        self.closed.store(true, Ordering::Release);
    }

    /// Another feed, which reads the whole file once more.
    pub fn again(
        &self,
        flow: &Reading,
        split: &Split,
    ) -> Result<Box<dyn SharedSplit>, SourceError> {
        let settings = ShareSettings {
            streams: 1,
            ..self.settings
        };
        flow.source.share(&split.in_source(), settings, &[])
    }

    /// Notes that the server has refused a row of the file.
    pub fn suspect(&self) {
        self.is_suspect.store(true, Ordering::Release);
    }

    /// True if the server has refused a row of the file.
    pub fn is_suspect(&self) -> bool {
        self.is_suspect.load(Ordering::Acquire)
    }

    /// The next part, for a stream that will [commit](FedFile::committed) it.
    pub async fn next_part(
        &self,
        feed: &dyn SharedSplit,
    ) -> Result<Option<SharedPart>, SourceError> {
        self.open.fetch_add(1, Ordering::AcqRel);
        let next = feed.next_part().await;
        if let Ok(Some(part)) = &next {
            self.end.fetch_max(part.range.end, Ordering::AcqRel);
        }
        if !matches!(next, Ok(Some(_))) {
            if matches!(next, Ok(None)) {
                self.ended.store(true, Ordering::Release);
            }
            self.open.fetch_sub(1, Ordering::AcqRel);
        }
        next
    }

    /// Notes that a stream has committed this number of ranges.
    pub fn committed(&self, ranges: usize) {
        self.open.fetch_sub(ranges, Ordering::AcqRel);
    }

    /// True if all of the file is committed.
    pub fn is_committed(&self) -> bool {
        self.ended.load(Ordering::Acquire) && self.open.load(Ordering::Acquire) == 0
    }

    /// True if all of the file is committed; says so to one stream only.
    pub fn is_complete(&self) -> bool {
        self.is_committed() && !self.told.swap(true, Ordering::AcqRel)
    }

    /// The end of the text of the whole file, once all of it was handed out. If one stream has read the file again, the
    /// file is one range, and the end is that of the file as stored.
    pub fn text_end(&self) -> Option<u64> {
        let is_known = self.ended.load(Ordering::Acquire) && !self.closed.load(Ordering::Acquire);
        is_known.then(|| self.end.load(Ordering::Acquire))
    }

    /// The cost of reading since the last call.
    pub fn new_cost(&self, feed: &dyn SharedSplit) -> SourceMeter {
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        let cost = feed.meter();
        let new = SourceMeter {
            stored_bytes: cost.stored_bytes - noted.stored_bytes,
            read_ns: cost.read_ns - noted.read_ns,
            decompress_ns: cost.decompress_ns - noted.decompress_ns,
            scan_ns: cost.scan_ns - noted.scan_ns,
            ..SourceMeter::default()
        };
        *noted = cost;
        new
    }
}

impl FedSource for FedFile {
    fn cost(&self) -> Option<SourceMeter> {
        let feed = self.feed.lock().unwrap_or_else(PoisonError::into_inner);
        feed.as_ref().map(|feed| feed.meter())
    }
}

/// Waits for a feed, or until the run is asked to stop.
pub async fn wait<T>(
    stop: &Stop,
    feed: impl Future<Output = Result<T, SourceError>>,
) -> Result<T, Error> {
    tokio::select! {
        biased;
        _ = stop.wait() => Err(Error::Interrupted),
        next = feed => Ok(next?),
    }
}
