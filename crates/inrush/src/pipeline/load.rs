//! What a stream does with a piece of work: a private unit, or a shard of a shared one, from
//! file to COMMIT in one transaction.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use inrush_scan::Records;

use super::context::Context;
use super::copying::Copying;
use super::damage;
use super::expected_keys::ExpectedKeys;
use super::feeding::FedFile;
use super::ready::{make_ready, record};
use super::results::{Loaded, StreamResult};
use super::shared_unit;
use super::trailer::TrailerCatch;
use super::verifying;
use crate::column_policy::ColumnChanges;
use crate::convert::{Converter, RunStamp};
use crate::destination::postgres::copy::BlockPool;
use crate::destination::postgres::unit::{self, Measured};
use crate::destination::postgres::{Session, staging};
use crate::error::Error;
use crate::event::Event;
use crate::fault::{self, FaultPoint};
use crate::ledger::{Account, ShardRecord};
use crate::meter::{Meter, nanoseconds};
use crate::plan::units::WorkItem;
use crate::plan::{FlowPlan, UnitPlan, identity};
use crate::reject::Reject;
use crate::report::RejectFile;
use crate::source::{BufferPool, Chunks, Feed, FeedRange, Shard, ShardReader, SourceMeter};
use crate::verify::{ContentHash, Tally};

/// Rejects of a piece of work that are told as events and stand in the report; all are in the
/// run's folder.
const REJECTS_TOLD: usize = 10;

/// Text that a stream loads from a feed in one transaction: what a stop throws away.
const FED_TRANSACTION_BYTES: u64 = 64 << 20;

/// What is loaded in one transaction.
enum Work<'a> {
    /// File ranges, each by a COPY of its own.
    Shards(&'a [Shard]),
    /// Ranges of a file that is fed, as they come, by one COPY. The first one is at hand.
    Fed {
        file: &'a FedFile,
        feed: &'a Feed,
        shard: &'a Shard,
        first: Box<FeedRange>,
    },
}

/// Loads a piece of work and commits it; one that is fed in as many transactions as it takes.
/// Dropped before its end, or after an error, it leaves an open transaction behind: the session
/// must then be abandoned.
pub async fn load(
    context: &Context<'_>,
    session: &Session,
    stream: usize,
    item: &WorkItem,
    result: &mut StreamResult,
) -> Result<(), Error> {
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
    let loader = Loader {
        context,
        session,
        stream,
        item,
    };
    let place = (item.flow, item.unit, item.shards.start);
    let Some(file) = context.run.fed_files.get(&place) else {
        loader.transaction(Work::Shards(shards), "", result).await?;
        if unit.shared {
            shared_unit::shard_done(context, session, item.flow, item.unit).await?;
        }
        return Ok(());
    };
    let shard = &shards[0];
    let feed = file.feed(flow, shard)?;
    check_header(flow, shard, feed.header())?;
    while let Some(first) = file.next_range(&feed).await? {
        let name = format!(".{}", first.text_range.start);
        let work = Work::Fed {
            file,
            feed: &feed,
            shard,
            first: Box::new(first),
        };
        let ranges = loader.transaction(work, &name, result).await?;
        file.committed(ranges);
    }
    if file.is_complete() {
        shared_unit::shard_done(context, session, item.flow, item.unit).await?;
    }
    Ok(())
}

/// A stream with a piece of work.
struct Loader<'a> {
    context: &'a Context<'a>,
    session: &'a Session,
    stream: usize,
    item: &'a WorkItem,
}

