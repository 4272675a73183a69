//! Many clients at one server: the insert benchmark of 2009 ([`Workload::Inserts`]) and the call volume of 2004 to 2006
//! ([`Workload::Calls`]).
//!
//! `measurement` measures each number of clients in turn, and resumes a sweep that was stopped. `run` measures one
//! number: it connects all clients, starts all `worker` threads at the same moment (`start_line`), and collects their
//! measurements second by second (`seconds`), while a `watcher` samples the server and the machine. A `client` has a
//! share of the work and a `schedule` of its calls. The result (`run_result`) gets a verdict (`verdict`) and is stored:
//! `results`, `summary`, `published`.
//!
//! A database implements the contract of [`inrush::clients`]. A worker's loop is the hot path: for each call it costs
//! two reads of the clock, one `send`, one `recv` and a share of one `epoll_wait`, and allocates nothing.

mod client;
mod measurement;
mod published;
mod results;
mod results_folder;
mod run;
mod run_result;
mod schedule;
mod seconds;
mod settings;
mod start_line;
pub mod summary;
mod verdict;
mod watcher;
mod worker;

pub use measurement::{Host, Measurement};
#[cfg(test)]
pub(crate) use results::results_schema;
pub use results::{PointResult, Results, RunResult};
pub use settings::{
    Amount, Settings, Workload, amount_of_time, client_numbers, cpu_numbers, size_in_bytes,
};
