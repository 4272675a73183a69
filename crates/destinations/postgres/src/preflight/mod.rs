//! The part of a preflight that only a PostgreSQL server can measure or know: [`MeasuredServer`]. The engine does the rest.
//!
//! [`hazards`] asks the server what may stop or slow down the load. [`network`] and [`wal`] measure, and [`trial_server`] is the place
//! of trial loads, with the tables of [`trial`] and the streams of [`trial_stream`]. [`beside_rows`] and [`around_streams`] compute the
//! time of a run apart from its rows, and [`not_predicted`] lists what no trial shows.

mod around_streams;
mod beside_rows;
mod hazards;
mod measured_server;
mod network;
mod not_predicted;
mod server;
mod trial;
mod trial_server;
mod trial_stream;
mod wal;

pub use self::measured_server::MeasuredServer;
pub use self::server::TrialFacts;
