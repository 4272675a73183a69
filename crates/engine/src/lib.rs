//! The engine of Inrush: the work that is the same for every source and destination.
//!
//! [`plan`] resolves a package against real files. `run` has the sequence of a run. [`pipeline`] runs streams, meters
//! them and accounts for their rows. [`verify`] compares sums, and [`compare`] compares the rows of two sources.
//! [`preflight`] predicts a run. [`report`] is the report of a run. [`reject_replay`] loads corrected rejects.
//! [`upkeep`] and [`undo`] are for runs that have stopped or ended.
//!
//! [`shares`] lets several processes load one run. `load` writes the rows of a plan to a destination, transaction by transaction.
//!
//! [`planner`] is the surface for a destination that makes its plan itself; apart from it, only what callers of the engine use is
//! public.
//!
//! A [`driver_trait::Driver`] loads into destinations of one kind; [`driver`] plans for every destination that implements all of
//! the contract of `inrush_destination`. The engine names no destination and no source: its caller passes
//! them in. It never prints and never reads the environment.

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
