//! The row loop of all destinations: reads, converts and writes the rows of a source, and accounts for each of them.
//!
//! If source and destination have the same columns in the same form, rows are passed on without conversion.
//!
//! The loop writes through a [`UnitWriter`]. It keeps rejects in the order of the file, sums up only rows that the
//! destination took, reports progress, checks the stop, and reaches the fault points.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

use arrow_array::RecordBatch;
use inrush_destination::{RefusedRow, Written};
use inrush_fault::{self as fault, Fault, FaultPoint};
use inrush_plan::Reading;
use inrush_plan::ledger::Account;
use inrush_plan::step_tally::StepTally;
use inrush_plan::steps::GivenPlan;
use inrush_rows::cancel::Stop;
use inrush_rows::column_policy::ColumnChanges;
use inrush_rows::reject::{Reject, RejectCode};
use inrush_scan::Records;
use inrush_source::{NativeRows, SourceMeter, SplitReader};

use super::damage;
use super::event_sink::EventSink;
use super::kept_rejects::KeptRejects;
use super::metering::FlowCount;
use super::reading_meter::ReadingMeter;
use super::row_maker::{MadeRows, RowMaker};
use super::split_evidence::SplitEvidence;
use super::unit_writer::UnitWriter;
use crate::error::Error;
use crate::event::Event;
use crate::gauge::Gauge;

/// The row loop of one piece of work.
pub struct RowLoop<'a> {
    /// Gets events and progress.
    pub event_sink: EventSink<'a>,
    /// The flow of the rows.
    pub flow: &'a Reading,
    /// Returns a new [`RowMaker`], which makes rows from the records of a file.
    pub make_maker: Box<dyn Fn() -> Result<RowMaker, Error> + 'a>,
    /// The steps that the destination evaluates.
    pub given: Option<&'a GivenPlan>,
    /// Counts the rows and bytes of the flow, over all streams.
    pub flow_count: &'a FlowCount,
    /// The gauge of the stream.
    pub gauge: &'a Gauge,
    /// Asks the run to stop.
    pub stop: &'a Stop,
    /// The fault to cause, for tests.
    pub fault: Option<&'a Fault>,
    /// Bytes of a chunk of text.
    pub chunk_bytes: usize,
    /// Rows of a batch, at most.
    pub batch_rows: usize,
    /// Facts of the rows that were taken.
    pub evidence: SplitEvidence,
    /// The rejects of the piece of work.
    pub rejects: KeptRejects<'a>,
    /// The cost of the thread that read the rows of the piece of work.
    pub fed: SourceMeter,
    /// Values that were changed, by column.
    pub changes: BTreeMap<String, ColumnChanges>,
    /// What the steps of the flow have counted.
    pub steps: StepTally,
}

/// Rows that are written together: a part of the rows that were made together.
struct Batch<'a> {
    rows: RecordBatch,
    /// The number of rows that were made together and are before this batch.
    first: usize,
    made: &'a MadeRows<'a>,
}

