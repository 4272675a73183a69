//! All steps together, as in a run: streams that read, scan, convert, encode and send at once, into tables created as
//! in the run. Only these measurements show how streams slow each other down, above all by sharing cores.
//!
//! The work after the rows is timed too: counting, verifying, the CHECK, indexes, ANALYZE. Then everything is rolled
//! back.

use std::sync::Arc;
use std::time::Instant;

use inrush_engine::error::Error;
use inrush_engine::meter::Meter;
use inrush_engine::native::load::Gauge;
use inrush_engine::native::preflight::flow_found::FlowFound;
use inrush_engine::native::preflight::sample::Portion;
use inrush_engine::native::preflight::sample_batches::{
    self, Making, Portions, SampleBatches, SampleWork,
};
use inrush_engine::native::preflight::{BesideRows, Together, own_cpu_s};
use inrush_source::{ShareSettings, SharedSplit, Split};
use inrush_verdict::Phase;

use super::at_once::TrialServer;
use super::trial::Trial;
use crate::copy::BlockPool;
use crate::load::copying::Copying;
use crate::load::expected_keys::ExpectedKeys;
use crate::load::ready::check_keys;
use crate::load_error::LoadError;
use crate::plan::{statistics, switch_statements};
use crate::quote::qualified;
use crate::{PostgresError, Session, staging, unit_transaction};

/// A piece of work that is measured.
pub struct TrialWork {
    /// The unit, by its index in the flow.
    pub unit: usize,
    /// The portions of its files that are read.
    pub portions: Vec<Portion>,
    /// The split of its file, if one reader feeds it to several streams.
    pub fed: Option<Split>,
}

/// The result of a stream.
struct Ran {
    work: SampleWork,
    began: Instant,
    ended: Instant,
    server_cpu_s: Option<f64>,
    beside: BesideRows,
    table_bytes: u64,
}

/// Measures pieces of work with this number of streams at once; if there are fewer pieces than streams, several streams
/// share one.
pub fn measure(
    server: &TrialServer<'_>,
    found: &FlowFound,
    works: &[TrialWork],
    streams: usize,
    copies: bool,
) -> Result<Together, LoadError> {
    let (plan, flow) = (server.plan, found.index);
    let reading = &plan.flows[flow].reading;
    let making = Making {
        reading,
        chunk_bytes: found.chunk_bytes(plan.settings.chunk_bytes as usize),
        batch_rows: plan.settings.batch_rows as usize,
    };
    let mut sources = Vec::with_capacity(works.len());
    for work in works {
        sources.push(match &work.fed {
            None => Source::Portions(Portions::new(work.portions.clone())),
            Some(split) => {
                let settings = ShareSettings {
                    chunk_bytes: making.chunk_bytes,
                    streams,
                };
                let split = split.in_source();
                Source::Fed(reading.source.share(&split, settings, &[])?.into())
            }
        });
    }
    let opened = server.open(streams, flow, &|number| works[number % works.len()].unit)?;
    let (connect_s, create_s) = (opened.connect_s, opened.create_s);
    let cpu_before = own_cpu_s();
    let began = Instant::now();
    let cpu_after = std::sync::Mutex::new(cpu_before);
    let work = |number: usize, session: &Session, trial: &Trial| {
        let source = &sources[number % sources.len()];
        let ran = server
            .runtime
            .block_on(stream(server, session, trial, &making, source));
        if ran.is_ok() {
            // Until the last stream has sent its rows.
            *cpu_after
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner) = own_cpu_s();
        }
        let mut ran = ran?;
        ran.beside.connect_s = connect_s;
        ran.beside.create_s = create_s;
        let cpu_before = server.backend_cpu_s(session);
        server
            .runtime
            .block_on(finish(session, trial, copies && number == 0, &mut ran))?;
        ran.beside.server_cpu_s = server
            .backend_cpu_s(session)
            .zip(cpu_before)
            .map(|(after, before)| after - before);
        Ok(ran)
    };
    let all = server.run(opened, &work)?;
    let ended = all.iter().map(|ran| ran.ended).max().unwrap_or(began);
    let took_s = (ended - began).as_secs_f64().max(1e-9);
    let cpu_after = *cpu_after
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let mut tried = Together {
        took_s,
        client_cores: (cpu_after - cpu_before) / took_s,
        server_cores: Some(0.0),
        ..Together::default()
    };
    for ran in all {
        let own_s = (ran.ended - ran.began).as_secs_f64().max(1e-9);
        tried.stream_s += own_s;
        tried.text_bytes_s += ran.work.meter.text_bytes as f64 / own_s;
        tried.rows_s += ran.work.meter.rows as f64 / own_s;
        tried.table_bytes += ran.table_bytes;
        tried.server_cores = match (tried.server_cores, ran.server_cpu_s) {
            (Some(before), Some(more)) => Some(before + more / own_s),
            _ => None,
        };
        let (sum, one) = (&mut tried.beside, &ran.beside);
        let part = 1.0 / streams as f64;
        sum.rows += one.rows * part;
        sum.connect_s += one.connect_s * part;
        sum.create_s += one.create_s * part;
        sum.measure_s += one.measure_s * part;
        sum.ready_s += one.ready_s * part;
        sum.analyze_s += one.analyze_s * part;
        // Only one stream copies, so that is not a part of the mean.
        if copies {
            sum.server_cpu_s = None;
        } else if let Some(cpu_s) = one.server_cpu_s {
            sum.server_cpu_s = Some(sum.server_cpu_s.unwrap_or(0.0) + cpu_s * part);
        }
        sum.copy_s = sum.copy_s.or(one.copy_s);
        tried.work.add(ran.work);
    }
    tried.count_source();
    Ok(tried)
}

