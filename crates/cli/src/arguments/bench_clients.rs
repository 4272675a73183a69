//! `inrush bench inserts` and `inrush bench calls`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use inrush_workloads::clients::{amount_of_time, client_numbers, cpu_numbers, size_in_bytes};

use super::common::local_path;

/// Numbers that one argument gives.
#[derive(Clone, Debug)]
pub struct Numbers<T>(pub Vec<T>);

fn clients(text: &str) -> Result<Numbers<u16>, String> {
    client_numbers(text).map(Numbers)
}

fn cpus(text: &str) -> Result<Numbers<usize>, String> {
    cpu_numbers(text).map(Numbers)
}

/// Insert rows by many connections at once, as the benchmark of 2009 did, and measure it
#[derive(Clone, Debug, Args)]
#[command(
    long_about = "\
Inserts rows by many connections at once: each of N connections inserts 1/N of the rows into one
table, one row with default values per statement and commit. The benchmark of 2009 did this with
128 connections and 1 TB. The table has a random UUID as key, a timestamp, a char(111) and three
numbers. For each number of connections, the command prints the rows per second, the latencies,
and the limit with its evidence: the wait events of the server, its WAL and group commits, and the
CPU of clients, server and others.

A run counts only if all connections finished their share. The table is in a schema of its own,
which is removed at the end; if the command is killed, the next one removes it.",
    after_long_help = INSERTS_HELP
)]
pub struct InsertsArguments {
    /// The numbers of connections that are measured, such as 8,16,32,64,128 or 1-20
    #[arg(long, value_name = "N,N,...", default_value = "8,16,32,64,128", value_parser = clients)]
    pub connections: Numbers<u16>,

    /// Rows of all connections together [default: 10 s for each run]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), group = "amount")]
    pub rows: Option<u64>,

    /// Bytes of all rows in the table and its index, such as 1GB
    #[arg(long, value_name = "SIZE", value_parser = size_in_bytes, group = "amount")]
    pub size: Option<u64>,

    /// The time of each run, such as 60s, instead of a number of rows
    #[arg(long = "for", value_name = "TIME", value_parser = amount_of_time, group = "amount")]
    pub time: Option<f64>,

    /// Rows in a statement
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub batch: u32,

    /// Statements in a transaction
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub commit_every: u32,

    /// `off`: COMMIT does not wait until the WAL is flushed
    #[arg(long, value_name = "WORD", default_value = "on")]
    pub synchronous_commit: OnOff,

    /// The key of the table
    #[arg(long, value_name = "KEY", default_value = "random")]
    pub key: KeyArgument,

    /// Make the table without WAL
    #[arg(long)]
    pub unlogged: bool,

    /// A file with CREATE TABLE {table} (...) and its indexes, for another table
    ///
    /// Every column needs a default. `{table}` stands for the name of the table.
    #[arg(long, value_name = "FILE", value_parser = local_path(), conflicts_with_all = ["key", "unlogged"])]
    pub table_sql: Option<PathBuf>,

    /// The settings of the measurement.
    #[command(flatten)]
    pub measure: ClientsArguments,
}

/// Call a server by 1 to N clients, and measure it
#[derive(Clone, Debug, Args)]
#[command(
    long_about = "\
Lets 1 to N clients call a server as fast as they can, or at a given rate. It repeats the
measurements of high call volumes of 2004 to 2006. The call is a stored function that draws one
random number, does one more arithmetic step and returns the session's process id (`noop`); the
same function with one row that it finds by its key in memory (`seek`); one inserted row
(`insert`); or a statement of your own.

For each number of clients, the command prints the calls per second, the latencies, the cost of a
call (CPU of client and server, packets, context switches) and the limit. A run counts only if all
clients finished their share.",
    after_long_help = CALLS_HELP
)]
pub struct CallsArguments {
    /// What is called
    #[arg(value_name = "CALL", default_value = "noop", conflicts_with = "sql")]
    pub call: CallArgument,

    /// A file with the statement that is called
    #[arg(long, value_name = "FILE", value_parser = local_path())]
    pub sql: Option<PathBuf>,

    /// The numbers of clients that are measured, such as 1-20 or 1,4,16
    #[arg(long, value_name = "N,N,...", default_value = "1,2,4,8,16", value_parser = clients)]
    pub clients: Numbers<u16>,

    /// Calls of all clients together [default: 10 s for each run]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), group = "amount")]
    pub calls: Option<u64>,

    /// The time of each run, such as 60s, instead of a number of calls
    #[arg(long = "for", value_name = "TIME", value_parser = amount_of_time, group = "amount")]
    pub time: Option<f64>,

