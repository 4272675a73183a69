//! What a stream does with a piece of work: a private unit, or a shard of a shared one, from
//! file to COMMIT in one transaction.

use std::time::Instant;

use arrow_array::RecordBatch;
use inrush_scan::Records;
use inrush_wire::{BinaryEncoder, EncodeError, TextEncoder};

use super::context::Context;
use super::ready::{make_ready, record};
use super::results::{Loaded, StreamResult};
use super::shared_unit;
use crate::column;
use crate::convert::Converter;
use crate::destination::postgres::copy::{BLOCK_BYTES, BlockPool, CopyStop, CopyWriter};
use crate::destination::postgres::unit::{self, Measured};
use crate::destination::postgres::{DestinationError, Session};
use crate::error::Error;
use crate::event::Event;
use crate::fault::{self, FaultPoint};
use crate::ledger::{Account, ShardRecord};
use crate::meter::{Meter, nanoseconds};
use crate::plan::units::WorkItem;
use crate::plan::{FlowPlan, UnitPlan, WireForm, identity};
use crate::reject::Reject;
use crate::report::RejectFile;
use crate::source::{BufferPool, Shard, ShardReader};

/// Rejects of a piece of work that are told as events and stand in the report; all are in the
/// run's folder.
const REJECTS_TOLD: usize = 10;

/// Loads a piece of work and commits it. Dropped before its end, or after an error, it leaves an
/// open transaction behind: the session must then be abandoned.
pub async fn load(
    context: &Context<'_>,
    session: &Session,
    stream: usize,
    item: &WorkItem,
    result: &mut StreamResult,
) -> Result<Loaded, Error> {
    let (flow, unit) = context.run.unit(item.flow, item.unit);
    let shards = &unit.shards[item.shards.clone()];
    context.notice(Event::UnitStarted {
        flow: flow.name.clone(),
        unit: unit.number,
        stream,
        file: shards
            .first()
            .map(|shard| shard.file.path.display().to_string())
            .unwrap_or_default(),
    });
    let begun = Instant::now();
    let mut piece = Piece {
        context,
        session,
        flow,
        unit,
        rejects: reject_file(context, flow, unit, item)?,
        pool: BlockPool::default(),
        meter: Meter::default(),
        told: Vec::new(),
    };
    let outcome = piece.transaction(shards).await;
    result.rejects.append(&mut piece.told);
    let mut meter = piece.meter;
    let account = match outcome {
        Ok(account) => account,
        Err(error) => {
            context.notice(Event::UnitAborted {
                flow: flow.name.clone(),
                unit: unit.number,
                bytes: meter.stored_bytes,
            });
            return Err(error);
        }
    };
    fault::reach(context.fault, FaultPoint::AfterUnitCommit);
    if unit.shared {
        shared_unit::shard_done(context, session, item.flow, item.unit).await?;
    }
    meter.busy_ns = nanoseconds(begun.elapsed());
    context.notice(Event::UnitCommitted {
        flow: flow.name.clone(),
        unit: unit.number,
        stream,
        account,
        stored_bytes: meter.stored_bytes,
    });
    Ok(Loaded {
        flow: item.flow,
        unit: item.unit,
        meter,
    })
}

fn reject_file(
    context: &Context<'_>,
    flow: &FlowPlan,
    unit: &UnitPlan,
    item: &WorkItem,
) -> Result<RejectFile, Error> {
    let name = if unit.shared {
        format!("{}.{}.{}", flow.name, unit.number, item.shards.start + 1)
    } else {
        format!("{}.{}", flow.name, unit.number)
    };
    RejectFile::new(
        &context.run.rejects_folder(),
        &name,
        &flow.dialect,
        flow.header.as_deref(),
    )
}

/// A piece of work under way.
struct Piece<'a> {
    context: &'a Context<'a>,
    session: &'a Session,
    flow: &'a FlowPlan,
    unit: &'a UnitPlan,
    rejects: RejectFile,
    pool: BlockPool,
    meter: Meter,
    told: Vec<Reject>,
}

