//! Many clients at one server: the insert benchmark of 2009 ([`Workload::Inserts`]) and the call volume of 2004 to 2006
//! ([`Workload::Calls`]).
//!
//! `measurement` measures each number of clients in turn, and resumes a sweep that was stopped. `run` does one of them:
//! it connects all clients, lets `worker` threads begin at one moment (`start_line`), and gathers their measurements
//! second by second (`seconds`), while a `watcher` samples the server and the machine. A `client` has a share of the
//! work and a `schedule` of its calls. The result (`run_result`) is judged (`verdict`) and kept: `results`, `summary`,
//! `published`.
//!
//! A database stands behind the contract of [`inrush::clients`]. A worker's loop is the hot path: it costs
//! two reads of the clock, one `send`, one `recv` and a share of one `epoll_wait` for each call, and allocates nothing.

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
