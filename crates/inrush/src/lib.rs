//! Inrush as a library: checks, predicts and runs loads, and reports on past ones.
//!
//! [`registry`] opens the planner and the ledger for the URL of a connection; it is the only file that names
//! destinations. The `flow_*` files open the sources of flows. [`operations`] has one function for each operation of a
//! caller. All other names are those of the crates below, so a caller needs this crate alone. The library never prints
//! and never reads the environment.

pub mod clients;
mod compare;
mod compare_read;
mod compared_side;
mod flow_databases;
mod flow_files;
mod flow_since;
mod flow_source;
mod flow_sqlserver;
mod flow_steps;
mod flow_stream;
mod flow_tables;
mod operations;
mod registry;

pub use compare::{FlowCompared, SplitDifference, UnfitRows, compare};
pub use flow_files::of_sniff;
pub use flow_tables::tables_like;
pub use inrush_convert as convert;
pub use inrush_destination::Ability;
pub use inrush_destination::address::DestinationKind;
pub use inrush_engine::driver::Checked;
pub use inrush_engine::error::Error;
pub use inrush_engine::pipeline::{Failure, Hint, RunOptions, Success};
pub use inrush_engine::{
    event, meter, peek, preflight, reject_replay, report, shares, undo, upkeep,
};
pub use inrush_fault as fault;
pub use inrush_files as source;
pub use inrush_package as package;
pub use inrush_package::secrets;
pub use inrush_plan as plan;
pub use inrush_plan::{ledger, lineage, verify};
pub use inrush_postgres as postgres;
pub use inrush_postgres::{ConnectionDefaults, LIBPQ_VARIABLES, ServiceFile};
pub use inrush_rows::exit_status::ExitStatus;
pub use inrush_rows::{
    cancel, chunk, column, column_policy, compression, encoding, ids, location, padded_text,
    printable, quantity, reject, suggest, typed_rows,
};
pub use inrush_sniff as sniff;
pub use inrush_source_adbc::RowStream;
pub use inrush_system::address_space::address_space;
pub use inrush_system::free_space;
pub use inrush_verdict::BackendState;
pub use operations::{
    check, client_server, load_share, past_runs, preflight_of, run, run_with_events, scratch_folder,
};
pub use registry::{
    SQLCMD_VARIABLES, left_out_of_sqlserver, open_files, open_row_stream, open_sources,
    postgres_server,
};
