//! Reads the rows of a split by COPY. They are decoded a block at a time, or passed on in COPY's own form.

use std::sync::Arc;
use std::time::Instant;

use inrush_pgcopy::{BinaryDecoder, DecodeError, DecodedType, PgType};
use inrush_rows::chunk::Chunk;
use inrush_scan::Records;
use inrush_source::{
    Chunks, ContentHash, NativeRows, ReadPace, ReadingSession, SourceError, SourceMeter, SplitEnd,
    SplitReader, nanoseconds_since,
};

use crate::error::{input_error, of_session};
use crate::input::TableInput;
use crate::pool::Lease;
use crate::proof::Proof;
use crate::rows::{self, RowPlace};
use crate::source::Reading;

/// Blocks larger than this are read in pieces, so that a stop is noticed between them.
const PIECE_BYTES: usize = 256 << 10;

/// Reads a range of an input (of its pages or of its keys), or all of it.
pub struct RangeReader<'a> {
    reading: &'a Reading,
    input: Arc<TableInput>,
    /// The session of the COPY; `None` once the COPY has ended.
    lease: Option<Lease>,
    /// The COPY statement; `None` once it was sent. It is sent for the first chunk, not by [`open`](RangeReader::open):
    /// the server may need a long time until the first row, and the session of an open reader can be sampled meanwhile.
    copy: Option<String>,
    /// The conditions that select the rows, if the server counts and hashes the rows after the COPY.
    proven: Option<Vec<String>>,
    proof: Option<Proof>,
    decoder: BinaryDecoder,
    place: RowPlace,
    chunk_bytes: usize,
    /// Bytes that were read. Those from `done` on are neither decoded nor passed on yet.
    rest: Vec<u8>,
    /// The number of bytes of `rest` that were passed on.
    done: usize,
    /// True if `rest` still has whole rows: they are decoded before more bytes are read.
    is_cut: bool,
    is_at_end: bool,
    hash: ContentHash,
    meter: SourceMeter,
    pace: ReadPace,
}

impl<'a> RangeReader<'a> {
    /// A reader of this range. It takes a session from the pool, or waits for one.
    pub fn open(
        reading: &'a Reading,
        input: &Arc<TableInput>,
        range: std::ops::Range<u64>,
        chunk_bytes: usize,
    ) -> Result<RangeReader<'a>, SourceError> {
        let name = &input.of.name;
        let mut types: Vec<DecodedType> = reading
            .columns
            .iter()
            .map(|column| column.decoded)
            .collect();
        let place = reading.row_place(input, &range);
        match place {
            RowPlace::Page => types.insert(0, DecodedType::Tid),
            RowPlace::Key(..) => types.insert(0, DecodedType::Value(PgType::Text)),
            RowPlace::Number => {}
        }
        let decoder = BinaryDecoder::new(types).map_err(|error| undecodable(input, &error))?;
        let lease = reading.pool().take(name, reading.hides_nothing)?;
        Ok(RangeReader {
            reading,
            input: Arc::clone(input),
            lease: Some(lease),
            copy: Some(reading.copy(input, &range)),
            proven: reading.is_proven.then(|| reading.conditions(input, &range)),
            proof: None,
            decoder,
            place,
            chunk_bytes: chunk_bytes.max(1),
            rest: Vec::new(),
            done: 0,
            is_cut: false,
            is_at_end: false,
            hash: ContentHash::default(),
            meter: SourceMeter::default(),
            pace: ReadPace::new(reading.pace()),
        })
    }

    /// Called when `rest` has no whole row: if the COPY is over, `rest` must be the end of its data.
    fn end_if_over(&mut self) -> Result<(), SourceError> {
        if self.lease.is_none() {
            let ended = self.decoder.end(&self.rest[self.done..]);
            ended.map_err(|error| undecodable(&self.input, &error))?;
            self.is_at_end = true;
        }
        Ok(())
    }

    /// Appends about `chunk_bytes`, or the remaining bytes of the COPY.
    fn receive(&mut self, bytes: &mut Vec<u8>) -> Result<(), SourceError> {
        let wanted = bytes.len().saturating_add(self.chunk_bytes);
        while bytes.len() < wanted {
            self.input.of.check_stop(&self.reading.stop)?;
            let Some(lease) = &mut self.lease else {
                return Ok(());
            };
            if let Some(copy) = self.copy.take() {
                lease
                    .session
                    .begin_copy(&copy, &self.input.of.reading())
                    .map_err(|error| of_session(&self.input.of.name, error))?;
            }
            let before = bytes.len();
            let waited_before = lease.session.waited_ns();
            let piece = wanted.min(before + PIECE_BYTES);
            let more = lease
                .session
                .read_copy(bytes, piece, &self.input.of.reading());
            self.meter.read_ns += lease.session.waited_ns() - waited_before;
            let more = more.map_err(|error| of_session(&self.input.of.name, error))?;
            self.hash.add(&bytes[before..]);
            let count = (bytes.len() - before) as u64;
            self.meter.stored_bytes += count;
            self.meter.text_bytes += count;
            self.pace.add(bytes.len() - before);
            if !more && let Some(mut lease) = self.lease.take() {
                if let Some(conditions) = &self.proven {
                    let (input, columns) = (&self.input, &self.reading.columns);
                    let waited_before = lease.session.waited_ns();
                    let proof = Proof::ask(&mut lease.session, input, columns, conditions);
                    self.meter.read_ns += lease.session.waited_ns() - waited_before;
                    let failed = |error| of_session(&self.input.of.name, error);
                    self.proof = Some(proof.map_err(failed)?);
                }
                let age = &self.reading.pool().snapshot().age;
                age.check()
                    .map_err(|error| of_session(&self.input.of.name, error))?;
                self.reading.pool().give_back(lease);
            }
        }
        Ok(())
    }
}

