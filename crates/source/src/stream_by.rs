//! A stream that keeps nothing from split to split, because its source has a pool of sessions.

use crate::contract::{SourceStream, SplitReader};
use crate::error::SourceError;
use crate::split::SourceSplit;

/// Opens the reader of a split.
type Open<'s> =
    dyn FnMut(&SourceSplit) -> Result<Box<dyn SplitReader + 's>, SourceError> + Send + 's;

struct StreamBy<'s>(Box<Open<'s>>);

/// A stream that opens its readers with a function.
pub fn stream_by<'s, R: SplitReader + 's>(
    mut open: impl FnMut(&SourceSplit) -> Result<R, SourceError> + Send + 's,
) -> Box<dyn SourceStream + 's> {
    let boxed = move |split: &SourceSplit| -> Result<Box<dyn SplitReader + 's>, SourceError> {
        Ok(Box::new(open(split)?))
    };
    Box::new(StreamBy(Box::new(boxed)))
}

impl SourceStream for StreamBy<'_> {
    fn open(&mut self, split: &SourceSplit) -> Result<Box<dyn SplitReader + '_>, SourceError> {
        (self.0)(split)
    }
}
