//! What stopped runs left in a destination: shown by `status`, removed by `cleanup`.

use std::path::Path;

use inrush_destination::address::Kind;
use inrush_destination::{Destination, PastRun};

use crate::destination::postgres::quote::qualified;
use crate::destination::postgres::{Address, ConnectionDefaults, Session};
use crate::error::Error;
use crate::ledger::{self, Account, Ledger, RunRecord, RunState, UnitRecord};
use crate::package::Connection;
use crate::pipeline;
use crate::plan::contract::shard_of;

/// How long somebody else's lock on a staging table is waited for: whoever reads one, or holds it in the
/// middle of a switch, may stand still.
const PATIENCE: &str = "SET lock_timeout = '5s'";

/// A run that stopped before its switch, or that is at work now.
#[derive(Clone, Debug)]
pub struct StoppedRun {
    /// The run.
    pub run: RunRecord,
    /// A living process holds it.
    pub held: bool,
    /// Units that are committed.
    pub units_finished: usize,
    /// Units that several streams had begun to fill.
    pub units_begun: usize,
    /// Rows that are staged.
    pub account: Account,
    /// Its staging tables, as SQL names them.
    pub staging_tables: Vec<String>,
    /// Rows that went straight into targets, where no clean-up takes them out.
    pub rows_straight: u64,
    /// Bytes that they take in the database.
    pub staging_bytes: u64,
}

/// Which runs are looked at.
#[derive(Clone, Debug, Default)]
pub struct Which {
    /// The ledger's schema.
    pub ledger_schema: String,
    /// Only runs of this package.
    pub package: Option<String>,
    /// Only the run of this name.
    pub run: Option<String>,
}

/// Where a ledger is.
pub enum LedgerPlace {
    /// In a server of PostgreSQL.
    Postgres(Box<Address>),
    /// In a destination that is reached by the contract.
    Contract(Box<dyn Destination>),
}

/// What is needed to reach a ledger, beside the connection.
pub struct PlaceOptions<'a> {
    /// Relative paths start here.
    pub folder: &'a Path,
    /// Where installed Python packages lie, whose drivers are used.
    pub site_packages: Option<&'a Path>,
    /// The ledger's schema.
    pub ledger_schema: &'a str,
    /// What fills the gaps of a URL.
    pub defaults: &'a ConnectionDefaults,
}

impl LedgerPlace {
    /// The place that a connection means. A destination that is reached by the contract is opened.
    pub fn of(connection: &Connection, options: &PlaceOptions<'_>) -> Result<LedgerPlace, Error> {
        let url = connection.address();
        if Kind::of(url).is_none() {
            let address = Address::parse(url, options.defaults)?;
            return Ok(LedgerPlace::Postgres(Box::new(address)));
        }
        let address = inrush_destination::Address {
            url,
            options: &connection.options,
            folder: options.folder,
            site_packages: options.site_packages,
            ledger_schema: options.ledger_schema,
        };
        Ok(LedgerPlace::Contract(inrush_destination::open(&address)?))
    }
}

/// Runs that stopped before their switch, the newest first.
pub fn status(place: &LedgerPlace, which: &Which) -> Result<Vec<StoppedRun>, Error> {
    let address = match place {
        LedgerPlace::Postgres(address) => address,
        LedgerPlace::Contract(destination) => {
            let runs = stopped(destination.as_ref(), which)?;
            return Ok(runs.iter().map(StoppedRun::from).collect());
        }
    };
    pipeline::runtime()?.block_on(async {
        let session = Session::open(address, "inrush status").await?;
        session
            .execute(PATIENCE, "looking for stopped runs")
            .await?;
        let found = find(&session, which).await?;
        session.close().await;
        Ok(found)
    })
}

/// Removes what stopped runs have staged and marks them as discarded. Runs that are at
/// work are left alone. Returns what was removed.
pub fn cleanup(place: &LedgerPlace, which: &Which) -> Result<Vec<StoppedRun>, Error> {
    let address = match place {
        LedgerPlace::Postgres(address) => address,
        LedgerPlace::Contract(destination) => {
            let mut removed = Vec::new();
            let mut first_error = None;
            for run in stopped(destination.as_ref(), which)? {
                match destination.discard(&run) {
                    Ok(()) => removed.push(StoppedRun::from(&run)),
                    Err(inrush_destination::Error::Held { .. }) => {}
                    // One that cannot go keeps no other one.
                    Err(error) => first_error = first_error.or(Some(error)),
                }
            }
            return match first_error {
                Some(error) if removed.is_empty() => Err(error.into()),
                _ => Ok(removed),
            };
        }
    };
    pipeline::runtime()?.block_on(async {
        let session = Session::open(address, "inrush cleanup").await?;
        session
            .execute(PATIENCE, "looking for stopped runs")
            .await?;
        let mut removed = Vec::new();
        for stopped in find(&session, which).await? {
            // Forgetting what went straight in would load it twice: only who names the run may.
            if stopped.held || (stopped.rows_straight > 0 && which.run.is_none()) {
                continue;
            }
            remove(&session, which, &stopped).await?;
            removed.push(stopped);
        }
        session.close().await;
        Ok(removed)
    })
}