/// The source of a stream's rows.
enum Source {
    Portions(Arc<Portions>),
    Fed(Arc<dyn SharedSplit>),
}

/// Sends the rows of a stream, until the server has answered.
async fn stream(
    server: &TrialServer<'_>,
    session: &Session,
    trial: &Trial,
    making: &Making<'_>,
    source: &Source,
) -> Result<Ran, LoadError> {
    let mut maker = trial
        .unit
        .load
        .row_maker(&trial.flow, sample_batches::stamp())?;
    let (session, gauge) = &session.measured();
    let mut sending = Sending::begin(server, session, gauge, trial).await?;
    let cpu_before = server.backend_cpu_s(session);
    let began = Instant::now();
    sending.deadline = began + server.measuring_time;
    let mut work = SampleWork::default();
    match source {
        Source::Portions(portions) => {
            let mut reading = sample_batches::stream(making)?;
            while let Some(portion) = portions.take() {
                let batches = sample_batches::portion(making, &mut *reading, &mut maker, portion)?;
                let more;
                (sending, more) = sending.all_of(batches).await?;
                work.add(more);
                if sending.is_over() {
                    break;
                }
            }
        }
        Source::Fed(feed) => loop {
            let waiting = gauge.enter(Phase::Read);
            let next = feed.next_part().await?;
            drop(waiting);
            let Some(part) = next else { break };
            let batches = SampleBatches::new(making, &mut maker, part.reader);
            let more;
            (sending, more) = sending.all_of(batches).await?;
            work.add(more);
            if sending.is_over() {
                break;
            }
        },
    }
    work.meter.add(&sending.end().await?);
    Ok(Ran {
        work,
        began,
        ended: Instant::now(),
        server_cpu_s: match (cpu_before, server.backend_cpu_s(session)) {
            (Some(before), Some(after)) => Some(after - before),
            _ => None,
        },
        beside: BesideRows::default(),
        table_bytes: 0,
    })
}

/// An open COPY, whose rows are compared with the expected keys, as in a run.
struct Sending<'a> {
    server: &'a TrialServer<'a>,
    trial: &'a Trial,
    gauge: &'a Gauge,
    copying: Copying<'a>,
    expected: Option<ExpectedKeys>,
    deadline: Instant,
}

