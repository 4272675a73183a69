//! The work of one transaction: file ranges, each by a COPY of its own, or the records of a file that is fed.

use std::ops::Range;
use std::sync::Arc;

use inrush_files::{BufferPool, Feed, FeedRange, RowReader, Split};
use inrush_source::{SourceError, SourceMeter};
use inrush_verdict::Phase;

use super::gathered::Gathered;
use super::piece::Piece;
use crate::engine::error::Error;
use crate::engine::ledger::Account;
use crate::engine::pipeline::check_header::check_header;
use crate::engine::pipeline::feeding::{FedFile, TakenRanges};

/// Text that a stream loads from a feed in one transaction: what a stop throws away.
const FED_TRANSACTION_BYTES: u64 = 64 << 20;

/// What is loaded in one transaction.
pub enum Work<'a> {
    /// File ranges, each by a COPY of its own.
    Splits(&'a [Split]),
    /// Ranges of a file that is fed, as they come, by one COPY. The first one is at hand.
    Fed {
        file: &'a FedFile,
        feed: &'a Feed,
        split: &'a Split,
        first: Option<Box<FeedRange>>,
        /// What was taken, for another try.
        taken: &'a mut TakenRanges,
    },
    /// Ranges that an earlier try has taken from the feed: the file is read anew, from its beginning
    /// to the last of them.
    FedAgain {
        file: &'a FedFile,
        split: &'a Split,
        taken: &'a TakenRanges,
    },
}

impl Work<'_> {
    /// File ranges that are known before. A file that is fed is one, however many ranges are taken from it.
    pub fn split_count(&self) -> usize {
        match self {
            Work::Splits(splits) => splits.len(),
            Work::Fed { .. } | Work::FedAgain { .. } => 1,
        }
    }
}

impl Piece<'_> {
    /// Copies those of its file ranges into the staging table; what the ledger is to know of them is gathered.
    pub(super) async fn copy(
        &mut self,
        work: &mut Work<'_>,
        splits: Range<usize>,
        gathered: &mut Gathered,
    ) -> Result<(), Error> {
        match work {
            Work::Splits(all) => self.copy_splits(&all[splits], gathered).await,
            Work::Fed {
                file,
                feed,
                split,
                first,
                taken,
            } => {
                let next = first.take().map(|first| *first);
                self.copy_fed((file, feed, split), next, taken, gathered)
                    .await
            }
            Work::FedAgain { file, split, taken } => {
                self.copy_fed_again(file, split, taken, gathered).await
            }
        }
    }

    async fn copy_splits(
        &mut self,
        splits: &[Split],
        gathered: &mut Gathered,
    ) -> Result<(), Error> {
        let mut buffers = BufferPool::default();
        for split in splits {
            let (loaded, pool) = self.copy_split(split, buffers).await?;
            buffers = pool;
            let record = self.rows.record(&self.unit.key, split, loaded);
            gathered.push(self.flow, record);
        }
        Ok(())
    }

    /// Ranges of a file that is fed, until they are enough for a transaction or none is left.
    async fn copy_fed(
        &mut self,
        (file, feed, split): (&FedFile, &Feed, &Split),
        mut next: Option<FeedRange>,
        taken: &mut TakenRanges,
        gathered: &mut Gathered,
    ) -> Result<(), Error> {
        let path = split.file.path.display().to_string();
        let mut converter = self.converter()?;
        let (flow, unit, gauge) = (self.flow, self.unit, &self.session.gauge);
        let (mut writer, rows) = self.begin_copy(&path).await?;
        let mut text_bytes = 0;
        while let Some(mut range) = next {
            taken.ranges.push(range.text_range.clone());
            let account = rows
                .send(&mut range, &path, &mut converter, &mut writer)
                .await?;
            rows.note_fed(&file.new_cost(feed));
            taken.stored_bytes = rows.fed.stored_bytes;
            text_bytes += account.bytes_read;
            let part = Split::range(Arc::clone(&split.file), range.text_range.clone(), None);
            let record = rows.record(&unit.key, &part, account);
            gathered.push(flow, record);
            next = match text_bytes < FED_TRANSACTION_BYTES {
                true => {
                    let _waiting = gauge.enter(Phase::FeedWait);
                    file.next_range(feed).await?
                }
                false => None,
            };
        }
        writer.end().await?;
        rows.note_changes(&converter);
        Ok(())
    }

    /// Ranges that were taken before, once more.
    async fn copy_fed_again(
        &mut self,
        file: &FedFile,
        split: &Split,
        taken: &TakenRanges,
        gathered: &mut Gathered,
    ) -> Result<(), Error> {
        let path = split.file.path.display().to_string();
        let feed = file.again(self.flow, split)?;
        let mut converter = self.converter()?;
        let (flow, unit) = (self.flow, self.unit);
        let (mut writer, rows) = self.begin_copy(&path).await?;
        for wanted in &taken.ranges {
            let mut range = loop {
                match feed.next_range().await? {
                    Some(range) if range.text_range == *wanted => break range,
                    Some(_) => {}
                    None => {
                        return Err(Error::Source(SourceError::RangesDiffer {
                            path: split.file.path.to_path_buf(),
                            range: wanted.clone(),
                        }));
                    }
                }
            };
            let account = rows
                .send(&mut range, &path, &mut converter, &mut writer)
                .await?;
            let part = Split::range(Arc::clone(&split.file), range.text_range.clone(), None);
            let record = rows.record(&unit.key, &part, account);
            gathered.push(flow, record);
        }
        writer.end().await?;
        rows.note_changes(&converter);
        // What the first try had told as progress was taken back.
        rows.note_fed(&SourceMeter {
            stored_bytes: taken.stored_bytes,
            ..feed.meter()
        });
        Ok(())
    }

    /// One file range: read, scanned, converted, encoded and sent by one COPY.
    async fn copy_split(
        &mut self,
        split: &Split,
        buffers: BufferPool,
    ) -> Result<(Account, BufferPool), Error> {
        let settings = &self.context.run.plan.settings;
        let flow = self.flow;
        let opening = self.session.gauge.enter(Phase::Read);
        let mut reader = RowReader::open(
            split.clone(),
            &flow.dialect,
            settings.chunk_bytes as usize,
            buffers,
        )?;
        drop(opening);
        check_header(flow, split, reader.header())?;
        let file = split.file.path.display().to_string();
        let mut converter = self.converter()?;
        let (mut writer, rows) = self.begin_copy(&file).await?;
        let account = rows
            .send(&mut reader, &file, &mut converter, &mut writer)
            .await?;
        writer.end().await?;
        rows.note_changes(&converter);
        Ok((account, reader.close()))
    }
}
