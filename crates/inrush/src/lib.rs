//! The engine of Inrush: flat files into partitioned databases, in parallel streams, every row
//! accounted for.
//!
//! One folder per step of the way of the data; the steps import the leaf types below. What a step does for one kind
//! of destination alone stands in [`destination`], in the engine of that kind, and nothing else knows which one loads.
//! The library never prints and never reads the environment: what it needs of either, its caller hands in.

mod calendar;
pub mod cancel;
pub mod chunk;
pub mod column;
pub mod column_policy;
pub mod convert;
pub mod destination;
pub mod encoding;
mod encoding_guess;
pub mod error;
pub mod event;
pub mod fault;
pub mod free_space;
mod gauge;
pub mod ledger;
pub mod location;
pub mod mending;
pub mod meter;
pub mod pace;
pub mod package;
pub mod padded_text;
pub mod pipeline;
pub mod plan;
mod plural;
pub mod preflight;
pub mod printable;
mod process;
pub mod reject;
pub mod report;
pub mod secrets;
pub mod sniff;
pub mod source;
mod system_calls;
mod tcp;
pub mod typed_rows;
pub mod undo;
pub mod upkeep;
pub mod verify;

pub use destination::Checked;
pub use error::Error;
pub use inrush_destination::address_space;
pub use pipeline::{Failure, Hint, RunOptions, Success, check, run};
