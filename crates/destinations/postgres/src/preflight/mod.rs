//! A preflight of a load into a PostgreSQL server: the engine measures the plan and predicts its run, with what only the server
//! shows ([`measured_server`]).

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