fn undecodable(input: &TableInput, error: &DecodeError) -> SourceError {
    input_error(
        &input.of.name,
        format!("the data of COPY cannot be read: {error}"),
        "connect directly to the server, without a proxy in between",
    )
}

impl Chunks for RangeReader<'_> {
    fn next_chunk(&mut self, records: &mut Records) -> Result<Option<Chunk>, SourceError> {
        records.clear();
        self.keep_pace();
        while !self.is_at_end {
            self.input.of.check_stop(&self.reading.stop)?;
            let mut bytes = std::mem::take(&mut self.rest);
            if !self.is_cut {
                self.receive(&mut bytes)?;
            }
            let start = Instant::now();
            let first_number = self.decoder.row_count();
            let decoded = self.decoder.decode(bytes);
            let mut block = decoded.map_err(|error| undecodable(&self.input, &error))?;
            self.rest = std::mem::take(&mut block.rest);
            self.is_cut = block.is_cut;
            if block.row_count == 0 {
                self.end_if_over()?;
                continue;
            }
            let columns = &self.reading.columns;
            let (rows, first, places) = rows::of_block(columns, block, &self.place, first_number);
            self.meter.record_count = self.decoder.row_count();
            self.meter.chunk_count += 1;
            self.meter.scan_ns += nanoseconds_since(start);
            let chunk = Chunk::of_rows(&self.input.of.name, first, rows, places, records);
            return Ok(Some(chunk));
        }
        Ok(None)
    }

    fn keep_pace(&mut self) {
        self.pace.keep(&self.reading.stop);
    }

    fn recycle(&mut self, _chunk: Chunk) {}

    fn meter(&self) -> SourceMeter {
        self.meter
    }
}

impl NativeRows for RangeReader<'_> {
    fn append_rows(
        &mut self,
        block: &mut Vec<u8>,
        until: usize,
    ) -> Result<Option<u64>, SourceError> {
        let until = until.max(block.len() + 1);
        self.keep_pace();
        while !self.is_at_end {
            self.input.of.check_stop(&self.reading.stop)?;
            let start = Instant::now();
            let bytes = &self.rest[self.done..];
            let passed = self.decoder.pass(bytes, self.place.columns(), until, block);
            let passed = passed.map_err(|error| undecodable(&self.input, &error))?;
            self.done += passed.used;
            self.meter.record_count = self.decoder.row_count();
            self.meter.scan_ns += nanoseconds_since(start);
            if passed.row_count > 0 {
                self.meter.chunk_count += 1;
                return Ok(Some(passed.row_count));
            }
            self.end_if_over()?;
            let mut bytes = std::mem::take(&mut self.rest);
            bytes.drain(..std::mem::take(&mut self.done));
            self.receive(&mut bytes)?;
            self.rest = bytes;
        }
        Ok(None)
    }
}

impl SplitReader for RangeReader<'_> {
    fn native_rows(&mut self) -> Option<&mut dyn NativeRows> {
        let columns = &self.reading.columns;
        let have_forms = columns.iter().all(|column| column.form.is_some());
        have_forms.then_some(self as &mut dyn NativeRows)
    }

    fn end(mut self: Box<Self>) -> SplitEnd {
        SplitEnd::of_rows(match &self.proof {
            Some(proof) => proof.to_string(),
            None => self.hash.take(),
        })
    }

    fn session(&self) -> Option<ReadingSession> {
        let session = &self.lease.as_ref()?.session;
        Some(ReadingSession {
            server: Arc::clone(self.reading.place()),
            process_id: session.serving_process_id(),
            is_remote: session.is_remote(),
            round_trip_us: session.round_trip_us(),
        })
    }
}
