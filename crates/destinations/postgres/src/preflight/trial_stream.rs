//! Streams that fill trial tables: each has a session, in whose transaction its table is created, filled and rolled back.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use arrow_array::RecordBatch;
use inrush_destination::{
    AfterRows, Result, StreamMeter, StreamSetup, TrialLoad, TrialStream, Written,
};
use inrush_pgclient::ClientError;
use inrush_rows::pace::Pace;

use super::trial::Trial;
use super::trial_server::TrialServer;
use crate::copy::BlockPool;
use crate::load::copying::Copying;
use crate::load::expected_keys::ExpectedKeys;
use crate::load::ready::check_keys;
use crate::load_error::LoadError;
use crate::plan::{statistics, switch_statements};
use crate::quote::qualified;
use crate::{PostgresError, Session, staging, unit_transaction};

/// A trial load of a flow.
pub struct TrialTables<'a> {
    /// The server.
    pub server: TrialServer<'a>,
    /// The flow, by its index.
    pub flow: usize,
    /// Each stream gets the rows of its unit.
    pub is_of_units: bool,
    /// The switch copies rows. The first stream tries the copy, because only its own transaction sees its table.
    pub copies: bool,
    /// The seconds of copying.
    pub copy_s: Mutex<Option<f64>>,
    /// The server's message about a row that it has refused.
    pub refused_row: Mutex<Option<String>>,
}

impl TrialLoad for TrialTables<'_> {
    fn open_stream<'s>(&'s self, setup: &StreamSetup<'s>) -> Result<Box<dyn TrialStream + 's>> {
        let opening = Session::open(self.server.address, "inrush preflight");
        let session = self.wait(opening)?;
        Ok(Box::new(RolledBackStream {
            load: self,
            number: setup.number,
            pace: Arc::clone(&setup.pace),
            meter: Arc::clone(&setup.meter),
            session: Some(session),
            table: None,
            sending: None,
        }))
    }

    fn publish(&self) -> Result<Option<f64>> {
        Ok(*self.copy_s.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn refused_row(&self) -> Option<String> {
        let message = self.refused_row.lock();
        message.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl TrialTables<'_> {
    /// Waits for the server. Keeps its message if it refuses a row.
    fn wait<T, E: Into<LoadError>>(
        &self,
        call: impl Future<Output = std::result::Result<T, E>>,
    ) -> Result<T> {
        let done = self.server.runtime.block_on(call).map_err(E::into);
        if let Err(LoadError::Server(error)) = &done
            && let (Some(ClientError::Refused { message, .. }), Some(_)) =
                (error.client(), error.row_refusal())
        {
            let refused = self.refused_row.lock();
            let mut refused = refused.unwrap_or_else(PoisonError::into_inner);
            refused.get_or_insert_with(|| message.clone());
        }
        done.map_err(|error| error.of_target(self.flow))
    }
}

/// A stream with its table.
struct RolledBackStream<'a> {
    load: &'a TrialTables<'a>,
    /// Its number, from 1.
    number: usize,
    pace: Arc<Pace>,
    meter: Arc<dyn StreamMeter>,
    /// `None` once this is dropped.
    session: Option<Session>,
    /// `None` before it is begun.
    table: Option<Trial>,
    /// The open COPY.
    sending: Option<Sending>,
}

/// An open COPY, whose rows are compared with the expected keys, as in a run.
struct Sending {
    copying: Copying<'static>,
    expected: Option<ExpectedKeys>,
    /// The statement that drops the CHECK of the expected keys.
    drop_check: String,
}

impl RolledBackStream<'_> {
    /// The session and the table.
    fn table(&self) -> (&Session, &Trial) {
        let session = self.session.as_ref().expect(CONNECTED);
        (session, self.table.as_ref().expect("a table is begun"))
    }
}

/// The panic message if a call needs the session after the end of the stream.
const CONNECTED: &str = "a stream has its session until it is dropped";
/// The panic message if rows come outside of a COPY.
const COPYING: &str = "rows come between the beginning and the end of a COPY";