impl<'a> Sending<'a> {
    async fn begin(
        server: &'a TrialServer<'a>,
        session: &'a Session,
        gauge: &'a Gauge,
        trial: &'a Trial,
    ) -> Result<Sending<'a>, LoadError> {
        let mut expected = None;
        if trial.is_faithful && !trial.unit.load.is_shared {
            expected = ExpectedKeys::guess(&trial.flow, trial.unit.as_plan());
        }
        if let Some(expected) = &expected {
            let schema = &trial.plan.settings.staging_schema;
            let check = staging::add_bounds_check(
                schema,
                &trial.unit.load.staging_table,
                expected.bounds(),
            );
            session
                .execute(&check, "adding the CHECK of a unit")
                .await?;
        }
        let doing = format!("trying rows of {}", trial.flow.target());
        let (pool, stop) = (BlockPool::default(), server.stop.clone());
        let copy = trial.copy(session).await?;
        let copying = Copying::begin(session, &trial.flow, copy, pool, stop, doing).await?;
        Ok(Sending {
            server,
            trial,
            gauge,
            copying,
            expected,
            deadline: Instant::now() + server.measuring_time,
        })
    }

    fn is_over(&self) -> bool {
        Instant::now() >= self.deadline
    }

    /// Sends batches until the time is over.
    async fn all_of(
        mut self,
        mut batches: SampleBatches<'_>,
    ) -> Result<(Sending<'a>, SampleWork), LoadError> {
        while let Some(batch) = batches.next_batch()? {
            if self.server.stop.asked().is_some() {
                return Err(Error::Interrupted.into());
            }
            if self
                .expected
                .as_mut()
                .is_some_and(|keys| !keys.hold(&batch))
            {
                self.expected = None;
                let schema = &self.trial.plan.settings.staging_schema;
                let statement =
                    staging::drop_bounds_check(schema, &self.trial.unit.load.staging_table);
                self.copying.interrupt(&statement).await?;
            }
            self.copying.send(&batch).await?;
            if self.is_over() {
                break;
            }
        }
        Ok((self, batches.end()))
    }

    /// The meter of sending; the time for making the rows is in the batches' meter.
    async fn end(self) -> Result<Meter, LoadError> {
        self.copying.end().await?;
        Ok(Meter {
            busy_ns: 0,
            ..self.gauge.meter()
        })
    }
}

/// The steps of a unit after its rows, except its COMMIT.
async fn finish(
    session: &Session,
    trial: &Trial,
    copies: bool,
    ran: &mut Ran,
) -> Result<(), PostgresError> {
    let beside = &mut ran.beside;
    beside.rows = ran.work.meter.rows as f64;
    let schema = &trial.plan.settings.staging_schema;
    let table = qualified(schema, &trial.unit.load.staging_table);
    ran.table_bytes = table_bytes(session, &table).await?;
    if trial.flow.is_straight() || !trial.is_faithful {
        return Ok(());
    }
    let begun = Instant::now();
    let measured = unit_transaction::measure(session, &trial.unit.statements.measure).await?;
    if let Some(verify) = &trial.unit.statements.verify {
        session.query(verify, &[], "summing up a table").await?;
    }
    beside.measure_s = begun.elapsed().as_secs_f64();
    let begun = Instant::now();
    // The expected keys hold for the sample, or were given up.
    let is_checked = !trial.unit.load.is_shared && trial.unit.load.splits.len() == 1;
    if !is_checked {
        check_keys(
            session,
            &trial.plan,
            &trial.flow,
            trial.unit.as_plan(),
            &measured,
        )
        .await?;
    }
    for statement in &trial.unit.statements.ready {
        session.execute(statement, "making a table ready").await?;
    }
    beside.ready_s = begun.elapsed().as_secs_f64();
    let of_target = statistics::of_target(&trial.plan, &trial.flow);
    let of_unit = statistics::of_unit(&trial.plan, &trial.flow, trial.unit.as_plan());
    if of_target.is_some() || of_unit.is_some() {
        let begun = Instant::now();
        session
            .execute(&format!("ANALYZE {table}"), "analyzing a table")
            .await?;
        beside.analyze_s = begun.elapsed().as_secs_f64();
    }
    if copies {
        beside.copy_s = Some(copy(session, trial, &table).await?);
    }
    Ok(())
}

/// Copies the rows into a table like the target, including indexes, as the switch does.
async fn copy(session: &Session, trial: &Trial, table: &str) -> Result<f64, PostgresError> {
    let doing = "copying rows as the switch does";
    let into = qualified(
        &trial.plan.settings.staging_schema,
        &format!("{}_into", trial.unit.load.staging_table),
    );
    let target = trial.flow.target();
    let make = format!("CREATE TABLE {into} (LIKE {target} INCLUDING ALL)");
    session.execute(&make, doing).await?;
    trial.number_apart(session, &into, doing).await?;
    let columns = switch_statements::names(&trial.flow.columns);
    let copy = switch_statements::insert_rows(&into, table, columns);
    let begun = Instant::now();
    session.execute(&copy.all(), doing).await?;
    Ok(begun.elapsed().as_secs_f64())
}

/// Bytes of a table with its partitions.
async fn table_bytes(session: &Session, table: &str) -> Result<u64, PostgresError> {
    let rows = session
        .query(
            "SELECT coalesce(sum(pg_table_size(t.relid)), 0)::int8 FROM ( \
                 SELECT relid FROM pg_partition_tree(to_regclass($1)) \
                 UNION SELECT to_regclass($1)) AS t(relid)",
            &[&table],
            "asking how large a table is",
        )
        .await?;
    Ok(rows[0].get::<_, i64>(0).max(0) as u64)
}
