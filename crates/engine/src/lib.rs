//! The engine of Inrush: it runs, predicts, meters and reports loads, the same for every source and destination.
//!
//! A [`driver::Driver`] checks, runs and predicts loads, by the plans of `inrush_plan`. `run` has the sequence of a run, and `load`
//! writes the rows of a plan to a destination, transaction by transaction. [`pipeline`] runs streams, meters them and accounts for
//! their rows. [`shares`] lets several processes load one run.
//!
//! [`preflight`] predicts a run. [`report`] is the report of a run. [`compare`] compares the rows of two sources, and [`peek`] shows
//! rows between the steps of a flow. [`reject_replay`] loads corrected rejects. [`upkeep`] and [`undo`] are for runs that have
//! stopped or ended.
//!
//! The engine names no destination and no source: its caller passes them in. It never prints and never reads the environment.

pub mod compare;
mod destination_errors;
pub mod driver;
pub mod error;
pub mod event;
mod gauge;
mod load;
pub mod meter;
pub mod peek;
pub mod pipeline;
pub mod preflight;
pub mod reject_replay;
pub mod report;
mod run;
pub mod shares;
pub mod undo;
pub mod upkeep;

pub use error::Error;
