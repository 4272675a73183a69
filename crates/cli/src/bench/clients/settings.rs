//! Turns the arguments into the settings of the measurement.

use std::path::Path;

use inrush::clients::{InsertWork, Key, Protocol, Work};
use inrush_system::small_file::SmallFile;
use inrush_workloads::clients::{Amount, Settings, Workload};

use crate::arguments::{
    CallArgument, CallsArguments, ClientsArguments, InsertsArguments, KeyArgument, OnOff,
    ProtocolArgument,
};
use crate::errors::CommandError;
use crate::package_file::from_here;

/// Seconds of a run if neither a time nor a number of rows or calls is given.
const RUN_S: f64 = 10.0;

const SQL_FILE: SmallFile = SmallFile {
    what: "a file with SQL",
    bytes_max: 1 << 20,
    may_be_pipe: true,
};

/// The settings of `inrush bench inserts`.
pub fn of_inserts(arguments: &InsertsArguments) -> Result<Settings, CommandError> {
    let work = InsertWork {
        batch: arguments.batch,
        is_synchronous: arguments.synchronous_commit == OnOff::On,
        key: match arguments.key {
            KeyArgument::Random => Key::Random,
            KeyArgument::Sequence => Key::Sequence,
        },
        is_unlogged: arguments.unlogged,
        table_sql: arguments.table_sql.as_deref().map(sql_of).transpose()?,
    };
    let amount = match (arguments.rows, arguments.size) {
        (Some(rows), _) => Amount::Rows(rows),
        (_, Some(bytes)) => Amount::Bytes(bytes),
        _ => Amount::Seconds(arguments.time.unwrap_or(RUN_S)),
    };
    let workload = Workload::Inserts {
        work,
        commit_every: arguments.commit_every,
    };
    Ok(of(
        &arguments.measure,
        workload,
        arguments.connections.0.clone(),
        amount,
    ))
}

/// The settings of `inrush bench calls`.
pub fn of_calls(arguments: &CallsArguments) -> Result<Settings, CommandError> {
    let work = match (&arguments.sql, arguments.call) {
        (Some(path), _) => Work::Sql(sql_of(path)?),
        (None, CallArgument::Noop) => Work::Noop,
        (None, CallArgument::Seek) => Work::Seek,
        (None, CallArgument::Insert) => Work::Insert(InsertWork {
            batch: 1,
            is_synchronous: true,
            key: Key::Random,
            is_unlogged: false,
            table_sql: None,
        }),
    };
    let amount = match arguments.calls {
        Some(calls) => Amount::Rows(calls),
        None => Amount::Seconds(arguments.time.unwrap_or(RUN_S)),
    };
    let workload = Workload::Calls(work);
    Ok(of(
        &arguments.measure,
        workload,
        arguments.clients.0.clone(),
        amount,
    ))
}

fn of(
    arguments: &ClientsArguments,
    workload: Workload,
    points: Vec<u16>,
    amount: Amount,
) -> Settings {
    Settings {
        url: from_here(&arguments.to),
        workload,
        points,
        rounds: arguments.rounds,
        amount,
        protocol: match arguments.protocol {
            _ if arguments.simple => Protocol::Simple,
            ProtocolArgument::Simple => Protocol::Simple,
            ProtocolArgument::Extended => Protocol::Extended,
            ProtocolArgument::Prepared => Protocol::Prepared,
        },
        pipeline: arguments.pipeline,
        rate: arguments.rate,
        endpoints: arguments.endpoints.clone(),
        cpus: arguments
            .cpus
            .clone()
            .map(|cpus| cpus.0)
            .unwrap_or_default(),
        threads: arguments.threads,
        results: arguments.results.clone(),
        fresh: arguments.fresh,
    }
}

/// The text of a file with SQL.
fn sql_of(path: &Path) -> Result<String, CommandError> {
    let failed = |source| CommandError::File {
        doing: "cannot read",
        path: path.to_owned(),
        source,
    };
    SQL_FILE.read_text(path).map_err(failed)
}