impl RowLoop<'_> {
    /// Writes all rows of a source, and returns their account after checking that it adds up. `file` names the source
    /// in errors.
    ///
    /// # Panics
    ///
    /// If the rows of the maker are those of a sample.
    pub async fn send(
        &mut self,
        source: &mut dyn SplitReader,
        file: &str,
        maker: &mut RowMaker,
        writer: &mut UnitWriter<'_>,
    ) -> Result<Account, Error> {
        if !damage::is_wished(self.fault)
            && writer.native_block().is_some()
            && let Some(source) = source.native_rows()
        {
            return self.pass(source, file, writer).await;
        }
        assert!(
            maker.is_ready(),
            "a step that needs all rows has read them before"
        );
        let gauge = self.gauge;
        let mut records = Records::default();
        let mut rejects = Vec::new();
        let mut account = Account::default();
        let mut stored_before = 0;
        let mut reading = ReadingMeter::new(gauge);
        while let Some(chunk) = reading.next_chunk(source, &mut records)? {
            let_others_end_it().await;
            self.refuse_stopped()?;
            let mut at = 0;
            while at < records.len() {
                let end = maker.end(at, records.len(), self.batch_rows);
                let made = maker.make(&chunk, &records, at..end, &mut rejects, gauge)?;
                account.rows_filtered += made.rows_filtered;
                account.rows_added += made.rows_added;
                self.write_all(&made, writer, &mut rejects, &mut account)
                    .await?;
                at = made.end;
            }
            let stored_bytes = source.meter().stored_bytes;
            self.progress(records.len() as u64, stored_bytes - stored_before);
            stored_before = stored_bytes;
            self.rejects
                .note_read(records.len() as u64, chunk.size_bytes());
            source.recycle(chunk);
            fault::reach(self.fault, FaultPoint::InCopy);
        }
        if let Some(given) = self.given {
            let kept = writer.end_steps()?;
            let sent = account.rows_loaded;
            let tally = given.tally(sent, kept).ok_or_else(|| Error::Verification {
                what: "the rows that steps in the destination kept".to_owned(),
                counted: kept,
                sent,
            })?;
            account.rows_filtered += account.rows_loaded - kept;
            account.rows_loaded = kept;
            self.steps.add(&tally);
        }
        self.close(account, source.meter(), file)
    }

    /// Passes on all rows of a source in the source's own form. If one of them does not fit, the destination refuses
    /// them all, and the careful load converts them.
    async fn pass(
        &mut self,
        source: &mut dyn NativeRows,
        file: &str,
        writer: &mut UnitWriter<'_>,
    ) -> Result<Account, Error> {
        let mut account = Account::default();
        let mut before = SourceMeter::default();
        let mut reading = ReadingMeter::new(self.gauge);
        while let Some((block, until)) = writer.native_block() {
            let_others_end_it().await;
            self.refuse_stopped()?;
            let Some(rows) = reading.append_rows(source, block, until)? else {
                break;
            };
            writer.appended(rows)?;
            account.rows_loaded += rows;
            let now = source.meter();
            self.progress(rows, now.stored_bytes - before.stored_bytes);
            self.rejects
                .note_read(rows, now.text_bytes - before.text_bytes);
            before = now;
            fault::reach(self.fault, FaultPoint::InCopy);
        }
        self.close(account, source.meter(), file)
    }

    /// Completes the account of all rows of a source. Fails if the account does not add up.
    fn close(&self, mut account: Account, read: SourceMeter, file: &str) -> Result<Account, Error> {
        self.gauge.add_rows(account.rows_loaded);
        account.rows_read = read.record_count + read.skipped_line_count;
        account.rows_skipped = read.skipped_line_count;
        account.bytes_read = read.text_bytes;
        if !account.holds() {
            return Err(Error::Verification {
                what: format!("the account of {file}"),
                counted: account.rows_out(),
                sent: account.rows_in(),
            });
        }
        Ok(account)
    }

    /// Writes the rows that were made together, in batches. `rejects` holds the rejects of the records that did not
    /// become rows.
    async fn write_all(
        &mut self,
        made: &MadeRows<'_>,
        writer: &mut UnitWriter<'_>,
        rejects: &mut Vec<Reject>,
        account: &mut Account,
    ) -> Result<(), Error> {
        let row_count = made.batch.num_rows();
        let mut first = 0;
        loop {
            let end = row_count.min(first + self.batch_rows);
            let batch = Batch {
                rows: made.batch.slice(first, end - first),
                first,
                made,
            };
            // Rejects are kept in the order of the file.
            let later = match end < row_count {
                true => {
                    let next = made.byte_offset(end);
                    let before = |reject: &Reject| reject.location.byte_offset < next;
                    rejects.split_off(rejects.partition_point(before))
                }
                false => Vec::new(),
            };
            self.write(&batch, writer, rejects, account).await?;
            *rejects = later;
            first = end;
            if first >= row_count {
                return Ok(());
            }
        }
    }

    /// Writes a batch.
    async fn write(
        &mut self,
        batch: &Batch<'_>,
        writer: &mut UnitWriter<'_>,
        rejects: &mut Vec<Reject>,
        account: &mut Account,
    ) -> Result<(), Error> {
        let Batch {
            rows: batch,
            first,
            made,
        } = batch;
        if let Some(parts) = damage::harmed(self.fault, batch) {
            for part in parts {
                writer.write(&part, 1)?;
            }
            account.rows_loaded += batch.num_rows() as u64;
            self.evidence.add(batch, self.gauge);
            return self.keep(rejects, account);
        }
        let mut rest: Option<RecordBatch> = None;
        let mut first = *first;
        loop {
            let sent = rest.as_ref().unwrap_or(batch);
            let left = self.rejects.left().saturating_sub(rejects.len() as u64);
            let refused_max = left.saturating_add(1);
            let written = writer.write(sent, refused_max)?;
            let end = written.rest.unwrap_or(sent.num_rows());
            assert!(
                end > 0 || sent.num_rows() == 0,
                "a writer handles at least one row"
            );
            let not_taken = self.reject(written, (made, first), rejects);
            account.rows_loaded += (end - not_taken.len()) as u64;
            self.add_taken(sent, end, &not_taken);
            self.keep(rejects, account)?;
            let left = sent.num_rows() - end;
            if left == 0 {
                return Ok(());
            }
            first += end;
            rest = Some(sent.slice(end, left));
        }
    }

    /// Makes rejects of the rows that were not taken, in the order of the file. `first` is the index of the first
    /// written row among the made rows. Returns the sorted indexes of the rejected rows among the written rows.
    fn reject(
        &mut self,
        written: Written,
        (made, first): (&MadeRows<'_>, usize),
        rejects: &mut Vec<Reject>,
    ) -> Vec<usize> {
        let Written {
            misfits, refused, ..
        } = written;
        if misfits.is_empty() && refused.is_empty() {
            return Vec::new();
        }
        let mut rows: Vec<usize> = refused.iter().map(|refused| refused.row).collect();
        rows.sort_unstable();
        for row in &rows {
            self.evidence.refused(made.row_id(first + row));
        }
        let name = |column: usize| self.flow.columns[column].name.as_str();
        for misfit in misfits {
            rows.push(misfit.row);
            let column = Some(name(misfit.column));
            let code = RejectCode::OutOfRange;
            rejects.push(made.reject(first + misfit.row, column, code, misfit.reason));
        }
        for refused in refused {
            let RefusedRow {
                row,
                column,
                code,
                reason,
            } = refused;
            rejects.push(made.reject(first + row, column.map(name), code, reason));
        }
        rejects.sort_by_key(|reject| reject.location.byte_offset);
        rows.sort_unstable();
        rows
    }

    /// Sums up the rows before `end` that were taken.
    fn add_taken(&mut self, batch: &RecordBatch, end: usize, not_taken: &[usize]) {
        if not_taken.is_empty() && end == batch.num_rows() {
            self.evidence.add(batch, self.gauge);
            return;
        }
        let mut from = 0;
        for row in not_taken.iter().copied().chain([end]) {
            if row > from {
                self.evidence
                    .add(&batch.slice(from, row - from), self.gauge);
            }
            from = row + 1;
        }
    }

    /// Writes rejects to their files, and counts them.
    fn keep(&mut self, rejects: &mut Vec<Reject>, account: &mut Account) -> Result<(), Error> {
        if rejects.is_empty() {
            return Ok(());
        }
        self.refuse_stopped()?;
        account.rows_rejected += rejects.len() as u64;
        self.rejects.keep(rejects)
    }

    /// Returns an error if the run was asked to stop. A writer checks that too, but is not called if all rows are
    /// rejected or skipped.
    fn refuse_stopped(&self) -> Result<(), Error> {
        match self.stop.asked() {
            Some(_) => Err(Error::Interrupted),
            None => Ok(()),
        }
    }

    /// Reports rows that were read, and bytes of the files as stored.
    fn progress(&self, rows: u64, bytes: u64) {
        self.flow_count.add(rows, bytes);
        self.event_sink.observer.notice(&Event::Progress {
            flow: self.flow.name.clone(),
            rows,
            bytes,
        });
    }

    /// Adds the cost of the file's feed.
    pub fn note_fed(&mut self, cost: &SourceMeter) {
        self.progress(0, cost.stored_bytes);
        self.fed.add(cost);
    }

    /// Adds the numbers of values that were changed, and of rows that each step has seen.
    pub fn note_made(&mut self, maker: &RowMaker) {
        for (column, changes) in maker.changes() {
            if changes.total() > 0 {
                let sum = self.changes.entry(column.to_owned()).or_default();
                sum.add(&changes);
            }
        }
        self.steps.add(&maker.step_tally());
    }
}

/// Is pending once, so that the caller can drop the loop if the destination has refused a row that another stream sent to the
/// same unit.
async fn let_others_end_it() {
    let mut was_pending = false;
    std::future::poll_fn(|context| {
        if was_pending {
            return Poll::Ready(());
        }
        was_pending = true;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Runs a loop whose writer blocks, on the calling thread. This must not be a thread of the runtime, because the writer
/// may wait for the runtime.
pub fn blocking<T>(sending: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut sending = pin!(sending);
    loop {
        match sending.as_mut().poll(&mut context) {
            Poll::Ready(sent) => return sent,
            // A feed is not ready, another stream loads, or the loop may end here. A wake-up in between lets `park` return
            // at once.
            Poll::Pending => std::thread::park(),
        }
    }
}

/// Wakes up a thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_that_waits_goes_on_when_another_thread_is_ready() {
        let (send, receive) = tokio::sync::oneshot::channel();
        let received = std::thread::scope(|scope| {
            scope.spawn(|| send.send(7));
            blocking(receive)
        });
        assert_eq!(received, Ok(7));
        assert_eq!(blocking(std::future::ready(8)), 8);
    }
}
