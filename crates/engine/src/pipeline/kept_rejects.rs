//! The rejects of a piece of work: all are written into the run's folder, the first ones are sent as events, and too
//! many end the run.

use inrush_plan::Reading;
use inrush_rows::reject::Reject;

use super::event_sink::EventSink;
use super::reject_count::{RejectCount, RowTally};
use super::sharing::Sharing;
use crate::error::Error;
use crate::event::Event;
use crate::report::RejectFile;

/// The number of rejects of a piece of work that are sent as events and listed in the report. The run's folder has all
/// rejects.
const REJECTS_TOLD: usize = 10;

/// The destinations of the rejects of a piece of work.
pub struct KeptRejects<'a> {
    event_sink: EventSink<'a>,
    flow: &'a Reading,
    /// Rejects of the flow so far, over all streams.
    count: &'a RejectCount,
    /// The shared unit to which this piece of work belongs, if there is one.
    sharing: Option<&'a Sharing>,
    file: RejectFile,
    told: Vec<Reject>,
    /// The disk's free space was checked before the first reject was written.
    has_looked: bool,
    /// The rows of a piece of work outside a shared unit.
    counted: RowTally,
}

impl<'a> KeptRejects<'a> {
    /// Begins without rejects; `file` belongs to this piece of work.
    pub fn new(
        event_sink: EventSink<'a>,
        flow: &'a Reading,
        count: &'a RejectCount,
        sharing: Option<&'a Sharing>,
        file: RejectFile,
    ) -> KeptRejects<'a> {
        KeptRejects {
            event_sink,
            flow,
            count,
            sharing,
            file,
            told: Vec::new(),
            has_looked: false,
            counted: RowTally::default(),
        }
    }

    /// Keeps and counts rejects, and leaves the list empty.
    pub fn keep(&mut self, rejects: &mut Vec<Reject>) -> Result<(), Error> {
        if !self.has_looked && !rejects.is_empty() {
            self.event_sink.folder.require_reserve()?;
            self.has_looked = true;
        }
        let kept_bytes = self.file.keep(rejects)?;
        for reject in rejects.iter() {
            if self.told.len() == REJECTS_TOLD {
                break;
            }
            self.event_sink.notice(&Event::Rejected {
                flow: self.flow.name.clone(),
                place: reject.location.to_string(),
                column: reject.column.as_deref().map(str::to_owned),
                code: code_word(reject),
                reason: reject.reason.clone(),
            });
            self.told.push(reject.clone());
        }
        self.note(RowTally {
            rejects: rejects.len() as u64,
            kept_bytes,
            ..RowTally::default()
        });
        let has_room = match self
            .count
            .note_kept(kept_bytes, self.event_sink.folder.look_every())
        {
            true => self.event_sink.folder.require_reserve(),
            false => Ok(()),
        };
        let counted = self.count.add(&self.flow.name, rejects).and(has_room);
        rejects.clear();
        counted.inspect_err(|_| {
            // The rejects so far stay readable for the person who fixes the file.
            let _ = self.file.finish();
        })
    }

    /// Counts rows that were read, including rejected ones.
    pub fn note_read(&mut self, rows: u64, bytes: u64) {
        self.count.note_read(rows, bytes);
        self.note(RowTally {
            rows,
            bytes,
            ..RowTally::default()
        });
    }

    fn note(&mut self, more: RowTally) {
        match self.sharing {
            Some(sharing) => sharing.note(more),
            None => self.counted.add(more),
        }
    }

    /// The number of further rejects that the flow accepts, over all streams.
    pub fn left(&self) -> u64 {
        self.count.left()
    }

    /// The transaction was rolled back: its rejects do not count and are not kept. The rejects of a shared unit are
    /// removed for the whole unit, by the stream that loads it again.
    pub fn take_back(&mut self) -> Result<(), Error> {
        self.count.take_back(std::mem::take(&mut self.counted));
        self.told.clear();
        self.file.remove()
    }

    /// Flushes all rejects to their files.
    pub fn finish(&mut self) -> Result<(), Error> {
        self.file.finish()?;
        Ok(())
    }

    /// The rejects for the report.
    pub fn told(self) -> Vec<Reject> {
        self.told
    }
}

fn code_word(reject: &Reject) -> String {
    match serde_json::to_value(reject.code) {
        Ok(serde_json::Value::String(word)) => word,
        _ => format!("{:?}", reject.code),
    }
}