impl Piece<'_> {
    /// All of it, from BEGIN to COMMIT.
    async fn transaction(&mut self, shards: &[Shard]) -> Result<Account, Error> {
        let run = self.context.run;
        let session = self.session;
        let doing = format!("loading {}", self.flow.target());
        let waiting = Instant::now();
        session.execute("BEGIN", &doing).await?;
        run.ledger.hold_fence(session, &run.fence).await?;
        // Functions in the target's constraints find what they name as in any other session; a
        // lock that somebody holds on the target is not waited for without an end.
        let local_settings = format!(
            "SET LOCAL search_path = DEFAULT; SET LOCAL lock_timeout = {}",
            run.plan.settings.lock_timeout_ms
        );
        session.execute(&local_settings, &doing).await?;
        if !self.unit.shared {
            for statement in &self.unit.create {
                session.execute(statement, &doing).await?;
            }
        }
        self.meter.server_wait_ns += nanoseconds(waiting.elapsed());
        let mut account = Account::default();
        let mut records = Vec::with_capacity(shards.len());
        let mut buffers = BufferPool::default();
        for shard in shards {
            let (loaded, pool) = self.copy_shard(shard, buffers).await?;
            buffers = pool;
            account.add(&loaded);
            records.push(self.shard_record(shard, loaded));
        }
        let waiting = Instant::now();
        if !self.unit.shared {
            let measured = unit::measure(session, &self.unit.measure).await?;
            self.verify(&measured, &account)?;
            make_ready(session, &run.plan, self.flow, self.unit, &measured).await?;
            let record = record(&run.plan, self.flow, self.unit, Some(&measured), true);
            run.ledger.record_unit(session, &run.fence, &record).await?;
        }
        for record in &records {
            run.ledger.record_shard(session, &run.fence, record).await?;
        }
        self.rejects.finish()?;
        fault::reach(self.context.fault, FaultPoint::BeforeUnitCommit);
        if fault::wished(self.context.fault, FaultPoint::UnitCommitSent) {
            unit::send_commit_and(session, || fault::die(FaultPoint::UnitCommitSent)).await;
        }
        session.execute("COMMIT", &doing).await?;
        self.meter.server_wait_ns += nanoseconds(waiting.elapsed());
        Ok(account)
    }

    fn shard_record(&self, shard: &Shard, account: Account) -> ShardRecord {
        ShardRecord {
            unit_key: self.unit.key.clone(),
            shard_key: identity::shard_key(shard),
            file: shard.file.path.display().to_string(),
            byte_start: shard.byte_range.start,
            byte_end: Some(shard.byte_range.end),
            file_bytes: shard.file.size_bytes,
            file_modified_ns: shard.file.modified_ns,
            account,
        }
    }

    fn verify(&self, measured: &Measured, account: &Account) -> Result<(), Error> {
        if measured.rows == account.rows_loaded {
            return Ok(());
        }
        Err(Error::Verification {
            what: format!(
                "staging table of unit {} of {}",
                self.unit.number,
                self.flow.target()
            ),
            counted: measured.rows,
            sent: account.rows_loaded,
        })
    }

    /// One file range: read, scanned, converted, encoded and sent by one COPY.
    async fn copy_shard(
        &mut self,
        shard: &Shard,
        buffers: BufferPool,
    ) -> Result<(Account, BufferPool), Error> {
        let settings = &self.context.run.plan.settings;
        let flow = self.flow;
        let mut reader = ShardReader::open(
            shard.clone(),
            &flow.dialect,
            settings.chunk_bytes as usize,
            buffers,
        )?;
        check_header(flow, shard, &reader)?;
        let mut converter = converter(flow, self.unit)?;
        let mut encoder = Encoder::new(&flow.wire);
        encoder.check(flow)?;
        let mut copy = CopyWriter::begin(
            self.session,
            &self.unit.copy,
            self.pool.clone(),
            self.context.stop.clone(),
            format!(
                "loading {} into {}",
                shard.file.path.display(),
                flow.target()
            ),
        )
        .await?;
        let mut block = self.pool.take();
        encoder.begin(&mut block);
        let mut records = Records::default();
        let mut rejects = Vec::new();
        let mut rejected = 0_u64;
        let mut sent = 0_u64;
        let mut stored_before = 0;
        while let Some(chunk) = reader.next_chunk(&mut records)? {
            let mut at = 0;
            while at < records.len() {
                let end = records.len().min(at + settings.batch_rows as usize);
                let started = Instant::now();
                let batch = converter.convert(&chunk, &records, at..end, &mut rejects);
                let converted = Instant::now();
                if !rejects.is_empty() {
                    rejected += rejects.len() as u64;
                    self.keep_rejects(&mut rejects)?;
                }
                sent += batch.num_rows() as u64;
                encoder.encode(&batch, &mut block)?;
                self.meter.convert_ns += nanoseconds(converted - started);
                self.meter.encode_ns += nanoseconds(converted.elapsed());
                if block.len() >= BLOCK_BYTES {
                    block = copy.send(block).await.map_err(stopped)?;
                }
                at = end;
            }
            let read = reader.meter();
            self.context.observer.notice(&Event::Progress {
                flow: flow.name.clone(),
                rows: records.len() as u64,
                bytes: read.stored_bytes - stored_before,
            });
            self.meter.stored_bytes += read.stored_bytes - stored_before;
            stored_before = read.stored_bytes;
            reader.recycle(chunk);
            fault::reach(self.context.fault, FaultPoint::InCopy);
        }
        encoder.end(&mut block);
        if !block.is_empty() {
            copy.send(block).await.map_err(stopped)?;
        }
        self.meter.send_wait_ns += nanoseconds(copy.wait_time);
        self.meter.sent_bytes += copy.bytes_count;
        let waiting = Instant::now();
        let counted = copy.finish().await.map_err(stopped)?;
        self.meter.send_wait_ns += nanoseconds(waiting.elapsed());
        if counted != sent {
            return Err(Error::Verification {
                what: format!("COPY of {}", shard.file.path.display()),
                counted,
                sent,
            });
        }
        let read = reader.meter();
        self.meter.stored_bytes += read.stored_bytes - stored_before;
        self.meter.read_ns += read.read_ns;
        self.meter.decompress_ns += read.decompress_ns;
        self.meter.scan_ns += read.scan_ns;
        self.meter.text_bytes += read.text_bytes;
        self.meter.rows += sent;
        let account = Account {
            rows_read: read.record_count + read.skipped_line_count,
            rows_loaded: sent,
            rows_rejected: rejected,
            rows_skipped: read.skipped_line_count,
            bytes_read: read.text_bytes,
        };
        if !account.holds() {
            return Err(Error::Verification {
                what: format!("the account of {}", shard.file.path.display()),
                counted: account.rows_loaded + account.rows_rejected + account.rows_skipped,
                sent: account.rows_read,
            });
        }
        Ok((account, reader.close()))
    }

    fn keep_rejects(&mut self, rejects: &mut Vec<Reject>) -> Result<(), Error> {
        self.rejects.keep(rejects)?;
        for reject in rejects.iter() {
            if self.told.len() == REJECTS_TOLD {
                break;
            }
            self.context.notice(Event::Rejected {
                flow: self.flow.name.clone(),
                place: reject.location.to_string(),
                column: reject.column.as_deref().map(str::to_owned),
                code: code_word(reject),
                reason: reject.reason.clone(),
            });
            self.told.push(reject.clone());
        }
        let flow_index = self
            .context
            .run
            .plan
            .flows
            .iter()
            .position(|flow| std::ptr::eq(flow, self.flow))
            .expect("the flow is one of the plan's");
        let counted = self.context.run.rejects[flow_index].add(&self.flow.name, rejects);
        rejects.clear();
        counted.inspect_err(|_| {
            // The rows that led here stay readable for whoever mends the file.
            let _ = self.rejects.finish();
        })
    }
}