impl Loader<'_> {
    /// Loads and commits; the ranges that were.
    async fn transaction(
        &self,
        work: Work<'_>,
        name: &str,
        result: &mut StreamResult,
    ) -> Result<usize, Error> {
        let Loader {
            context,
            session,
            item,
            ..
        } = *self;
        let (flow, unit) = context.run.unit(item.flow, item.unit);
        let begun = Instant::now();
        let mut piece = Piece {
            context,
            session,
            flow,
            flow_index: item.flow,
            unit,
            expected: None,
            rejects: self.reject_file(name)?,
            pool: BlockPool::default(),
            meter: Meter::default(),
            changes: BTreeMap::new(),
            told: Vec::new(),
            tally: Tally::new(&flow.verify),
            trailer: flow.expect.trailer.as_ref().map(TrailerCatch::new),
            content: ContentHash::default(),
        };
        let outcome = piece.transaction(work).await;
        result.rejects.append(&mut piece.told);
        let mut meter = piece.meter;
        let changes = std::mem::take(&mut piece.changes);
        let (account, ranges) = match outcome {
            Ok(done) => done,
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
        meter.busy_ns = nanoseconds(begun.elapsed());
        context.notice(Event::UnitCommitted {
            flow: flow.name.clone(),
            unit: unit.number,
            stream: self.stream,
            account,
            stored_bytes: meter.stored_bytes,
        });
        result.meter.add(&meter);
        result.loaded.push(Loaded {
            flow: item.flow,
            unit: item.unit,
            meter,
            changes,
        });
        Ok(ranges)
    }

    fn reject_file(&self, suffix: &str) -> Result<RejectFile, Error> {
        let (flow, unit) = self.context.run.unit(self.item.flow, self.item.unit);
        let name = if unit.shared {
            let shard = self.item.shards.start + 1;
            format!("{}.{}.{shard}{suffix}", flow.name, unit.number)
        } else {
            format!("{}.{}", flow.name, unit.number)
        };
        RejectFile::new(
            &self.context.run.rejects_folder(),
            &name,
            &flow.dialect,
            flow.header.as_deref(),
        )
    }
}

/// A piece of work under way.
struct Piece<'a> {
    context: &'a Context<'a>,
    session: &'a Session,
    flow: &'a FlowPlan,
    flow_index: usize,
    unit: &'a UnitPlan,
    /// The keys that the unit's CHECK allows while its rows come.
    expected: Option<ExpectedKeys>,
    rejects: RejectFile,
    pool: BlockPool,
    meter: Meter,
    changes: BTreeMap<String, ColumnChanges>,
    told: Vec<Reject>,
    /// Sums of the rows that were sent since the last record, where they are verified.
    tally: Option<Tally>,
    /// The trailer that the file ends with, where its flow says that there is one.
    trailer: Option<TrailerCatch>,
    /// A hash of the text that was read since the last record.
    content: ContentHash,
}

impl<'a> Piece<'a> {
    /// All of it, from BEGIN to COMMIT.
    async fn transaction(&mut self, work: Work<'_>) -> Result<(Account, usize), Error> {
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
            self.expect_keys().await?;
        }
        self.meter.server_wait_ns += nanoseconds(waiting.elapsed());
        let records = match work {
            Work::Shards(shards) => self.copy_shards(shards).await?,
            Work::Fed {
                file,
                feed,
                shard,
                first,
            } => self.copy_fed(file, feed, shard, *first).await?,
        };
        let mut account = Account::default();
        for record in &records {
            account.add(&record.account);
        }
        let waiting = Instant::now();
        if !self.unit.shared {
            let (measured, is_checked) = self.measure().await?;
            self.verify(&measured, &account)?;
            let asked = verifying::check(session, &run.plan, self.flow, self.unit, records.iter());
            self.meter.verify_wait_ns += asked.await?;
            make_ready(
                session, &run.plan, self.flow, self.unit, &measured, is_checked,
            )
            .await?;
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
        Ok((account, records.len()))
    }

    fn shard_record(&mut self, shard: &Shard, account: Account) -> ShardRecord {
        ShardRecord {
            unit_key: self.unit.key.clone(),
            shard_key: identity::shard_key(shard),
            file_key: identity::file_key(&shard.file),
            file: shard.file.path.display().to_string(),
            byte_start: shard.byte_range.start,
            byte_end: Some(shard.byte_range.end),
            file_bytes: shard.file.size_bytes,
            file_modified_ns: shard.file.modified_ns,
            account,
            content_hash: Some(self.content.take()),
            tally: self.tally.as_mut().map(Tally::take),
            trailer: self.trailer.as_mut().and_then(TrailerCatch::take),
        }
    }

