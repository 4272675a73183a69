//! The work of one transaction: file ranges, each by a COPY of its own, or the records of a file that is fed.

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
        first: Box<FeedRange>,
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

impl Piece<'_> {
    /// Copies all of it into the staging table; what the ledger is to know of its file ranges.
    pub(super) async fn copy(&mut self, work: Work<'_>) -> Result<Gathered, Error> {
        match work {
            Work::Splits(splits) => self.copy_splits(splits).await,
            Work::Fed {
                file,
                feed,
                split,
                first,
                taken,
            } => self.copy_fed(file, feed, split, *first, taken).await,
            Work::FedAgain { file, split, taken } => self.copy_fed_again(file, split, taken).await,
        }
    }

    async fn copy_splits(&mut self, splits: &[Split]) -> Result<Gathered, Error> {
        let mut gathered = Gathered::new(self);
        let mut buffers = BufferPool::default();
        for split in splits {
            let (loaded, pool) = self.copy_split(split, buffers).await?;
            buffers = pool;
            let record = self.split_record(split, loaded);
            gathered.push(self, record);
            gathered.write_if_many(self).await?;
        }
        Ok(gathered)
    }

    /// Ranges of a file that is fed, until they are enough for a transaction or none is left.
    async fn copy_fed(
        &mut self,
        file: &FedFile,
        feed: &Feed,
        split: &Split,
        first: FeedRange,
        taken: &mut TakenRanges,
    ) -> Result<Gathered, Error> {
        let path = split.file.path.display().to_string();
        let mut converter = self.converter()?;
        let mut copier = self.begin_copy(&path).await?;
        let mut gathered = Gathered::new(self);
        let mut text_bytes = 0;
        let mut next = Some(first);
        while let Some(mut range) = next {
            taken.ranges.push(range.text_range.clone());
            let account;
            (account, copier) = self
                .send_rows(&mut range, &path, &mut converter, copier)
                .await?;
            self.note_cost(&file.new_cost(feed));
            taken.stored_bytes = self.fed.stored_bytes;
            text_bytes += account.bytes_read;
            let part = Split::range(Arc::clone(&split.file), range.text_range.clone(), None);
            let record = self.split_record(&part, account);
            gathered.push(self, record);
            next = match text_bytes < FED_TRANSACTION_BYTES {
                true => {
                    let _waiting = self.session.gauge.enter(Phase::FeedWait);
                    file.next_range(feed).await?
                }
                false => None,
            };
        }
        copier.end().await?;
        self.note_changes(&converter);
        Ok(gathered)
    }

    /// Ranges that were taken before, once more.
    async fn copy_fed_again(
        &mut self,
        file: &FedFile,
        split: &Split,
        taken: &TakenRanges,
    ) -> Result<Gathered, Error> {
        let path = split.file.path.display().to_string();
        let feed = file.again(self.flow, split)?;
        let mut converter = self.converter()?;
        let mut copier = self.begin_copy(&path).await?;
        let mut gathered = Gathered::new(self);
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
            let account;
            (account, copier) = self
                .send_rows(&mut range, &path, &mut converter, copier)
                .await?;
            let part = Split::range(Arc::clone(&split.file), range.text_range.clone(), None);
            let record = self.split_record(&part, account);
            gathered.push(self, record);
        }
        copier.end().await?;
        self.note_changes(&converter);
        // What the first try had told as progress was taken back.
        self.note_cost(&SourceMeter {
            stored_bytes: taken.stored_bytes,
            ..feed.meter()
        });
        Ok(gathered)
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
        let mut copier = self.begin_copy(&file).await?;
        let account;
        (account, copier) = self
            .send_rows(&mut reader, &file, &mut converter, copier)
            .await?;
        copier.end().await?;
        self.note_changes(&converter);
        Ok((account, reader.close()))
    }

    /// What the feed has cost since somebody noted it last.
    fn note_cost(&mut self, cost: &SourceMeter) {
        self.context.progress(self.flow_index, 0, cost.stored_bytes);
        self.fed.add(cost);
    }
}
