//! The work of one transaction: splits, each read by itself, or ranges of a file that is fed.

use std::ops::Range;

use inrush_plan::ledger::Account;
use inrush_rows::ids::UnitKey;
use inrush_source::{
    ReadSettings, SharedPart, SharedSplit, SourceError, SourceMeter, SourceStream, Split, SplitEnd,
};
use inrush_verdict::Phase;

use super::feeding::{self, FedFile, TakenRanges};
use super::gathered::Gathered;
use super::row_loop::RowLoop;
use super::unit_writer::UnitWriter;
use crate::error::Error;

/// The rows that are loaded in one transaction.
pub enum Work<'a> {
    /// Splits that are known beforehand.
    Splits(&'a [Split]),
    /// Ranges of a fed file, as they arrive.
    Fed(FedWork<'a>),
    /// Ranges that an earlier attempt took from the feed: the file is read again, from its beginning to the last of
    /// these ranges.
    FedAgain {
        /// The file.
        file: &'a FedFile,
        /// The split of the whole file.
        split: &'a Split,
        /// The ranges.
        taken: &'a TakenRanges,
    },
}

/// Ranges of a fed file.
pub struct FedWork<'a> {
    /// The file.
    pub file: &'a FedFile,
    /// Its feed.
    pub feed: &'a dyn SharedSplit,
    /// The split of the whole file.
    pub split: &'a Split,
    /// The first range, already taken from the feed.
    pub first: Option<SharedPart>,
    /// A transaction is committed once it has this many bytes of text, because a stop discards an open transaction.
    pub wanted_bytes: u64,
    /// The ranges that were taken, for another try.
    pub taken: &'a mut TakenRanges,
}

impl Work<'_> {
    /// The splits that are known beforehand. A fed file is one split, however many ranges are taken from it.
    pub fn split_count(&self) -> usize {
        match self {
            Work::Splits(splits) => splits.len(),
            Work::Fed(_) | Work::FedAgain { .. } => 1,
        }
    }
}

impl RowLoop<'_> {
    /// Writes the rows of the work's splits, and collects their records for the ledger.
    pub async fn copy(
        &mut self,
        unit_key: &UnitKey,
        work: &mut Work<'_>,
        splits: Range<usize>,
        writer: &mut UnitWriter<'_>,
        gathered: &mut Gathered,
    ) -> Result<(), Error> {
        match work {
            Work::Splits(all) => {
                let splits = &all[splits];
                self.copy_splits(unit_key, splits, writer, gathered).await
            }
            Work::Fed(fed) => self.copy_fed(unit_key, fed, writer, gathered).await,
            Work::FedAgain { file, split, taken } => {
                self.copy_fed_again(unit_key, (file, split, taken), writer, gathered)
                    .await
            }
        }
    }

    async fn copy_splits(
        &mut self,
        unit_key: &UnitKey,
        splits: &[Split],
        writer: &mut UnitWriter<'_>,
        gathered: &mut Gathered,
    ) -> Result<(), Error> {
        let settings = ReadSettings {
            chunk_bytes: self.chunk_bytes,
        };
        let mut stream = self.flow.source.open_stream(settings)?;
        for split in splits {
            let (account, end) = self.copy_split(split, &mut *stream, writer).await?;
            let record = self.evidence.record(unit_key, split, account, end);
            gathered.push(self.flow, record);
        }
        Ok(())
    }

    async fn copy_split(
        &mut self,
        split: &Split,
        stream: &mut dyn SourceStream,
        writer: &mut UnitWriter<'_>,
    ) -> Result<(Account, SplitEnd), Error> {
        let opening = self.gauge.enter(Phase::Read);
        let mut reader = stream.open(&split.in_source())?;
        drop(opening);
        self.gauge.reads_from(reader.session());
        let path = split.input.name().display().to_string();
        let mut maker = (self.make_maker)()?;
        maker.begin_input(split.input.index());
        writer.begin_split(&path)?;
        let account = self.send(&mut *reader, &path, &mut maker, writer).await?;
        self.gauge.reads_from(None);
        writer.end_split()?;
        self.note_made(&maker);
        Ok((account, reader.end()))
    }

    /// Takes ranges of a fed file, until there are enough for a transaction or none is left.
    async fn copy_fed(
        &mut self,
        unit_key: &UnitKey,
        fed: &mut FedWork<'_>,
        writer: &mut UnitWriter<'_>,
        gathered: &mut Gathered,
    ) -> Result<(), Error> {
        let FedWork {
            file,
            feed,
            split,
            first,
            wanted_bytes,
            taken,
        } = fed;
        let path = split.input.name().display().to_string();
        let mut maker = (self.make_maker)()?;
        maker.begin_input(split.input.index());
        writer.begin_split(&path)?;
        let mut text_bytes = 0;
        let mut next = first.take();
        while let Some(mut part) = next {
            taken.ranges.push(part.range.clone());
            let reader = &mut *part.reader;
            let account = self.send(reader, &path, &mut maker, writer).await?;
            self.note_fed(&file.new_cost(*feed));
            taken.stored_bytes = self.fed.stored_bytes;
            text_bytes += account.bytes_read;
            self.gather_part(unit_key, split, part, account, gathered);
            next = match text_bytes < *wanted_bytes {
                true => {
                    let _waiting = self.gauge.enter(Phase::FeedWait);
                    feeding::wait(self.stop, file.next_part(*feed)).await?
                }
                false => None,
            };
        }
        writer.end_split()?;
        self.note_made(&maker);
        Ok(())
    }

    /// Reads ranges that were taken before again.
    async fn copy_fed_again(
        &mut self,
        unit_key: &UnitKey,
        (file, split, taken): (&FedFile, &Split, &TakenRanges),
        writer: &mut UnitWriter<'_>,
        gathered: &mut Gathered,
    ) -> Result<(), Error> {
        let path = split.input.name().display().to_string();
        let feed = file.again(self.flow, split)?;
        let mut maker = (self.make_maker)()?;
        maker.begin_input(split.input.index());
        writer.begin_split(&path)?;
        for wanted in &taken.ranges {
            let mut part = loop {
                match feeding::wait(self.stop, feed.next_part()).await? {
                    Some(part) if part.range == *wanted => break part,
                    Some(_) => {}
                    None => {
                        return Err(Error::Source(SourceError::RangesDiffer {
                            path: split.input.name().to_path_buf(),
                            range: wanted.clone(),
                        }));
                    }
                }
            };
            let reader = &mut *part.reader;
            let account = self.send(reader, &path, &mut maker, writer).await?;
            self.gather_part(unit_key, split, part, account, gathered);
        }
        writer.end_split()?;
        self.note_made(&maker);
        // The progress of the first attempt does not count any more.
        self.note_fed(&SourceMeter {
            stored_bytes: taken.stored_bytes,
            ..feed.meter()
        });
        Ok(())
    }

    fn gather_part(
        &mut self,
        unit_key: &UnitKey,
        split: &Split,
        part: SharedPart,
        account: Account,
        gathered: &mut Gathered,
    ) {
        let range = Split {
            range: part.range,
            is_shared: false,
            ..split.clone()
        };
        let record = self
            .evidence
            .record(unit_key, &range, account, part.reader.end());
        gathered.push(self.flow, record);
    }
}