impl TrialStream for RolledBackStream<'_> {
    fn begin(&mut self, unit: usize) -> Result<()> {
        let TrialServer { plan, ground, .. } = self.load.server;
        let trial = Trial::new(plan, self.load.flow, unit, ground, self.number);
        let trial = self.table.insert(trial);
        let session = self.session.as_ref().expect(CONNECTED);
        self.load.wait(trial.begin(session))
    }

    fn begin_rows(&mut self) -> Result<()> {
        let (session, trial) = self.table();
        let session = session.of_stream(&self.pace, &self.meter);
        let sending = Sending::begin(self.load, &session, trial);
        self.sending = Some(self.load.wait(sending)?);
        Ok(())
    }

    fn write(&mut self, batch: &RecordBatch) -> Result<Written> {
        let sending = self.sending.as_mut().expect(COPYING);
        self.load.wait(sending.send(batch))?;
        Ok(Written::default())
    }

    fn write_encoded(&mut self, block: &[u8], rows: u64) -> Result<()> {
        let copying = &mut self.sending.as_mut().expect(COPYING).copying;
        copying.block().0.extend_from_slice(block);
        self.load.wait(copying.appended(rows))
    }

    fn end_rows(&mut self) -> Result<()> {
        let sending = self.sending.take().expect(COPYING);
        self.load.wait(sending.copying.end())?;
        Ok(())
    }

    fn finish(&mut self, _: u64) -> Result<AfterRows> {
        let (session, trial) = self.table();
        if !self.load.is_of_units {
            return Ok(AfterRows::default());
        }
        self.load
            .wait(finish(self.load, session, trial, self.number))
    }

    fn server_cpu_s(&self) -> Option<f64> {
        self.load.server.backend_cpu_s(self.session.as_ref()?)
    }

    fn is_metered(&self) -> bool {
        true
    }
}

impl Drop for RolledBackStream<'_> {
    fn drop(&mut self) {
        let runtime = self.load.server.runtime;
        // If a COPY has sent only a part of a block, the rest is sent by a task of the runtime.
        let entered = runtime.enter();
        self.sending = None;
        drop(entered);
        let Some(session) = self.session.take() else {
            return;
        };
        if std::thread::panicking() {
            session.abandon();
            return;
        }
        runtime.block_on(async {
            if let Some(trial) = &self.table {
                // A broken connection has rolled back already.
                let _ = trial.roll_back(&session).await;
            }
            session.close().await;
        });
    }
}

impl Sending {
    async fn begin(
        load: &TrialTables<'_>,
        session: &Session,
        trial: &Trial,
    ) -> std::result::Result<Sending, LoadError> {
        let (schema, table) = (
            &trial.plan.settings.staging_schema,
            &trial.unit.load.staging_table,
        );
        let mut expected = None;
        if load.is_of_units && trial.is_faithful && !trial.unit.load.is_shared {
            expected = ExpectedKeys::guess(&trial.flow, trial.unit.as_plan());
        }
        if let Some(expected) = &expected {
            let check = staging::add_bounds_check(schema, table, expected.bounds());
            session
                .execute(&check, "adding the CHECK of a unit")
                .await?;
        }
        let doing = format!("trying rows of {}", trial.flow.target());
        let copy = Cow::Owned(trial.copy(session).await?.into_owned());
        let (pool, stop) = (BlockPool::default(), load.server.stop.clone());
        Ok(Sending {
            copying: Copying::begin(session, &trial.flow, copy, pool, stop, doing).await?,
            expected,
            drop_check: staging::drop_bounds_check(schema, table),
        })
    }

    async fn send(&mut self, batch: &RecordBatch) -> std::result::Result<(), LoadError> {
        if self.expected.as_mut().is_some_and(|keys| !keys.hold(batch)) {
            self.expected = None;
            self.copying.interrupt(&self.drop_check).await?;
        }
        self.copying.send(batch).await
    }
}

/// The steps of a unit after its rows, except its COMMIT.
async fn finish(
    load: &TrialTables<'_>,
    session: &Session,
    trial: &Trial,
    stream: usize,
) -> std::result::Result<AfterRows, PostgresError> {
    let schema = &trial.plan.settings.staging_schema;
    let table = qualified(schema, &trial.unit.load.staging_table);
    let mut after = AfterRows {
        table_bytes: table_bytes(session, &table).await?,
        ..AfterRows::default()
    };
    if trial.flow.is_straight() || !trial.is_faithful {
        return Ok(after);
    }
    let begun = Instant::now();
    let measured = unit_transaction::measure(session, &trial.unit.statements.measure).await?;
    if let Some(verify) = &trial.unit.statements.verify {
        session.query(verify, &[], "summing up a table").await?;
    }
    after.measure_s = begun.elapsed().as_secs_f64();
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
    after.ready_s = begun.elapsed().as_secs_f64();
    let of_target = statistics::of_target(&trial.plan, &trial.flow);
    let of_unit = statistics::of_unit(&trial.plan, &trial.flow, trial.unit.as_plan());
    if of_target.is_some() || of_unit.is_some() {
        let begun = Instant::now();
        session
            .execute(&format!("ANALYZE {table}"), "analyzing a table")
            .await?;
        after.analyze_s = begun.elapsed().as_secs_f64();
    }
    if load.copies && stream == 1 {
        let seconds = copy(session, trial, &table).await?;
        *load.copy_s.lock().unwrap_or_else(PoisonError::into_inner) = Some(seconds);
    }
    Ok(after)
}

/// Copies the rows into a table like the target, including indexes, as the switch does.
async fn copy(
    session: &Session,
    trial: &Trial,
    table: &str,
) -> std::result::Result<f64, PostgresError> {
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
async fn table_bytes(session: &Session, table: &str) -> std::result::Result<u64, PostgresError> {
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
