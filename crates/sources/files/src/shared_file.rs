//! A file of which all streams take parts, by the contract of a source.

use std::ops::Range;
use std::sync::Arc;

use inrush_source::{NextPart, ShareSettings, SharedPart, SharedSplit, SourceError, SourceMeter};

use super::feed::{Feed, FeedSettings};
use super::file_source::FileForm;
use super::file_stream::PartRows;
use super::source_file::SourceFile;

/// A [`Feed`] and the form of its file.
struct SharedFile {
    feed: Feed,
    form: Arc<FileForm>,
}

/// Begins to read a file for several streams. The file must have the header that the load was planned with. The parts
/// with the ranges in `finished` are loaded already.
///
/// Waits for the first bytes of a pipe.
pub fn share_file(
    file: &Arc<SourceFile>,
    form: &Arc<FileForm>,
    settings: ShareSettings,
    finished: &[Range<u64>],
) -> Result<Box<dyn SharedSplit>, SourceError> {
    let settings = FeedSettings {
        range_bytes: form.part_bytes,
        chunk_bytes: settings.chunk_bytes,
        streams: settings.streams,
    };
    let feed = Feed::start(file, &form.dialect, settings, finished)?;
    form.check_header(file, feed.header())?;
    Ok(Box::new(SharedFile {
        feed,
        form: Arc::clone(form),
    }))
}

impl SharedFile {
    async fn part(&self) -> Result<Option<SharedPart>, SourceError> {
        let file = self.feed.file();
        let stopped = || SourceError::Stopped {
            path: file.path.to_path_buf(),
        };
        if file.is_stop_asked() {
            return Err(stopped());
        }
        // A stop ends the feed's own reading, which also ends this wait.
        match self.feed.next_range().await {
            Ok(None) => Ok(None),
            Ok(Some(range)) => Ok(Some(SharedPart {
                range: range.text_range.clone(),
                reader: Box::new(PartRows::new(range, self.form.facts())),
            })),
            Err(_) if file.is_stop_asked() => Err(stopped()),
            Err(error) => Err(error),
        }
    }
}

impl SharedSplit for SharedFile {
    fn next_part(&self) -> NextPart<'_> {
        Box::pin(self.part())
    }

    fn meter(&self) -> SourceMeter {
        self.feed.meter()
    }
}
