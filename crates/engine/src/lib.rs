//! The engine of Inrush: what is done alike wherever rows come from and go to.
//!
//! [`plan`] resolves a package against real files; [`pipeline`] runs streams, meters them and accounts for their rows;
//! [`preflight`] predicts a run; [`report`] says what happened; [`mending`] loads rejects that were fixed. What loads into
//! destinations of one kind is a [`driver`]; [`contract`] is the one for every destination that keeps
//! `inrush_destination`'s contract. The engine names no implementation: its caller hands one in.
//! It never prints and never reads the environment.

pub mod connection_defaults;
pub mod contract;
pub mod driver;
pub mod driver_error;
pub mod error;
pub mod event;
pub mod fault;
pub mod gauge;
pub mod ledger;
pub mod meter;
pub mod pace;
pub mod pipeline;
pub mod plan;
pub mod preflight;
pub mod reject_replay;
pub mod report;
pub mod undo;
pub mod upkeep;
pub mod verify;

pub use error::Error;