    /// The settings of the measurement.
    #[command(flatten)]
    pub measure: ClientsArguments,
}

/// The settings of clients and of the measurement.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "How it is sent and measured")]
pub struct ClientsArguments {
    /// The database: postgresql://USER@HOST/DATABASE, embedded:FOLDER or embedded
    ///
    /// `embedded` is a private server that is removed when the command ends. The URL decides whether the connection is
    /// a socket, TCP, or TLS (sslmode).
    #[arg(long, value_name = "URL", default_value = "embedded")]
    pub to: String,

    /// How statements are sent
    #[arg(long, value_name = "PROTOCOL", default_value = "prepared")]
    pub protocol: ProtocolArgument,

    /// Prepare each statement once; the same as --protocol prepared
    #[arg(long, conflicts_with_all = ["protocol", "simple"])]
    pub prepared: bool,

    /// Send each statement as text; the same as --protocol simple
    #[arg(long, conflicts_with = "protocol")]
    pub simple: bool,

    /// How many calls of a client are in flight at a time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub pipeline: u16,

    /// Open loop: calls per second of all clients together, at random moments
    ///
    /// Latencies then count from the intended start of each call, so the calls that a stalled server delays are
    /// measured, too.
    #[arg(long, value_name = "R", allow_negative_numbers = true)]
    pub rate: Option<f64>,

    /// Addresses of the server, as HOST:PORT,HOST:PORT; clients use them in turn
    #[arg(long, value_name = "HOST:PORT,...", value_delimiter = ',')]
    pub endpoints: Vec<String>,

    /// The CPUs for the threads of the clients, such as 0-3,8
    #[arg(long, value_name = "N,N-N,...", value_parser = cpus)]
    pub cpus: Option<Numbers<usize>>,

    /// The number of threads that run the clients [default: one for each core, or for each of --cpus]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,

    /// How often each number of clients is measured, in turn; the median is reported
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=100))]
    pub rounds: u16,

    /// The folder for results, which go into a subfolder named after the time
    #[arg(long, value_name = "FOLDER", default_value = "bench-results", value_parser = local_path())]
    pub results: PathBuf,

    /// Measure everything again, even if the same command was stopped before
    #[arg(long)]
    pub fresh: bool,

    /// Write one line of JSON for each run, and one with all results at the end
    #[arg(long, conflicts_with = "quiet")]
    pub json: bool,

    /// Print only errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// On or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OnOff {
    /// On.
    On,
    /// Off.
    Off,
}

/// The key of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum KeyArgument {
    /// A random UUID, as in 2009.
    Random,
    /// A number that counts up.
    Sequence,
}

/// The statement that is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CallArgument {
    /// A function without a table.
    Noop,
    /// A function that finds one row by its key.
    Seek,
    /// One row with default values.
    Insert,
}

/// The protocol of statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ProtocolArgument {
    /// The statement is sent as text, in one message.
    Simple,
    /// Parsed, bound and executed, each time.
    Extended,
    /// Parsed once, then bound and executed.
    Prepared,
}

const INSERTS_HELP: &str = "\
Examples:
  Measure 8 to 128 connections, 10 s each, with nothing to set up:
      inrush bench inserts

  As in 2009: 1/N of 1 GB by each of N connections, into your own server, three rounds:
      inrush bench inserts --connections 8,16,32,64,128 --size 1GB --rounds 3 \\
          --to postgresql://bench@dw/test

  See what the flush of each COMMIT costs:
      inrush bench inserts --connections 16 --for 30s --synchronous-commit off

Files: bench-results/TIME-inserts/report.html, summary.md, results.json, and latencies in the log
format of HdrHistogram (*.hlog).

Exit status: 0 measured, 1 failed (one client that did not do its share is a failure), 2 a mistake
in the arguments, 5 the table does not have the confirmed rows, 130 interrupted, and the same
command measures what is missing.";

const CALLS_HELP: &str = "\
Examples:
  Measure 1 to 16 clients, 10 s each, with nothing to set up:
      inrush bench calls

  The cost of a seek beside that of a call, 1 to 20 clients over TLS:
      inrush bench calls seek --clients 1-20 --to 'postgresql://bench@dw/test?sslmode=require'

  Latencies at a rate, with clients on the CPUs of one NUMA node:
      inrush bench calls --rate 20000 --clients 32 --for 60s --cpus 0-15

Files: bench-results/TIME-calls/report.html, summary.md, results.json, and latencies in the log
format of HdrHistogram (*.hlog).

Exit status: 0 measured, 1 failed (one client that did not do its share is a failure), 2 a mistake
in the arguments, 5 the table does not have the confirmed rows, 130 interrupted, and the same
command measures what is missing.";