    /// Lets the server check the keys that the file's ends promise, row by row as they come.
    async fn expect_keys(&mut self) -> Result<(), Error> {
        self.expected = ExpectedKeys::guess(self.flow, self.unit);
        if let Some(expected) = &self.expected {
            let schema = &self.context.run.plan.settings.staging_schema;
            let table = &self.unit.staging_table;
            let check = staging::add_bounds_check(schema, table, expected.bounds());
            self.session
                .execute(&check, "adding the CHECK of a unit")
                .await?;
        }
        Ok(())
    }

    /// Takes the CHECK of the expected keys away.
    fn drop_check(&self) -> String {
        let schema = &self.context.run.plan.settings.staging_schema;
        staging::drop_bounds_check(schema, &self.unit.staging_table)
    }

    /// What the server says of the unit's rows, and whether its CHECK stands already.
    async fn measure(&mut self) -> Result<(Measured, bool), Error> {
        if let Some(expected) = &self.expected {
            if expected.is_exact() {
                let schema = &self.context.run.plan.settings.staging_schema;
                let count = staging::measure(schema, &self.unit.staging_table, None);
                let counted = unit::measure(self.session, &count).await?;
                return Ok((expected.measured(counted.rows), true));
            }
            let statement = self.drop_check();
            self.session
                .execute(&statement, "dropping the CHECK of a unit")
                .await?;
        }
        let measured = unit::measure(self.session, &self.unit.measure).await?;
        Ok((measured, false))
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

    async fn copy_shards(&mut self, shards: &[Shard]) -> Result<Vec<ShardRecord>, Error> {
        let mut records = Vec::with_capacity(shards.len());
        let mut buffers = BufferPool::default();
        for shard in shards {
            let (loaded, pool) = self.copy_shard(shard, buffers).await?;
            buffers = pool;
            records.push(self.shard_record(shard, loaded));
        }
        Ok(records)
    }

    /// Ranges of a file that is fed, until they are enough for a transaction or none is left.
    async fn copy_fed(
        &mut self,
        file: &FedFile,
        feed: &Feed,
        shard: &Shard,
        first: FeedRange,
    ) -> Result<Vec<ShardRecord>, Error> {
        let path = shard.file.path.display().to_string();
        let mut converter = self.converter()?;
        let mut copying = self.begin_copy(&path).await?;
        let mut records = Vec::new();
        let mut text_bytes = 0;
        let mut next = Some(first);
        while let Some(mut range) = next {
            let account;
            (account, copying) = self
                .send_rows(&mut range, &path, &mut converter, copying)
                .await?;
            self.note_cost(&file.new_cost(feed));
            text_bytes += account.bytes_read;
            let part = Shard::range(Arc::clone(&shard.file), range.text_range.clone(), None);
            records.push(self.shard_record(&part, account));
            next = match text_bytes < FED_TRANSACTION_BYTES {
                true => file.next_range(feed).await?,
                false => None,
            };
        }
        copying.end(&mut self.meter).await?;
        self.note_changes(&converter);
        Ok(records)
    }

    /// What the feed has cost since somebody noted it last.
    fn note_cost(&mut self, cost: &SourceMeter) {
        self.context.observer.notice(&Event::Progress {
            flow: self.flow.name.clone(),
            rows: 0,
            bytes: cost.stored_bytes,
        });
        self.meter.stored_bytes += cost.stored_bytes;
        self.meter.read_ns += cost.read_ns;
        self.meter.decompress_ns += cost.decompress_ns;
        self.meter.scan_ns += cost.scan_ns;
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
        check_header(flow, shard, reader.header())?;
        let file = shard.file.path.display().to_string();
        let mut converter = self.converter()?;
        let mut copying = self.begin_copy(&file).await?;
        let account;
        (account, copying) = self
            .send_rows(&mut reader, &file, &mut converter, copying)
            .await?;
        copying.end(&mut self.meter).await?;
        self.note_changes(&converter);
        Ok((account, reader.close()))
    }

    /// Adds up what a converter has changed.
    fn note_changes(&mut self, converter: &Converter) {
        for (column, changes) in converter.changes() {
            if changes.total() > 0 {
                let sum = self.changes.entry(column.to_owned()).or_default();
                sum.add(&changes);
            }
        }
    }

    fn converter(&self) -> Result<Converter, Error> {
        let record = &self.context.run.record;
        let stamp = RunStamp {
            run_id: record.run_id,
            started_at_microseconds: record.started_at_microseconds,
        };
        Ok(converter(self.flow, self.unit)?.with_run(stamp))
    }

    async fn begin_copy(&self, file: &str) -> Result<Copying<'a>, Error> {
        let doing = format!("loading {file} into {}", self.flow.target());
        let (pool, stop) = (self.pool.clone(), self.context.stop.clone());
        Copying::begin(self.session, self.flow, &self.unit.copy, pool, stop, doing).await
    }