/// The runs of a destination that is reached by the contract, the newest first, that are asked for
/// and have not published.
fn stopped(destination: &dyn Destination, which: &Which) -> Result<Vec<PastRun>, Error> {
    let is_asked = |run: &PastRun| {
        let record = &run.record;
        record.state == inrush_destination::RunState::Loading
            && which.is_asked(&record.package, &record.name)
    };
    let mut runs: Vec<PastRun> = destination.runs(None)?;
    runs.retain(is_asked);
    runs.reverse();
    Ok(runs)
}

/// Whether the process that a run was held by last is on this machine, and lives. Only its lock, which
/// clean-up takes, tells for certain.
fn holder_lives(holder: &str) -> bool {
    let Some(rest) = holder.strip_prefix("process ") else {
        return false;
    };
    let own = pipeline::holder();
    let host = |text: &str| text.split_once(" on ").map(|(_, host)| host.to_owned());
    let process = rest.split(' ').next().unwrap_or_default();
    host(holder) == host(&own) && Path::new("/proc").join(process).exists()
}

impl From<&PastRun> for StoppedRun {
    fn from(run: &PastRun) -> StoppedRun {
        let record = &run.record;
        let time = |microseconds| {
            jiff::Timestamp::from_microsecond(microseconds)
                .map_or_else(|_| String::new(), |moment| moment.to_string())
        };
        let mut account = Account::default();
        for shard in run.units.iter().filter_map(|unit| shard_of(&unit.detail)) {
            account.add(&shard.account);
        }
        StoppedRun {
            run: RunRecord {
                run_id: record.run_id,
                name: record.name.clone(),
                package: record.package.clone(),
                epoch: record.epoch,
                state: RunState::Loading,
                holder: record.holder.clone(),
                started_at: time(record.started_at_microseconds),
                started_at_microseconds: record.started_at_microseconds,
                held_since: time(record.started_at_microseconds),
                switched_at: None,
                targets: record.targets.clone(),
                target_oids: Vec::new(),
            },
            held: holder_lives(&record.holder),
            units_finished: run.units.len(),
            units_begun: 0,
            account,
            staging_tables: Vec::new(),
            rows_straight: 0,
            staging_bytes: 0,
        }
    }
}

impl Which {
    fn is_asked(&self, package: &str, run: &str) -> bool {
        self.package.as_ref().is_none_or(|name| name == package)
            && self.run.as_ref().is_none_or(|name| name == run)
    }
}

async fn find(session: &Session, which: &Which) -> Result<Vec<StoppedRun>, Error> {
    if !ledger::exists(session, &which.ledger_schema).await? {
        return Ok(Vec::new());
    }
    let book = Ledger::new(&which.ledger_schema);
    let mut found = Vec::new();
    for run in book.stopped_runs(session, None).await? {
        if !which.is_asked(&run.package, &run.name) {
            continue;
        }
        let units = book.units(session, run.run_id).await?;
        let mut account = Account::default();
        let mut rows_straight = 0;
        for shard in book.shards(session, run.run_id).await? {
            account.add(&shard.account);
            let is_unit = |unit: &&UnitRecord| unit.unit_key == shard.unit_key;
            if units.iter().find(is_unit).is_some_and(|unit| unit.straight) {
                rows_straight += shard.account.rows_loaded;
            }
        }
        let staging_tables: Vec<String> = units
            .iter()
            .filter(|unit| !unit.straight)
            .map(|unit| qualified(&unit.staging_schema, &unit.staging_table))
            .collect();
        let rows = session
            .query(
                // A routed unit's rows are in its partitions.
                "SELECT coalesce(sum(pg_total_relation_size(t))::int8, 0) \
                 FROM unnest($1::text[]) n, \
                      LATERAL (SELECT to_regclass(n)::oid AS t UNION \
                               SELECT relid::oid FROM pg_partition_tree(to_regclass(n))) parts",
                &[&staging_tables],
                "measuring staging tables",
            )
            .await?;
        found.push(StoppedRun {
            held: book.is_held(session, run.run_id).await?,
            units_finished: units.iter().filter(|unit| unit.finished).count(),
            units_begun: units.iter().filter(|unit| !unit.finished).count(),
            account,
            rows_straight,
            staging_tables,
            staging_bytes: rows[0].get::<_, i64>(0) as u64,
            run,
        });
    }
    Ok(found)
}

/// In one transaction, fenced like any other: a loader that lives on against all signs cannot
/// commit afterwards.
async fn remove(session: &Session, which: &Which, stopped: &StoppedRun) -> Result<(), Error> {
    let book = Ledger::new(&which.ledger_schema);
    book.lock_run(session, stopped.run.run_id).await?;
    let taken = book
        .take_over(session, &stopped.run, &stopped.run.holder)
        .await?;
    let doing = "removing what a stopped run left";
    session.execute("BEGIN", doing).await?;
    session.execute(PATIENCE, doing).await?;
    // Read anew: a backend of the run may have committed until it was ended.
    for unit in book.units(session, taken.run_id).await? {
        if unit.straight || !unit.stands {
            continue;
        }
        let table = qualified(&unit.staging_schema, &unit.staging_table);
        session
            .execute(&format!("DROP TABLE IF EXISTS {table}"), doing)
            .await?;
    }
    book.discard(session, taken.run_id).await?;
    session.execute("COMMIT", doing).await?;
    Ok(())
}