fn code_word(reject: &Reject) -> String {
    match serde_json::to_value(reject.code) {
        Ok(serde_json::Value::String(word)) => word,
        _ => format!("{:?}", reject.code),
    }
}

fn stopped(stop: CopyStop) -> Error {
    match stop {
        CopyStop::Asked => Error::Interrupted,
        CopyStop::Failed(error) => Error::Destination(error),
    }
}

/// Each file has a header of its own, and they must be the same: columns were matched by the
/// first one.
fn check_header(flow: &FlowPlan, shard: &Shard, reader: &ShardReader) -> Result<(), Error> {
    let (Some(found), Some(expected)) = (reader.header(), &flow.header) else {
        return Ok(());
    };
    if found == expected.as_slice() {
        return Ok(());
    }
    Err(Error::Header {
        file: shard.file.path.display().to_string(),
        found: found.join(", "),
        expected: expected.join(", "),
    })
}

fn converter(flow: &FlowPlan, unit: &UnitPlan) -> Result<Converter, Error> {
    let converter =
        Converter::new(&flow.columns, &flow.dialect, flow.field_count).map_err(|source| {
            Error::Convert {
                flow: flow.name.clone(),
                source,
            }
        })?;
    Ok(match &unit.key_bounds {
        Some(bounds) => converter.with_key_bounds(bounds.clone()),
        None => converter,
    })
}

/// The encoder of a flow's wire form.
enum Encoder {
    Binary(BinaryEncoder),
    Text(TextEncoder),
}

impl Encoder {
    fn new(wire: &WireForm) -> Encoder {
        match wire {
            WireForm::Binary(types) => Encoder::Binary(BinaryEncoder::new(types.clone())),
            WireForm::Text { .. } => Encoder::Text(TextEncoder::new()),
        }
    }

    fn check(&self, flow: &FlowPlan) -> Result<(), DestinationError> {
        let schema = column::schema(&flow.columns);
        match self {
            Encoder::Binary(encoder) => encoder.check(&schema),
            Encoder::Text(encoder) => encoder.check(&schema),
        }
        .map_err(DestinationError::from)
    }

    fn begin(&self, block: &mut Vec<u8>) {
        match self {
            Encoder::Binary(encoder) => encoder.begin(block),
            Encoder::Text(encoder) => encoder.begin(block),
        }
    }

    fn encode(&mut self, batch: &RecordBatch, block: &mut Vec<u8>) -> Result<(), DestinationError> {
        let encoded: Result<(), EncodeError> = match self {
            Encoder::Binary(encoder) => encoder.encode(batch, block),
            Encoder::Text(encoder) => encoder.encode(batch, block),
        };
        encoded.map_err(DestinationError::from)
    }

    fn end(&self, block: &mut Vec<u8>) {
        match self {
            Encoder::Binary(encoder) => encoder.end(block),
            Encoder::Text(encoder) => encoder.end(block),
        }
    }
}