    /// All rows of a source; their account holds.
    async fn send_rows(
        &mut self,
        source: &mut impl Chunks,
        file: &str,
        converter: &mut Converter,
        mut copying: Copying<'a>,
    ) -> Result<(Account, Copying<'a>), Error> {
        let batch_rows = self.context.run.plan.settings.batch_rows as usize;
        let mut records = Records::default();
        let mut rejects = Vec::new();
        let mut rows_rejected = 0_u64;
        let mut rows_loaded = 0_u64;
        let mut stored_before = 0;
        let mut trailers = 0;
        while let Some(mut chunk) = source.next_chunk(&mut records)? {
            self.content.add(chunk.text());
            if let Some(trailer) = &mut self.trailer {
                trailers += trailer.take_from(&mut chunk, &mut records)?;
            }
            let mut at = 0;
            while at < records.len() {
                let end = records.len().min(at + batch_rows);
                let started = Instant::now();
                let batch = converter.convert(&chunk, &records, at..end, &mut rejects);
                self.meter.convert_ns += nanoseconds(started.elapsed());
                if !rejects.is_empty() {
                    rows_rejected += rejects.len() as u64;
                    self.keep_rejects(&mut rejects)?;
                }
                if self
                    .expected
                    .as_mut()
                    .is_some_and(|keys| !keys.hold(&batch))
                {
                    self.expected = None;
                    let statement = self.drop_check();
                    copying = copying.interrupt(&statement, &mut self.meter).await?;
                }
                rows_loaded += batch.num_rows() as u64;
                if let Some(tally) = &mut self.tally {
                    let started = Instant::now();
                    tally.add(&batch);
                    self.meter.verify_ns += nanoseconds(started.elapsed());
                }
                copying =
                    damage::send(self.context.fault, copying, &batch, &mut self.meter).await?;
                at = end;
            }
            let read = source.meter();
            self.context.observer.notice(&Event::Progress {
                flow: self.flow.name.clone(),
                rows: records.len() as u64,
                bytes: read.stored_bytes - stored_before,
            });
            self.meter.stored_bytes += read.stored_bytes - stored_before;
            stored_before = read.stored_bytes;
            source.recycle(chunk);
            fault::reach(self.context.fault, FaultPoint::InCopy);
        }
        let read = source.meter();
        self.meter.stored_bytes += read.stored_bytes - stored_before;
        self.meter.read_ns += read.read_ns;
        self.meter.decompress_ns += read.decompress_ns;
        self.meter.scan_ns += read.scan_ns;
        self.meter.text_bytes += read.text_bytes;
        self.meter.rows += rows_loaded;
        let account = Account {
            rows_read: read.record_count + read.skipped_line_count,
            rows_loaded,
            rows_rejected,
            rows_skipped: read.skipped_line_count + trailers,
            bytes_read: read.text_bytes,
        };
        if !account.holds() {
            return Err(Error::Verification {
                what: format!("the account of {file}"),
                counted: account.rows_loaded + account.rows_rejected + account.rows_skipped,
                sent: account.rows_read,
            });
        }
        Ok((account, copying))
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
        let counted = self.context.run.rejects[self.flow_index].add(&self.flow.name, rejects);
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

/// Each file has a header of its own, and they must be the same: columns were matched by the
/// first one.
fn check_header(flow: &FlowPlan, shard: &Shard, found: Option<&[String]>) -> Result<(), Error> {
    let (Some(found), Some(expected)) = (found, &flow.header) else {
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
